// The recovery codes of users: ten at a time, each good for one login. Only digests are kept; a mirror of the store, so that a login reads memory.

import type { Clock, Random } from "../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { AddingPhone } from "./pairing.ts";
import { readRecoveryCode, recoveryCodeOf } from "./recovery_code.ts";

/** How many codes a user has, and since when. */
export interface RecoveryStanding {
  readonly left: number;
  /** `null` when none were ever made, or all went with their user. */
  readonly createdMs: number | null;
  /** The phone that made them on /me. Without that phone, they do not count until they are confirmed. */
  readonly addedBy?: AddingPhone;
}

/** New codes, before their commit. */
export interface MadeCodes {
  /** To be shown once; kept nowhere. */
  readonly codes: readonly string[];
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** The commit was made, under this versionstamp: from now on they count, and the old ones do not. */
  adopt(versionstamp: string): void;
}

/** One code on its way to being used up. */
export interface UsedCode {
  readonly check: Check;
  readonly mutation: Mutation;
  /** The commit was not made. */
  putBack(): void;
}

export interface RecoveryCodes {
  standing(user: string): RecoveryStanding;
  /** The digest of the code that was typed, if it is one of the user's; else `null`. */
  find(user: string, typed: string): string | null;
  /** Takes a code out of the mirror at once: a second login meanwhile does not find it. `null`: it is gone already. */
  prepareUse(user: string, digest: string): UsedCode | null;
  /** Ten codes in the place of all that the user has. */
  make(user: string, options?: { addedBy?: AddingPhone | undefined }): MadeCodes;
  /** The codes count from now on, whichever phone made them. `false`: there is nothing to confirm, or the codes changed at the same time. */
  confirm(
    user: string,
    also?: readonly Mutation[],
    /** The phone that counts as their maker from now on. */
    by?: { addedBy?: AddingPhone | undefined },
  ): Promise<boolean>;
  /** Takes out all that a user has, at once; the mutations take it out of the store. */
  takeAll(user: string): { readonly mutations: readonly Mutation[]; putBack(): void };
  load(): Promise<void>;
}

interface CodeSet {
  readonly id: string;
  readonly createdMs: number;
  readonly addedBy?: AddingPhone;
  readonly versionstamp: string;
  /** Digest → the versionstamp of its record. */
  readonly codes: Map<string, string>;
}

interface SetRecord {
  readonly id: string;
  readonly createdMs: number;
  readonly addedBy?: AddingPhone;
}

const CODES = 10;
const OCTETS = 10;

/** @param target the directory whose users the codes belong to. */
export function createRecoveryCodes(
  { store, vault, clock, random, target }: {
    store: Store;
    vault: Vault;
    clock: Clock;
    random: Random;
    target: string;
  },
): RecoveryCodes {
  const sets = new Map<string, CodeSet>();
  const setKey = (user: string): Deno.KvKey => ["recovery_set", target, user];
  const codeKey = (user: string, setId: string, digest: string): Deno.KvKey => [
    "recovery_code",
    target,
    user,
    setId,
    digest,
  ];
  const digestOf = (user: string, plain: string): string =>
    vault.digest("recovery code", `${target}\0${user}\0${plain}`);
  const removals = (user: string, { id, codes }: CodeSet): Mutation[] =>
    [...codes.keys()].map((digest) => ({ type: "delete", key: codeKey(user, id, digest) }));

  return {
    standing(user) {
      const set = sets.get(user);
      const left = set?.codes.size ?? 0;
      const addedBy = left === 0 ? undefined : set?.addedBy;
      return { left, createdMs: set?.createdMs ?? null, ...(addedBy === undefined ? {} : { addedBy }) };
    },
    find(user, typed) {
      const set = sets.get(user);
      const plain = set === undefined ? null : readRecoveryCode(typed);
      if (set === undefined || plain === null) return null;
      const digest = digestOf(user, plain);
      return set.codes.has(digest) ? digest : null;
    },
    prepareUse(user, digest) {
      const set = sets.get(user);
      const versionstamp = set?.codes.get(digest);
      if (set === undefined || versionstamp === undefined) return null;
      set.codes.delete(digest);
      const key = codeKey(user, set.id, digest);
      return {
        // Another gateway on the same store may have taken it: then this commit is not made.
        check: { key, versionstamp },
        mutation: { type: "delete", key },
        putBack: () => void set.codes.set(digest, versionstamp),
      };
    },
    async confirm(user, also = [], { addedBy } = {}) {
      const before = sets.get(user);
      if (before?.addedBy === undefined) return false;
      const { id, createdMs, versionstamp, codes } = before;
      const record: SetRecord = { id, createdMs, ...(addedBy === undefined ? {} : { addedBy }) };
      const done = await store.commit({
        checks: [{ key: setKey(user), versionstamp }],
        mutations: [{ type: "set", key: setKey(user), value: record }, ...also],
      });
      if (!done.ok) return false;
      if (sets.get(user) === before) sets.set(user, { ...record, versionstamp: done.versionstamp, codes });
      return true;
    },
    make(user, { addedBy } = {}) {
      const before = sets.get(user);
      const record: SetRecord = {
        id: random.bytes(8).toHex(),
        createdMs: clock.nowMs(),
        ...(addedBy === undefined ? {} : { addedBy }),
      };
      const codes = Array.from({ length: CODES }, () => recoveryCodeOf(random.bytes(OCTETS)));
      const digests = codes.map((code) => digestOf(user, readRecoveryCode(code) ?? code));
      return {
        codes,
        checks: [{ key: setKey(user), versionstamp: before?.versionstamp ?? null }],
        mutations: [
          ...before === undefined ? [] : removals(user, before),
          { type: "set", key: setKey(user), value: record },
          ...digests.map((digest): Mutation => ({
            type: "set",
            key: codeKey(user, record.id, digest),
            value: true,
          })),
        ],
        adopt(versionstamp) {
          sets.set(user, {
            ...record,
            versionstamp,
            codes: new Map(digests.map((digest) => [digest, versionstamp])),
          });
        },
      };
    },
    takeAll(user) {
      const set = sets.get(user);
      if (set === undefined) return { mutations: [], putBack: () => undefined };
      sets.delete(user);
      return {
        mutations: [{ type: "delete", key: setKey(user) }, ...removals(user, set)],
        putBack: () => void sets.set(user, set),
      };
    },
    async load() {
      for await (const { key, value, versionstamp } of store.list<SetRecord>(["recovery_set", target])) {
        const user = key[2];
        if (typeof user !== "string" || value === null || versionstamp === null) continue;
        sets.set(user, { ...value, versionstamp, codes: new Map() });
      }
      for await (const { key, versionstamp } of store.list<true>(["recovery_code", target])) {
        const [, , user, setId, digest] = key;
        const set = typeof user === "string" ? sets.get(user) : undefined;
        if (set === undefined || set.id !== setId || versionstamp === null) continue;
        if (typeof digest === "string") set.codes.set(digest, versionstamp);
      }
    },
  };
}
