// Sessions of the console: a random token in a cookie, its digest in the store, an absolute and an idle end.

import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Entry, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { type AuditEntry, auditEntry } from "../../../platform/audit.ts";
import { Refusal } from "../errors.ts";
import { isRoleConfirmed, MAX_PROVIDER_SESSION_MS } from "./admin_records.ts";
import type { Admin, Admins } from "./admin_store.ts";
import type { SignInMeans } from "./sign_in.ts";

/** What is kept of a session. */
interface SessionRecord {
  readonly admin: string;
  readonly credential: string;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly deadlineMs: number;
  /** When a factor was shown last. */
  readonly freshMs: number;
  readonly source: string;
  readonly agent: string;
}

/** Where a sign-in comes from. */
export interface SessionPlace {
  readonly source: string;
  /** What the browser calls itself. */
  readonly agent: string;
  readonly by: SignInMeans;
  /** When a factor was shown; just now unless told. */
  readonly freshMs?: number;
}

/** A session as its holder, or an owner, sees it. */
export interface SessionRow {
  readonly source: string;
  readonly agent: string;
  readonly id: string;
  readonly admin: string;
  readonly createdMs: number;
  readonly usedMs: number;
}

/** An administrator who is signed in. */
export interface Session {
  /** The token's digest: names the session, opens nothing. */
  readonly id: string;
  readonly admin: Admin;
  readonly deadlineMs: number;
  /** When it ends unless it is used before. */
  readonly idleDeadlineMs: number;
  /** When a factor was shown last; 0 for what shows none. */
  readonly freshMs: number;
}

/** How a session ends by its holder: on purpose, or because the same browser begins another. */
export type SessionEnd = "administrator.sign_out" | "session.replace";

export interface Sessions {
  /** A new session; `token` is for the cookie and is shown nowhere else. */
  begin(admin: Admin, place: SessionPlace): Promise<{ token: string; session: Session }>;
  /** The session of a token, or `null`. With `countsAsUse` its idle end moves on. */
  resume(token: string, options: { countsAsUse: boolean }): Promise<Session | null>;
  /** Ends it, and records that; nothing when it has ended. */
  end(token: string, deed: { source: string; action: SessionEnd }): Promise<void>;
  /** The session with a factor shown just now; `null` when it has ended. */
  freshen(id: string): Promise<Session | null>;
  /** Those of `admin` that still stand, newest first. */
  list(admin: Admin): Promise<SessionRow[]>;
  /** The changes that end some sessions by their ids. */
  ending(ids: readonly string[]): Mutation[];
}

export interface SessionsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly admins: Admins;
  readonly settings: { readonly sessionMs: number; readonly idleMs: number };
}

const TOKEN_OCTETS = 16;
const MAX_TOKEN_CHARACTERS = 64;
const MAX_AGENT_CHARACTERS = 200;
/** More than this many sessions at once are not looked through. */
const MAX_LISTED = 10_000;
/** A session that is used while it ends is read again. */
const MAX_TRIES = 5;
/** Use is written down this often at most, so that a busy page does not write at each click. */
const TOUCH_EVERY_MS = 30_000;

export function createSessions(deps: SessionsDeps): Sessions {
  const { store, vault, clock, random, admins, settings } = deps;
  const idOf = (token: string) => vault.digest("console session", token);
  const keyOf = (id: string): Deno.KvKey => ["console_session", id];

  const endOf = (record: SessionRecord) => Math.min(record.deadlineMs, record.usedMs + settings.idleMs);

  const sessionOf = (id: string, { record, admin }: { record: SessionRecord; admin: Admin }): Session => ({
    id,
    admin,
    deadlineMs: record.deadlineMs,
    idleDeadlineMs: endOf(record),
    freshMs: record.freshMs,
  });
  const isOver = (record: SessionRecord, nowMs: number) => nowMs >= endOf(record);
  /** Takes it away and records that; `false` when it changed meanwhile. */
  const close = async (
    { key, versionstamp }: Entry<SessionRecord>,
    deed: AuditEntry,
  ): Promise<boolean> => {
    const mutations = [{ type: "delete" as const, key }, auditEntry(deed)];
    return (await store.commit({ checks: [{ key, versionstamp }], mutations })).ok;
  };

  const touch = async (id: string, record: SessionRecord): Promise<SessionRecord> => {
    const nowMs = clock.nowMs();
    if (nowMs - record.usedMs < Math.min(TOUCH_EVERY_MS, settings.idleMs / 10)) return record;
    const used = { ...record, usedMs: nowMs };
    const entry = await store.get<SessionRecord>(keyOf(id));
    // Signed out meanwhile: a touch must not bring the session back.
    await store.commit({
      checks: [{ key: keyOf(id), versionstamp: entry.versionstamp }],
      mutations: entry.versionstamp === null
        ? []
        : [{ type: "set", key: keyOf(id), value: used, expireInMs: record.deadlineMs - nowMs }],
    });
    return used;
  };

  return {
    async begin(admin, { source, agent, by, freshMs }) {
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const id = idOf(token);
      const nowMs = clock.nowMs();
      const lifeMs = admin.origin === "provider"
        ? Math.min(settings.sessionMs, MAX_PROVIDER_SESSION_MS)
        : settings.sessionMs;
      const record: SessionRecord = {
        admin: admin.name,
        credential: admin.credential,
        createdMs: nowMs,
        usedMs: nowMs,
        deadlineMs: nowMs + lifeMs,
        freshMs: Math.min(freshMs ?? nowMs, nowMs),
        source,
        agent: printable(agent),
      };
      await store.commit({
        mutations: [
          { type: "set", key: keyOf(id), value: record, expireInMs: lifeMs },
          auditEntry({ ...deedOf(record), action: "administrator.sign_in", by }),
        ],
      });
      return { token, session: sessionOf(id, { record, admin }) };
    },
    async resume(token, { countsAsUse }) {
      if (token === "" || token.length > MAX_TOKEN_CHARACTERS) return null;
      const id = idOf(token);
      const entry = await store.get<SessionRecord>(keyOf(id));
      const { value } = entry;
      if (value === null) return null;
      if (isOver(value, clock.nowMs())) {
        await close(entry, { ...deedOf(value), action: "session.run_out", deadlineMs: endOf(value) });
        return null;
      }
      const admin = await admins.find(value.admin);
      if (admin === null || !equalDigests(admin.credential, value.credential)) return null;
      if (!isRoleConfirmed(admin, clock.nowMs())) return null;
      const record = countsAsUse ? await touch(id, value) : value;
      return sessionOf(id, { record, admin });
    },
    async end(token, { source, action }) {
      if (token === "" || token.length > MAX_TOKEN_CHARACTERS) return;
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const entry = await store.get<SessionRecord>(keyOf(idOf(token)));
        const { value } = entry;
        if (value === null) return;
        const deed: AuditEntry = isOver(value, clock.nowMs())
          ? { ...deedOf(value), action: "session.run_out", deadlineMs: endOf(value) }
          : { ...deedOf(value), source, action };
        if (await close(entry, deed)) return;
      }
      throw new Refusal("changed_meanwhile");
    },
    async freshen(id) {
      const { key, value, versionstamp } = await store.get<SessionRecord>(keyOf(id));
      const admin = value === null ? null : await admins.find(value.admin);
      if (value === null || admin === null) return null;
      const nowMs = clock.nowMs();
      const record = { ...value, usedMs: nowMs, freshMs: nowMs };
      const done = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ type: "set", key, value: record, expireInMs: value.deadlineMs - nowMs }],
      });
      return done.ok ? sessionOf(id, { record, admin }) : null;
    },
    async list(admin) {
      const rows: SessionRow[] = [];
      const nowMs = clock.nowMs();
      for await (
        const { key, value } of store.list<SessionRecord>(["console_session"], { limit: MAX_LISTED })
      ) {
        const mine = value !== null && value.admin === admin.name && !isOver(value, nowMs) &&
          equalDigests(value.credential, admin.credential);
        if (!mine) continue;
        const { createdMs, usedMs, source, agent } = value;
        rows.push({ id: String(key[1]), admin: admin.name, createdMs, usedMs, source, agent });
      }
      return rows.sort((a, b) => b.createdMs - a.createdMs);
    },
    ending: (ids) => ids.map((id) => ({ type: "delete", key: keyOf(id) })),
  };
}

/** Whose session it is and from where it began, for the audit. */
function deedOf({ admin, source }: SessionRecord) {
  return { actor: admin, source, object: `administrator:${admin}` };
}

/** What a browser calls itself, without what would break a line, and cut. */
function printable(agent: string): string {
  return agent.replace(/\p{C}/gu, "").slice(0, MAX_AGENT_CHARACTERS);
}
