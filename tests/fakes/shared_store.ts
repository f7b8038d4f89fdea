// Several nodes on one store in memory, and a Deno KV whose answers get lost.

import { SharedLog } from "../../platform/cluster/shared_log.ts";
import type { NodeRecord } from "../../platform/cluster/nodes.ts";
import { type Clock, systemClock } from "../../platform/runtime.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { FORMAT } from "../../platform/upgrade/store_format.ts";

export interface SharedNode {
  readonly store: Store;
  /** The lanes whose log no longer has what this node has not read. */
  readonly gaps: string[];
}

/** Unlike the system's clock, its timers keep the process alive. */
const clock: Clock = {
  nowMs: systemClock.nowMs,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Opens the store of one node. Several nodes share `kv`. */
export async function openNode(kv: Deno.Kv, node: string): Promise<SharedNode> {
  const gaps: string[] = [];
  const shared = new SharedLog({ kv, node, clock, onGap: (lane) => void gaps.push(lane) });
  await shared.reader.start();
  return { store: createStore(kv, { node, shared }), gaps };
}

type DescribedNode = Omit<NodeRecord, "node" | "beat" | "writtenMs" | "auditMark" | "firstAuditMark">;

/** What a node of this version says about itself. */
export function describeNode(name: string, startedMs: number): DescribedNode {
  return {
    ...{ name, startedMs, version: "1", format: FORMAT, writes: FORMAT },
    ...{ radius: [], http: "", publicKey: "", settings: "" },
    figures: { waiting: 0, requestsPerS: 0, rssOctets: 0, lagMs: 0, leases: [] },
  };
}

/** What happens to the next commits, one after another. */
export type LostCommit =
  /** The store applies it, and its answer gets lost. */
  | "answer lost"
  /** It does not reach the store. */
  | "not sent"
  /** The store gets it after the next commit. */
  | "late"
  /** It does not reach the store, because its connection ended. */
  | "connection ended"
  /** The client repeats it, because the first answer got lost. */
  | "repeated";

/** Wraps a Deno KV; `plan` says what happens to its next commits. */
export function losingKv(kv: Deno.Kv, plan: LostCommit[]): Deno.Kv {
  const late: (() => Promise<unknown>)[] = [];
  const commitOf = (atomic: Deno.AtomicOperation, copy: Deno.AtomicOperation) => async () => {
    for (const send of late.splice(0)) await send();
    const lost = plan.shift();
    if (lost === undefined) return await atomic.commit();
    if (lost === "late") late.push(() => atomic.commit());
    if (lost === "answer lost") await atomic.commit();
    if (lost === "connection ended") throw new StoreUnavailable("the connection ended", { wasSent: true });
    if (lost === "repeated") {
      await atomic.commit();
      return await copy.commit();
    }
    throw new Error("connection closed");
  };
  return new Proxy(kv, {
    get(target, name) {
      if (name === "atomic") return () => recording(target, commitOf);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** An atomic operation that is built twice, so that it can be sent twice. */
function recording(
  kv: Deno.Kv,
  commitOf: (atomic: Deno.AtomicOperation, copy: Deno.AtomicOperation) => () => Promise<unknown>,
): Deno.AtomicOperation {
  const [atomic, copy] = [kv.atomic(), kv.atomic()];
  const both: Deno.AtomicOperation = new Proxy(atomic, {
    get(target, name) {
      if (name === "commit") return commitOf(atomic, copy);
      return (...given: never[]) => {
        for (const one of [target, copy]) {
          (Reflect.get(one, name) as (...given: never[]) => void).apply(one, given);
        }
        return both;
      };
    },
  });
  return both;
}

/** A clock that a test moves. */
export function stepClock(startMs: number): Clock & { advance(byMs: number): Promise<void> } {
  let nowMs = startMs;
  let timers: { atMs: number; task: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    after(delayMs, task) {
      const timer = { atMs: nowMs + delayMs, task };
      timers.push(timer);
      return () => timers = timers.filter((other) => other !== timer);
    },
    /** Runs the timers that are due, and lets the store answer. */
    async advance(byMs) {
      nowMs += byMs;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { task } of due.toSorted((a, b) => a.atMs - b.atMs)) task();
      await new Promise((resolve) => setTimeout(resolve, 2));
    },
  };
}
