// Opening the store: faults and their remedies, and the deadlines of an endpoint.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { KV_DEADLINES, KvConnection, type KvOpenDeps, openKv, StoreFault } from "../../platform/open_kv.ts";
import type { Clock } from "../../platform/runtime.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { createManualClock, eventually, settle } from "../upstream/manual_clock.ts";

const TOKEN = "a-very-secret-token";
const URL_OF_KV = "https://kv.example.com";
const METADATA = JSON.stringify({ version: 3, endpoints: [] });
/** Its timers run as soon as nothing else happens. */
const HASTY: Clock = {
  nowMs: () => 0,
  after(_delayMs, task) {
    const timer = setTimeout(task, 50);
    return () => clearTimeout(timer);
  },
};
/** Its timers never run. */
const PATIENT: Clock = { nowMs: () => 0, after: () => () => undefined };

const metadata = () => Promise.resolve(new Response(METADATA));
const open = (deps: Partial<KvOpenDeps>) =>
  openKv(URL_OF_KV, {
    clock: PATIENT,
    token: TOKEN,
    fetch: metadata,
    open: () => Deno.openKv(":memory:"),
    ...deps,
  });

interface Fault {
  readonly name: string;
  readonly deps: Partial<KvOpenDeps>;
  /** The problem and the remedy. */
  readonly says: readonly [string, string];
}

const answering = (status: number, body = ""): Partial<KvOpenDeps> => ({
  fetch: () => Promise.resolve(new Response(body, { status })),
});
const never = () => new Promise<never>(() => undefined);

const FAULTS: readonly Fault[] = [
  {
    name: "no token",
    deps: { token: "" },
    says: ["DENO_KV_ACCESS_TOKEN is not set", "Set it to the access token"],
  },
  {
    name: "a token that the server refuses",
    deps: answering(401, `no ${TOKEN}`),
    says: ["refuses the access token", "Set DENO_KV_ACCESS_TOKEN"],
  },
  { name: "a forbidden database", deps: answering(403), says: ["refuses the access token", "Set DENO_KV"] },
  { name: "another path", deps: answering(404), says: ["not a KV Connect endpoint", "Correct the address"] },
  { name: "a redirect", deps: answering(301), says: ["redirects", "Set store.kv to that address"] },
  { name: "a server that fails", deps: answering(503), says: ["fails (HTTP 503)", "try again"] },
  {
    name: "a web page",
    deps: answering(200, "<html>"),
    says: ["not that of a KV Connect", "Correct the address"],
  },
  {
    name: "other JSON",
    deps: answering(200, "[1]"),
    says: ["not that of a KV Connect", "Correct the address"],
  },
  {
    name: "a host that refuses the connection",
    deps: { fetch: () => Promise.reject(new TypeError("tcp connect error: Connection refused")) },
    says: ["connection refused", "Check that the server runs"],
  },
  {
    name: "a server that does not answer",
    deps: { clock: HASTY, fetch: never },
    says: ["did not answer within 10 s", "Check that it runs"],
  },
  {
    name: "a server that answers only the metadata exchange",
    deps: { clock: HASTY, open: never },
    says: ["did not answer within 10 s", "Check that it runs"],
  },
  {
    name: "a fault of the runtime that quotes the token",
    deps: { open: () => Promise.reject(new TypeError(`bad\nanswer ${TOKEN}`)) },
    says: ["bad\\u000aanswer …", "Check store.kv"],
  },
];

for (const { name, deps, says } of FAULTS) {
  Deno.test(`openKv() explains ${name} in one sentence, without the token`, async () => {
    const { message } = await assertRejects(() => open(deps), StoreFault);
    assert(message.startsWith(`Cannot open the store "${URL_OF_KV}": `), message);
    for (const part of says) assertStringIncludes(message, part);
    assert(!message.includes(TOKEN) && !message.includes("\n"), message);
  });
}

Deno.test("openKv() sends the token to the endpoint before it opens the store", async () => {
  const requests: unknown[] = [];
  const kv = await open({
    fetch: (url, { method, headers, redirect }) => {
      requests.push({ url, method, redirect, authorization: new Headers(headers).get("authorization") });
      return metadata();
    },
  });
  kv.close();
  assertEquals(requests, [
    { url: URL_OF_KV, method: "POST", redirect: "manual", authorization: `Bearer ${TOKEN}` },
  ]);
});

Deno.test("openKv() closes a store that opens after the deadline", async () => {
  const late = Promise.withResolvers<Deno.Kv>();
  await assertRejects(() => open({ clock: HASTY, open: () => late.promise }), StoreFault);
  const kv = await Deno.openKv(":memory:");
  late.resolve(kv);
  await late.promise;
  await new Promise((resolve) => setTimeout(resolve, 0));
  await assertRejects(() => kv.get(["x"]));
});

Deno.test("openKv() closes a store that does not answer a read", async () => {
  const kv = await Deno.openKv(":memory:");
  Object.defineProperty(kv, "get", { value: never });
  let isClosed = false;
  const close = kv.close.bind(kv);
  kv.close = () => (isClosed = true, close());
  await assertRejects(
    () => open({ clock: HASTY, open: () => Promise.resolve(kv) }),
    StoreFault,
    "did not answer",
  );
  assert(isClosed);
});

Deno.test("openKv() creates a file that only its owner can read", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-kv-" });
  const kv = await openKv(`${home}/store.kv`);
  await kv.set(["x"], 1);
  kv.close();
  assertEquals(((await Deno.stat(`${home}/store.kv`)).mode ?? 0) & 0o777, 0o600);
  await Deno.remove(home, { recursive: true });
});

/** A connection to `store` that can be silenced: calls wait, and are carried out when it answers again, as KV Connect does. */
function silenceable(store: Deno.Kv) {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const sent: string[] = [];
  let isClosed = false;
  const later = <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) => (...args: A) => {
    sent.push(name);
    return gate.promise.then(() => call(...args));
  };
  const kv = new Proxy(store, {
    get(target, name: keyof Deno.Kv) {
      if (name === "close") return () => isClosed = true;
      if (name === "list") {
        return (...args: Parameters<Deno.Kv["list"]>) => {
          const batches = target.list(...args);
          batches.next = later("list", batches.next.bind(batches));
          return batches;
        };
      }
      if (name === "atomic") {
        return () => {
          const operation = target.atomic();
          operation.commit = later("commit", operation.commit.bind(operation));
          return operation;
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? later(String(name), value.bind(target)) : value;
    },
  });
  return {
    kv,
    sent,
    isClosed: () => isClosed,
    silence: () => gate = Promise.withResolvers<void>(),
    answer: () => gate.resolve(),
  };
}

async function openDeadlines(options: { reopen?: () => Promise<Deno.Kv> } = {}) {
  const store = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const first = silenceable(store);
  const second = silenceable(store);
  const events: string[] = [];
  const connection = new KvConnection(first.kv, {
    clock,
    open: options.reopen ?? (() => Promise.resolve(second.kv)),
    onLost: () => events.push("lost"),
    onReopened: () => events.push("reopened"),
  });
  /** Lets time pass in steps, so that answers arrive between them. */
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      clock.advance(100);
      await settle();
    }
  };
  return {
    ...{ store, clock, first, second, connection, events, pass },
    [Symbol.dispose]() {
      connection.close();
      store.close();
    },
  };
}

const set = (kv: Deno.Kv, key: string, value: unknown) => kv.atomic().set([key], value).commit();

const CALLS: Readonly<Record<string, (kv: Deno.Kv) => Promise<unknown>>> = {
  get: (kv) => kv.get(["a"]),
  getMany: (kv) => kv.getMany([["a"], ["b"]]),
  list: (kv) => Array.fromAsync(kv.list({ prefix: [] })),
  set: (kv) => kv.set(["a"], 1),
  delete: (kv) => kv.delete(["a"]),
  commit: (kv) => set(kv, "a", 1),
};

for (const [name, call] of Object.entries(CALLS)) {
  Deno.test(`${name} answers as the store does, and rejects when the store is silent for 3 s`, async () => {
    using at = await openDeadlines();
    const { connection, clock, pass } = at;
    await call(connection);
    await pass(1000);
    assertEquals(clock.timers(), 0, "no timer is left without a call");
    at.first.silence();
    const failed = assertRejects(() => call(connection), StoreUnavailable, "did not answer in time");
    await pass(KV_DEADLINES.readMs - 100);
    assertEquals(at.events, []);
    await pass(400);
    assertEquals((await failed).wasSent, true);
    assertEquals(at.events, ["lost", "reopened"]);
    assertEquals(at.first.isClosed(), true);
  });
}

Deno.test("a commit that missed its deadline may be applied later, and says so", async () => {
  using at = await openDeadlines();
  at.first.silence();
  const failed = assertRejects(() => set(at.connection, "late", 1), StoreUnavailable);
  await at.pass(3500);
  assertEquals((await failed).wasSent, true);
  at.first.answer();
  await eventually("the late commit", async () => (await at.store.get(["late"])).value === 1);
});

Deno.test("a call during a silence of half a second is not sent: after the loss it was not applied and never is", async () => {
  using at = await openDeadlines();
  at.first.silence();
  const sent = assertRejects(() => set(at.connection, "sent", 1), StoreUnavailable);
  await at.pass(1000);
  const held = assertRejects(() => set(at.connection, "held", 1), StoreUnavailable);
  await at.pass(2500);
  assertEquals([(await sent).wasSent, (await held).wasSent], [true, false]);
  at.first.answer();
  await eventually("the late commit", async () => (await at.store.get(["sent"])).value === 1);
  await settle();
  assertEquals((await at.store.get(["held"])).value, null);
  assertEquals(at.first.sent, ["commit"]);
});

Deno.test("calls that were not sent during a silence are sent after the first answer", async () => {
  using at = await openDeadlines();
  at.first.silence();
  const early = at.connection.get(["a"]);
  await at.pass(1000);
  const held = [set(at.connection, "held", 1), set(at.connection, "too", 1)];
  await settle();
  assertEquals(at.first.sent, ["get"]);
  at.first.answer();
  await early;
  assertEquals((await Promise.all(held)).map(({ ok }) => ok), [true, true]);
  assertEquals(at.events, []);
});

Deno.test("all calls in progress end with the first that misses its deadline, and new ones fail at once until a connection is open", async () => {
  let mayOpen = false;
  const spare = silenceable(await Deno.openKv(":memory:"));
  using at = await openDeadlines({
    reopen: () => mayOpen ? Promise.resolve(spare.kv) : Promise.reject(new Error("connection refused")),
  });
  at.first.silence();
  const failed = [assertRejects(() => at.connection.get(["a"]), StoreUnavailable)];
  await at.pass(300);
  failed.push(assertRejects(() => at.connection.get(["b"]), StoreUnavailable));
  await at.pass(3000);
  await Promise.all(failed);
  assertEquals(at.connection.isOpen, false);
  const refused = await assertRejects(
    () => set(at.connection, "a", 1),
    StoreUnavailable,
    "The store does not answer",
  );
  assertEquals(refused.wasSent, false);
  await at.pass(60_000);
  assertEquals(at.events, ["lost"]);
  mayOpen = true;
  await at.pass(KV_DEADLINES.reopenMs);
  assertEquals(at.events, ["lost", "reopened"]);
  assertEquals((await set(at.connection, "a", 1)).ok, true);
  assertEquals(spare.sent, ["commit"]);
});

Deno.test("an operation and a list end with the connection that they began on", async () => {
  using at = await openDeadlines();
  const { connection } = at;
  await set(connection, "a", 1);
  const operation = connection.atomic().set(["b"], 1);
  const batches = connection.list({ prefix: [] });
  at.first.silence();
  const failed = assertRejects(() => connection.get(["a"]), StoreUnavailable);
  await at.pass(3500);
  await failed;
  await assertRejects(() => operation.commit(), StoreUnavailable, "was replaced");
  await assertRejects(() => batches.next(), StoreUnavailable, "was replaced");
  assertEquals((await connection.get(["a"])).value, 1);
});

Deno.test("a process that was suspended still reads the answers that wait for it", async () => {
  using store = await Deno.openKv(":memory:");
  const { kv, silence, answer } = silenceable(store);
  let due: (() => void)[] = [];
  const clock = {
    nowMs: () => 0,
    after: (_ms: number, task: () => void) => (due.push(task), () => undefined),
  };
  using connection = new KvConnection(kv, { clock, open: () => Promise.reject(new Error("not needed")) });
  silence();
  const reading = connection.get(["a"]);
  // A timer that is due runs once after a suspension of any length.
  for (const task of due.splice(0)) task();
  answer();
  assertEquals((await reading).value, null);
  due = [];
});

Deno.test("a slow store is not lost while it answers, and a call that alone has no answer ends after four deadlines", async () => {
  using store = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const waiting: (() => void)[] = [];
  const slow = new Proxy(store, {
    get: (target, name: keyof Deno.Kv) =>
      name === "get"
        ? async (key: Deno.KvKey) => {
          await new Promise<void>((resolve) => void waiting.push(resolve));
          return { key, value: null, versionstamp: null };
        }
        : name === "close"
        ? () => undefined
        : Reflect.get(target, name, target),
  });
  const lost: string[] = [];
  const open = () => Promise.reject(new Error("not needed"));
  using connection = new KvConnection(slow, { clock, open, onLost: () => lost.push("lost") });
  const stuck = assertRejects(() => connection.get(["stuck"]), StoreUnavailable);
  const answered = Array.from({ length: 26 }, (_, at) => connection.get([at]));
  await settle();
  const [, ...others] = waiting.splice(0);
  // One answer in 400 ms.
  for (const answer of others) {
    for (let step = 0; step < 4; step++) {
      clock.advance(100);
      await settle();
    }
    answer();
  }
  await Promise.all(answered);
  assertEquals(lost, []);
  for (let step = 0; step < 40; step++) {
    clock.advance(100);
    await settle();
  }
  await stuck;
  assertEquals(lost, ["lost"]);
});

Deno.test("an error of the store itself is not a silence", async () => {
  using at = await openDeadlines();
  await assertRejects(() => at.connection.set(["a"], "x".repeat(70_000)), TypeError, "too large");
  await assertRejects(() => set(at.connection, "a", "x".repeat(70_000)), TypeError, "too large");
  assertEquals(at.events, []);
});

Deno.test("close() ends the calls in progress, and a connection that opens later is closed", async () => {
  const opening = Promise.withResolvers<Deno.Kv>();
  using at = await openDeadlines({ reopen: () => opening.promise });
  at.first.silence();
  const failed = assertRejects(() => at.connection.get(["a"]), StoreUnavailable);
  await at.pass(3500);
  await failed;
  at.connection.close();
  opening.resolve(at.second.kv);
  await settle();
  assertEquals(at.second.isClosed(), true);
  await assertRejects(() => at.connection.get(["a"]), StoreUnavailable, "is closed");
});
