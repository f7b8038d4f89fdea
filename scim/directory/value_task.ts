// Adds the values of resources that an earlier version wrote to the value index, in order of name. The node that writes the target does it between the
// writes, after the ids (id_task.ts). Each commit also records the progress: a write of a resource that the task has not reached leaves its values to it.

import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { Indexes } from "./indexes.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";
import type { ValueProgress, ValueTaskRecord } from "./value_progress.ts";

export interface ValueTaskDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly log: Log;
  readonly indexes: Pick<Indexes, "maintain">;
  readonly valueProgress: ValueProgress;
  readonly newBatch: () => DirectoryBatch;
  /** How many resources one commit may index. */
  readonly recordsPerCommit?: number | undefined;
}

const RECORDS_PER_COMMIT = 300;
const MAX_MUTATIONS_PER_COMMIT = 600;
const MAX_OCTETS_PER_COMMIT = 250_000;
const LOG_EVERY = 100_000;

export class ValueTask {
  readonly #deps: ValueTaskDeps;

  constructor(deps: ValueTaskDeps) {
    this.#deps = deps;
  }

  get isComplete(): boolean {
    return this.#deps.valueProgress.isComplete;
  }

  /** Reads the progress of other nodes and of earlier runs. Call it when no write is in progress. */
  async load(): Promise<void> {
    const { store, keys, valueProgress } = this.#deps;
    valueProgress.update((await store.get<ValueTaskRecord>(keys.valueTask)).value);
  }

  /** Adds the next resources in order of name, in one commit. Call it when no write is in progress. */
  async step(): Promise<void> {
    const { store, keys, newBatch, indexes, valueProgress, recordsPerCommit: limit = RECORDS_PER_COMMIT } =
      this.#deps;
    await indexes.maintain();
    const done = valueProgress.record;
    const { kind } = done;
    const start = keys.record(kind, done.after === "" ? "" : `${done.after}\0`);
    const batch = newBatch();
    let { after, count } = done;
    let isEnd = true;
    let read = 0;
    for await (
      const { key, value } of store.range<ResourceRecord>({ start, end: keys.recordsEnd(kind) }, { limit })
    ) {
      const isFull = batch.mutationCount >= MAX_MUTATIONS_PER_COMMIT ||
        batch.sizeOctets >= MAX_OCTETS_PER_COMMIT;
      if (isFull || ++read === limit) isEnd = false;
      if (isFull) break;
      after = String(key[2]);
      count++;
      const record = value === null || value.parts === "" ? value : await batch.record(kind, after);
      if (record !== null) batch.addValues({ kind, canonical: after }, record);
    }
    const next: ValueTaskRecord = isEnd
      ? { isComplete: kind === "group", kind: "group", after: "", count }
      : { isComplete: false, kind, after, count };
    batch.set(keys.valueTask, next, 200 + after.length * 2);
    batch.whenCommitted(() => valueProgress.update(next));
    if (!(await batch.commit()).ok) {
      throw new Error("Cannot index the values: another writer changed a record");
    }
    this.#report(done, next);
  }

  #report(before: ValueTaskRecord, { isComplete, count }: ValueTaskRecord): void {
    const { log, keys: { target } } = this.#deps;
    if (isComplete && count > 0) log.info("the values of all resources are indexed", { target, count });
    else if (Math.floor(before.count / LOG_EVERY) < Math.floor(count / LOG_EVERY)) {
      log.info("the values of resources are being indexed", { target, count });
    }
  }
}

/** Reads the progress of earlier runs. */
export async function openValueTask(deps: ValueTaskDeps): Promise<ValueTask> {
  const task = new ValueTask(deps);
  await task.load();
  return task;
}
