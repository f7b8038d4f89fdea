// Sign-in to a user's own page: by a one-time link or a paired phone, and the session of the cookie.

import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Context } from "hono";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Vault } from "../../../platform/vault.ts";
import { countGuesses, type SignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import { type ChangeLimit, createChangeLimit } from "../change_limits.ts";
import { FoldedRecords } from "../folded_records.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { cookieName, cookieOptions, type HttpEnv } from "../hono_env.ts";
import {
  type AccountOwner,
  type AccountSession,
  AccountSessions,
  findAccountOwner,
  type NewAccountSession,
  usersOfPhone,
} from "./account_sessions.ts";
import type { AccountLinkInfo } from "./account_types.ts";
import type { People } from "../deps.ts";
import { phoneToken } from "../devices/phone_cookie.ts";
import { Refusal } from "../errors.ts";

interface AccountAuthDeps {
  readonly people: People;
  readonly phone: () => DeviceService | null;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: { readonly publicUrl: string };
  readonly attempts: SignInRateLimit;
}

/** Changes of one user a minute, in all sessions together. */
const CHANGES_PER_MINUTE = 60;
/** "This was not me" has a limit of its own, so that a thief's changes do not keep the owner from it. */
const REPORTS_PER_MINUTE = 20;
/** Sign-ins of one phone a minute. */
const ENTRIES_PER_MINUTE = 30;

export interface AccountAuth {
  readonly sessions: AccountSessions;
  /** The audit records of sign-ins and reports. */
  readonly records: FoldedRecords;
  /** The limit of reports, by canonical name. */
  readonly reports: ChangeLimit;
  /** The session of the cookie, or `null`. Requests that only read do not count as use. */
  findSession(c: Context<HttpEnv>): Promise<AccountSession | null>;
  /** Counts the request as a change, unless it only reads. @throws Refusal `me_over`, `too_many_changes`. */
  requireSession(c: Context<HttpEnv>): Promise<AccountSession>;
  readLink(c: Context<HttpEnv>, token: string): Promise<AccountLinkInfo>;
  enterByLink(c: Context<HttpEnv>, token: string): Promise<AccountSession>;
  /** As the only user of the phone, or as the named user. */
  enterByPhone(c: Context<HttpEnv>, userName: string | undefined): Promise<AccountSession>;
  signOut(c: Context<HttpEnv>): Promise<void>;
  phoneUsers(c: Context<HttpEnv>): Promise<string[]>;
}

const COOKIE = "countersign-me";
const MAX_TOKEN_CHARACTERS = 64;

function createAccountLimits(deps: AccountAuthDeps): Record<"changes" | "reports" | "entries", ChangeLimit> {
  return {
    changes: createChangeLimit(deps, { name: "account_change", perMinute: CHANGES_PER_MINUTE }),
    reports: createChangeLimit(deps, { name: "account_report", perMinute: REPORTS_PER_MINUTE }),
    entries: createChangeLimit(deps, { name: "account_entry", perMinute: ENTRIES_PER_MINUTE }),
  };
}

export function createAccountAuth(deps: AccountAuthDeps): AccountAuth {
  const { people, attempts, clock } = deps;
  const sessions = new AccountSessions(deps);
  const links = createAccountLinks(deps);
  const records = new FoldedRecords(deps);
  const { changes, reports, entries } = createAccountLimits(deps);

  /** Only a wrong link counts as a guess. */
  const isGuess = (fault: unknown): boolean => fault instanceof Refusal && fault.code === "bad_me_link";
  const guarded = <T>(source: string, call: () => Promise<T>): Promise<T> =>
    countGuesses(attempts, { source, name: "me link", isGuess }, call);
  const enter = async (
    c: Context<HttpEnv>,
    entrance: Omit<NewAccountSession, "source">,
  ): Promise<AccountSession> => {
    const source = c.env.remoteAddress;
    const actor = `user:${entrance.person.userName}`;
    const after = entrance.pairingId === null ? "link" : "phone";
    const event = { actor, source, action: "user.me_entered", object: actor, after } as const;
    const record = records.entry(`me_entered ${actor} ${source} ${after}`, event);
    // The browser's earlier session ends, which prevents session fixation.
    await sessions.end(cookieToken(c));
    const { token, session } = await sessions.begin({
      ...entrance,
      source,
      mutations: [...entrance.mutations, record],
    });
    setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c));
    return session;
  };
  const standing = async (name: string): Promise<AccountOwner> => {
    const person = await findAccountOwner(people, name);
    if (person === null) throw new Refusal("me_inactive");
    return person;
  };
  const holder = (c: Context<HttpEnv>): Promise<AccountSession | null> => {
    return sessions.resume(cookieToken(c), { countsAsUse: isChange(c) });
  };

  return {
    ...{ sessions, records, reports },
    findSession: holder,
    async requireSession(c) {
      const session = await holder(c);
      if (session === null) throw new Refusal("me_over");
      if (isChange(c)) await changes.take(session.person.canonical);
      return session;
    },
    async readLink(c, token) {
      const { user, deadlineMs } = await guarded(c.env.remoteAddress, () => links.read(token));
      return { userName: user, deadlineMs, nowMs: clock.nowMs() };
    },
    async enterByLink(c, token) {
      const taken = await guarded(c.env.remoteAddress, () => links.redeem(token));
      const person = await standing(taken.link.user);
      // The user of the link has left since.
      if (person.recordId !== taken.link.recordId) throw new Refusal("bad_me_link");
      const checks = [...taken.checks, person.check];
      return await enter(c, { person, pairingId: null, checks, mutations: taken.mutations });
    },
    async enterByPhone(c, userName) {
      const users = await usersOfPhone(deps, phoneToken(c));
      const wanted = userName === undefined
        ? users.length === 1 ? users[0] : undefined
        : users.find((one) => canonicalName(one.userName) === canonicalName(userName));
      if (wanted === undefined) throw new Refusal("not_this_phone");
      await entries.take(wanted.pairingId);
      const person = await standing(wanted.userName);
      return await enter(c, { person, pairingId: wanted.pairingId, checks: [], mutations: [] });
    },
    async signOut(c) {
      await sessions.end(cookieToken(c));
      deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
    },
    async phoneUsers(c) {
      return (await usersOfPhone(deps, phoneToken(c))).map(({ userName }) => userName);
    },
  };
}

function isChange(c: Context<HttpEnv>): boolean {
  return c.req.method !== "GET" && c.req.method !== "HEAD";
}

function cookieToken(c: Context<HttpEnv>): string {
  const token = getCookie(c, cookieName(c, COOKIE)) ?? "";
  return token.length <= MAX_TOKEN_CHARACTERS ? token : "";
}

/** A link as it is stored, under its digest. */
export interface AccountLink {
  readonly user: string;
  readonly canonical: string;
  /** The directory record of the person. */
  readonly recordId: string;
  readonly deadlineMs: number;
}

/** A link with the changes that use it up. */
interface RedeemedLink {
  readonly link: AccountLink;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

interface AccountLinks {
  /** Creates and records a link, valid once, for a day. It voids an earlier one. @throws Refusal `changed_meanwhile`. */
  make(
    person: AccountOwner,
    caller: { actor: string; source: string },
  ): Promise<{ url: string; deadlineMs: number }>;
  /** Reads a link without using it. @throws Refusal `bad_me_link`. */
  read(token: string): Promise<AccountLink>;
  /** The link, with the changes that use it up. @throws Refusal `bad_me_link`. */
  redeem(token: string): Promise<RedeemedLink>;
}

interface AccountLinksDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: { readonly publicUrl: string };
}

const TOKEN_OCTETS = 16;
const LINK_MS = 24 * 3600_000;

export function createAccountLinks(deps: AccountLinksDeps): AccountLinks {
  const { store, vault, clock, random, http } = deps;
  const keyOf = (digest: string): Deno.KvKey => ["me_link", digest];
  /** The current link of a user. */
  const currentKey = (canonical: string): Deno.KvKey => ["me_link_of", canonical];

  const find = async (token: string) => {
    if (token === "" || token.length > MAX_TOKEN_CHARACTERS) throw new Refusal("bad_me_link");
    const entry = await store.get<AccountLink>(keyOf(vault.digest("self-service link", token)));
    const { value } = entry;
    if (value === null || value.deadlineMs <= clock.nowMs()) throw new Refusal("bad_me_link");
    return { ...entry, value };
  };

  return {
    async make({ userName, canonical, recordId, check }, { actor, source }) {
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const digest = vault.digest("self-service link", token);
      const before = await store.get<string>(currentKey(canonical));
      const deadlineMs = clock.nowMs() + LINK_MS;
      const value: AccountLink = { user: userName, canonical, recordId, deadlineMs };
      const done = await store.commit({
        checks: [{ key: before.key, versionstamp: before.versionstamp }, check],
        mutations: [
          ...before.value === null ? [] : [{ type: "delete", key: keyOf(before.value) } as const],
          { type: "set", key: keyOf(digest), value, expireInMs: LINK_MS },
          { type: "set", key: currentKey(canonical), value: digest, expireInMs: LINK_MS },
          auditEntry({ actor, source, action: "user.me_link", object: `user:${userName}` }),
        ],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return { url: `${http.publicUrl}/me#${token}`, deadlineMs };
    },
    async read(token) {
      return (await find(token)).value;
    },
    async redeem(token) {
      const { key, value, versionstamp } = await find(token);
      return {
        link: value,
        checks: [{ key, versionstamp }],
        mutations: [{ type: "delete", key }, { type: "delete", key: currentKey(value.canonical) }],
      };
    },
  };
}
