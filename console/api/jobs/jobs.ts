// Bulk operations in progress: their results, stop and undo; and the registry of work that outlives a request.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Actor } from "../../../scim/ports.ts";
import { type BulkOperation, type BulkResult, performBulk } from "../users/bulk.ts";
import type { JobAction, JobItem, JobItems, JobView } from "../api_types.ts";
import { Refusal } from "../errors.ts";

export interface Jobs {
  /** Starts an operation, which continues after the request. @throws Refusal `too_much_under_way`. */
  start(operation: BulkOperation, options: { owner: string; names: readonly string[] }): JobView;
  /** @throws Refusal `unknown_job`. */
  view(id: string, owner: string): JobView;
  items(id: string, options: { owner: string; did: string; page: number; size: number }): JobItems;
  /** Stops after the users in progress. Then it is `stopped` and can be undone. */
  stop(id: string, owner: string): JobView;
  /**
   * Starts the opposite operation on the changed users that still have the version of this job.
   *
   * @param options.permit receives the opposite operation and its users; it throws when that is not allowed.
   * @throws Refusal `cannot_undo`.
   */
  undo(
    id: string,
    options: {
      owner: string;
      actor: Actor;
      permit: (opposite: BulkOperation, names: readonly string[]) => Promise<void>;
    },
  ): Promise<JobView>;
}

interface Job {
  readonly id: string;
  readonly owner: string;
  readonly operation: BulkOperation;
  readonly total: number;
  readonly items: BulkResult[];
  state: JobView["state"];
  isStopping: boolean;
  wasUndone: boolean;
  isBusy(): boolean;
}

/** The opposite actions. A restore cannot be undone: it is a deletion, which asks first. */
const OPPOSITES: Readonly<Partial<Record<JobAction, JobAction>>> = {
  activate: "deactivate",
  deactivate: "activate",
  delete: "restore",
  join: "leave",
  leave: "join",
};
const LIMITS = { most: 16, mostEach: 4, idleMs: 60 * 60_000 };
const MAX_FAILURES = 50;

export function createJobs({ log, ...deps }: WorkRegistryDeps & { log: Log }): Jobs {
  const shelf = createWorkRegistry<Job>(deps, LIMITS);

  const run = async (job: Job, names: readonly string[]): Promise<void> => {
    try {
      for await (const items of performBulk(job.operation, names)) {
        job.items.push(...items);
        if (job.isStopping) break;
      }
      job.state = job.items.length < job.total ? "stopped" : "ended";
    } catch (fault) {
      job.state = "stopped";
      const error = fault instanceof Error ? fault.message : String(fault);
      log.error("a bulk operation broke off", {
        action: job.operation.action,
        done: job.items.length,
        error,
      });
    }
  };
  const take = (id: string, owner: string): Job => {
    const job = shelf.take(id, owner);
    if (job === null) throw new Refusal("unknown_job");
    return job;
  };
  const start: Jobs["start"] = (operation, { owner, names }) => {
    const job = shelf.put((id) => ({
      id,
      owner,
      operation,
      total: names.length,
      items: [],
      state: "running",
      isStopping: false,
      wasUndone: false,
      isBusy() {
        return this.state === "running";
      },
    }));
    if (job === null) throw new Refusal("too_much_under_way");
    // It logs its failures.
    void run(job, names);
    return viewOf(job);
  };

  return {
    start,
    view: (id, owner) => viewOf(take(id, owner)),
    items(id, { owner, did, page, size }) {
      const { items } = take(id, owner);
      const fitting = did === "" ? items : items.filter((item) => item.did === did);
      return {
        total: fitting.length,
        rows: fitting.slice((page - 1) * size, page * size).map(withoutVersion),
      };
    },
    stop(id, owner) {
      const job = take(id, owner);
      job.isStopping = true;
      return viewOf(job);
    },
    async undo(id, { owner, actor, permit }) {
      const job = take(id, owner);
      const action = OPPOSITES[job.operation.action];
      if (action === undefined || !canUndo(job)) throw new Refusal("cannot_undo");
      const done = job.items.filter(({ did }) => did === "changed");
      const versions = new Map(done.map(({ name, version = "" }) => [canonicalName(name), version]));
      const names = done.map(({ name }) => name);
      const opposite = { ...job.operation, actor, action, versions, trashed: trashedIds(done) };
      await permit(opposite, names);
      // Another request may have undone it meanwhile.
      if (!canUndo(job)) throw new Refusal("cannot_undo");
      const view = start(opposite, { owner, names });
      job.wasUndone = true;
      return view;
    },
  };
}

/** The ids in the trash of deleted users, by canonical name. */
function trashedIds(items: readonly BulkResult[]): ReadonlyMap<string, string> {
  return new Map(
    items.flatMap(({ name, trashed }) =>
      trashed === undefined ? [] : [[canonicalName(name), trashed] as const]
    ),
  );
}

function withoutVersion({ version: _version, trashed: _id, ...item }: BulkResult): JobItem {
  return item;
}

function canUndo(job: Job): boolean {
  return OPPOSITES[job.operation.action] !== undefined && job.state !== "running" && !job.wasUndone &&
    job.items.some(({ did }) => did === "changed");
}

function owedBy(items: readonly JobItem[]): JobView["owed"] {
  const counts = new Map<string, number>();
  for (const { owes = [] } of items) for (const one of owes) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].map(([backend, count]) => ({ backend, count }));
}

function viewOf(job: Job): JobView {
  const { id, operation: { action, group }, total, items, state, isStopping } = job;
  const count = (did: JobItem["did"]) => items.filter((item) => item.did === did).length;
  return {
    id,
    action,
    group,
    total,
    done: items.length,
    changed: count("changed"),
    same: count("same"),
    failed: count("failed"),
    state,
    isStopping,
    owed: owedBy(items),
    canUndo: canUndo(job),
    failures: items.filter(({ did }) => did === "failed").slice(0, MAX_FAILURES),
  };
}

interface RegisteredWork {
  readonly id: string;
  /** The administrator who started it. */
  readonly owner: string;
  /** Work in progress is never removed. */
  isBusy(): boolean;
}

export interface WorkRegistryDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Pick<Store, "isShared" | "node">;
}

/** Work is in the memory of the node that began it. A load balancer sends a browser to one node. */
export interface WorkRegistry<T extends RegisteredWork> {
  /** `null` if the registry is full. */
  put(make: (id: string) => T): T | null;
  /** The work with that id of `owner`; it counts as used now. @throws Refusal `other_node` if another node has it */
  take(id: string, owner: string): T | null;
  remove(id: string): void;
}

export function createWorkRegistry<T extends RegisteredWork>(
  { clock, random, store }: WorkRegistryDeps,
  { most, mostEach, idleMs }: { most: number; mostEach: number; idleMs: number },
): WorkRegistry<T> {
  const kept = new Map<string, { readonly thing: T; usedMs: number }>();
  const suffixOf = () => store.isShared ? `.${store.node}` : "";
  const idle = () => [...kept].filter(([, { thing }]) => !thing.isBusy());
  const clear = (owner: string): void => {
    const nowMs = clock.nowMs();
    for (const [id, { usedMs }] of idle()) if (nowMs - usedMs > idleMs) kept.delete(id);
    const mine = idle().filter(([, { thing }]) => thing.owner === owner).sort(([, a], [, b]) =>
      a.usedMs - b.usedMs
    );
    // The oldest of the same administrator makes room; those of other administrators stay.
    for (const [id] of mine.slice(0, Math.max(0, mine.length - mostEach + 1))) kept.delete(id);
  };
  return {
    put(make) {
      const thing = make(random.bytes(12).toHex() + suffixOf());
      clear(thing.owner);
      const each = [...kept.values()].filter((one) => one.thing.owner === thing.owner).length;
      if (kept.size >= most || each >= mostEach) return null;
      kept.set(thing.id, { thing, usedMs: clock.nowMs() });
      return thing;
    },
    take(id, owner) {
      const found = kept.get(id);
      if (found === undefined && id.includes(".") && !id.endsWith(suffixOf())) {
        throw new Refusal("other_node");
      }
      if (found === undefined || found.thing.owner !== owner) return null;
      found.usedMs = clock.nowMs();
      return found.thing;
    },
    remove: (id) => void kept.delete(id),
  };
}
