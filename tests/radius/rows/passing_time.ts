// Advances a fake clock while a test awaits real work: each turn of the event loop is a little fake time, so that
// deadlines of calls, held requests and delayed Rejects pass quickly and in order.

import type { ManualClock } from "../../upstream/manual_clock.ts";

/** The fake time of a turn. A call to a fake needs a few turns; its deadline of five seconds is over a hundred. */
const TURN_MS = 40;
const FILE = await Deno.open(new URL(import.meta.url));

/**
 * One turn of the event loop, which handles events of sockets and the store. The store works on threads of the runtime,
 * which a busy machine serves late. So a turn ends when such threads have done two pieces of work: the fake clock then
 * waits for a slow store and does not run ahead of it.
 */
export async function turn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  for (let piece = 0; piece < 2; piece++) await FILE.seek(0, Deno.SeekMode.Start);
}

/** The number of waits on each clock: time advances once for all of them. */
const awaiting = new Map<ManualClock, number>();
const running = new Set<ManualClock>();

/** Awaits `pending` while fake time passes, up to `mostMs`. A password that is hashed on a busy machine needs many turns. */
export async function whileTimePasses<T>(
  clock: ManualClock,
  pending: Promise<T>,
  { mostMs = Infinity }: { mostMs?: number } = {},
): Promise<T> {
  awaiting.set(clock, (awaiting.get(clock) ?? 0) + 1);
  if (!running.has(clock)) void run(clock);
  let isCounted = true;
  const stop = () => {
    if (!isCounted) return;
    isCounted = false;
    const left = (awaiting.get(clock) ?? 1) - 1;
    if (left > 0) awaiting.set(clock, left);
    else awaiting.delete(clock);
  };
  const cancel = mostMs === Infinity ? () => {} : clock.after(mostMs, stop);
  try {
    return await pending;
  } finally {
    cancel();
    stop();
  }
}

async function run(clock: ManualClock): Promise<void> {
  running.add(clock);
  for (await turn(); awaiting.has(clock); await turn()) clock.advance(TURN_MS);
  running.delete(clock);
}

/** Lets `forMs` of the clock pass, in turns. */
export async function pass(clock: ManualClock, forMs: number): Promise<void> {
  const untilMs = clock.nowMs() + forMs;
  while (clock.nowMs() < untilMs) {
    clock.advance(Math.min(TURN_MS, untilMs - clock.nowMs()));
    await turn();
  }
}

/** Advances the clock by a long time at once, and lets the due timers finish. */
export async function jump(clock: ManualClock, byMs: number): Promise<void> {
  clock.advance(byMs);
  for (let count = 0; count < 5; count++) await turn();
}

/** Waits in turns, without the clock, until a condition holds. Throws after 30 s. */
export async function becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 30_000; performance.now() < end;) {
    if (await isSo()) return;
    await turn();
  }
  throw new Error(`It never came to this: ${what}`);
}
