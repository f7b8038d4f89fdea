// The records of connections and of their secrets, in the store and in memory: ["scim_connection", name] and ["scim_secret", SHA-256 of the secret]. A secret
// has 256 random bits, so a lookup of its hash is the check. Each change has an audit entry in the same commit.

import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import {
  type CommitAdditions,
  commitChanges,
  type MirroredRow,
  Table,
  type TableChange,
  type TableKind,
} from "../../../platform/table.ts";
import type { Actor } from "../../ports.ts";
import { type ConnectionSettings, REQUEST_LOG_DAYS, type SecretKind } from "./connection_settings.ts";
import { createHash } from "node:crypto";

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
interface AuditedChange {
  readonly action: AuditAction;
  readonly actor: Actor;
  readonly before?: AuditValues;
  readonly after?: AuditValues;
}

/** An expired secret is listed for so long. */
const EXPIRED_LISTED_MS = 30 * DAY_MS;
const CONNECTIONS: TableKind<ConnectionRecord> = { prefix: ["scim_connection"] };
/** The id is the SHA-256 of the secret. */
const SECRETS: TableKind<SecretRecord> = {
  prefix: ["scim_secret"],
  expiresMs: ({ expiresMs }) => expiresMs === null ? null : expiresMs + EXPIRED_LISTED_MS,
  index: ({ id }) => [id],
};
const removedKey = (name: string): Deno.KvKey => ["scim_connection_removed", name];

export class ConnectionRecords {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #connections: Table<ConnectionRecord>;
  readonly #secrets: Table<SecretRecord>;

  private constructor({ store, clock }: { store: Store; clock: Pick<Clock, "nowMs"> }) {
    this.#store = store;
    this.#clock = clock;
    this.#connections = new Table({ store }, CONNECTIONS);
    this.#secrets = new Table({ store, nowMs: () => clock.nowMs() }, SECRETS);
  }

  /** Reads all records, and follows the changes of other nodes. */
  static async open(deps: { store: Store; clock: Pick<Clock, "nowMs"> }): Promise<ConnectionRecords> {
    const records = new ConnectionRecords(deps);
    await records.#connections.load();
    await records.#secrets.load();
    return records;
  }

  find(name: string): ConnectionRecord | null {
    return this.#connections.get(name)?.value ?? null;
  }

  /** In order of name. */
  list(): ConnectionRecord[] {
    return this.#connections.all().map(({ value }) => value).toArray()
      .sort((a, b) => a.settings.name < b.settings.name ? -1 : 1);
  }

  /** The secret with this hash, if its connection exists. */
  secretByHash(hash: string): SecretRecord | null {
    const secret = this.#secrets.get(hash)?.value;
    return secret !== undefined && this.find(secret.connection)?.id === secret.connectionId ? secret : null;
  }

  secretById(id: string): SecretRecord | null {
    return this.secretByHash(this.#hashOf(id));
  }

  /** The secrets of a connection, newest first. */
  secretsOf(name: string): SecretRecord[] {
    const id = this.find(name)?.id;
    return this.#secrets.all().map(({ value }) => value).toArray()
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
    const added = secret === null ? [] : [this.#secrets.put(secret.hash, secret.record)];
    const changes = [this.#connections.add(name, record), ...added];
    return await this.#commit(changes, { also: [auditOf(name, change)], checks: [removed] });
  }

  /** @returns false if the record was changed since `before` was read. */
  async change(before: ConnectionRecord, after: ConnectionRecord, change: AuditedChange): Promise<boolean> {
    const row = this.#rowOf(before);
    return row !== null &&
      await this.#commit([this.#connections.replace(row, after)], { also: [auditOf(row.id, change)] });
  }

  /** Removes a connection with its secrets. @returns false if the record was changed since it was read. */
  async remove(record: ConnectionRecord, change: AuditedChange): Promise<boolean> {
    const row = this.#rowOf(record);
    if (row === null) return false;
    const lifeMs = REQUEST_LOG_DAYS * DAY_MS;
    const untilMs = this.#clock.nowMs() + lifeMs;
    const secrets = this.secretsOf(row.id).map(({ id }) => this.#secrets.erase(this.#hashOf(id)));
    return await this.#commit([this.#connections.remove(row), ...secrets], {
      also: [
        { type: "set", key: removedKey(row.id), value: { untilMs }, expireInMs: lifeMs },
        auditOf(row.id, change),
      ],
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
    const row = this.#rowOf(connection);
    if (row === null) return false;
    const changes = [this.#secrets.add(hash, record)];
    if (replaced !== null) {
      const old = this.#secrets.get(this.#hashOf(replaced.secret.id));
      if (old === undefined) return false;
      const isOver = replaced.endMs <= this.#clock.nowMs();
      changes.push(
        isOver
          ? this.#secrets.remove(old)
          : this.#secrets.replace(old, { ...old.value, expiresMs: replaced.endMs }),
      );
    }
    const checks = [this.#connections.unchanged(row)];
    return await this.#commit(changes, { also: [auditOf(row.id, change)], checks });
  }

  /** Revokes a secret. The next request with it is refused. */
  async revokeSecret({ id, connection }: SecretRecord, change: AuditedChange): Promise<void> {
    const hash = this.#hashOf(id);
    // Without a check, because the use of the secret changes its record.
    if (hash !== "") await this.#commit([this.#secrets.erase(hash)], { also: [auditOf(connection, change)] });
  }

  /** Stores the last use of a secret. Does nothing if the secret was revoked meanwhile. */
  async touch({ id }: SecretRecord, use: Pick<SecretRecord, "usedMs" | "usedFrom">): Promise<void> {
    const row = this.#secrets.get(this.#hashOf(id));
    if (row !== undefined) await this.#commit([this.#secrets.replace(row, { ...row.value, ...use })]);
  }

  #hashOf(id: string): string {
    return this.#secrets.list(id)[0]?.id ?? "";
  }

  /** The row that a caller read; `null`: it changed since. */
  #rowOf(record: ConnectionRecord): MirroredRow<ConnectionRecord> | null {
    const row = this.#connections.get(record.settings.name);
    return row?.value === record ? row : null;
  }

  #commit(changes: readonly TableChange[], additions?: CommitAdditions): Promise<boolean> {
    return commitChanges(this.#store, changes, additions);
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

/** A secret as it is stored, without the secret itself. */
export interface SecretRecord {
  readonly id: string;
  /** The name of the connection. */
  readonly connection: string;
  /** A later connection with the same name has another id. */
  readonly connectionId: string;
  readonly kind: SecretKind;
  readonly createdMs: number;
  readonly createdBy: string;
  /** `null`: it does not expire. */
  readonly expiresMs: number | null;
  /** At most once a minute. */
  readonly usedMs: number | null;
  readonly usedFrom: string | null;
}

const SECRET_OCTETS = 32;
/** With a prefix, scanners of source code find a secret that was published by mistake. */
const PREFIXES: Readonly<Record<SecretKind, string>> = { token: "cst_", client_secret: "css_" };
const SECRET = /^cs[ts]_[A-Za-z0-9_-]{43}$/;

export function makeSecretText(kind: SecretKind, random: Random): string {
  return PREFIXES[kind] + toBase64Url(random.bytes(SECRET_OCTETS));
}

/** SHA-256 of a secret (hexadecimal), or `null` for a text that cannot be a secret. */
export function hashSecretText(text: string): string | null {
  return SECRET.test(text) ? createHash("sha256").update(text).digest("hex") : null;
}

export function isExpired({ expiresMs }: Pick<SecretRecord, "expiresMs">, nowMs: number): boolean {
  return expiresMs !== null && expiresMs <= nowMs;
}
