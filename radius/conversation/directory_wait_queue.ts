// Packets that wait for the directory: what a login needs of a user is brought into memory first, which nearly always it is already. Packets of
// one name keep their order.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Directory } from "../ports.ts";

/** A packet that waits. Exactly one of the two is called. */
export interface Waiter {
  go(): void;
  /** The directory did not answer, or too much waits already. */
  fail(why: "store_failed" | "too_busy"): void;
}

export interface Preparing {
  /** What a packet of that name has to wait for; `null`: nothing, it can be worked on now. */
  ask(user: string): Promise<void> | null;
  /** Lets a packet go on after what {@link Preparing.ask} gave for it, and after those of its name that wait already. */
  wait(packet: { readonly user: string; readonly pending: Promise<void> }, waiter: Waiter): void;
  readonly waiting: number;
}

/** The longest that a packet waits for the directory; no client waits much longer. */
const PATIENCE_MS = 5000;
const MOST_WAITING = 4096;

interface Queue {
  pending: Promise<void>;
  readonly waiters: Waiter[];
  cancel: () => void;
}

export function createPreparing(
  { directory, clock, log }: { directory: Directory; clock: Clock; log: Log },
): Preparing {
  const queues = new Map<string, Queue>();
  let waiting = 0;

  function fail(user: string, queue: Queue, fault: unknown): void {
    if (queues.get(user) !== queue) return;
    queues.delete(user);
    queue.cancel();
    waiting -= queue.waiters.length;
    log.error("the directory did not answer a login", { user, fault: String(fault) });
    for (const waiter of queue.waiters) waiter.fail("store_failed");
  }

  /** Whatever one packet does, those behind it must go on. */
  function start(user: string, waiter: Waiter | undefined): void {
    try {
      waiter?.go();
    } catch (fault) {
      log.error("a packet that waited could not be worked on", { user, fault: String(fault) });
    }
  }

  /** Lets those that wait go, in order, as long as the directory stays ready. */
  function drain(user: string, queue: Queue): void {
    if (queues.get(user) !== queue) return;
    while (queue.waiters.length > 0) {
      const pending = directory.prepare(user);
      if (pending !== null) return follow(user, queue, pending);
      waiting--;
      start(user, queue.waiters.shift());
    }
    queues.delete(user);
    queue.cancel();
  }

  function follow(user: string, queue: Queue, pending: Promise<void>): void {
    queue.pending = pending;
    pending.then(() => drain(user, queue), (fault: unknown) => fail(user, queue, fault));
  }

  return {
    ask(user) {
      const queue = queues.size === 0 ? undefined : queues.get(user);
      return queue === undefined ? directory.prepare(user) : queue.pending;
    },
    wait({ user, pending }, waiter) {
      if (waiting >= MOST_WAITING) return waiter.fail("too_busy");
      waiting++;
      const known = queues.get(user);
      if (known !== undefined) return void known.waiters.push(waiter);
      const queue: Queue = { waiters: [waiter], pending, cancel: () => undefined };
      queues.set(user, queue);
      queue.cancel = clock.after(PATIENCE_MS, () => fail(user, queue, `no answer within ${PATIENCE_MS} ms`));
      follow(user, queue, pending);
    },
    get waiting() {
      return waiting;
    },
  };
}

/**
 * Brings a user into memory for a packet that waited for something else meanwhile; `null` when nothing has to be awaited.
 *
 * @throws Error when the directory does not answer in time.
 */
export function prepareAgain(
  { directory, clock }: { directory: Directory; clock: Clock },
  user: string,
): Promise<void> | null {
  const pending = directory.prepare(user);
  return pending === null ? null : inTime(pending, { directory, clock }, user);
}

async function inTime(
  pending: Promise<void>,
  { directory, clock }: { directory: Directory; clock: Clock },
  user: string,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(
    PATIENCE_MS,
    () => late.reject(new Error(`Cannot look up a user: no answer within ${PATIENCE_MS} ms`)),
  );
  try {
    let next: Promise<void> | null = pending;
    while (next !== null) {
      await Promise.race([next, late.promise]);
      next = directory.prepare(user);
    }
  } finally {
    cancel();
  }
}
