// The layer between a caller and the backend in memory: waits, configured failures, and the list of calls.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { BackendFault, BackendOutcome } from "../../scim/backend_port.ts";
import type { ResourceKind } from "../../scim/schema/resource.ts";

export type MemoryOperation = "read" | "put" | "remove" | "rename" | "list" | "verify" | "probe";

/** A configured failure. */
export interface MemoryTrouble {
  /** The operation; absent: any. */
  readonly operation?: MemoryOperation;
  /** A name, compared without case; absent: any resource. */
  readonly name?: string;
  /** How often; absent: until {@link MemoryBackend.heal}. */
  readonly times?: number;
  /**
   * `before`: nothing is done. `after`: it is done, and the answer reports that it may be done (`unsure`). `hang`:
   * nothing is done, and the answer comes after `timeoutMs` of the clock. `hang_after`: the same, but it is done.
   */
  readonly how: "before" | "after" | "hang" | "hang_after";
  readonly fault?: Partial<BackendFault>;
}

export interface MemoryCall {
  readonly operation: MemoryOperation;
  readonly kind: ResourceKind | null;
  readonly name: string;
  readonly ok: boolean;
}

const DEFAULT_FAULT: BackendFault = {
  kind: "unreachable",
  detail: "the backend was told to fail",
  unsure: false,
  retry: true,
};

/** The layer between a caller and the backend: waits, failures, and the list of calls. */
export function createFakeNetwork({ clock, timeoutMs = 5000 }: { clock: Clock; timeoutMs?: number }) {
  const calls: MemoryCall[] = [];
  let troubles: { trouble: MemoryTrouble; left: number }[] = [];
  let slowMs = 0;
  let gate: { readonly held: () => void; readonly free: Promise<void> } | null = null;
  let closed = false;

  const troubleFor = (operation: MemoryOperation, name: string): MemoryTrouble | null => {
    const found = troubles.find(({ trouble, left }) =>
      left > 0 && (trouble.operation ?? operation) === operation &&
      (trouble.name === undefined || canonicalName(trouble.name) === canonicalName(name))
    );
    if (found === undefined) return null;
    found.left--;
    return found.trouble;
  };

  /** Runs `task` unless a failure matches. A wait always takes at least a turn of the event loop, like a real one. */
  const run = async <T>(
    call: { operation: MemoryOperation; kind: ResourceKind | null; name: string },
    task: () => T,
  ): Promise<BackendOutcome<T>> => {
    await Promise.resolve();
    gate?.held();
    if (gate !== null) await gate.free;
    if (slowMs > 0) await new Promise<void>((resolve) => clock.after(slowMs, resolve));
    const trouble = closed
      ? { how: "before", fault: { detail: "the backend is closed" } } as const
      : troubleFor(call.operation, call.name);
    calls.push({ ...call, ok: trouble === null });
    if (trouble === null) return { ok: true, value: task() };
    const done = trouble.how === "after" || trouble.how === "hang_after";
    if (done) task();
    const hung = trouble.how === "hang" || trouble.how === "hang_after";
    if (hung) await new Promise<void>((resolve) => clock.after(timeoutMs, resolve));
    return { ok: false, fault: { ...DEFAULT_FAULT, unsure: done || hung, ...trouble.fault } };
  };

  return {
    calls,
    run,
    trouble: (trouble: MemoryTrouble) =>
      void troubles.push({ trouble, left: trouble.times ?? Number.POSITIVE_INFINITY }),
    slowBy: (durationMs: number) => void (slowMs = durationMs),
    hold() {
      const held = Promise.withResolvers<void>();
      const free = Promise.withResolvers<void>();
      gate = { held: held.resolve, free: free.promise };
      return {
        held: held.promise,
        release() {
          gate = null;
          free.resolve();
        },
      };
    },
    heal: () => void (troubles = []),
    close: () => void (closed = true),
  };
}
