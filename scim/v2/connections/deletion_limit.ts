// The deletion limit: how many users a connection may delete or deactivate in 24 hours. The counts of each hour are in the store
// (["scim_deletion", name, hour]), so that the limit holds for all nodes together and after a restart.

import { HOUR_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { KeyedMutex } from "../../../platform/semaphore.ts";
import type { Store, StoreEntry } from "../../../platform/store.ts";
import { StoreUnavailable } from "../../../platform/store_fault.ts";
import { MIN_ALLOWED_DELETIONS } from "./connection_settings.ts";

/** What was counted in one hour. */
interface HourRecord {
  readonly count: number;
  /** The users of the directory at the first count of the hour, so that deletions do not lower the limit. */
  readonly users: number;
}

/** `allowed: null`: no limit. */
export interface DeletionState {
  readonly counted: number;
  readonly allowed: number | null;
}

type DeletionOutcome =
  | { readonly ok: true; readonly undo: () => Promise<void> }
  | { readonly ok: false; readonly state: DeletionState };

interface Limit {
  readonly name: string;
  readonly percent: number;
  /** All users of the directory. */
  readonly users: number;
}

const WINDOW_HOURS = 24;
const NO_LIMIT = 100;
/** Lost races of one count. */
const MAX_TRIES = 20;
const prefixOf = (name: string): Deno.KvKey => ["scim_deletion", name];
const keyOf = (name: string, hour: number): Deno.KvKey => [...prefixOf(name), hour];

/** The users that may be deleted, of all users that the directory had in the window. */
export function allowedDeletions(percent: number, users: number): number | null {
  if (percent >= NO_LIMIT) return null;
  return Math.max(MIN_ALLOWED_DELETIONS, Math.floor(users * percent / 100));
}

export class DeletionLimit {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #mutex = new KeyedMutex();

  constructor({ store, clock }: { store: Store; clock: Pick<Clock, "nowMs"> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Counts deletions, all or none. @throws StoreUnavailable after too many lost races */
  count(limit: Limit, deletions: number): Promise<DeletionOutcome> {
    return this.#mutex.run(limit.name, () => this.#count(limit, deletions));
  }

  /** What is counted now. */
  async state(limit: Limit): Promise<DeletionState> {
    return stateOf(await this.#read(limit.name, this.#hour()), limit);
  }

  async #count(limit: Limit, deletions: number): Promise<DeletionOutcome> {
    const { name } = limit;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const hour = this.#hour();
      const entries = await this.#read(name, hour);
      const state = stateOf(entries, limit);
      if (state.allowed !== null && state.counted + deletions > state.allowed) return { ok: false, state };
      const current = entries.find(({ key }) => key[2] === hour);
      const users = Math.max(limit.users, current?.value?.users ?? 0);
      const count = (current?.value?.count ?? 0) + deletions;
      if (await this.#write(name, hour, { versionstamp: current?.versionstamp ?? null, count, users })) {
        return { ok: true, undo: () => this.#mutex.run(name, () => this.#undo(name, hour, deletions)) };
      }
    }
    throw new StoreUnavailable("Cannot count a deletion: other nodes keep changing the same row");
  }

  async #undo(name: string, hour: number, deletions: number): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { value, versionstamp } = await this.#store.get<HourRecord>(keyOf(name, hour));
      if (value === null) return;
      const count = Math.max(0, value.count - deletions);
      if (await this.#write(name, hour, { versionstamp, count, users: value.users })) return;
    }
  }

  async #write(
    name: string,
    hour: number,
    { versionstamp, ...record }: HourRecord & { versionstamp: string | null },
  ): Promise<boolean> {
    const endMs = (hour + 1 + WINDOW_HOURS) * HOUR_MS;
    const expireInMs = Math.max(1, endMs - this.#clock.nowMs());
    const { ok } = await this.#store.commit({
      checks: [{ key: keyOf(name, hour), versionstamp }],
      mutations: [{ type: "set", key: keyOf(name, hour), value: record, expireInMs }],
    });
    return ok;
  }

  /** The hours of the window. If the clock was set back, later hours have passed, too. */
  async #read(name: string, hour: number): Promise<StoreEntry<HourRecord>[]> {
    const entries = await Array.fromAsync(this.#store.list<HourRecord>(prefixOf(name)));
    return entries.filter(({ key }) => Math.abs(Number(key[2]) - hour) <= WINDOW_HOURS);
  }

  #hour(): number {
    return Math.floor(this.#clock.nowMs() / HOUR_MS);
  }
}

function stateOf(entries: readonly StoreEntry<HourRecord>[], { percent, users }: Limit): DeletionState {
  const records = entries.flatMap(({ value }) => value ?? []);
  const counted = records.reduce((sum, { count }) => sum + count, 0);
  return { counted, allowed: allowedDeletions(percent, Math.max(users, ...records.map((one) => one.users))) };
}
