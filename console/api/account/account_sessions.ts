// A person's visit to their own page: a random token in a cookie of its own, its digest in the store, an idle end and an absolute one.
// It is never an administrator's session, and opens nothing of the console.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { isPhoneOf, type Person, personOf } from "./account_owner.ts";
import type { MeWay } from "./account_types.ts";
import type { People } from "../users/user_deps.ts";
import { Refusal } from "../errors.ts";

interface SessionRecord {
  readonly user: string;
  /** The directory record of the person; absent in sessions of version 0.1.0, which are over. */
  readonly recordId?: string;
  readonly via: MeWay;
  /** The pairing of the phone that opened it. */
  readonly pairingId: string | null;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly deadlineMs: number;
  readonly source: string;
  /** When a code of the user was shown last. A link counts as one. */
  readonly freshMs?: number;
  /** The pairing that the code was of. */
  readonly freshBy?: string;
}

export interface MeSession {
  /** The token's digest: names the session, opens nothing. */
  readonly id: string;
  readonly person: Person;
  readonly via: MeWay;
  /** The pairing of the phone that opened it. */
  readonly pairingId: string | null;
  readonly endsMs: number;
  /** Whether it may add a factor: opened by a link, or a code was shown within {@link ME_FRESH_MS}. */
  readonly mayAddFactors: boolean;
  /** The pairing whose code was shown within {@link ME_FRESH_MS}, if any. */
  readonly shownFactor: string | null;
}

/** How a visit begins, and what belongs to the same commit. */
export interface MeEntrance {
  readonly person: Person;
  readonly pairingId: string | null;
  readonly source: string;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
}

export interface MeSessions {
  /** @throws Refusal `bad_me_link` when a check of the entrance does not hold any more. */
  begin(entrance: MeEntrance): Promise<{ token: string; session: MeSession }>;
  /** `null` when it is over, or its person or phone is gone. With `countsAsUse` its idle end moves on. */
  resume(token: string, options: { countsAsUse: boolean }): Promise<MeSession | null>;
  /** A code of the user's pairing `factor` was shown in this visit. */
  freshen(id: string, factor: string): Promise<void>;
  end(token: string): Promise<void>;
  /** What ends all sessions of a user but one. */
  endingOf(canonical: string, options: { exceptId: string | null }): Promise<Mutation[]>;
}

export interface MeSessionsDeps {
  readonly people: People;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
}

const TOKEN_OCTETS = 16;
/** How long a shown code lets a visit by phone add factors. */
export const ME_FRESH_MS = 5 * 60_000;
const MAX_TOKEN_CHARACTERS = 64;
const SESSION_MS = 3600_000;
const IDLE_MS = 15 * 60_000;
/** Use is written down this often at most. */
const TOUCH_EVERY_MS = 30_000;
/** More sessions of one user at once are not looked through. */
const MOST_OF_ONE = 200;

export function createMeSessions({ people, store, vault, clock, random }: MeSessionsDeps): MeSessions {
  const idOf = (token: string) => vault.digest("self-service session", token);
  const keyOf = (id: string): Deno.KvKey => ["me_session", id];
  const ownKey = (canonical: string, id: string): Deno.KvKey => ["me_session_of", canonical, id];
  const endsMs = ({ deadlineMs, usedMs }: SessionRecord) => Math.min(deadlineMs, usedMs + IDLE_MS);
  const sessionOf = (
    id: string,
    { record, person }: { record: SessionRecord; person: Person },
  ): MeSession => {
    const isFresh = clock.nowMs() - (record.freshMs ?? -Infinity) < ME_FRESH_MS;
    return {
      id,
      person,
      via: record.via,
      pairingId: record.pairingId,
      endsMs: endsMs(record),
      mayAddFactors: record.via === "link" || isFresh,
      shownFactor: isFresh ? record.freshBy ?? null : null,
    };
  };
  const isToken = (token: string) => token !== "" && token.length <= MAX_TOKEN_CHARACTERS;
  const removal = (canonical: string, id: string): Mutation[] => [
    { type: "delete", key: keyOf(id) },
    { type: "delete", key: ownKey(canonical, id) },
  ];

  /** Who it belongs to, if that is still the same person with the same phone. */
  const holderOf = async ({ user, recordId, via, pairingId }: SessionRecord): Promise<Person | null> => {
    const person = await personOf(people, user);
    if (person === null || person.recordId !== recordId) return null;
    if (via === "phone" && (pairingId === null || !isPhoneOf(people, person.canonical, pairingId))) {
      return null;
    }
    return person;
  };
  const touch = async (id: string, record: SessionRecord): Promise<SessionRecord> => {
    const nowMs = clock.nowMs();
    if (nowMs - record.usedMs < TOUCH_EVERY_MS) return record;
    const { key, versionstamp } = await store.get<SessionRecord>(keyOf(id));
    // Ended meanwhile: a touch must not bring the session back.
    if (versionstamp === null) return record;
    const used = { ...record, usedMs: nowMs };
    await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: used, expireInMs: record.deadlineMs - nowMs }],
    });
    return used;
  };

  return {
    async begin({ person, pairingId, source, checks, mutations }) {
      const token = toBase64Url(random.bytes(TOKEN_OCTETS));
      const id = idOf(token);
      const nowMs = clock.nowMs();
      const record: SessionRecord = {
        user: person.userName,
        recordId: person.recordId,
        via: pairingId === null ? "link" : "phone",
        pairingId,
        createdMs: nowMs,
        usedMs: nowMs,
        deadlineMs: nowMs + SESSION_MS,
        source,
      };
      const done = await store.commit({
        checks,
        mutations: [
          ...mutations,
          { type: "set", key: keyOf(id), value: record, expireInMs: SESSION_MS },
          { type: "set", key: ownKey(person.canonical, id), value: true, expireInMs: SESSION_MS },
        ],
      });
      if (!done.ok) throw new Refusal("bad_me_link");
      return { token, session: sessionOf(id, { record, person }) };
    },
    async resume(token, { countsAsUse }) {
      if (!isToken(token)) return null;
      const id = idOf(token);
      const { value } = await store.get<SessionRecord>(keyOf(id));
      if (value === null || clock.nowMs() >= endsMs(value)) return null;
      const person = await holderOf(value);
      if (person === null) return null;
      const record = countsAsUse ? await touch(id, value) : value;
      return sessionOf(id, { record, person });
    },
    async freshen(id, factor) {
      const { key, value, versionstamp } = await store.get<SessionRecord>(keyOf(id));
      const nowMs = clock.nowMs();
      const done = value !== null && await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{
          type: "set",
          key,
          value: { ...value, usedMs: nowMs, freshMs: nowMs, freshBy: factor },
          expireInMs: value.deadlineMs - nowMs,
        }],
      });
      if (done === false || !done.ok) throw new Refusal("changed_meanwhile");
    },
    async end(token) {
      if (!isToken(token)) return;
      const id = idOf(token);
      const { value } = await store.get<SessionRecord>(keyOf(id));
      if (value !== null) await store.commit({ mutations: removal(canonicalName(value.user), id) });
    },
    async endingOf(canonical, { exceptId }) {
      const mutations: Mutation[] = [];
      for await (const { key } of store.list(["me_session_of", canonical], { limit: MOST_OF_ONE })) {
        const id = String(key[2]);
        if (id !== exceptId) mutations.push(...removal(canonical, id));
      }
      return mutations;
    },
  };
}
