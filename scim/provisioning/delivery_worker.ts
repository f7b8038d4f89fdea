// Delivers what one backend is owed: in order, a few resources at once, and only while this node holds the backend's lease.

import type { Log } from "../../platform/log.ts";
import { withTimeout } from "../../platform/timeout.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { deliver, type DeliveryDeps, lockKey } from "./delivery.ts";
import { isAway, retryDelayMs } from "./backoff.ts";
import type { Lease } from "./lease.ts";
import type { Link } from "./backend_client.ts";
import type { KeptEntry } from "./outbox.ts";

export interface Courier {
  /** Something was added. */
  wake(): void;
  /** Waits, within limits, for what is under way. What is owed stays in the store. */
  close(): Promise<void>;
}

export interface CourierDeps extends DeliveryDeps {
  readonly link: Link;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const AT_ONCE = 4;
/** Another node that ends unexpectedly leaves entries that this node was not notified of. */
const LOOK_AGAIN_MS = 30_000;
const AFTER_STORE_FAULT_MS = 5000;
const CLOSE_DEADLINE_MS = 5000;

export function createCourier(deps: CourierDeps): Courier {
  const { link, lease, outbox, clock, random, log } = deps;
  const active = new Map<string, Promise<void>>();
  const bell = createBell(clock);
  let closed = false;
  /** How often in a row the backend was away; then one entry at a time is tried, when the pause is over. */
  let failures = 0;
  let pausedUntilMs = 0;
  let soonestMs = Number.POSITIVE_INFINITY;

  const isFull = () => active.size >= (failures > 0 ? 1 : AT_ONCE);
  const isPaused = () => clock.nowMs() < pausedUntilMs;
  const dueAt = (atMs: number) => void (soonestMs = Math.min(soonestMs, atMs));

  const carry = async (known: KeptEntry): Promise<void> => {
    const { outcome, ...ended } = await deliver(deps, { link, known });
    if (outcome === "superseded") dueAt(0);
    if (outcome !== "done") bell.ring();
    if (!("fault" in ended)) {
      if (outcome === "done") failures = 0;
      return;
    }
    const { fault, nextMs } = ended;
    const { kind, name, operation, attempts } = known.entry;
    log.warn("a write is still owed to a backend", {
      target: deps.target,
      backend: link.name,
      [kind]: name,
      operation,
      attempts: attempts + 1,
      givenUp: nextMs === null,
      why: fault.detail,
    });
    if (nextMs !== null) dueAt(nextMs);
    if (!isAway(fault)) failures = 0;
    else if (!isPaused()) {
      failures++;
      const chance = (random.bytes(1)[0] ?? 0) / 256;
      pausedUntilMs = clock.nowMs() + retryDelayMs(fault, { attempts: failures, chance });
    }
  };
  const start = (key: string, known: KeptEntry): void => {
    const work = carry(known).catch((fault) => {
      logFault("an attempt to deliver ended", fault);
      dueAt(clock.nowMs() + AFTER_STORE_FAULT_MS);
      bell.ring();
    }).finally(() => active.delete(key));
    active.set(key, work);
  };
  const logFault = (message: string, fault: unknown): void =>
    log.error(message, {
      target: deps.target,
      backend: link.name,
      error: fault instanceof Error ? fault.message : "unknown",
    });

  /** Goes once through what is owed and starts what is due. */
  const round = async (): Promise<void> => {
    soonestMs = Number.POSITIVE_INFINITY;
    // Every write that is added wakes us; while the backend is away that must not read the outbox each time.
    if (isPaused()) return dueAt(pausedUntilMs);
    for await (const known of outbox.live(link.name)) {
      const key = lockKey(known.entry.kind, known.entry.name);
      if (active.has(key)) continue;
      if (known.entry.nextMs > clock.nowMs()) {
        dueAt(known.entry.nextMs);
        continue;
      }
      while (isFull() && !closed) await Promise.race(active.values());
      if (closed) return;
      if (isPaused()) return dueAt(pausedUntilMs);
      if (!await lease.hold()) return dueAt(lease.freeAtMs);
      start(key, known);
    }
  };
  const run = async (): Promise<void> => {
    while (!closed) {
      try {
        await round();
        if (active.size === 0) await lease.release();
      } catch (fault) {
        logFault("the outbox cannot be read", fault);
        dueAt(clock.nowMs() + AFTER_STORE_FAULT_MS);
      }
      if (closed) return;
      const untilMs = Math.max(soonestMs, pausedUntilMs);
      await bell.wait(Math.min(LOOK_AGAIN_MS, Math.max(0, untilMs - clock.nowMs())));
    }
  };
  const running = run();

  return {
    wake: () => bell.ring(),
    async close() {
      closed = true;
      bell.ring();
      const ended = Promise.all([running, ...active.values()]);
      await withTimeout(ended, { clock, timeoutMs: CLOSE_DEADLINE_MS });
      await lease.release().catch((fault) => logFault("the outbox's lease cannot be given back", fault));
    },
  };
}

/** Lets one waiter sleep until it is rung for, or a time has passed. Ringing before the wait ends it at once. */
function createBell(clock: Clock): { ring(): void; wait(atMostMs: number): Promise<void> } {
  let rung = false;
  let wakeUp: (() => void) | null = null;
  return {
    ring() {
      rung = true;
      wakeUp?.();
    },
    async wait(atMostMs) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(atMostMs, resolve);
          wakeUp = () => {
            cancel();
            resolve();
          };
        });
      }
      rung = false;
      wakeUp = null;
    },
  };
}
