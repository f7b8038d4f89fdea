// Sessions of a user's own page, and their owners: a random token in its own cookie, its digest in the store, an idle and an
// absolute deadline. Such a session is never an administrator's session, and gives no access to the console.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import { KeyedMutex } from "../../../platform/semaphore.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { AccountSignInMethod } from "./account_types.ts";
import { touchSession } from "../auth/sessions.ts";
import { type People, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { displayNameOf } from "../users/user_views.ts";

/** The value of {@link accountSessionKeys}.session. */
export interface AccountSessionRecord {
  readonly user: string;
  /** The directory record of the user. */
  readonly recordId: string;
  readonly via: AccountSignInMethod;
  /** The pairing of the phone that opened the session. */
  readonly pairingId: string | null;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly deadlineMs: number;
  readonly source: string;
  /** When the user last entered a code. A link counts as one. */
  readonly freshMs?: number;
  /** The factor of that code. */
  readonly freshBy?: ShownFactor;
}

/**
 * The value of {@link accountSessionKeys}.own: the digests of the user's sessions, oldest first, at most {@link MAX_SESSIONS_PER_USER}. It outlives
 * every session that it names. A commit that begins sessions, or ends all, checks its version, so that no session is missing.
 */
export type AccountSessionIndex = readonly string[];

/** The end of all sessions of a user but one, for a commit. */
interface PreparedSessionEnd {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

/** A factor whose code the user entered. */
export interface ShownFactor {
  /** The pairing's id, that of a hardware token, or `RECOVERY_CODES`. */
  readonly id: string;
  /** The factor that it came from when the code was entered, by `Pairings.originOf`. */
  readonly origin: string;
}

export interface AccountSession {
  /** The digest of the token: identifies the session, but gives no access. */
  readonly id: string;
  readonly person: AccountOwner;
  readonly via: AccountSignInMethod;
  /** The pairing of the phone that opened the session. */
  readonly pairingId: string | null;
  readonly endsMs: number;
  /** Whether it may add a factor: a link opened it, or the user entered a code within {@link RECENT_CODE_MS}. */
  readonly mayAddFactors: boolean;
  /** The factor whose code the user entered within {@link RECENT_CODE_MS}, if any. */
  readonly shownFactor: ShownFactor | null;
}

/** A session to begin, with the other changes of its commit. */
export interface NewAccountSession {
  readonly person: AccountOwner;
  readonly pairingId: string | null;
  readonly source: string;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

interface AccountSessionsDeps {
  readonly people: People;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
}

const TOKEN_OCTETS = 16;
/** How long a code lets a session that a phone opened add factors. */
const RECENT_CODE_MS = 5 * 60_000;
const MAX_TOKEN_CHARACTERS = 64;
export const ACCOUNT_SESSION_MS = 3600_000;
const IDLE_MS = 15 * 60_000;
const MIN_TOUCH_INTERVAL_MS = 30_000;
/** A further session ends the oldest one. */
const MAX_SESSIONS_PER_USER = 20;
/** Lost races of one change. */
const MAX_TRIES = 10;

export class AccountSessions {
  readonly #deps: AccountSessionsDeps;
  readonly #users = new KeyedMutex();

  constructor(deps: AccountSessionsDeps) {
    this.#deps = deps;
  }

  /** @throws Refusal `bad_me_link` if a check of the commit fails. */
  begin(wanted: NewAccountSession): Promise<{ token: string; session: AccountSession }> {
    // The sign-ins of this node would only race each other.
    return this.#users.run(wanted.person.canonical, () => this.#begin(wanted));
  }

  async #begin(
    { person, pairingId, source, checks, mutations }: NewAccountSession,
  ): Promise<{ token: string; session: AccountSession }> {
    const { store, clock, random } = this.#deps;
    const token = toBase64Url(random.bytes(TOKEN_OCTETS));
    const id = this.#idOf(token);
    const nowMs = clock.nowMs();
    const record: AccountSessionRecord = {
      user: person.userName,
      recordId: person.recordId,
      via: pairingId === null ? "link" : "phone",
      pairingId,
      createdMs: nowMs,
      usedMs: nowMs,
      deadlineMs: nowMs + ACCOUNT_SESSION_MS,
      source,
    };
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const own = await this.#readOwn(person.canonical);
      const ids = [...own.ids, id].slice(-MAX_SESSIONS_PER_USER);
      const done = await store.commit({
        checks: [...checks, own.check],
        mutations: [
          ...mutations,
          { type: "set", key: keyOf(id), value: record, expireInMs: ACCOUNT_SESSION_MS },
          ownMutation(person.canonical, ids),
          ...own.ids.filter((one) => !ids.includes(one)).map(deletionOf),
        ],
      });
      if (done.ok) return { token, session: this.#sessionOf(id, { record, person }) };
      // Without another sign-in of the user, a check of the caller failed.
      const { check: { versionstamp } } = await this.#readOwn(person.canonical);
      if (versionstamp === own.check.versionstamp) break;
    }
    throw new Refusal("bad_me_link");
  }

  /** `null` if the session has ended, or its user or phone is gone. With `countsAsUse`, the idle deadline moves. */
  async resume(token: string, { countsAsUse }: { countsAsUse: boolean }): Promise<AccountSession | null> {
    if (!isToken(token)) return null;
    const id = this.#idOf(token);
    const { value } = await this.#deps.store.get<AccountSessionRecord>(keyOf(id));
    if (value === null || this.#deps.clock.nowMs() >= endOf(value)) return null;
    const person = await this.#ownerOf(value);
    if (person === null) return null;
    const touched = { key: keyOf(id), intervalMs: MIN_TOUCH_INTERVAL_MS };
    const record = countsAsUse ? await touchSession(this.#deps, value, touched) : value;
    return this.#sessionOf(id, { record, person });
  }

  /** The user entered a code of `factor` in this session. @throws Refusal `changed_meanwhile`. */
  async recordFactor(id: string, factor: ShownFactor): Promise<void> {
    const { store, clock } = this.#deps;
    const { key, value, versionstamp } = await store.get<AccountSessionRecord>(keyOf(id));
    if (value === null) throw new Refusal("changed_meanwhile");
    const nowMs = clock.nowMs();
    const record = { ...value, usedMs: nowMs, freshMs: nowMs, freshBy: factor };
    const done = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: record, expireInMs: value.deadlineMs - nowMs }],
    });
    if (!done.ok) throw new Refusal("changed_meanwhile");
  }

  async end(token: string): Promise<void> {
    if (!isToken(token)) return;
    const { store } = this.#deps;
    const id = this.#idOf(token);
    const { value } = await store.get<AccountSessionRecord>(keyOf(id));
    if (value === null) return;
    const canonical = canonicalName(value.user);
    await this.#users.run(canonical, () => this.#end(canonical, id));
  }

  async #end(canonical: string, id: string): Promise<void> {
    const { store } = this.#deps;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const own = await this.#readOwn(canonical);
      const ids = own.ids.filter((one) => one !== id);
      const mutations = [deletionOf(id), ownMutation(canonical, ids)];
      if ((await store.commit({ checks: [own.check], mutations })).ok) return;
    }
    // The session itself ends in any case. Its place in the list is free after an hour.
    await store.commit({ mutations: [deletionOf(id)] });
  }

  /** Prepares the end of all sessions of a user but one: on every node, and also of a session that begins meanwhile. */
  async prepareEndAll(
    canonical: string,
    { exceptId }: { exceptId: string | null },
  ): Promise<PreparedSessionEnd> {
    const own = await this.#readOwn(canonical);
    const [kept, ended] = [own.ids.filter((id) => id === exceptId), own.ids.filter((id) => id !== exceptId)];
    return { checks: [own.check], mutations: [...ended.map(deletionOf), ownMutation(canonical, kept)] };
  }

  async #readOwn(canonical: string): Promise<{ ids: AccountSessionIndex; check: Check }> {
    const { key, value, versionstamp } = await this.#deps.store.get<AccountSessionIndex>(ownKey(canonical));
    return { ids: value ?? [], check: { key, versionstamp } };
  }

  #idOf(token: string): string {
    return this.#deps.vault.digest("self-service session", token);
  }

  #sessionOf(
    id: string,
    { record, person }: { record: AccountSessionRecord; person: AccountOwner },
  ): AccountSession {
    const isRecent = this.#deps.clock.nowMs() - (record.freshMs ?? -Infinity) < RECENT_CODE_MS;
    return {
      id,
      person,
      via: record.via,
      pairingId: record.pairingId,
      endsMs: endOf(record),
      mayAddFactors: record.via === "link" || isRecent,
      shownFactor: isRecent ? record.freshBy ?? null : null,
    };
  }

  /** The user, if the name still has the same directory record and the phone is still paired. */
  async #ownerOf({ user, recordId, via, pairingId }: AccountSessionRecord): Promise<AccountOwner | null> {
    const { people } = this.#deps;
    const person = await findAccountOwner(people, user);
    if (person === null || person.recordId !== recordId) return null;
    const isPaired = pairingId !== null && isPhoneOf(people, person.canonical, pairingId);
    return via === "phone" && !isPaired ? null : person;
  }
}

/** The keys of a session, and of the sessions of a user. */
export const accountSessionKeys = {
  session: (id: string): Deno.KvKey => ["me_session", id],
  own: (canonical: string): Deno.KvKey => ["me_session_of", canonical],
};
const { session: keyOf, own: ownKey } = accountSessionKeys;

function deletionOf(id: string): Mutation {
  return { type: "delete", key: keyOf(id) };
}

function ownMutation(canonical: string, value: AccountSessionIndex): Mutation {
  return { type: "set", key: ownKey(canonical), value, expireInMs: ACCOUNT_SESSION_MS };
}

function endOf({ deadlineMs, usedMs }: AccountSessionRecord): number {
  return Math.min(deadlineMs, usedMs + IDLE_MS);
}

function isToken(token: string): boolean {
  return token !== "" && token.length <= MAX_TOKEN_CHARACTERS;
}

export interface AccountOwner {
  /** In the spelling of the directory. */
  readonly userName: string;
  readonly canonical: string;
  readonly displayName: string | null;
  /** When the directory's record was created; `null` without a record. */
  readonly createdMs: number | null;
  /** The directory record. A later user of the same name has another id, and so has a user who left and returned. */
  readonly recordId: string;
  /** Holds until the user leaves the directory. */
  readonly check: Check;
}

/** A user that a phone is paired for. */
interface PhoneUser {
  readonly userName: string;
  readonly pairingId: string;
}

/** The user of a name; `null` if deactivated or deleted. A name outside the directory may have factors. */
export async function findAccountOwner(people: People, name: string): Promise<AccountOwner | null> {
  const canonical = canonicalName(name);
  const { id: recordId, status, createdMs, check } = await people.findUserRecord(canonical);
  if (status === "inactive" || status === "deleted") return null;
  const record = { canonical, createdMs, recordId, check };
  const stored = await targetOf(people, undefined).directory.read("user", canonical);
  if (stored === null) return { ...record, userName: name.normalize("NFC"), displayName: null };
  const { content } = stored;
  if (content.kind !== "user") return null;
  const displayName = displayNameOf(content);
  return {
    ...record,
    userName: content.name,
    displayName: displayName === "" ? null : displayName,
  };
}

/** Whether the pairing is a usable phone of the user, and neither revoked nor unconfirmed. */
function isPhoneOf({ pairings }: People, canonical: string, pairingId: string): boolean {
  return pairings.usable(canonical).some(({ kind, id }) => kind === "device" && id === pairingId);
}

/** The users of a phone's token. */
export async function usersOfPhone(
  { people, phone }: { people: People; phone: () => DeviceService | null },
  token: string,
): Promise<PhoneUser[]> {
  const view = token === "" ? null : await phone()?.view(token) ?? null;
  const users = new Map<string, PhoneUser>();
  for (const { userName, pairingId, status } of view?.pairings ?? []) {
    const canonical = canonicalName(userName);
    if (status !== "enabled" || users.has(canonical) || !isPhoneOf(people, canonical, pairingId)) continue;
    users.set(canonical, { userName, pairingId });
  }
  return [...users.values()];
}
