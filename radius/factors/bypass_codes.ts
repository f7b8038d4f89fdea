// The bypass codes of users: ten digits that the help desk issues to a user without a usable factor. A code is valid until a time, for one login,
// for several, or for any number. Only a digest is stored. Each use that is left is a record of its own, so two nodes cannot use the same one.

import type { Random } from "../../platform/runtime.ts";
import type { Check, Mutation, StoreEntry } from "../../platform/store.ts";
import { NO_CHANGE, type PreparedRename } from "../../platform/write_batch.ts";
import { BYPASS_CODE_DIGITS, readBypassCode } from "../protocol/login_input.ts";
import type { FactorStoreDeps } from "./pairing.ts";

/** A code that can be used now. */
export interface BypassCodeStatus {
  /** Identifies the code in the audit log; it is not the code. */
  readonly id: string;
  /** `null`: any number until it expires. */
  readonly usesLeft: number | null;
  readonly uses: number | null;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** The administrator who issued it. */
  readonly by: string;
}

/** What a new code allows. */
interface BypassCodeTerms {
  /** `null`: any number until it expires. */
  readonly uses: number | null;
  readonly expiresMs: number;
  readonly by: string;
}

/** A new code, before its commit. */
interface NewBypassCode {
  readonly id: string;
  /** Shown once and stored nowhere. */
  readonly code: string;
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Call it after the commit, with its versionstamp. This code then replaces the old one. */
  adopt(versionstamp: string): void;
}

interface BypassCodeUse {
  readonly id: string;
  readonly check: Check;
  readonly mutations: readonly Mutation[];
  /** Uses left after this one; `null`: any number. */
  readonly usesLeft: number | null;
  /** Call it if the commit failed. */
  restore(): void;
}

interface BypassCodeRecord extends BypassCodeTerms {
  readonly id: string;
  readonly digest: string;
  readonly createdMs: number;
  /** The name that the digest contains. Absent: that of the user. */
  readonly digestUser?: string;
}

interface BypassCode extends BypassCodeRecord {
  readonly versionstamp: string;
  /** Versionstamps of the records of uses that are left, by number. Empty for a code without a limit. */
  readonly left: Map<number, string>;
}

/** More codes than this at the same time are no help desk. */
const MAX_BYPASS_CODES = 10_000;

export class BypassCodeStore {
  readonly #deps: FactorStoreDeps;
  readonly #codes = new Map<string, BypassCode>();

  constructor(deps: FactorStoreDeps) {
    this.#deps = deps;
    deps.store.follow(["bypass_code", deps.target], (entry) => this.#applyCode(entry));
    deps.store.follow(["bypass_use", deps.target], (entry) => this.#applyUse(entry));
  }

  /** The code that the user can use now; `null` if there is none. */
  status(user: string): BypassCodeStatus | null {
    const code = this.#valid(user);
    if (code === null) return null;
    const { id, uses, createdMs, expiresMs, by } = code;
    return { id, uses, createdMs, expiresMs, by, usesLeft: usesLeft(code) };
  }

  /** Whether no further code can be issued. */
  isFull(): boolean {
    this.#sweep();
    return this.#codes.size >= MAX_BYPASS_CODES;
  }

  /** Whether the typed text is the code of the user. */
  matches(user: string, typed: string): boolean {
    const code = this.#valid(user);
    const plain = code === null ? null : readBypassCode(typed);
    return code !== null && plain !== null && this.#digestOf(code.digestUser ?? user, plain) === code.digest;
  }

  /** Takes one use from memory at once, so that no second login can take it. `null` if there is none. */
  prepareUse(user: string): BypassCodeUse | null {
    const code = this.#valid(user);
    if (code === null) return null;
    const { id, uses, left, versionstamp } = code;
    if (uses === null) {
      const check = { key: this.#codeKey(user), versionstamp };
      return { id, check, mutations: [], usesLeft: null, restore: () => undefined };
    }
    const [number, version] = left.entries().next().value as [number, string];
    left.delete(number);
    const key = this.#useKey(user, id, number);
    return {
      id,
      check: { key, versionstamp: version },
      mutations: [{ type: "delete", key }],
      usesLeft: left.size,
      restore: () => void left.set(number, version),
    };
  }

  async create(user: string, terms: BypassCodeTerms): Promise<NewBypassCode> {
    const { random, clock, store, marks } = this.#deps;
    // The store removes an expired record later than memory does, and without notice, so only the store knows what is replaced.
    const { versionstamp: replaced } = await store.get(this.#codeKey(user));
    const before = this.#codes.get(user);
    const code = formatBypassCode(random);
    const createdMs = clock.nowMs();
    const mark = marks?.prepare(user) ?? NO_CHANGE;
    const record: BypassCodeRecord = {
      id: random.bytes(8).toHex(),
      digest: this.#digestOf(user, readBypassCode(code) ?? code),
      createdMs,
      ...terms,
    };
    return {
      id: record.id,
      code,
      checks: [{ key: this.#codeKey(user), versionstamp: replaced }],
      mutations: [
        ...before === undefined ? [] : this.#useRemovals(user, before),
        ...this.#writes(user, record, { uses: numbersTo(terms.uses), nowMs: createdMs }),
        ...mark.mutations,
      ],
      adopt: (versionstamp) => {
        mark.done();
        this.#put(user, record, { uses: numbersTo(terms.uses), versionstamp });
      },
    };
  }

  /** Removes the code of a user from memory at once. The mutations remove it from the store; `restore` undoes the removal. */
  removeUser(user: string): { readonly mutations: readonly Mutation[]; restore(): void } {
    const code = this.#codes.get(user);
    if (code === undefined) return { mutations: [], restore: () => undefined };
    this.#codes.delete(user);
    return {
      mutations: [{ type: "delete", key: this.#codeKey(user) }, ...this.#useRemovals(user, code)],
      restore: () => void this.#codes.set(user, code),
    };
  }

  /** Prepares the move of the code to another name. A code of the new name belongs to a person outside the directory, and ends. */
  prepareRename(from: string, to: string): PreparedRename {
    const code = this.#valid(from);
    const removed = [this.removeUser(from), this.removeUser(to)];
    const undo = () => removed.toReversed().forEach(({ restore }) => restore());
    const removals = removed.flatMap(({ mutations }) => mutations);
    if (code === null) return { mutations: removals, done: () => undefined, undo };
    const { versionstamp: _before, left, ...record } = code;
    const moved: BypassCodeRecord = { ...record, digestUser: record.digestUser ?? from };
    const uses = [...left.keys()];
    return {
      mutations: [...removals, ...this.#writes(to, moved, { uses, nowMs: this.#deps.clock.nowMs() })],
      done: (versionstamp) => this.#put(to, moved, { uses, versionstamp }),
      undo,
    };
  }

  async load(): Promise<void> {
    const { store, target } = this.#deps;
    await store.load(["bypass_code", target], (entry) => this.#applyCode(entry));
    await store.load(["bypass_use", target], (entry) => this.#applyUse(entry));
  }

  #valid(user: string): BypassCode | null {
    const code = this.#codes.size === 0 ? undefined : this.#codes.get(user);
    if (code === undefined || code.expiresMs <= this.#deps.clock.nowMs()) return null;
    return code.uses === null || code.left.size > 0 ? code : null;
  }

  #put(
    user: string,
    record: BypassCodeRecord,
    { uses, versionstamp }: { uses: readonly number[]; versionstamp: string },
  ): void {
    const left = new Map(uses.map((number) => [number, versionstamp]));
    this.#codes.set(user, { ...record, versionstamp, left });
  }

  /** The store forgets expired records without notice. */
  #sweep(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [user, { expiresMs }] of this.#codes) if (expiresMs <= nowMs) this.#codes.delete(user);
  }

  /** Takes over a stored code: at the start, or after a change of another node. A code comes before its uses. */
  #applyCode({ key: [, , user], value, versionstamp }: StoreEntry<unknown>): void {
    if (typeof user !== "string") return;
    if (value === null || versionstamp === null) return void this.#codes.delete(user);
    const record = value as BypassCodeRecord;
    if (typeof record.digest !== "string" || typeof record.expiresMs !== "number") {
      throw new TypeError("it has no digest and no end, so this code cannot be used");
    }
    const before = this.#codes.get(user);
    const left = before?.id === record.id ? before.left : new Map<number, string>();
    this.#codes.set(user, { ...record, versionstamp, left });
  }

  #applyUse({ key: [, , user, id, number], versionstamp }: StoreEntry<unknown>): void {
    const code = typeof user === "string" ? this.#codes.get(user) : undefined;
    if (code === undefined || code.id !== id || typeof number !== "number") return;
    if (versionstamp === null) code.left.delete(number);
    else code.left.set(number, versionstamp);
  }

  #codeKey(user: string): Deno.KvKey {
    return ["bypass_code", this.#deps.target, user];
  }

  #useKey(user: string, id: string, number: number): Deno.KvKey {
    return ["bypass_use", this.#deps.target, user, id, number];
  }

  #writes(
    user: string,
    record: BypassCodeRecord,
    { uses, nowMs }: { uses: readonly number[]; nowMs: number },
  ): Mutation[] {
    const { id, expiresMs } = record;
    const expireInMs = expiresMs - nowMs;
    const numbers = uses.map((number): Mutation => ({
      ...{ type: "set", key: this.#useKey(user, id, number), value: { expiresMs }, expireInMs },
    }));
    return [{ type: "set", key: this.#codeKey(user), value: record, expireInMs }, ...numbers];
  }

  #useRemovals(user: string, { id, left }: BypassCode): Mutation[] {
    return [...left.keys()].map((number) => ({ type: "delete", key: this.#useKey(user, id, number) }));
  }

  #digestOf(user: string, plain: string): string {
    return this.#deps.vault.digest("bypass code", `${this.#deps.target}\0${user}\0${plain}`);
  }
}

function usesLeft({ uses, left }: BypassCode): number | null {
  return uses === null ? null : left.size;
}

/** 1 to `uses`; none without a limit. */
function numbersTo(uses: number | null): readonly number[] {
  return Array.from({ length: uses ?? 0 }, (_, at) => at + 1);
}

/** Ten digits in two groups, by rejection: 250 is the largest multiple of 10 in an octet. */
function formatBypassCode(random: Random): string {
  let digits = "";
  while (digits.length < BYPASS_CODE_DIGITS) {
    for (const octet of random.bytes(2 * BYPASS_CODE_DIGITS)) if (octet < 250) digits += octet % 10;
  }
  return `${digits.slice(0, 5)}-${digits.slice(5, BYPASS_CODE_DIGITS)}`;
}
