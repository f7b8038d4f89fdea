// Learns from the logins of clients in shadow mode. Observations are collected in memory and added to the stored rows every half minute, so that a
// login costs no write. A crash loses the observations of that time, and no login depends on them.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { MAX_SHARED_CHECKS } from "../../platform/commit_batch.ts";
import type { Store } from "../../platform/store.ts";
import { commitChanges, joinId, Table, type TableChange } from "../../platform/table.ts";
import {
  addShadowDays,
  addShadowUsers,
  emptyShadowDay,
  MAX_SHADOW_USERS,
  SHADOW_DAYS,
  SHADOW_USERS,
  type ShadowDay,
  type ShadowUser,
} from "./shadow_record.ts";

interface ShadowLearnerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** {@link MAX_SHADOW_USERS} by default. */
  readonly maxUsers?: number;
}

const FLUSH_MS = 30_000;
/** Users that wait for the next write. */
const MAX_WAITING = 20_000;
/** Each row has a check. */
const ROWS_PER_COMMIT = MAX_SHARED_CHECKS;
/** Tries of one commit. Each one reads what another node wrote first. */
const MAX_TRIES = 8;

export class ShadowLearner {
  readonly #deps: ShadowLearnerDeps;
  readonly #days: Table<ShadowDay>;
  readonly #users: Table<ShadowUser>;
  #waitingDays = new Map<string, ShadowDay>();
  #waitingUsers = new Map<string, ShadowUser>();
  #flushing: Promise<void> = Promise.resolve();
  #stopTimer = () => {};

  constructor(deps: ShadowLearnerDeps) {
    const { store, clock: { nowMs } } = deps;
    this.#deps = deps;
    this.#days = new Table({ store, nowMs }, SHADOW_DAYS);
    this.#users = new Table({ store, nowMs }, SHADOW_USERS);
  }

  /** Reads the stored rows. Call it once, before anything else. */
  async load(): Promise<void> {
    await Promise.all([this.#days.load(), this.#users.load()]);
    this.#schedule();
  }

  /** The sums of one client since a moment; `null`: nothing was observed. Other nodes may know half a minute more. */
  total(client: string, sinceMs: number): ShadowDay | null {
    const since = emptyShadowDay(client, sinceMs).day;
    const rows = [...this.#days.all().map(({ value }) => value), ...this.#waitingDays.values()];
    return rows.filter((row) => row.client === client && row.day >= since)
      .reduce<ShadowDay | null>((sum, row) => sum === null ? row : addShadowDays(sum, row), null);
  }

  clients(): ReadonlySet<string> {
    const stored = this.#days.all().map(({ value: { client } }) => client);
    return new Set([...stored, ...this.#waitingDays.values().map(({ client }) => client)]);
  }

  /** The users of a client whose last login is not older than `sinceMs`, in no order. */
  users(client: string, sinceMs: number): ShadowUser[] {
    const found = new Map(this.#users.list(client).map(({ id, value }) => [id, value]));
    for (const [id, waiting] of this.#waitingUsers) {
      if (waiting.client !== client) continue;
      const stored = found.get(id);
      found.set(id, stored === undefined ? waiting : addShadowUsers(stored, waiting));
    }
    return [...found.values()].filter(({ lastMs }) => lastMs >= sinceMs);
  }

  /** Adds to the sums of a client. It runs on the hot path and only changes memory. */
  addDay(client: string, change: Partial<Omit<ShadowDay, "client" | "day">>): void {
    const added = { ...emptyShadowDay(client, this.#deps.clock.nowMs()), ...change };
    const id = joinId(client, String(added.day));
    const known = this.#waitingDays.get(id);
    this.#waitingDays.set(id, known === undefined ? added : addShadowDays(known, added));
  }

  /** Adds an accepted login of a user, or counts it as one that cannot be recorded. */
  addUser(added: ShadowUser): void {
    const id = joinId(added.client, added.user);
    const known = this.#waitingUsers.get(id);
    if (known === undefined && !this.#hasRoom(id)) return this.addDay(added.client, { unrecorded: 1 });
    this.#waitingUsers.set(id, known === undefined ? added : addShadowUsers(known, added));
  }

  #hasRoom(id: string): boolean {
    const { maxUsers = MAX_SHADOW_USERS } = this.#deps;
    if (this.#waitingUsers.size >= MAX_WAITING) return false;
    return this.#users.get(id) !== undefined || this.#users.size + this.#waitingUsers.size < maxUsers;
  }

  /** Writes what waits. Rejects if the store fails; the next call writes it too. */
  flush(): Promise<void> {
    return this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#flush());
  }

  /** Writes what waits. A failure is ignored. */
  stop(): void {
    this.#stopTimer();
    this.flush().catch(() => undefined);
  }

  async #flush(): Promise<void> {
    const days = [...this.#waitingDays];
    const users = [...this.#waitingUsers];
    this.#waitingDays = new Map();
    this.#waitingUsers = new Map();
    const rows = [
      ...days.map(([id, row]): WaitingRow => ({
        change: () => changeOf(this.#days, { id, row, add: addShadowDays }),
        restore: () => restore(this.#waitingDays, { id, row, add: addShadowDays }),
      })),
      ...users.map(([id, row]): WaitingRow => ({
        change: () => changeOf(this.#users, { id, row, add: addShadowUsers }),
        restore: () => restore(this.#waitingUsers, { id, row, add: addShadowUsers }),
      })),
    ];
    const failures: unknown[] = [];
    for (let at = 0; at < rows.length; at += ROWS_PER_COMMIT) {
      const batch = rows.slice(at, at + ROWS_PER_COMMIT);
      try {
        await this.#write(batch);
      } catch (fault) {
        failures.push(fault);
        for (const row of batch) row.restore();
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** @throws if the store fails, or if other nodes write the same rows all the time */
  async #write(batch: readonly WaitingRow[]): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await commitChanges(this.#deps.store, batch.map(({ change }) => change()))) return;
    }
    throw new Error("Cannot add to the observations of shadow mode: other nodes change the same rows");
  }

  #schedule(): void {
    this.#stopTimer = this.#deps.clock.after(FLUSH_MS, () => {
      this.flush().catch((fault: unknown) => {
        this.#deps.log.error("the observations of shadow mode could not be written", {
          fault: String(fault),
        });
      });
      this.#schedule();
    });
  }
}

/** A row that is added to the stored one. */
interface WaitingRow {
  readonly change: () => TableChange;
  /** Lets the row wait for the next write. */
  readonly restore: () => void;
}

interface AddedRow<Row> {
  readonly id: string;
  readonly row: Row;
  readonly add: (a: Row, b: Row) => Row;
}

function changeOf<Row>(table: Table<Row>, { id, row, add }: AddedRow<Row>): TableChange {
  const stored = table.get(id);
  if (stored !== undefined) return table.replace(stored, add(stored.value, row));
  // A row that cannot be read would refuse an addition for as long as it is stored.
  return table.unreadable.includes(id) ? table.put(id, row) : table.add(id, row);
}

function restore<Row>(waiting: Map<string, Row>, { id, row, add }: AddedRow<Row>): void {
  const known = waiting.get(id);
  waiting.set(id, known === undefined ? row : add(known, row));
}
