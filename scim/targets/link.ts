// A backend as the rest of targets/ calls it: a bounded number of calls at once, a last deadline around each, and nothing that rejects.

import type { Clock } from "../../runtime.ts";
import type { Backend, BackendFault, BackendOutcome, Desired, PutResult, Remote } from "../backend_port.ts";
import type { ResourceKind } from "../resource.ts";
import { createKeyedLocks, type KeyedLocks } from "./keyed_locks.ts";

export interface Link {
  readonly name: string;
  readonly backend: Backend;
  /** One delivery at a time for one resource at this backend. */
  readonly locks: KeyedLocks;
  read(
    kind: ResourceKind,
    name: string,
    hint?: { remoteId?: string },
  ): Promise<BackendOutcome<Remote | null>>;
  put(desired: Desired, hint?: { remoteId?: string }): Promise<BackendOutcome<PutResult>>;
  remove(kind: ResourceKind, name: string, hint?: { remoteId?: string }): Promise<BackendOutcome<null>>;
}

/** Beyond the backend's own deadline, which covers single requests; an operation may take several. */
const LAST_DEADLINE_MS = 60_000;
const MOST_WAITING = 2000;
const CALLS_A_CONNECTION = 8;

const BUSY: BackendFault = {
  kind: "busy",
  detail: "too many calls to this backend wait already",
  unsure: false,
  retry: true,
};

export function createLink(
  backend: Backend,
  { clock, connections }: { clock: Clock; connections: number },
): Link {
  const atOnce = Math.max(1, connections) * CALLS_A_CONNECTION;
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async (): Promise<boolean> => {
    if (running < atOnce) {
      running++;
      return true;
    }
    if (waiting.length >= MOST_WAITING) return false;
    // Each caller that leaves hands over its place, and every caller leaves at the last deadline.
    await new Promise<void>((resolve) => waiting.push(resolve));
    return true;
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };
  const ask = async <T>(call: () => Promise<BackendOutcome<T>>): Promise<BackendOutcome<T>> => {
    if (!await enter()) return { ok: false, fault: BUSY };
    try {
      return await withDeadline(call, { clock, deadlineMs: LAST_DEADLINE_MS });
    } finally {
      leave();
    }
  };

  return {
    name: backend.name,
    backend,
    locks: createKeyedLocks(clock, { waitMs: LAST_DEADLINE_MS * 2 }),
    read: (kind, name, hint) => ask(() => backend.read(kind, name, hint)),
    put: (desired, hint) => ask(() => backend.put(desired, hint)),
    remove: (kind, name, hint) => ask(() => backend.remove(kind, name, hint)),
  };
}

/** A backend's own deadline should have ended it long before; a wait without an end would hold the resource's lock for good. */
function withDeadline<T>(
  call: () => Promise<BackendOutcome<T>>,
  { clock, deadlineMs }: { clock: Clock; deadlineMs: number },
): Promise<BackendOutcome<T>> {
  return new Promise((resolve) => {
    const fail = (detail: string) =>
      resolve({ ok: false, fault: { kind: "unreachable", detail, unsure: true, retry: true } });
    const cancel = clock.after(deadlineMs, () => fail("the backend did not answer in time"));
    const end = (finish: () => void) => {
      cancel();
      finish();
    };
    call().then(
      (outcome) => end(() => resolve(outcome)),
      (thrown) =>
        end(() => fail(`the call ended with ${thrown instanceof Error ? thrown.name : "an error"}`)),
    );
  });
}
