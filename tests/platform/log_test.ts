// The event log: one event is one line, no secret is written, and no failure stops the program.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  createLog,
  createUnreadableLog,
  type Log,
  type LogFields,
  type LogOptions,
  wholeWrites,
} from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { createStore } from "../../platform/store.ts";
import { silentLog } from "../scim/backends/silent_log.ts";

const NOW_MS = Date.UTC(2026, 10, 21);

interface TestClock extends Clock {
  advance(byMs: number): void;
}

function createTestClock(): TestClock {
  let nowMs = NOW_MS;
  const timers = new Set<{ atMs: number; task: () => void }>();
  return {
    nowMs: () => nowMs,
    after(delayMs, task) {
      const timer = { atMs: nowMs + delayMs, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(byMs) {
      nowMs += byMs;
      for (const timer of [...timers]) {
        if (timer.atMs <= nowMs && timers.delete(timer)) timer.task();
      }
    },
  };
}

interface Written {
  readonly log: Log;
  readonly clock: TestClock;
  /** One string per write. */
  readonly batches: string[];
}

function createWritten(options: Partial<LogOptions> = {}): Written {
  const clock = createTestClock();
  const batches: string[] = [];
  const write = (lines: Uint8Array) => void batches.push(new TextDecoder().decode(lines));
  return { log: createLog({ format: "text", level: "info", clock, write, ...options }), clock, batches };
}

async function lineOf(format: "text" | "json", message: string, fields?: LogFields): Promise<string> {
  const { log, batches } = createWritten({ format });
  log.info(message, fields);
  await log.flush();
  return batches.join("");
}

const TEXT_HEAD = "2026-11-21T00:00:00.000Z info  ";

const TEXT: readonly (readonly [LogFields, string])[] = [
  [{ key1: "value" }, "key1=value"],
  [{ name: "two words" }, 'name="two words"'],
  [{ name: 'say "x"\\' }, 'name="say \\"x\\"\\\\"'],
  [{ name: "a=b" }, 'name="a=b"'],
  [{ name: "" }, 'name=""'],
  [{ tookMs: 12.345 }, "took=12.3 ms"],
  [{ tookMs: 0 }, "took=0.0 ms"],
  [{ tookMs: "long" }, "tookMs=long"],
  [{ count: 3, ok: true, none: null, absent: undefined }, "count=3 ok=true none=null"],
  [{ name: "a\r\nb" }, 'name="a\\u000d\\u000ab"'],
  [{ name: "\u001b[2J" }, 'name="\\u001b[2J"'],
  [
    { name: "\u007f\u009b\u202e\u2028\u2029\u2066\u0000" },
    'name="\\u007f\\u009b\\u202e\\u2028\\u2029\\u2066\\u0000"',
  ],
  [{ name: "Zoë 名前" }, 'name="Zoë 名前"'],
  [{ name: "x".repeat(512) }, `name=${"x".repeat(512)}`],
  [{ name: "x".repeat(513) }, `name=${"x".repeat(512)}…`],
  [{ name: `${"x".repeat(511)}😀` }, `name=${"x".repeat(511)}…`],
  [{ "a b\n=": 1 }, "a_b__=1"],
];

Deno.test("createLog() writes fields as text", async () => {
  for (const [fields, expected] of TEXT) {
    assertEquals(await lineOf("text", "hello", fields), `${TEXT_HEAD}hello  ${expected}\n`);
  }
  assertEquals(await lineOf("text", "bare"), `${TEXT_HEAD}bare\n`);
  assertEquals(await lineOf("text", "two\nlines\u202e"), `${TEXT_HEAD}two\\u000alines\\u202e\n`);
});

Deno.test("createLog() writes one JSON object per line, which parses to the same values", async () => {
  const fields = { user: 'a"b\\\u0000\u001b\u009b\u2028\u202e\ud800', tookMs: 12.345, ok: false, none: null };
  const line = await lineOf("json", "he\nllo", { ...fields, absent: undefined, time: "mine" });
  assertEquals(line.indexOf("\n"), line.length - 1);
  // deno-lint-ignore no-control-regex
  assert(!/[\u0000-\u0009\u007f-\u009f\u2028-\u202e]/.test(line));
  assertEquals(JSON.parse(line), {
    time: "2026-11-21T00:00:00.000Z",
    level: "info",
    message: "he\nllo",
    ...fields,
    time_: "mine",
  });
  assertEquals(JSON.parse(await lineOf("json", "x", { a: Infinity })).a, null);
});

const REDACTED = [
  "password user_password secret passcode token state_token cookie authorization otp seed key body",
  "User-Password userPassword CHAP-Password Cookie consumer_secret authToken SEED set_cookie",
].join(" ").split(" ");

Deno.test("createLog() writes no field whose name marks it as secret", async () => {
  for (const name of REDACTED) {
    for (const format of ["text", "json"] as const) {
      const line = await lineOf(format, "x", { [name]: "planted", other: "shown" });
      assert(!line.includes("planted"), `${name}: ${line}`);
      assertStringIncludes(line, "***");
      assertStringIncludes(line, "shown");
      assert(!(await lineOf(format, "x", { [name]: 123456 })).includes("123456"));
    }
  }
  assertStringIncludes(
    await lineOf("text", "x", { keyboard: "shown", user: "shown2" }),
    "keyboard=shown user=shown2",
  );
});

Deno.test("createLog() limits the length of a line for any number of fields", async () => {
  const fields = Object.fromEntries(
    Array.from({ length: 5000 }, (_, at) => [`f${at}`, "\u0000".repeat(1000)]),
  );
  const line = await lineOf("text", "m".repeat(100_000), fields);
  assert(line.length < 400_000, String(line.length));
  assertStringIncludes(line, "fields_cut=true");
});

Deno.test("createLog() omits events below its level", async () => {
  const { log, batches } = createWritten({ level: "warn" });
  log.debug("one");
  log.info("two");
  log.warn("three");
  log.error("four");
  await log.flush();
  assertEquals(batches.join("").match(/three|four|one|two/g), ["three", "four"]);
  assertEquals([log.enabled("debug"), log.enabled("info"), log.enabled("warn"), log.enabled("error")], [
    false,
    false,
    true,
    true,
  ]);
});

Deno.test("createLog() writes events of 5 ms together, and 64 KiB without waiting", async () => {
  const { log, clock, batches } = createWritten();
  log.info("one");
  log.info("two");
  clock.advance(4);
  assertEquals(batches.length, 0);
  clock.advance(1);
  assertEquals(batches.length, 1);
  assertEquals(batches[0]?.split("\n").length, 3);
  await log.flush();
  for (let at = 0; at < 200; at++) log.info("x", { value: "y".repeat(500) });
  assertEquals(batches.length, 2);
});

Deno.test("createLog() drops lines beyond 8 MiB and logs their number", async () => {
  const gate = Promise.withResolvers<void>();
  const written: number[] = [];
  let text = "";
  const { log, clock } = createWritten({
    write: async (lines) => {
      await gate.promise;
      written.push(lines.length);
      text += new TextDecoder().decode(lines);
    },
  });
  for (let at = 0; at < 40_000; at++) log.info("x", { value: "y".repeat(500) });
  const { dropped } = log.losses();
  assert(dropped > 20_000, String(dropped));
  gate.resolve();
  await log.flush();
  clock.advance(5);
  await log.flush();
  assert(written.reduce((sum, length) => sum + length, 0) < 9 * 1024 * 1024);
  assertStringIncludes(text, `warn  log lines were lost  dropped=${dropped} unwritten=0 lastFailure=null\n`);
  assertEquals(text.split("\n").length - 1, 40_000 - dropped + 1);
});

Deno.test("createLog() never throws when a write fails, and logs the failure when writing works again", async () => {
  for (
    const fail of [
      () => Promise.reject(new Deno.errors.BrokenPipe("EPIPE")),
      () => {
        throw new Deno.errors.BrokenPipe("EPIPE");
      },
    ]
  ) {
    let broken = true;
    let text = "";
    const { log } = createWritten({
      write: (lines) => {
        if (broken) return fail();
        text += new TextDecoder().decode(lines);
      },
    });
    log.info("one");
    log.info("two");
    await log.flush();
    assertEquals(log.losses(), { dropped: 0, unwritten: 2, failedWrites: 1, lastFailure: "BrokenPipe" });
    broken = false;
    log.info("three");
    await log.flush();
    assertStringIncludes(text, "three\n");
    assertStringIncludes(text, "log lines were lost  dropped=0 unwritten=2 lastFailure=BrokenPipe\n");
    assertEquals(text.split("\n").length - 1, 2);
  }
});

Deno.test("flush() ends after its deadline when the stream hangs", async () => {
  const { log, clock } = createWritten({ write: () => new Promise<void>(() => {}) });
  log.info("one");
  const flushed = log.flush();
  clock.advance(2000);
  await flushed;
});

Deno.test("wholeWrites() continues where a stream stopped, and fails when the stream accepts nothing", async () => {
  const taken: number[] = [];
  const write = wholeWrites({
    write(octets) {
      taken.push(...octets.subarray(0, 2));
      return Promise.resolve(Math.min(2, octets.length));
    },
  });
  await write(Uint8Array.of(1, 2, 3, 4, 5));
  assertEquals(taken, [1, 2, 3, 4, 5]);
  const stuck = wholeWrites({ write: () => Promise.resolve(0) })(Uint8Array.of(1));
  assertEquals(await stuck.then(() => "written", () => "failed"), "failed");
});

Deno.test("createLog() keeps the order of lines over many batches", async () => {
  const { log, batches } = createWritten();
  for (let at = 0; at < 20_000; at++) log.info(`n${at}`);
  await log.flush();
  const numbers = batches.join("").trimEnd().split("\n").map((line) =>
    Number(line.slice(line.indexOf(" n") + 2))
  );
  assertEquals(numbers, Array.from({ length: 20_000 }, (_, at) => at));
});

Deno.test("Store.load() reports the entries that cannot be read, and hands over all others", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  const mutations = [1, "later", 3].map((value, at) => ({
    type: "set",
    key: ["limit", "push", `${at}`],
    value,
  } as const));
  await store.commit({ mutations });
  const read: unknown[] = [];
  const unread: string[] = [];
  store.onUnreadable((key, fault) => unread.push(`${key.join("/")}: ${fault}`));
  await store.load(["limit"], ({ value }) => {
    if (typeof value !== "number") throw new TypeError("it is no number");
    read.push(value);
  });
  assertEquals(read, [1, 3]);
  assertEquals(unread, ["limit/push/1: TypeError: it is no number"]);
  await store.close();
});

Deno.test("createUnreadableLog() logs one record of each table in a minute, and counts the others", () => {
  let nowMs = 0;
  const lines: string[] = [];
  const log = {
    ...silentLog(),
    error: (_message: string, { table, record, records }: LogFields = {}) =>
      void lines.push(`${table} ${record} ${records}`),
  };
  const report = createUnreadableLog({ log, clock: { nowMs: () => nowMs } });
  const fault = new TypeError("why");
  for (const user of ["ada", "bea", "cleo"]) report(["limit", "failures", user], fault);
  report(["client", "vpn"], fault);
  nowMs = 60_000;
  report(["limit", "push", "dora"], fault);
  assertEquals(lines, [
    "limit failures/ada 1",
    "client vpn 1",
    "limit push/dora 3",
  ]);
});
