// The administration of connections: creates, changes and removes them and their secrets, and reads the request log and the proposals.

import { OBJECT_NAME } from "../../../platform/fields.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Credentials } from "../../http/credentials.ts";
import type { Actor, Targets } from "../../ports.ts";
import { type AdoptionPage, type AdoptionProposal, type Adoptions, proposalId } from "./adoption.ts";
import {
  type ConnectionRecord,
  type ConnectionRecords,
  hashSecretText,
  isExpired,
  makeSecretText,
  type SecretRecord,
} from "./connection_records.ts";
import {
  type AdoptionState,
  type ConnectionChange,
  type ConnectionSettings,
  DEFAULT_CONNECTION,
  MAX_CONNECTIONS,
  MAX_SECRETS,
  type SecretKind,
} from "./connection_settings.ts";
import type { DeletionLimit, DeletionState } from "./deletion_limit.ts";
import type { LoggedRequest, RequestFilter, RequestLog, RequestPage } from "./request_log.ts";

interface ConnectionAdministrationDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Pick<Credentials, "list">;
  readonly targets: Pick<Targets, "get">;
  readonly records: ConnectionRecords;
  readonly log: RequestLog;
  readonly adoptions: Adoptions;
  readonly deletions: DeletionLimit;
}

/** A secret in clear. It cannot be shown again. */
export interface MadeSecret {
  readonly id: string;
  readonly kind: SecretKind;
  readonly text: string;
}

/** `lifeMs: null`: it does not expire. */
export interface WantedSecret {
  readonly kind: SecretKind;
  readonly lifeMs: number | null;
}

/** The secret that a new one replaces, and how long both are valid. */
interface ReplacedSecret {
  readonly id: string;
  readonly overlapMs: number;
}

export type CreateConnectionProblem = "bad_name" | "unknown_target" | "taken" | "reserved" | "too_many";
type ChangeConnectionProblem = "unknown" | "changed";
export type AddSecretProblem = "unknown" | "unknown_secret" | "too_many" | "changed";
type Failed<P> = { readonly ok: false; readonly reason: P };
type CreatedConnection =
  | { readonly ok: true; readonly connection: ConnectionRecord; readonly secret: MadeSecret | null }
  | Failed<CreateConnectionProblem>;
type ChangedConnection =
  | { readonly ok: true; readonly connection: ConnectionRecord }
  | Failed<ChangeConnectionProblem>;
export type AddedSecret =
  | { readonly ok: true; readonly secret: MadeSecret }
  | Failed<AddSecretProblem>;

export class ConnectionAdministration {
  readonly #deps: ConnectionAdministrationDeps;

  constructor(deps: ConnectionAdministrationDeps) {
    this.#deps = deps;
  }

  /** In order of name. */
  list(): ConnectionRecord[] {
    return this.#deps.records.list();
  }

  find(name: string): ConnectionRecord | null {
    return this.#deps.records.find(name);
  }

  /** Newest first. An expired secret is listed for 30 days. */
  secretsOf(name: string): SecretRecord[] {
    return this.#deps.records.secretsOf(name);
  }

  reserved(): Promise<{ name: string; untilMs: number }[]> {
    return this.#deps.records.reserved();
  }

  async create(
    { name, kind, target, secret, ...given }:
      & Pick<ConnectionSettings, "name" | "kind" | "target">
      & ConnectionChange
      & { readonly secret: WantedSecret | null },
    actor: Actor,
  ): Promise<CreatedConnection> {
    const problem = await this.#createProblem(name, target);
    if (problem !== null) return { ok: false, reason: problem };
    const { clock, random, records } = this.#deps;
    const nowMs = clock.nowMs();
    const connection: ConnectionRecord = {
      id: toBase64Url(random.bytes(16)),
      settings: { ...DEFAULT_CONNECTION, ...given, name, kind, target },
      version: 1,
      ...{ createdMs: nowMs, createdBy: actor.name, changedMs: nowMs, changedBy: actor.name },
    };
    const made = secret === null ? null : this.#make(connection, secret, actor);
    const { name: _inObject, ...after } = connection.settings;
    await this.#deps.adoptions.forget(name);
    const isCreated = await records.create(connection, {
      ...{ action: "connection.create", actor, after },
      secret: made,
    });
    if (isCreated) return { ok: true, connection, secret: made?.secret ?? null };
    return { ok: false, reason: records.find(name) === null ? "reserved" : "taken" };
  }

  /** @param version the one that the change is based on. */
  async change(
    name: string,
    { version, change }: { version: number; change: ConnectionChange },
    actor: Actor,
  ): Promise<ChangedConnection> {
    const { records, clock } = this.#deps;
    const before = records.find(name);
    if (before === null) return { ok: false, reason: "unknown" };
    if (before.version !== version) return { ok: false, reason: "changed" };
    const changes = differences(before.settings, change);
    if (changes === null) return { ok: true, connection: before };
    const after: ConnectionRecord = {
      ...before,
      settings: { ...before.settings, ...changes.after },
      version: version + 1,
      ...{ changedMs: clock.nowMs(), changedBy: actor.name },
    };
    const isDone = await records.change(before, after, { action: "connection.change", actor, ...changes });
    return isDone ? { ok: true, connection: after } : { ok: false, reason: "changed" };
  }

  /** Removes a connection and its secrets. Its resources stay. */
  async remove(name: string, actor: Actor): Promise<"removed" | ChangeConnectionProblem> {
    const { records } = this.#deps;
    const record = records.find(name);
    if (record === null) return "unknown";
    const { kind, target } = record.settings;
    const change = { action: "connection.remove", actor, before: { kind, target } } as const;
    return await records.remove(record, change) ? "removed" : "changed";
  }

  /** Adds a secret. With `replaces`, the new one has the kind of the other one, which ends after the overlap. */
  async addSecret(
    name: string,
    { replaces, ...wanted }: WantedSecret & { readonly replaces: ReplacedSecret | null },
    actor: Actor,
  ): Promise<AddedSecret> {
    const { records, clock } = this.#deps;
    const connection = records.find(name);
    if (connection === null) return { ok: false, reason: "unknown" };
    const known = records.secretsOf(name);
    const old = replaces === null ? null : known.find(({ id }) => id === replaces.id);
    if (old === undefined) return { ok: false, reason: "unknown_secret" };
    if (known.length >= MAX_SECRETS) return { ok: false, reason: "too_many" };
    const kind = old?.kind ?? wanted.kind;
    const made = this.#make(connection, { ...wanted, kind }, actor);
    const endMs = clock.nowMs() + (replaces?.overlapMs ?? 0);
    const { hash, record } = made;
    const isAdded = await records.addSecret(connection, {
      ...{ hash, record },
      replaced: old === null ? null : { secret: old, endMs: Math.min(old.expiresMs ?? Infinity, endMs) },
      ...{ action: "connection.secret_add", actor },
      after: { kind, expires: expiryText(made.record.expiresMs), replaces: old?.id ?? "" },
    });
    return isAdded ? { ok: true, secret: made.secret } : { ok: false, reason: "changed" };
  }

  /** Revokes a secret. The next request with it, or with an access token of it, is refused on every node. */
  async revokeSecret(name: string, id: string, actor: Actor): Promise<boolean> {
    const { records } = this.#deps;
    const secret = records.secretsOf(name).find((one) => one.id === id);
    if (secret === undefined) return false;
    const { kind, expiresMs } = secret;
    const before = { kind, expires: expiryText(expiresMs), secret: id };
    await records.revokeSecret(secret, { action: "connection.secret_revoke", actor, before });
    return true;
  }

  requests(
    name: string,
    options: { filter: RequestFilter; cursor: string | null; size: number },
  ): Promise<RequestPage> {
    return this.#deps.log.page(name, options);
  }

  lastRequest(name: string, filter: RequestFilter = {}): Promise<LoggedRequest | null> {
    return this.#deps.log.newest(name, filter);
  }

  /** Calls the observer with the requests of all nodes. It must not throw. Returns what removes it. */
  observeRequests(observer: (requests: readonly LoggedRequest[]) => void): () => void {
    return this.#deps.log.observe(observer);
  }

  proposals(
    name: string,
    options: { state: AdoptionState | null; cursor: string | null; size: number },
  ): Promise<AdoptionPage> {
    return this.#deps.adoptions.page(name, options);
  }

  countWaiting(name: string, max: number): Promise<number> {
    return this.#deps.adoptions.countWaiting(name, max);
  }

  /** Decides proposals. Returns how many it changed. @param ids `all`: every waiting one */
  async decide(
    name: string,
    { ids, state }: { ids: readonly string[] | "all"; state: Exclude<AdoptionState, "waiting"> },
    actor: Actor,
  ): Promise<number> {
    const decision = {
      state,
      by: actor.name,
      audit: (proposal: AdoptionProposal) =>
        auditEntry({
          action: state === "accepted" ? "connection.match_accept" : "connection.match_refuse",
          ...{ actor: actor.name, source: actor.source },
          objects: [`connection:${name}`, `${proposal.kind}:${proposal.name}`],
          after: { match: proposalId(proposal) },
        }),
    };
    const { adoptions } = this.#deps;
    return ids === "all"
      ? await adoptions.decideAll(name, decision)
      : await adoptions.decide(name, ids, decision);
  }

  /** Users deleted or deactivated in the last 24 hours. */
  async deletions({ name, target, deletionPercent: percent }: ConnectionSettings): Promise<DeletionState> {
    const users = this.#deps.targets.get(target)?.directory.count("user") ?? 0;
    return await this.#deps.deletions.state({ name, percent, users });
  }

  isValid(secret: SecretRecord): boolean {
    return !isExpired(secret, this.#deps.clock.nowMs());
  }

  async #createProblem(name: string, target: string): Promise<CreateConnectionProblem | null> {
    const { records, targets, credentials } = this.#deps;
    if (!OBJECT_NAME.test(name)) return "bad_name";
    if (targets.get(target) === null) return "unknown_target";
    if (records.find(name) !== null) return "taken";
    // The audit log names both `scim:<name>`.
    if ((await credentials.list()).some((one) => one.name === name)) return "taken";
    return records.list().length >= MAX_CONNECTIONS ? "too_many" : null;
  }

  #make(
    { id: connectionId, settings: { name: connection } }: ConnectionRecord,
    { kind, lifeMs }: WantedSecret,
    actor: Actor,
  ): { secret: MadeSecret; hash: string; record: SecretRecord } {
    const { clock, random } = this.#deps;
    const text = makeSecretText(kind, random);
    const hash = hashSecretText(text);
    if (hash === null) throw new Error("Cannot hash a new secret: it has another form");
    const nowMs = clock.nowMs();
    const record: SecretRecord = {
      ...{ id: toBase64Url(random.bytes(12)), connection, connectionId, kind },
      ...{ createdMs: nowMs, createdBy: actor.name, usedMs: null, usedFrom: null },
      expiresMs: lifeMs === null ? null : nowMs + lifeMs,
    };
    return { secret: { id: record.id, kind, text }, hash, record };
  }
}

/** The settings that differ, before and after; `null`: none. */
function differences(
  settings: ConnectionSettings,
  change: ConnectionChange,
): { before: Partial<ConnectionSettings>; after: Partial<ConnectionSettings> } | null {
  const current = new Map<string, unknown>(Object.entries(settings));
  const changed = Object.entries(change).filter(([key, value]) =>
    Object.hasOwn(DEFAULT_CONNECTION, key) && value !== undefined && current.get(key) !== value
  );
  if (changed.length === 0) return null;
  const before = Object.fromEntries(changed.map(([key]) => [key, current.get(key)]));
  return { before, after: Object.fromEntries(changed) };
}

function expiryText(expiresMs: number | null): string {
  return expiresMs === null ? "never" : new Date(expiresMs).toISOString();
}
