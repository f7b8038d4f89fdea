// Sessions of the console: a random token in a cookie, its digest in the store, an absolute and an idle deadline.

import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type AuditEntry, auditEntry } from "../../../platform/audit.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store, StoreEntry } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { Refusal } from "../errors.ts";
import { clientInfo, cookieName, cookieOptions, type HttpEnv } from "../hono_env.ts";
import {
  type Admin,
  adminKeyName,
  isRoleConfirmed,
  MAX_PROVIDER_SESSION_MS,
  type Session,
} from "./admin_records.ts";
import type { AdminStore } from "./admin_store.ts";
import type { SignInMethod } from "./sign_in.ts";

/** A session as it is stored. */
interface SessionRecord {
  readonly admin: string;
  readonly credential: string;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly deadlineMs: number;
  /** When the administrator last used a factor. */
  readonly freshMs: number;
  readonly source: string;
  readonly agent: string;
  /** That of the account when the session began. A session of another epoch has ended. */
  readonly epoch: number;
}

/** The origin of a sign-in. */
interface SessionPlace {
  readonly source: string;
  /** The User-Agent of the browser. */
  readonly agent: string;
  readonly by: SignInMethod;
  /** When the administrator used a factor. Default: now. */
  readonly freshMs?: number;
}

/** A session in a list. */
export interface SessionRow extends Pick<SessionRecord, "source" | "agent" | "createdMs" | "usedMs"> {
  readonly id: string;
  readonly admin: string;
}

/** How the administrator ends a session: a sign-out, or a new session in the same browser. */
type SessionEndAction = "administrator.sign_out" | "session.replace";

interface SessionsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: AdminStore;
  readonly settings: { readonly sessionMs: number; readonly idleMs: number };
}

const TOKEN_OCTETS = 16;
const MAX_TOKEN_CHARACTERS = 64;
const MAX_AGENT_CHARACTERS = 200;
/** A list reads at most this many sessions. */
const MAX_LISTED = 10_000;
/** Reads of a session that changes at the same time. */
const MAX_TRIES = 5;
/** A busy page does not cause a write at each click. */
const MIN_TOUCH_INTERVAL_MS = 30_000;

export class Sessions {
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** A new session. The caller sets `token` as a cookie and shows it nowhere else. */
  async begin(admin: Admin, place: SessionPlace): Promise<{ token: string; session: Session }> {
    const { store, clock, random, settings } = this.#deps;
    const token = toBase64Url(random.bytes(TOKEN_OCTETS));
    const id = this.#idOf(token);
    const nowMs = clock.nowMs();
    const { value: epoch } = await store.get<number>(epochKey(admin.name));
    const lifeMs = admin.origin === "provider"
      ? Math.min(settings.sessionMs, MAX_PROVIDER_SESSION_MS)
      : settings.sessionMs;
    const record: SessionRecord = {
      admin: admin.name,
      credential: admin.credential,
      createdMs: nowMs,
      usedMs: nowMs,
      deadlineMs: nowMs + lifeMs,
      freshMs: Math.min(place.freshMs ?? nowMs, nowMs),
      source: place.source,
      agent: printable(place.agent),
      epoch: epoch ?? 0,
    };
    await store.commit({
      mutations: [
        { type: "set", key: keyOf(id), value: record, expireInMs: lifeMs },
        auditEntry({ ...auditFields(record), action: "administrator.sign_in", by: place.by }),
      ],
    });
    return { token, session: this.#sessionOf(id, { record, admin }) };
  }

  /** The session of a token, or `null`. With `countsAsUse`, the idle deadline moves. */
  async resume(token: string, { countsAsUse }: { countsAsUse: boolean }): Promise<Session | null> {
    const { store, clock, admins } = this.#deps;
    if (!isToken(token)) return null;
    const id = this.#idOf(token);
    const entry = await store.get<SessionRecord>(keyOf(id));
    const { value } = entry;
    if (value === null) return null;
    if (this.#isOver(value)) {
      await this.#close(entry, this.#expiryEntry(value));
      return null;
    }
    const [admin, epoch] = await Promise.all([
      admins.find(value.admin),
      store.get<number>(epochKey(value.admin)),
    ]);
    if (admin === null || !equalDigests(admin.credential, value.credential)) return null;
    if (value.epoch !== (epoch.value ?? 0)) return null;
    if (!isRoleConfirmed(admin, clock.nowMs())) return null;
    return this.#sessionOf(id, { record: countsAsUse ? await this.#touch(id, value) : value, admin });
  }

  /** Ends the session and records that. Does nothing if it has ended. */
  async end(token: string, { source, action }: { source: string; action: SessionEndAction }): Promise<void> {
    if (!isToken(token)) return;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await this.#deps.store.get<SessionRecord>(keyOf(this.#idOf(token)));
      const { value } = entry;
      if (value === null) return;
      const record = this.#isOver(value)
        ? this.#expiryEntry(value)
        : { ...auditFields(value), source, action };
      if (await this.#close(entry, record)) return;
    }
    throw new Refusal("changed_meanwhile");
  }

  /** Records that the administrator just used a factor. `null` if the session has ended. */
  async recordFactor(id: string): Promise<Session | null> {
    const { store, clock, admins } = this.#deps;
    // A request of the same browser to another node may move the idle deadline at this moment.
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { key, value, versionstamp } = await store.get<SessionRecord>(keyOf(id));
      const admin = value === null ? null : await admins.find(value.admin);
      if (value === null || admin === null) return null;
      const nowMs = clock.nowMs();
      const record = { ...value, usedMs: nowMs, freshMs: nowMs };
      const done = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: record, expireInMs: value.deadlineMs - nowMs }],
      });
      if (done.ok) return this.#sessionOf(id, { record, admin });
    }
    return null;
  }

  /** The current sessions of `admin`, newest first. */
  async list(admin: Admin): Promise<SessionRow[]> {
    const rows: SessionRow[] = [];
    const { value: epoch } = await this.#deps.store.get<number>(epochKey(admin.name));
    const stored = this.#deps.store.list<SessionRecord>(["console_session"], { limit: MAX_LISTED });
    for await (const { key, value } of stored) {
      const isOwn = value !== null && value.admin === admin.name && !this.#isOver(value) &&
        value.epoch === (epoch ?? 0) && equalDigests(value.credential, admin.credential);
      if (!isOwn) continue;
      const { createdMs, usedMs, source, agent } = value;
      rows.push({ id: String(key[1]), admin: admin.name, createdMs, usedMs, source, agent });
    }
    return rows.sort((a, b) => b.createdMs - a.createdMs);
  }

  /** Prepares the end of all sessions of `admin` but one, however many there are. */
  async prepareEndAll(
    admin: Admin,
    { exceptId }: { exceptId: string },
  ): Promise<{ checks: Check[]; mutations: Mutation[] }> {
    const { store, clock } = this.#deps;
    const { key, value, versionstamp } = await store.get<number>(epochKey(admin.name));
    const epoch = (value ?? 0) + 1;
    const checks: Check[] = [{ key, versionstamp }];
    const mutations: Mutation[] = [{ type: "set", key, value: epoch }];
    const kept = await store.get<SessionRecord>(keyOf(exceptId));
    if (kept.value?.admin === admin.name) {
      checks.push({ key: kept.key, versionstamp: kept.versionstamp });
      const expireInMs = Math.max(1, kept.value.deadlineMs - clock.nowMs());
      mutations.push({ type: "set", key: kept.key, value: { ...kept.value, epoch }, expireInMs });
    }
    return { checks, mutations };
  }

  /** The mutations that end sessions by their ids. */
  deleteMutations(ids: readonly string[]): Mutation[] {
    return ids.map((id) => ({ type: "delete", key: keyOf(id) }));
  }

  #idOf(token: string): string {
    return this.#deps.vault.digest("console session", token);
  }

  #endOf(record: SessionRecord): number {
    return Math.min(record.deadlineMs, record.usedMs + this.#deps.settings.idleMs);
  }

  #isOver(record: SessionRecord): boolean {
    return this.#deps.clock.nowMs() >= this.#endOf(record);
  }

  #expiryEntry(record: SessionRecord): AuditEntry {
    return { ...auditFields(record), action: "session.run_out", deadlineMs: this.#endOf(record) };
  }

  #sessionOf(id: string, { record, admin }: { record: SessionRecord; admin: Admin }): Session {
    const { deadlineMs, freshMs } = record;
    return { id, admin, personId: admin.id, deadlineMs, idleDeadlineMs: this.#endOf(record), freshMs };
  }

  /** Deletes the session and records that; `false` if it changed meanwhile. */
  async #close({ key, versionstamp }: StoreEntry<SessionRecord>, entry: AuditEntry): Promise<boolean> {
    const mutations = [{ type: "delete" as const, key }, auditEntry(entry)];
    return (await this.#deps.store.commit({ checks: [{ key, versionstamp }], mutations })).ok;
  }

  #touch(id: string, record: SessionRecord): Promise<SessionRecord> {
    const intervalMs = Math.min(MIN_TOUCH_INTERVAL_MS, this.#deps.settings.idleMs / 10);
    return touchSession(this.#deps, record, { key: keyOf(id), intervalMs });
  }
}

/** Stores when a session was used, at most once in `intervalMs`. */
export async function touchSession<R extends { readonly usedMs: number; readonly deadlineMs: number }>(
  { store, clock }: Pick<SessionsDeps, "store" | "clock">,
  record: R,
  { key, intervalMs }: { key: Deno.KvKey; intervalMs: number },
): Promise<R> {
  const nowMs = clock.nowMs();
  if (nowMs - record.usedMs < intervalMs) return record;
  const { value, versionstamp } = await store.get<R>(key);
  // After a sign-out, a touch must not restore the session.
  if (value === null) return record;
  const used = { ...value, usedMs: nowMs };
  await store.commit({
    checks: [{ key, versionstamp }],
    mutations: [{ type: "set", key, value: used, expireInMs: record.deadlineMs - nowMs }],
  });
  return used;
}

/** The epoch of an account; absent: 0. It changes when all sessions of the account end at once. */
function epochKey(name: string): Deno.KvKey {
  return ["console_session_epoch", adminKeyName(name)];
}

function keyOf(id: string): Deno.KvKey {
  return ["console_session", id];
}

function isToken(token: string): boolean {
  return token !== "" && token.length <= MAX_TOKEN_CHARACTERS;
}

/** Administrator and address of a session, for the audit log. */
function auditFields({ admin, source }: SessionRecord) {
  return { actor: admin, source, object: `administrator:${admin}` };
}

/** The User-Agent without control characters, shortened. */
function printable(agent: string): string {
  return agent.replace(/\p{C}/gu, "").slice(0, MAX_AGENT_CHARACTERS);
}

const COOKIE = "countersign";

/** The token of the session cookie, or "". */
export function sessionToken(c: Context<HttpEnv>): string {
  return getCookie(c, cookieName(c, COOKIE)) ?? "";
}

/** Begins a session for `admin` in this browser. The browser's earlier session ends, which prevents session fixation. */
export async function startCookieSession(
  c: Context<HttpEnv>,
  { sessions, admin, by, freshMs }: {
    sessions: Sessions;
    admin: Admin;
    by: SignInMethod;
    freshMs?: number;
  },
): Promise<Session> {
  await sessions.end(sessionToken(c), { source: c.env.remoteAddress, action: "session.replace" });
  const { token, session } = await sessions.begin(admin, { ...clientInfo(c), by, freshMs });
  setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
  return session;
}

export async function endCookieSession(c: Context<HttpEnv>, sessions: Sessions): Promise<void> {
  await sessions.end(sessionToken(c), { source: c.env.remoteAddress, action: "administrator.sign_out" });
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
}
