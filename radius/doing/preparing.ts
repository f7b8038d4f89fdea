// Packets that wait for the directory: what a login needs of a user is brought into memory first, which nearly always it is already. Packets of
// one name keep their order.

import type { Log } from "../../log.ts";
import type { Clock } from "../../runtime.ts";
import type { Directory } from "./ports.ts";

/** A packet that waits. Exactly one of the two is called. */
export interface Waiter {
  go(): void;
  /** The directory did not answer, or too much waits already. */
  fail(why: "store_failed" | "too_busy"): void;
}

export interface Preparing {
  /** Whether a packet of that name can be worked on now, with nothing waiting before it. */
  isReady(user: string): boolean;
  /** Lets a packet go on when the directory is ready for it. */
  whenReady(user: string, waiter: Waiter): void;
  readonly waiting: number;
}

/** The longest that a packet waits for the directory; no client waits much longer. */
const PATIENCE_MS = 5000;
const MOST_WAITING = 4096;

interface Queue {
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

  /** Lets those that wait go, in order, as long as the directory stays ready. */
  function drain(user: string, queue: Queue): void {
    if (queues.get(user) !== queue) return;
    while (queue.waiters.length > 0) {
      const pending = directory.prepare(user);
      if (pending !== null) return follow(user, queue, pending);
      waiting--;
      queue.waiters.shift()?.go();
    }
    queues.delete(user);
    queue.cancel();
  }

  function follow(user: string, queue: Queue, pending: Promise<void>): void {
    pending.then(() => drain(user, queue), (fault: unknown) => fail(user, queue, fault));
  }

  return {
    isReady: (user) => (queues.size === 0 || !queues.has(user)) && directory.prepare(user) === null,
    whenReady(user, waiter) {
      const known = queues.get(user);
      const pending = known === undefined ? directory.prepare(user) : null;
      if (known === undefined && pending === null) return waiter.go();
      if (waiting >= MOST_WAITING) return waiter.fail("too_busy");
      waiting++;
      if (known !== undefined) return void known.waiters.push(waiter);
      const queue: Queue = { waiters: [waiter], cancel: () => undefined };
      queues.set(user, queue);
      queue.cancel = clock.after(PATIENCE_MS, () => fail(user, queue, `no answer within ${PATIENCE_MS} ms`));
      if (pending !== null) follow(user, queue, pending);
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
