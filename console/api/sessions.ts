// Sessions of the console: a random token in a cookie, its digest in the store, an absolute and an idle end.

import { type Clock, type Random, toBase64Url } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import { equalDigests, type Vault } from "../../vault.ts";
import type { Admin, Admins } from "./admins.ts";

/** What is kept of a session. */
interface SessionRecord {
  readonly admin: string;
  readonly credential: string;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly deadlineMs: number;
}

/** Somebody who is signed in. */
export interface Session {
  /** The token's digest: names the session, opens nothing. */
  readonly id: string;
  readonly admin: Admin;
  readonly deadlineMs: number;
  /** When it ends unless it is used before. */
  readonly idleDeadlineMs: number;
}

export interface Sessions {
  /** A new session; `token` is for the cookie and is shown nowhere else. */
  begin(admin: Admin): Promise<{ token: string; session: Session }>;
  /** The session of a token, or `null`. With `countsAsUse` its idle end moves on. */
  resume(token: string, options: { countsAsUse: boolean }): Promise<Session | null>;
  end(token: string): Promise<void>;
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
/** Use is written down this often at most, so that a busy page does not write at each click. */
const TOUCH_EVERY_MS = 30_000;

export function createSessions({ store, vault, clock, random, admins, settings }: SessionsDeps): Sessions {
  const idOf = (token: string) => vault.digest("console session", token);
  const keyOf = (id: string): Deno.KvKey => ["console_session", id];

  const sessionOf = (id: string, { record, admin }: { record: SessionRecord; admin: Admin }): Session => ({
    id,
    admin,
    deadlineMs: record.deadlineMs,
    idleDeadlineMs: Math.min(record.deadlineMs, record.usedMs + settings.idleMs),
  });

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
    async begin(admin) {
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const id = idOf(token);
      const nowMs = clock.nowMs();
      const record: SessionRecord = {
        admin: admin.name,
        credential: admin.credential,
        createdMs: nowMs,
        usedMs: nowMs,
        deadlineMs: nowMs + settings.sessionMs,
      };
      await store.commit({
        mutations: [{ type: "set", key: keyOf(id), value: record, expireInMs: settings.sessionMs }],
      });
      return { token, session: sessionOf(id, { record, admin }) };
    },
    async resume(token, { countsAsUse }) {
      if (token === "" || token.length > MAX_TOKEN_CHARACTERS) return null;
      const id = idOf(token);
      const { value } = await store.get<SessionRecord>(keyOf(id));
      const nowMs = clock.nowMs();
      if (value === null || nowMs >= value.deadlineMs || nowMs >= value.usedMs + settings.idleMs) return null;
      const admin = await admins.find(value.admin);
      if (admin === null || !equalDigests(admin.credential, value.credential)) return null;
      const record = countsAsUse ? await touch(id, value) : value;
      return sessionOf(id, { record, admin });
    },
    async end(token) {
      if (token === "" || token.length > MAX_TOKEN_CHARACTERS) return;
      await store.commit({ mutations: [{ type: "delete", key: keyOf(idOf(token)) }] });
    },
  };
}
