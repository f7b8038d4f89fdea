// The guarded caller with a manual clock: when the breaker opens, which calls wait, and how a call ends.

import { assertEquals } from "@std/assert";
import {
  type BreakerLimits,
  type CallOptions,
  type CallOutcome,
  type CallRefusal,
  createGuardedCaller,
} from "../../platform/guarded_caller.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";

type Fault = "down" | "refused" | CallRefusal;
type Outcome = CallOutcome<string, Fault>;

const OK: Outcome = { ok: true, value: "ok" };
const OUTCOMES: Readonly<Record<string, Outcome>> = {
  ok: OK,
  down: { ok: false, fault: "down" },
  refused: { ok: false, fault: "refused" },
};

const PATIENT: BreakerLimits = {
  failures: 3,
  windowMs: Infinity,
  firstPauseMs: 500,
  longestPauseMs: 15_000,
  jitter: 0,
};
const WINDOWED: BreakerLimits = {
  failures: 3,
  windowMs: 1000,
  firstPauseMs: 5000,
  longestPauseMs: 60_000,
  jitter: 0.5,
};

interface Options {
  readonly breaker?: BreakerLimits;
  readonly concurrent?: number;
  readonly waiting?: number;
  /** The octet that determines the jitter. */
  readonly chance?: number;
}

function open({ breaker = PATIENT, concurrent = 100, waiting = 100, chance = 0 }: Options = {}) {
  const clock = createManualClock();
  const health: string[] = [];
  const opened: Fault[] = [];
  const caller = createGuardedCaller<Fault>({
    clock,
    random: { bytes: (length) => new Uint8Array(length).fill(chance) },
    limit: { concurrent, waiting },
    breaker,
    toFault: (refusal) => refusal,
    isDown: (fault) => fault === "down",
    onOpen: (fault) => void opened.push(fault),
    onHealth: (outcome) => void health.push(outcome.ok ? "ok" : textOf(outcome.fault)),
  });
  const pending: ((outcome: Outcome) => void)[] = [];
  /** A call that continues until {@link end}. */
  const start = (options?: CallOptions): Promise<Outcome> =>
    caller.call(() => new Promise<Outcome>((resolve) => pending.push(resolve)), options);
  const end = async (outcome: Outcome = OK): Promise<void> => {
    pending.shift()?.(outcome);
    await settle();
  };
  return { clock, caller, health, opened, pending, start, end };
}

const textOf = (fault: Fault): string => typeof fault === "string" ? fault : fault.reason;
const resultOf = (outcome: Outcome): string => outcome.ok ? outcome.value : textOf(outcome.fault);

/** The steps, and for each call whether it was sent, or after how many milliseconds one may be. */
interface Row {
  readonly title: string;
  readonly breaker?: BreakerLimits;
  readonly chance?: number;
  /**
   * `ok`, `down`, `refused`: a call with that outcome. `start`, `end:…`: one that takes time. `+1`: a millisecond
   * passes. `-1`: the clock is set back by one.
   */
  readonly steps: string;
  readonly calls: string;
}

const ROWS: readonly Row[] = [
  { title: "stays closed below the limit", steps: "down down ok", calls: "sent sent sent" },
  { title: "opens at the limit", steps: "down down down ok", calls: "sent sent sent 500" },
  {
    title: "counts consecutive failures only: a success resets the count",
    steps: "down down ok down down ok",
    calls: "sent sent sent sent sent sent",
  },
  {
    title: "treats a refusal of the peer as a sign of life",
    steps: "down down refused down down ok",
    calls: "sent sent sent sent sent sent",
  },
  {
    title: "counts failures without a window however far apart they are",
    steps: "down +86400000 down +86400000 down ok",
    calls: "sent sent sent 500",
  },
  {
    title: "starts a new count after the window",
    breaker: WINDOWED,
    steps: "down down +1001 down down ok",
    calls: "sent sent sent sent sent",
  },
  {
    title: "opens within the window",
    breaker: WINDOWED,
    steps: "down down +1000 down ok",
    calls: "sent sent sent 5000",
  },
  {
    title: "shortens the pause at random by no more than the jitter",
    breaker: WINDOWED,
    chance: 255,
    steps: "down down down ok",
    calls: "sent sent sent 2500",
  },
  {
    title: "returns the remaining pause",
    steps: "down down down +499 ok +1 ok ok",
    calls: "sent sent sent 1 sent sent",
  },
  {
    title: "lets a probe go out at once when the clock was set back",
    steps: "down down down -86400000 start ok end:ok ok",
    calls: "sent sent sent sent 500 sent",
  },
  {
    title: "doubles the pause with each probe that fails, up to the longest",
    steps:
      "down down down +500 down ok +1000 down ok +2000 down ok +4000 down ok +8000 down ok +15000 down ok",
    calls: "sent sent sent sent 1000 sent 2000 sent 4000 sent 8000 sent 15000 sent 15000",
  },
  {
    title: "starts with the first pause again after a success",
    steps: "down down down +500 down +1000 ok down down down ok",
    calls: "sent sent sent sent sent sent sent sent 500",
  },
  {
    title: "lets one probe go out, and all calls when it succeeds",
    steps: "down down down +500 start ok end:ok ok ok",
    calls: "sent sent sent sent 500 sent sent",
  },
  {
    title: "lets another probe go out when the first takes longer than the pause",
    steps: "down down down +500 start +500 start ok end:down end:down ok",
    calls: "sent sent sent sent sent 500 1000",
  },
  {
    title: "counts calls that fail together as one opening",
    steps: "start start start start start end:down end:down end:down end:down end:down ok",
    calls: "sent sent sent sent sent 500",
  },
  {
    title: "does not treat a call from before the opening as a probe",
    steps: "start down down down +500 end:down ok",
    calls: "sent sent sent sent sent",
  },
];

for (const { title, steps, calls, ...options } of ROWS) {
  Deno.test(`createGuardedCaller() ${title}`, async () => {
    const stage = open(options);
    const seen: string[] = [];
    const call = async (task: () => Promise<Outcome>): Promise<void> => {
      let sent = false;
      const calling = stage.caller.call(() => {
        sent = true;
        return task();
      });
      await settle();
      if (sent) return void seen.push("sent");
      const outcome = await calling;
      seen.push(
        !outcome.ok && typeof outcome.fault !== "string" && outcome.fault.reason === "circuit_open"
          ? String(outcome.fault.retryAfterMs)
          : resultOf(outcome),
      );
    };
    for (const step of steps.split(" ")) {
      if (/^[+-]/.test(step)) stage.clock.advance(Number(step));
      else if (step === "start") await call(() => new Promise((resolve) => stage.pending.push(resolve)));
      else if (step.startsWith("end:")) await stage.end(OUTCOMES[step.slice(4)]);
      else await call(() => Promise.resolve(OUTCOMES[step] ?? OK));
    }
    assertEquals(seen.join(" "), calls);
  });
}

Deno.test("createGuardedCaller() reports the fault that opens the breaker once, and each outcome to health", async () => {
  const { caller, clock, opened, health } = open();
  const call = (outcome: Outcome) => caller.call(() => Promise.resolve(outcome));
  for (const outcome of ["down", "down", "down", "ok"]) await call(OUTCOMES[outcome] ?? OK);
  clock.advance(500);
  await call(OUTCOMES["down"] ?? OK);
  assertEquals(opened, ["down"]);
  assertEquals(health, ["down", "down", "down", "circuit_open", "down"]);
});

Deno.test("createGuardedCaller() runs as many calls as the limit, and the others in the order of arrival", async () => {
  const { caller, pending, start, end } = open({ concurrent: 2, waiting: 2 });
  const order: string[] = [];
  const calls = ["first", "second", "third", "fourth"].map((name) => start().then(() => order.push(name)));
  await settle();
  assertEquals([pending.length, caller.load()], [2, { running: 2, waiting: 2, isOpen: false }]);
  assertEquals(resultOf(await start()), "queue_full");
  for (let count = 0; count < 4; count++) await end();
  await Promise.all(calls);
  assertEquals(order, ["first", "second", "third", "fourth"]);
  assertEquals(caller.load(), { running: 0, waiting: 0, isOpen: false });
});

Deno.test("createGuardedCaller() ends the wait for a place at its deadline, and leaves no timer", async () => {
  const { caller, clock, health, start, end } = open({ concurrent: 1 });
  const running = start();
  const waiting = start({ waitUntilMs: clock.nowMs() + 1000 });
  const patient = start();
  await settle();
  clock.advance(1000);
  assertEquals(resultOf(await waiting), "wait_timeout");
  assertEquals([caller.load().waiting, clock.timers(), health], [1, 0, []]);
  await end();
  await end();
  assertEquals([resultOf(await running), resultOf(await patient)], ["ok", "ok"]);
});

Deno.test("createGuardedCaller() lets a call without a limit pass the waiting ones", async () => {
  const { start, end, pending } = open({ concurrent: 1 });
  const calls = [start(), start(), start({ limited: false })];
  await settle();
  assertEquals(pending.length, 2);
  for (let count = 0; count < 3; count++) await end();
  assertEquals((await Promise.all(calls)).map(resultOf), ["ok", "ok", "ok"]);
});

Deno.test("createGuardedCaller() refuses waiting calls when the breaker opens", async () => {
  const { caller, start, end } = open({ concurrent: 1 });
  const calls = Array.from({ length: 5 }, () => start());
  await settle();
  for (let count = 0; count < 3; count++) await end(OUTCOMES["down"]);
  const results = (await Promise.all(calls)).map(resultOf);
  assertEquals(results, ["down", "down", "down", "circuit_open", "circuit_open"]);
  assertEquals(caller.load(), { running: 0, waiting: 0, isOpen: true });
});

Deno.test("createGuardedCaller() gives up a call at its timeout, and counts its later result", async () => {
  const { caller, clock, health, start, end } = open({ concurrent: 1 });
  const calling = start({ timeoutMs: 60_000 });
  await settle();
  clock.advance(60_000);
  assertEquals(resultOf(await calling), "call_timeout");
  assertEquals([caller.load().running, clock.timers(), health], [0, 0, []]);
  await end();
  assertEquals(health, ["ok"]);
});

Deno.test("createGuardedCaller() returns a fault for an error that a task throws", async () => {
  const { caller } = open();
  const thrown = new TypeError("a bug");
  const fault = { ok: false, fault: { reason: "call_threw", error: thrown } } as const;
  assertEquals(await caller.call(() => Promise.reject(thrown)), fault);
  assertEquals(
    await caller.call(() => {
      throw thrown;
    }),
    fault,
  );
});

Deno.test("createGuardedCaller() does not report some outcomes to health, but counts them", async () => {
  const { caller, health } = open();
  const call = (options?: CallOptions) =>
    caller.call(() => Promise.resolve(OUTCOMES["down"] ?? OK), { reported: false, ...options });
  for (let count = 0; count < 4; count++) await call();
  assertEquals([health, caller.load().isOpen], [[], true]);
});

Deno.test("close() refuses the waiting calls and all new ones, and waits for those in progress", async () => {
  const { caller, start, end } = open({ concurrent: 1 });
  const running = start();
  const waiting = start();
  let closed = false;
  const closing = caller.close().then(() => closed = true);
  assertEquals([resultOf(await waiting), resultOf(await start())], ["closed", "closed"]);
  await settle();
  assertEquals(closed, false);
  await end();
  assertEquals(resultOf(await running), "ok");
  await closing;
});
