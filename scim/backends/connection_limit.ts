// Bounds the connections to a backend that are in use at the same time.

import { Semaphore, type SemaphoreRefusal } from "../../platform/semaphore.ts";
import type { Clock } from "../../platform/runtime.ts";
import { busy, type Trouble, unreachable } from "./backend_error.ts";

const MAX_WAITING = 10_000;

const TROUBLES: Readonly<Record<SemaphoreRefusal, () => Trouble>> = {
  queue_full: () => busy("too much waits for the backend already"),
  wait_timeout: () => busy("the backend's connections were all in use until the time was over"),
  closed: () => unreachable("the gateway is stopping"),
};

export class ConnectionLimit {
  readonly #semaphore: Semaphore;

  constructor({ clock, connections }: { clock: Clock; connections: number }) {
    this.#semaphore = new Semaphore({ clock, limits: { concurrent: connections, waiting: MAX_WAITING } });
  }

  /** Runs `task` as soon as a connection is free; throws a Trouble when none is before `deadlineMs`. */
  async run<T>(task: () => Promise<T>, deadlineMs: number): Promise<T> {
    const turn = await this.#semaphore.run(task, deadlineMs);
    if (!turn.ran) throw TROUBLES[turn.reason]();
    return turn.value;
  }

  /** Refuses what waits, and waits for what runs. */
  close(): Promise<void> {
    return this.#semaphore.close();
  }
}
