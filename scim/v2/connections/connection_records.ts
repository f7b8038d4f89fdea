// The records of connections and of their secrets, in the store and in memory: ["scim_connection", name] and
// ["scim_secret", SHA-256 of the secret]. Each change has an audit entry in the same commit.

import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store, StoreEntry } from "../../../platform/store.ts";
import type { Actor } from "../../ports.ts";
import { type ConnectionSettings, REQUEST_LOG_DAYS } from "./connection_settings.ts";
import type { SecretRecord } from "./secret.ts";

/** A connection as it is stored. */
export interface ConnectionRecord {
  /** A later connection with the same name has another id. */
  readonly id: string;
  readonly settings: ConnectionSettings;
  /** Counts the changes. */
  readonly version: number;
  readonly createdMs: number;
  readonly createdBy: string;
  readonly changedMs: number;
  readonly changedBy: string;
}

/** A change, for the audit log. The object is the connection. */
export interface AuditedChange {
  readonly action: AuditAction;
  readonly actor: Actor;
  readonly before?: AuditValues;
  readonly after?: AuditValues;
}

interface Mirrored<T> {
  readonly value: T;
  readonly versionstamp: string | null;
}

/** An expired secret is listed for so long. */
const EXPIRED_LISTED_MS = 30 * DAY_MS;
const connectionKey = (name: string): Deno.KvKey => ["scim_connection", name];
const removedKey = (name: string): Deno.KvKey => ["scim_connection_removed", name];
const secretKey = (hash: string): Deno.KvKey => ["scim_secret", hash];

export class ConnectionRecords {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #connections = new Map<string, Mirrored<ConnectionRecord>>();
  readonly #secrets = new Map<string, Mirrored<SecretRecord>>();
  readonly #hashes = new Map<string, string>();

  private constructor({ store, clock }: { store: Store; clock: Pick<Clock, "nowMs"> }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads all records, and follows the changes of other nodes. */
  static async open(deps: { store: Store; clock: Pick<Clock, "nowMs"> }): Promise<ConnectionRecords> {
    const records = new ConnectionRecords(deps);
    for (const prefix of [["scim_connection"], ["scim_secret"]]) {
      const apply = (entry: StoreEntry<unknown>) => records.#apply(entry);
      deps.store.follow(prefix, apply);
      await deps.store.load(prefix, apply);
    }
    return records;
  }

  find(name: string): ConnectionRecord | null {
    return this.#connections.get(name)?.value ?? null;
  }

  /** In order of name. */
  list(): ConnectionRecord[] {
    return [...this.#connections.values()].map(({ value }) => value)
      .sort((a, b) => a.settings.name < b.settings.name ? -1 : 1);
  }

  /** The secret with this hash, if its connection exists. */
  secretByHash(hash: string): SecretRecord | null {
    const secret = this.#secrets.get(hash)?.value;
    return secret !== undefined && this.find(secret.connection)?.id === secret.connectionId ? secret : null;
  }

  secretById(id: string): SecretRecord | null {
    return this.secretByHash(this.#hashes.get(id) ?? "");
  }

  /** The secrets of a connection, newest first. */
  secretsOf(name: string): SecretRecord[] {
    const id = this.find(name)?.id;
    return [...this.#secrets.values()].map(({ value }) => value)
      .filter(({ connection, connectionId }) => connection === name && connectionId === id)
      .sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? -1 : 1));
  }

  /** Names of removed connections that cannot be used yet. */
  async reserved(): Promise<{ name: string; untilMs: number }[]> {
    const found: { name: string; untilMs: number }[] = [];
    for await (const { key, value } of this.#store.list<{ untilMs: number }>(["scim_connection_removed"])) {
      const untilMs = value?.untilMs ?? 0;
      if (untilMs > this.#clock.nowMs()) found.push({ name: String(key[1]), untilMs });
    }
    return found;
  }

  /** @returns false if the name is taken, or reserved. */
  async create(
    record: ConnectionRecord,
    { secret, ...change }: AuditedChange & { secret: { hash: string; record: SecretRecord } | null },
  ): Promise<boolean> {
    const { name } = record.settings;
    const removed = await this.#store.get<{ untilMs: number }>(removedKey(name));
    if ((removed.value?.untilMs ?? 0) > this.#clock.nowMs()) return false;
    const mutations: Mutation[] = [{ type: "set", key: connectionKey(name), value: record }];
    if (secret !== null) mutations.push(this.#secretMutation(secret.hash, secret.record));
    return await this.#commit(name, {
      checks: [{ key: connectionKey(name), versionstamp: null }, removed],
      mutations,
      change,
    });
  }

  /** @returns false if the record was changed since `before` was read. */
  async change(before: ConnectionRecord, after: ConnectionRecord, change: AuditedChange): Promise<boolean> {
    const { name } = before.settings;
    return await this.#commit(name, {
      checks: this.#checkOf(before),
      mutations: [{ type: "set", key: connectionKey(name), value: after }],
      change,
    });
  }

  /** Removes a connection with its secrets. @returns false if the record was changed since it was read. */
  async remove(record: ConnectionRecord, change: AuditedChange): Promise<boolean> {
    const { name } = record.settings;
    const lifeMs = REQUEST_LOG_DAYS * DAY_MS;
    const untilMs = this.#clock.nowMs() + lifeMs;
    const hashes = this.secretsOf(name).flatMap(({ id }) => this.#hashes.get(id) ?? []);
    return await this.#commit(name, {
      checks: this.#checkOf(record),
      mutations: [
        { type: "delete", key: connectionKey(name) },
        { type: "set", key: removedKey(name), value: { untilMs }, expireInMs: lifeMs },
        ...hashes.map((hash) => ({ type: "delete", key: secretKey(hash) } as const)),
      ],
      change,
    });
  }

  /**
   * Adds a secret, and lets another one end at `replaced.endMs` (0: now).
   *
   * @returns false if the connection or the other secret was changed meanwhile.
   */
  async addSecret(
    connection: ConnectionRecord,
    { hash, record, replaced, ...change }: AuditedChange & {
      hash: string;
      record: SecretRecord;
      replaced: { secret: SecretRecord; endMs: number } | null;
    },
  ): Promise<boolean> {
    const checks: Check[] = [...this.#checkOf(connection), { key: secretKey(hash), versionstamp: null }];
    const mutations: Mutation[] = [this.#secretMutation(hash, record)];
    if (replaced !== null) {
      const oldHash = this.#hashes.get(replaced.secret.id) ?? "";
      const old = this.#secrets.get(oldHash);
      if (old === undefined) return false;
      checks.push({ key: secretKey(oldHash), versionstamp: old.versionstamp });
      mutations.push(
        replaced.endMs <= this.#clock.nowMs()
          ? { type: "delete", key: secretKey(oldHash) }
          : this.#secretMutation(oldHash, { ...old.value, expiresMs: replaced.endMs }),
      );
    }
    return await this.#commit(connection.settings.name, { checks, mutations, change });
  }

  /** Revokes a secret. The next request with it is refused. */
  async revokeSecret({ id, connection }: SecretRecord, change: AuditedChange): Promise<void> {
    const hash = this.#hashes.get(id);
    if (hash === undefined) return;
    // Without a check, because the use of the secret changes its record.
    const mutations: Mutation[] = [{ type: "delete", key: secretKey(hash) }];
    await this.#commit(connection, { checks: [], mutations, change });
  }

  /** Stores the last use of a secret. Does nothing if the secret was revoked meanwhile. */
  async touch({ id }: SecretRecord, use: Pick<SecretRecord, "usedMs" | "usedFrom">): Promise<void> {
    const hash = this.#hashes.get(id) ?? "";
    const known = this.#secrets.get(hash);
    if (known === undefined) return;
    await this.#commit(known.value.connection, {
      checks: [{ key: secretKey(hash), versionstamp: known.versionstamp }],
      mutations: [this.#secretMutation(hash, { ...known.value, ...use })],
    });
  }

  #checkOf({ settings: { name } }: ConnectionRecord): Check[] {
    const key = connectionKey(name);
    return [{ key, versionstamp: this.#connections.get(name)?.versionstamp ?? null }];
  }

  #secretMutation(hash: string, record: SecretRecord): Mutation {
    const mutation = { type: "set", key: secretKey(hash), value: record } as const;
    if (record.expiresMs === null) return mutation;
    const leftMs = record.expiresMs - this.#clock.nowMs();
    return { ...mutation, expireInMs: Math.max(1, leftMs + EXPIRED_LISTED_MS) };
  }

  /** Commits, and takes the new records over. After a lost race, memory has the records of the winner. */
  async #commit(
    name: string,
    { checks, mutations, change }: {
      checks: readonly Check[];
      mutations: readonly Mutation[];
      change?: AuditedChange;
    },
  ): Promise<boolean> {
    const done = await this.#store.commit({
      checks,
      mutations: [...mutations, ...change === undefined ? [] : [auditOf(name, change)]],
    });
    if (!done.ok) {
      await this.#store.reread(checks.map(({ key }) => key));
      return false;
    }
    for (const one of mutations) {
      if (one.type === "audit") continue;
      const value = one.type === "set" ? one.value : null;
      this.#apply({ key: one.key, value, versionstamp: value === null ? null : done.versionstamp });
    }
    return true;
  }

  #apply({ key: [table, part], value, versionstamp }: StoreEntry<unknown>): void {
    const name = String(part);
    if (table === "scim_connection") {
      mirror(this.#connections, name, value as ConnectionRecord | null, versionstamp);
    }
    if (table !== "scim_secret") return;
    const secret = value as SecretRecord | null;
    const known = this.#secrets.get(name);
    if (known !== undefined) this.#hashes.delete(known.value.id);
    mirror(this.#secrets, name, secret, versionstamp);
    const current = this.#secrets.get(name);
    if (current !== undefined) this.#hashes.set(current.value.id, name);
  }
}

/** Two changes may arrive in any order. The version tells which one is later. */
function mirror<T>(
  map: Map<string, Mirrored<T>>,
  name: string,
  value: T | null,
  versionstamp: string | null,
): void {
  if (value === null) map.delete(name);
  else if ((map.get(name)?.versionstamp ?? "") <= (versionstamp ?? "")) {
    map.set(name, { value, versionstamp });
  }
}

/** Only these parts: a caller that passes more, such as a new secret, must not get it into the audit log. */
function auditOf(name: string, { action, actor, before, after }: AuditedChange): Mutation {
  return auditEntry({
    ...{ action, actor: actor.name, source: actor.source, object: `connection:${name}` },
    ...before === undefined ? {} : { before },
    ...after === undefined ? {} : { after },
  });
}
