// Packets that wait: until the directory has loaded their user into memory, and until this node knows what the other nodes recorded. Usually, none
// waits. Packets of one user stay in order.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { LoginDirectory } from "../ports.ts";
import type { Store } from "../../platform/store.ts";

/** A user by name: as typed or as in the directory, and its canonical form. */
interface NamedUser {
  readonly shown: string;
  readonly canonical: string;
}

/** Exactly one of the two functions is called. */
interface WaitingPacket {
  resume(): void;
  /** The directory did not answer, or too many packets wait. */
  fail(why: "store_failed" | "too_busy"): void;
}

/** Clients do not wait much longer. */
const MAX_WAIT_MS = 5000;
const MAX_WAITING = 4096;

interface Queue {
  pending: Promise<void>;
  /** What the packet that was resumed last waits for now, such as a search for another name. */
  next: Promise<void> | null;
  isResuming: boolean;
  readonly packets: WaitingPacket[];
  cancel: () => void;
}

export class DirectoryWaitQueue {
  readonly #deps: { readonly directory: LoginDirectory; readonly clock: Clock; readonly log: Log };
  readonly #queues = new Map<string, Queue>();
  #waiting = 0;

  constructor(deps: { readonly directory: LoginDirectory; readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** The promise that a packet of this user waits for; `null` if it can be handled now. */
  pendingFor(user: string): Promise<void> | null {
    const queue = this.#queues.size === 0 ? undefined : this.#queues.get(user);
    return queue === undefined || queue.isResuming ? this.#deps.directory.prepare(user) : queue.pending;
  }

  /** The user whom a name means. A promise: the packet waits for it, and asks again. */
  find(name: NamedUser): NamedUser | "several" | Promise<void> {
    return this.pendingFor(name.canonical) ?? this.userOf(name);
  }

  /** The user whom a name means, which is prepared. A promise: the packet waits for it, and asks again. */
  userOf(name: NamedUser): NamedUser | "several" | Promise<void> {
    const { directory } = this.#deps;
    const { otherNames } = directory;
    if (otherNames?.isUsed !== true || directory.lookUp(name.canonical).status !== "unknown") return name;
    // A name that the directory does not have can be another name of one of its users.
    const pending = otherNames.prepare(name.shown);
    if (pending !== null) return pending;
    const found = otherNames.find(name.shown);
    if (found === null || found === "several") return found ?? name;
    return { shown: found.name, canonical: canonicalName(found.name) };
  }

  /** Resumes a packet after `pending`, and after the packets of its user that wait already. */
  enqueue({ user, pending }: { user: string; pending: Promise<void> }, packet: WaitingPacket): void {
    if (this.#waiting >= MAX_WAITING) return packet.fail("too_busy");
    this.#waiting++;
    const known = this.#queues.get(user);
    if (known?.isResuming) {
      // The packet that is resumed waits for something else. Those after it wait, too.
      known.packets.unshift(packet);
      known.next = pending;
      return;
    }
    if (known !== undefined) return void known.packets.push(packet);
    const queue: Queue = {
      ...{ packets: [packet], pending, next: null, isResuming: false },
      cancel: () => undefined,
    };
    this.#queues.set(user, queue);
    queue.cancel = this.#deps.clock.after(
      MAX_WAIT_MS,
      () => this.#fail(user, queue, `no answer within ${MAX_WAIT_MS} ms`),
    );
    this.#follow(user, queue, pending);
  }

  #follow(user: string, queue: Queue, pending: Promise<void>): void {
    queue.pending = pending;
    pending.then(() => this.#drain(user, queue), (fault: unknown) => this.#fail(user, queue, fault));
  }

  /** Resumes packets in order, as long as the directory stays ready. */
  #drain(user: string, queue: Queue): void {
    if (this.#queues.get(user) !== queue) return;
    while (queue.packets.length > 0) {
      const pending = queue.next ?? this.#deps.directory.prepare(user);
      queue.next = null;
      if (pending !== null) return this.#follow(user, queue, pending);
      this.#waiting--;
      queue.isResuming = true;
      this.#resume(user, queue.packets.shift());
      queue.isResuming = false;
    }
    this.#queues.delete(user);
    queue.cancel();
  }

  /** A packet that fails does not stop the packets after it. */
  #resume(user: string, packet: WaitingPacket | undefined): void {
    try {
      packet?.resume();
    } catch (fault) {
      this.#deps.log.error("a waiting packet could not be handled", { user, fault: String(fault) });
    }
  }

  #fail(user: string, queue: Queue, fault: unknown): void {
    if (this.#queues.get(user) !== queue) return;
    this.#queues.delete(user);
    queue.cancel();
    this.#waiting -= queue.packets.length;
    this.#deps.log.error("the directory did not answer a login", { user, fault: String(fault) });
    for (const packet of queue.packets) packet.fail("store_failed");
  }
}

/**
 * Loads a user again for a packet that waited for something else; `null` if there is nothing to wait for.
 *
 * @throws Error if the directory does not answer in time
 */
export function prepareUserAgain(
  { directory, clock }: { directory: LoginDirectory; clock: Clock },
  user: string,
): Promise<void> | null {
  const pending = directory.prepare(user);
  return pending === null ? null : inTime(pending, { directory, clock }, user);
}

async function inTime(
  pending: Promise<void>,
  { directory, clock }: { directory: LoginDirectory; clock: Clock },
  user: string,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(
    MAX_WAIT_MS,
    () => late.reject(new Error(`Cannot look up a user: no answer within ${MAX_WAIT_MS} ms`)),
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

// Packets that wait until this node knows what the other nodes recorded. With one node, no packet waits.

/** Exactly one of the two functions is called. */
interface CatchUpPacket {
  resume(): void;
  fail(why: "store_not_answering" | "too_busy"): void;
}

interface CatchUpQueueDeps {
  readonly store: Pick<Store, "catchUp">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A client sends its packet again after some seconds, or asks another server. */
const MAX_CATCH_UP_MS = 3000;
const MAX_CATCHING_UP = 20_000;

export class CatchUpQueue {
  readonly #deps: CatchUpQueueDeps;
  /** The packets of the run in progress, and those of the next one. A run has no change that was recorded after its start. */
  #current: CatchUpPacket[] = [];
  #next: CatchUpPacket[] = [];
  #isRunning = false;

  constructor(deps: CatchUpQueueDeps) {
    this.#deps = deps;
  }

  get waiting(): number {
    return this.#current.length + this.#next.length;
  }

  /** Resumes a packet when memory has every change that other nodes recorded before the call. */
  enqueue(packet: CatchUpPacket): void {
    if (this.waiting >= MAX_CATCHING_UP) return packet.fail("too_busy");
    this.#next.push(packet);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next.length > 0) {
      this.#current = this.#next;
      this.#next = [];
      const isCurrent = await this.#catchUp();
      const packets = this.#current;
      this.#current = [];
      for (const packet of packets) this.#settle(packet, isCurrent);
    }
    this.#isRunning = false;
  }

  /** `false`: the store did not answer in time. */
  async #catchUp(): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    const { promise: late, resolve } = Promise.withResolvers<false>();
    const cancel = clock.after(MAX_CATCH_UP_MS, () => resolve(false));
    try {
      return await Promise.race([store.catchUp()?.then(() => true) ?? true, late]);
    } catch (fault) {
      log.debug("the changes of other nodes cannot be read", { fault: String(fault) });
      return false;
    } finally {
      cancel();
    }
  }

  /** A packet that fails does not stop the packets after it. */
  #settle(packet: CatchUpPacket, isCurrent: boolean): void {
    try {
      if (isCurrent) packet.resume();
      else packet.fail("store_not_answering");
    } catch (fault) {
      this.#deps.log.error("a waiting packet could not be handled", { fault: String(fault) });
    }
  }
}
