// The recovery codes of users: ten characters of base32 (RFC 4648 §6), each valid for one login. Only digests are stored. They are also in
// memory, so that a login does not read the store.

import type { Check, Mutation, StoreEntry } from "../../platform/store.ts";
import { NO_CHANGE, type PreparedRename } from "../../platform/write_batch.ts";
import type { AddingPhone, FactorStoreDeps } from "./pairing.ts";

interface RecoveryCodeStatus {
  readonly left: number;
  /** `null` if the user never had codes, or was removed. */
  readonly createdMs: number | null;
  /** The phone that created them on /me. If it is no longer paired, the codes cannot be used until they are confirmed. */
  readonly addedBy?: AddingPhone;
}

/** New codes, before their commit. */
interface NewRecoveryCodes {
  /** Shown once and stored nowhere. */
  readonly codes: readonly string[];
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Call it after the commit, with its versionstamp. These codes then replace the old ones. */
  adopt(versionstamp: string): void;
}

interface RecoveryCodeUse {
  readonly check: Check;
  readonly mutation: Mutation;
  /** Call it if the commit failed. */
  restore(): void;
}

interface CodeSet {
  readonly id: string;
  readonly createdMs: number;
  readonly addedBy?: AddingPhone;
  readonly digestUser?: string;
  readonly versionstamp: string;
  /** Versionstamps of the records, by digest. */
  readonly codes: Map<string, string>;
}

interface SetRecord {
  readonly id: string;
  readonly createdMs: number;
  readonly addedBy?: AddingPhone;
  /** The name that the digests of the codes contain. Absent: that of the user. */
  readonly digestUser?: string;
}

const CODES = 10;
const OCTETS = 10;

export class RecoveryCodeStore {
  readonly #deps: FactorStoreDeps;
  readonly #sets = new Map<string, CodeSet>();

  constructor(deps: FactorStoreDeps) {
    this.#deps = deps;
    deps.store.follow(["recovery_set", deps.target], (entry) => this.#applySet(entry));
    deps.store.follow(["recovery_code", deps.target], (entry) => this.#applyCode(entry));
  }

  status(user: string): RecoveryCodeStatus {
    const set = this.#sets.get(user);
    const left = set?.codes.size ?? 0;
    const addedBy = left === 0 ? undefined : set?.addedBy;
    return { left, createdMs: set?.createdMs ?? null, ...(addedBy === undefined ? {} : { addedBy }) };
  }

  /** The digest of the typed code if it is a code of the user, otherwise `null`. */
  find(user: string, typed: string): string | null {
    const set = this.#sets.get(user);
    const plain = set === undefined ? null : readRecoveryCode(typed);
    if (set === undefined || plain === null) return null;
    const digest = this.#digestOf(set.digestUser ?? user, plain);
    return set.codes.has(digest) ? digest : null;
  }

  /** Removes a code from memory at once, so that no second login can use it. `null` if it is already used. */
  prepareUse(user: string, digest: string): RecoveryCodeUse | null {
    const set = this.#sets.get(user);
    const versionstamp = set?.codes.get(digest);
    if (set === undefined || versionstamp === undefined) return null;
    set.codes.delete(digest);
    const key = this.#codeKey(user, set.id, digest);
    return {
      check: { key, versionstamp },
      mutation: { type: "delete", key },
      restore: () => void set.codes.set(digest, versionstamp),
    };
  }

  /**
   * Confirms the codes, so that they can be used from now on. With `addedBy`, they count as created by that phone. `false` if there is nothing to
   * confirm, or the codes changed at the same time.
   */
  async confirm(
    user: string,
    also: readonly Mutation[] = [],
    { addedBy }: { addedBy?: AddingPhone | undefined } = {},
  ): Promise<boolean> {
    const before = this.#sets.get(user);
    if (before?.addedBy === undefined) return false;
    const { versionstamp, codes, addedBy: _before, ...kept } = before;
    const key = this.#setKey(user);
    const record: SetRecord = { ...kept, ...(addedBy === undefined ? {} : { addedBy }) };
    const done = await this.#deps.store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: record }, ...also],
    });
    if (!done.ok) return false;
    if (this.#sets.get(user) === before) {
      this.#sets.set(user, { ...record, versionstamp: done.versionstamp, codes });
    }
    return true;
  }

  /** Ten codes that replace all codes of the user. */
  create(user: string, { addedBy }: { addedBy?: AddingPhone | undefined } = {}): NewRecoveryCodes {
    const { random, clock, marks } = this.#deps;
    const before = this.#sets.get(user);
    const key = this.#setKey(user);
    const mark = marks?.prepare(user) ?? NO_CHANGE;
    const record: SetRecord = {
      id: random.bytes(8).toHex(),
      createdMs: clock.nowMs(),
      ...(addedBy === undefined ? {} : { addedBy }),
    };
    const codes = Array.from({ length: CODES }, () => formatRecoveryCode(random.bytes(OCTETS)));
    const digests = codes.map((code) => this.#digestOf(user, readRecoveryCode(code) ?? code));
    return {
      codes,
      checks: [{ key, versionstamp: before?.versionstamp ?? null }],
      mutations: [
        ...before === undefined ? [] : this.#removals(user, before),
        { type: "set", key, value: record },
        ...digests.map((digest): Mutation => ({
          type: "set",
          key: this.#codeKey(user, record.id, digest),
          value: true,
        })),
        ...mark.mutations,
      ],
      adopt: (versionstamp) => {
        mark.done();
        const codes = new Map(digests.map((digest) => [digest, versionstamp]));
        this.#sets.set(user, { ...record, versionstamp, codes });
      },
    };
  }

  /** Removes all codes of a user from memory at once. The mutations remove them from the store; `restore` undoes the removal. */
  removeUser(user: string): { readonly mutations: readonly Mutation[]; restore(): void } {
    const set = this.#sets.get(user);
    if (set === undefined) return { mutations: [], restore: () => undefined };
    this.#sets.delete(user);
    return {
      mutations: [{ type: "delete", key: this.#setKey(user) }, ...this.#removals(user, set)],
      restore: () => void this.#sets.set(user, set),
    };
  }

  /** Prepares the move of the codes to another name. Codes of the new name belong to a person outside the directory, and end. */
  prepareRename(from: string, to: string): PreparedRename {
    const set = this.#sets.get(from);
    const removed = [this.removeUser(from), this.removeUser(to)];
    const undo = () => removed.toReversed().forEach(({ restore }) => restore());
    const removals = removed.flatMap(({ mutations }) => mutations);
    if (set === undefined) return { mutations: removals, done: () => undefined, undo };
    const { versionstamp: _before, codes, ...record } = set;
    const moved: SetRecord = { ...record, digestUser: record.digestUser ?? from };
    const digests = [...codes.keys()];
    return {
      mutations: [
        ...removals,
        { type: "set", key: this.#setKey(to), value: moved },
        ...digests.map((digest): Mutation => ({
          type: "set",
          key: this.#codeKey(to, moved.id, digest),
          value: true,
        })),
      ],
      done: (versionstamp) => {
        const codes = new Map(digests.map((digest) => [digest, versionstamp]));
        this.#sets.set(to, { ...moved, versionstamp, codes });
      },
      undo,
    };
  }

  async load(): Promise<void> {
    const { store, target } = this.#deps;
    await store.load(["recovery_set", target], (entry) => this.#applySet(entry));
    await store.load(["recovery_code", target], (entry) => this.#applyCode(entry));
  }

  /** Takes over a stored set: at the start, or after a change of another node. A set comes before its codes. */
  #applySet({ key: [, , user], value, versionstamp }: StoreEntry<unknown>): void {
    if (typeof user !== "string") return;
    if (value === null || versionstamp === null) return void this.#sets.delete(user);
    const record = value as SetRecord;
    const before = this.#sets.get(user);
    const codes = before?.id === record.id ? before.codes : new Map<string, string>();
    this.#sets.set(user, { ...record, versionstamp, codes });
  }

  #applyCode({ key: [, , user, setId, digest], versionstamp }: StoreEntry<unknown>): void {
    const set = typeof user === "string" ? this.#sets.get(user) : undefined;
    if (set === undefined || set.id !== setId || typeof digest !== "string") return;
    if (versionstamp === null) set.codes.delete(digest);
    else set.codes.set(digest, versionstamp);
  }

  #setKey(user: string): Deno.KvKey {
    return ["recovery_set", this.#deps.target, user];
  }

  #codeKey(user: string, setId: string, digest: string): Deno.KvKey {
    return ["recovery_code", this.#deps.target, user, setId, digest];
  }

  #digestOf(user: string, plain: string): string {
    return this.#deps.vault.digest("recovery code", `${this.#deps.target}\0${user}\0${plain}`);
  }

  #removals(user: string, { id, codes }: CodeSet): Mutation[] {
    return [...codes.keys()].map((digest) => ({ type: "delete", key: this.#codeKey(user, id, digest) }));
  }
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const CHARACTERS = 10;

/** A code from random octets, one per character. 256 is a multiple of 32, so all characters are equally likely. */
function formatRecoveryCode(octets: Uint8Array): string {
  if (octets.length < CHARACTERS) throw new RangeError(`A recovery code needs ${CHARACTERS} octets`);
  let text = "";
  for (const octet of octets.subarray(0, CHARACTERS)) text += ALPHABET[octet & 31];
  return `${text.slice(0, 5)}-${text.slice(5)}`;
}

/** A typed code in lower case, without blanks and dashes; `null` if it does not have the form of a recovery code. */
export function readRecoveryCode(typed: string): string | null {
  if (typed.length > 2 * CHARACTERS) return null;
  const plain = typed.toLowerCase().replace(/[\s-]/g, "");
  return /^[a-z2-7]{10}$/.test(plain) ? plain : null;
}
