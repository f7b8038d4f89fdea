// Deeds on many users under way: how far each is, what became of each user, and taking it back.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import { type BulkDeed, type DoneItem, performBulk } from "../users/bulk.ts";
import type { BulkAction, JobItem, JobItems, JobView } from "../users/bulk_types.ts";
import { Refusal } from "../errors.ts";
import { createShelf } from "./work_registry.ts";

export interface Jobs {
  /** Begins a deed; it goes on after the request. @throws Refusal `too_much_under_way`. */
  start(deed: BulkDeed, options: { owner: string; names: readonly string[] }): JobView;
  /** @throws Refusal `unknown_job`. */
  view(id: string, owner: string): JobView;
  items(id: string, options: { owner: string; did: string; page: number; size: number }): JobItems;
  /** Ends it after the users that are being worked on: only then is it `stopped`, and can be undone. */
  stop(id: string, owner: string): JobView;
  /**
   * Begins the opposite deed on the users that were changed and still have the version that this job wrote.
   *
   * @param options.deed receives the opposite deed and returns the one to do; it throws when that is not allowed.
   * @throws Refusal `cannot_undo`.
   */
  undo(id: string, options: { owner: string; deed: (opposite: BulkDeed) => BulkDeed }): JobView;
}

interface Job {
  readonly id: string;
  readonly owner: string;
  readonly deed: BulkDeed;
  readonly total: number;
  readonly items: DoneItem[];
  state: JobView["state"];
  isStopping: boolean;
  wasUndone: boolean;
  isBusy(): boolean;
}

/** What takes a deed back. A deleted user cannot be made again from what is kept. */
const OPPOSITES: Readonly<Partial<Record<BulkAction, BulkAction>>> = {
  activate: "deactivate",
  deactivate: "activate",
  join: "leave",
  leave: "join",
};
const LIMITS = { most: 16, mostEach: 4, idleMs: 60 * 60_000 };
const MOST_FAILURES = 50;

export function createJobs({ clock, random, log }: { clock: Clock; random: Random; log: Log }): Jobs {
  const shelf = createShelf<Job>({ clock, random }, LIMITS);

  const run = async (job: Job, names: readonly string[]): Promise<void> => {
    try {
      for await (const items of performBulk(job.deed, names)) {
        job.items.push(...items);
        if (job.isStopping) break;
      }
      job.state = job.items.length < job.total ? "stopped" : "ended";
    } catch (fault) {
      job.state = "stopped";
      const error = fault instanceof Error ? fault.message : String(fault);
      log.error("a deed on many users broke off", { action: job.deed.action, done: job.items.length, error });
    }
  };
  const take = (id: string, owner: string): Job => {
    const job = shelf.take(id, owner);
    if (job === null) throw new Refusal("unknown_job");
    return job;
  };
  const start: Jobs["start"] = (deed, { owner, names }) => {
    const job = shelf.put((id) => ({
      id,
      owner,
      deed,
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
    // It keeps its failures to itself.
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
    undo(id, { owner, deed }) {
      const job = take(id, owner);
      const action = OPPOSITES[job.deed.action];
      if (action === undefined || !canUndo(job)) throw new Refusal("cannot_undo");
      const done = job.items.filter(({ did }) => did === "changed");
      const versions = new Map(done.map(({ name, version = "" }) => [canonicalName(name), version]));
      const view = start(deed({ ...job.deed, action, versions }), {
        owner,
        names: done.map(({ name }) => name),
      });
      job.wasUndone = true;
      return view;
    },
  };
}

function withoutVersion({ version: _version, ...item }: DoneItem): JobItem {
  return item;
}

function canUndo(job: Job): boolean {
  return OPPOSITES[job.deed.action] !== undefined && job.state !== "running" && !job.wasUndone &&
    job.items.some(({ did }) => did === "changed");
}

function owedBy(items: readonly JobItem[]): JobView["owed"] {
  const counts = new Map<string, number>();
  for (const { owes = [] } of items) for (const one of owes) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].map(([backend, count]) => ({ backend, count }));
}

function viewOf(job: Job): JobView {
  const { id, deed: { action, group }, total, items, state, isStopping } = job;
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
    failures: items.filter(({ did }) => did === "failed").slice(0, MOST_FAILURES),
  };
}
