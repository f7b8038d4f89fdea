// Stores the ids of resources that an earlier version wrote, their entries in the index of ids, and the ids of the members of groups; then their values. The node that writes the
// target does it between the writes. Each commit also records the progress, so that a later start continues.

import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { LargeGroupUpdate } from "./large_group_update.ts";
import { idOf, type ResourceRecord } from "./records.ts";
import type { TargetLease } from "./target_lease.ts";
import type { ValueTask } from "./value_task.ts";
import type { WriteQueue } from "./write_queue.ts";

/** The value under ["resource_id_task", target]. Absent: nothing is done. */
export interface IdTaskRecord {
  readonly isComplete: boolean;
  /** All users come before all groups. */
  readonly kind: ResourceKind;
  /** The canonical name of the last resource that has its id; "": none of this kind. */
  readonly after: string;
  /** How many resources the task has read. */
  readonly count: number;
}

export interface IdTaskDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: Pick<TargetLease, "isHeld" | "claim" | "runIfHeld">;
  readonly newBatch: () => DirectoryBatch;
  readonly writes: Pick<WriteQueue, "runBetweenWrites">;
  readonly largeGroups: Pick<LargeGroupUpdate, "linkGroups">;
  readonly values: Pick<ValueTask, "isComplete" | "step">;
  /** Records that one commit changes. Each takes two mutations. */
  readonly recordsPerCommit?: number | undefined;
}

const NOTHING_DONE: IdTaskRecord = { isComplete: false, kind: "user", after: "", count: 0 };
/** A commit accepts 1,000 mutations. */
const RECORDS_PER_COMMIT = 300;
const MAX_MUTATIONS_PER_COMMIT = 600;
/** A user in more groups gets its id in their entries by commits of its own. */
const MAX_LINKS_PER_COMMIT = 150;
const MAX_OCTETS_PER_COMMIT = 250_000;
/** After this time, the task tries to get the lease again. */
const RETRY_MS = 2000;
/** After so many attempts without the lease, another node has finished the task, or the next start continues. */
const MAX_ATTEMPTS = 1800;
const LOG_EVERY = 100_000;

export class IdTask {
  readonly #deps: IdTaskDeps;
  /** Resources that a node of an earlier version wrote after the task was complete, without their ids. */
  readonly #dropped = new Map<string, { readonly kind: ResourceKind; readonly canonical: string }>();
  #isRunning = false;

  constructor(deps: IdTaskDeps) {
    this.#deps = deps;
  }

  /** Starts the work in the background, if there is any. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run(0);
  }

  /** Another node wrote a record. A node of an earlier version drops the id, and this task stores it again. */
  follow(kind: ResourceKind, canonical: string, head: ResourceRecord | null): void {
    if (head === null || head.id !== undefined) return void this.#dropped.delete(`${kind}\0${canonical}`);
    this.#dropped.set(`${kind}\0${canonical}`, { kind, canonical });
    this.start();
  }

  async #run(attempt: number): Promise<void> {
    const { lease, log, keys: { target } } = this.#deps;
    try {
      for (let isMore = await this.#hasWork(); isMore;) {
        const step = lease.isHeld || await lease.claim() ? lease.runIfHeld(() => this.#step()) : null;
        if (step !== null) isMore = await step;
        else if (attempt >= MAX_ATTEMPTS) break;
        else return this.#runLater(attempt);
      }
    } catch (fault) {
      // Another node took the lease during a step. It continues the work, or stops before the end.
      if (fault instanceof LeaseUnavailable && attempt < MAX_ATTEMPTS) return this.#runLater(attempt);
      log.warn("the ids of resources could not be stored; the next start continues", {
        target,
        fault: fault instanceof Error ? fault.message : String(fault),
      });
    }
    this.#isRunning = false;
  }

  #runLater(attempt: number): void {
    this.#deps.clock.after(RETRY_MS, () => void this.#run(attempt + 1));
  }

  async #hasWork(): Promise<boolean> {
    const { store, keys, values } = this.#deps;
    return this.#dropped.size > 0 || !values.isComplete ||
      (await store.get<IdTaskRecord>(keys.idTask)).value?.isComplete !== true;
  }

  /** One commit. Returns whether more work remains. */
  #step(): Promise<boolean> {
    return this.#deps.writes.runBetweenWrites(async () => {
      const { store, keys, values } = this.#deps;
      const { value } = await store.get<IdTaskRecord>(keys.idTask);
      if (value?.isComplete !== true) await this.#storeNext(value ?? NOTHING_DONE);
      else if (this.#dropped.size > 0) await this.#storeDropped();
      else if (!values.isComplete) await values.step();
      else return false;
      return true;
    });
  }

  /** Stores the ids of the next resources in order of name. */
  async #storeNext(done: IdTaskRecord): Promise<void> {
    const { store, keys, newBatch, recordsPerCommit: limit = RECORDS_PER_COMMIT } = this.#deps;
    const { kind } = done;
    const start = keys.record(kind, done.after === "" ? "" : `${done.after}\0`);
    const missing: string[] = [];
    let [count, last] = [0, done.after];
    for await (
      const { key, value } of store.range<ResourceRecord>({ start, end: keys.recordsEnd(kind) }, { limit })
    ) {
      last = String(key[2]);
      count++;
      if (value !== null && value.id === undefined) missing.push(last);
    }
    const batch = newBatch();
    const next = await this.#fill(batch, kind, missing);
    const after = missing[next] === undefined ? last : missing[next - 1] ?? done.after;
    const isEnd = count < limit && missing[next] === undefined;
    const record: IdTaskRecord = isEnd
      ? { isComplete: kind === "group", kind: "group", after: "", count: done.count + count }
      : { ...done, after, count: done.count + (missing[next] === undefined ? count : next) };
    batch.set(keys.idTask, record, 200 + after.length * 2);
    await commit(batch);
    this.#report(done, record);
  }

  /** Stores the ids that nodes of earlier versions dropped. */
  async #storeDropped(): Promise<void> {
    const [first] = this.#dropped.values();
    if (first === undefined) return;
    const { kind } = first;
    const dropped = [...this.#dropped.values()].filter((one) => one.kind === kind).slice(
      0,
      RECORDS_PER_COMMIT,
    );
    const batch = this.#deps.newBatch();
    const next = await this.#fill(batch, kind, dropped.map(({ canonical }) => canonical));
    if (batch.mutationCount > 0) await commit(batch);
    for (const { canonical } of dropped.slice(0, next)) this.#dropped.delete(`${kind}\0${canonical}`);
  }

  /** Puts records with their ids into a batch until it is full. Returns how many of the names it has handled. */
  async #fill(batch: DirectoryBatch, kind: ResourceKind, names: readonly string[]): Promise<number> {
    for (const canonical of names) batch.prefetch(kind, canonical);
    const { largeGroups, keys: { target } } = this.#deps;
    const users = new Map<string, string>();
    let links = 0;
    for (const [at, canonical] of names.entries()) {
      const isFull = batch.mutationCount + 2 * links >= MAX_MUTATIONS_PER_COMMIT ||
        batch.sizeOctets >= MAX_OCTETS_PER_COMMIT;
      if (isFull) {
        await batch.linkMembers(users, links);
        return at;
      }
      const record = await batch.record(kind, canonical);
      if (record === null || record.id !== undefined) continue;
      const groups = kind === "user" ? (await batch.memberships(canonical)).size : 0;
      if (groups > MAX_LINKS_PER_COMMIT) await largeGroups.linkGroups(canonical);
      else if (groups > 0) {
        users.set(canonical, idOf({ kind, target }, record));
        links += groups;
      }
      await batch.putRecord({ kind, canonical }, record);
    }
    await batch.linkMembers(users, links);
    return names.length;
  }

  #report(before: IdTaskRecord, { isComplete, count }: IdTaskRecord): void {
    const { log, keys: { target } } = this.#deps;
    if (isComplete && count > 0) log.info("the ids of all resources are stored", { target, count });
    else if (Math.floor(before.count / LOG_EVERY) < Math.floor(count / LOG_EVERY)) {
      log.info("the ids of resources are being stored", { target, count });
    }
  }
}

/** A new directory has no records of earlier versions, so its ids and values are complete. */
export async function completeNewIds({ store, keys }: Pick<IdTaskDeps, "store" | "keys">): Promise<void> {
  const { value } = await store.get<IdTaskRecord>(keys.idTask);
  if (value !== null) return;
  for (const kind of ["user", "group"] as const) {
    if (!await isEmpty(store, keys.records(kind))) return;
  }
  await store.commit({
    checks: [{ key: keys.idTask, versionstamp: null }],
    mutations: [keys.idTask, keys.valueTask].map((key) => ({
      type: "set",
      key,
      value: { ...NOTHING_DONE, isComplete: true, kind: "group" },
    })),
  });
}

async function isEmpty(store: Store, prefix: Deno.KvKey): Promise<boolean> {
  for await (const _entry of store.list(prefix, { limit: 1 })) return false;
  return true;
}

async function commit(batch: DirectoryBatch): Promise<void> {
  if (!(await batch.commit()).ok) throw new Error("Cannot store the ids: another writer changed a record");
}
