// The hardware tokens of a login target: in the store, and in memory for logins. The record of a token and its position are separate, so
// that a login never writes the assignment, and a rename never writes a position.

import { auditEntry } from "../../platform/audit.ts";
import type { Check, Mutation, StoreEntry } from "../../platform/store.ts";
import { RecordVersions } from "../../platform/cluster/change_log.ts";
import { NO_CHANGE, type UnversionedChange } from "../../platform/write_batch.ts";
import type { FactorStoreDeps } from "../factors/pairing.ts";
import { acceptOneTimeCode, type OpenToken } from "./token_codes.ts";
import {
  firstUse,
  type HardwareToken,
  type HardwareTokenRecord,
  isUsableToken,
  type NewToken,
  tokenDetails,
  tokenId,
  type TokenUse,
  withTokenUser,
} from "./token.ts";

/** New tokens of one commit. Each one is checked to be new; a KV Connect server accepts nine checks. */
const MAX_NEW_SHARED = 8;
const MAX_NEW = 200;

/** A change of one token, before its commit. */
export interface PreparedTokenChange extends UnversionedChange {
  /** Records that must be unchanged. */
  readonly checks: readonly Check[];
  /** The records to read again after a lost race. */
  readonly keys: readonly Deno.KvKey[];
}

export interface TypedTokenCode {
  readonly token: HardwareToken;
  readonly use: TokenUse;
}

/** All names of users are canonical. */
export class HardwareTokens {
  readonly #deps: FactorStoreDeps;
  readonly #cache = new TokenCache();
  readonly #versions: RecordVersions;

  constructor(deps: FactorStoreDeps) {
    this.#deps = deps;
    this.#versions = new RecordVersions(deps.store);
    deps.store.follow(["token", deps.target], (entry) => this.#applyRecord(entry));
    deps.store.follow(["token_use", deps.target], (entry) => this.#applyUse(entry));
  }

  get size(): number {
    return this.#cache.size;
  }

  /** Users with at least one token. */
  get userCount(): number {
    return this.#cache.userCount;
  }

  all(): Iterable<HardwareToken> {
    return this.#cache.all();
  }

  get(id: string): HardwareToken | null {
    return this.#cache.get(id);
  }

  /** The tokens of a user, oldest assignment first. */
  of(user: string): readonly HardwareToken[] {
    return this.#cache.of(user);
  }

  /** The tokens of a user whose codes are accepted now. */
  usable(user: string): readonly HardwareToken[] {
    const own = this.of(user);
    if (own.length === 0) return own;
    const nowMs = this.#deps.clock.nowMs();
    return own.filter((token) => isUsableToken(token, nowMs));
  }

  /** Whether its codes are accepted now, if it has a user. */
  isUsable(token: HardwareToken): boolean {
    return isUsableToken(token, this.#deps.clock.nowMs());
  }

  /** The token with its seed; `null` if the seed cannot be opened with this master key. */
  open({ id, record, use }: HardwareToken): OpenToken | null {
    const seed = this.#deps.vault.open(this.#recordKey(id), record.seed);
    return seed === null ? null : { record, use, seed };
  }

  /** The token of a user that shows this code now, and its position after the code; `null`: none. */
  findCode(user: string, code: string): TypedTokenCode | null {
    if (!/^[0-9]{6,8}$/.test(code)) return null;
    const nowMs = this.#deps.clock.nowMs();
    for (const token of this.usable(user)) {
      if (token.record.digits !== code.length) continue;
      const open = this.open(token);
      const use = open === null ? null : acceptOneTimeCode(open, { code, nowMs });
      if (use !== null) return { token, use };
    }
    return null;
  }

  /** Prepares a new position. In memory it counts at once, so that no second login uses the code meanwhile. */
  prepareUse(token: HardwareToken, use: TokenUse): PreparedTokenChange {
    const key = this.#useKey(token.id);
    const recordKey = this.#recordKey(token.id);
    const basis = this.#versions.basisOf(key);
    const used = { ...token, use };
    this.#cache.put(used);
    return {
      mutations: [{ type: "set", key, value: use, basis }],
      // Another node may take the token from its user, or disable it, at this moment.
      checks: this.#deps.store.isShared
        ? [{ key: recordKey, versionstamp: this.#versions.known(recordKey) }]
        : [],
      keys: [key, recordKey],
      done: () => undefined,
      undo: () => {
        const now = this.get(token.id);
        if (now?.use === use) this.#cache.put({ ...now, use: token.use });
      },
    };
  }

  /** Prepares another record of a token: its user, or whether it is enabled. In memory it counts at once. */
  prepareChange(token: HardwareToken, record: HardwareTokenRecord): PreparedTokenChange {
    const key = this.#recordKey(token.id);
    const basis = this.#versions.basisOf(key);
    const mark = this.#markOf(record.user);
    this.#cache.put({ ...token, record });
    return {
      mutations: [{ type: "set", key, value: record, basis }, ...mark.mutations],
      checks: [],
      keys: [key],
      done: mark.done,
      undo: () => {
        const now = this.get(token.id);
        if (now?.record === record) this.#cache.put({ ...now, record: token.record });
      },
    };
  }

  /** Prepares the removal of a token with its position. */
  prepareRemove(token: HardwareToken): PreparedTokenChange {
    const keys = [this.#recordKey(token.id), this.#useKey(token.id)];
    this.#cache.drop(token.id);
    return {
      mutations: keys.map((key) => ({ type: "delete", key, basis: this.#versions.overwriteOf(key) })),
      checks: [],
      keys,
      done: () => undefined,
      undo: () => {
        if (this.get(token.id) === null) this.#cache.put(token);
      },
    };
  }

  /** How many tokens one commit may add. */
  get maxNew(): number {
    return this.#deps.store.isShared ? MAX_NEW_SHARED : MAX_NEW;
  }

  /**
   * Prepares new tokens, at most {@link maxNew}. The caller excluded those that exist. If another node added one meanwhile, nothing is written.
   *
   * @param owner the user of a token that is assigned at once
   */
  prepareNew(
    tokens: readonly { readonly token: NewToken; readonly owner: string | null }[],
  ): PreparedTokenChange {
    const { vault, clock, store } = this.#deps;
    const atMs = clock.nowMs();
    const added = tokens.map(({ token: { seed, counter, drift, ...facts }, owner }): HardwareToken => {
      const id = tokenId(facts.serial);
      if (id === null) throw new RangeError("Cannot add a token: its serial number is not valid");
      const free: HardwareTokenRecord = {
        ...facts,
        ...{ seed: vault.seal(this.#recordKey(id), seed), importedMs: atMs, isEnabled: true },
        ...{ user: null, shownUser: null, assignedMs: null, firstNext: counter, firstDrift: drift },
      };
      const record = owner === null ? free : withTokenUser(free, { name: owner, atMs });
      return { id, record, use: firstUse(record) };
    });
    const keys = added.map(({ id }) => this.#recordKey(id));
    const owners = new Set(added.map(({ record }) => record.user));
    const marks = joined([...owners].map((owner) => this.#markOf(owner)));
    const records = added.map(({ record }, at): Mutation => {
      const key = keys[at] as Deno.KvKey;
      return { type: "set", key, value: record, basis: this.#versions.overwriteOf(key) };
    });
    return {
      mutations: [...records, ...marks.mutations],
      checks: store.isShared ? keys.map((key) => ({ key, versionstamp: null })) : [],
      keys,
      done: () => {
        marks.done();
        added.forEach((token) => this.#cache.put(token));
      },
      undo: () => undefined,
    };
  }

  /** Prepares the release of all tokens of a user who leaves: they become free, and keep their positions. */
  prepareRelease(user: string): UnversionedChange {
    const own = this.of(user);
    const released = joined(own.map((token) => this.#overwrite(token, withTokenUser(token.record, null))));
    const records = own.map((token): Mutation =>
      auditEntry({
        ...{ actor: "radius", action: "hardware_token.unassign", because: "user_left" },
        ...tokenDetails(token),
      })
    );
    return { ...released, mutations: [...released.mutations, ...records] };
  }

  /** Prepares the move of the tokens to another name. Tokens of the new name belong to a person outside the directory, and become free. */
  prepareRename(from: string, { to, name }: { to: string; name: string }): UnversionedChange {
    const moved = this.of(from);
    const others = this.of(to);
    return joined([
      ...others.map((token) => this.#overwrite(token, withTokenUser(token.record, null))),
      ...moved.map((token) => this.#overwrite(token, { ...token.record, user: to, shownUser: name })),
    ]);
  }

  async load(): Promise<void> {
    const { store, target } = this.#deps;
    await store.load(["token", target], (entry) => this.#applyRecord(entry));
    await store.load(["token_use", target], (entry) => this.#applyUse(entry));
  }

  /** The mark that the user of a token had a factor. */
  #markOf(user: string | null): UnversionedChange {
    return user === null ? NO_CHANGE : this.#deps.marks?.prepare(user) ?? NO_CHANGE;
  }

  /** A change of the record that does not depend on its version. */
  #overwrite(token: HardwareToken, record: HardwareTokenRecord): UnversionedChange {
    const key = this.#recordKey(token.id);
    this.#cache.put({ ...token, record });
    return {
      mutations: [{ type: "set", key, value: record, basis: this.#versions.overwriteOf(key) }],
      done: () => undefined,
      undo: () => {
        const now = this.get(token.id);
        if (now?.record === record) this.#cache.put({ ...now, record: token.record });
      },
    };
  }

  /** Takes over a stored record: at the start, or after a change of another node. */
  #applyRecord({ key, value, versionstamp }: StoreEntry<unknown>): void {
    this.#versions.apply(key, versionstamp);
    const id = String(key[2]);
    if (value === null) return this.#cache.drop(id);
    const record = value as HardwareTokenRecord;
    if (record.kind !== "hotp" && record.kind !== "totp") {
      throw new TypeError("its kind of token is unknown, so this node does not accept its codes");
    }
    this.#cache.put({ id, record, use: this.get(id)?.use ?? firstUse(record) });
  }

  #applyUse({ key, value, versionstamp }: StoreEntry<unknown>): void {
    this.#versions.apply(key, versionstamp);
    const known = this.get(String(key[2]));
    if (known !== null && value !== null) this.#cache.put({ ...known, use: value as TokenUse });
  }

  #recordKey(id: string): Deno.KvKey {
    return ["token", this.#deps.target, id];
  }

  #useKey(id: string): Deno.KvKey {
    return ["token_use", this.#deps.target, id];
  }
}

function joined(changes: readonly UnversionedChange[]): UnversionedChange {
  return {
    mutations: changes.flatMap(({ mutations }) => mutations),
    done: () => changes.forEach(({ done }) => done()),
    undo: () => changes.toReversed().forEach(({ undo }) => undo()),
  };
}

const NONE: readonly HardwareToken[] = [];

/** Reads and changes only memory. The caller writes to the store. */
class TokenCache {
  readonly #byId = new Map<string, HardwareToken>();
  readonly #byUser = new Map<string, HardwareToken[]>();

  get size(): number {
    return this.#byId.size;
  }

  /** Users with at least one token. */
  get userCount(): number {
    return this.#byUser.size;
  }

  all(): Iterable<HardwareToken> {
    return this.#byId.values();
  }

  get(id: string): HardwareToken | null {
    return this.#byId.get(id) ?? null;
  }

  /** Oldest assignment first. */
  of(user: string): readonly HardwareToken[] {
    return this.#byUser.get(user) ?? NONE;
  }

  /** Adds a token, or replaces the one with the same serial number. */
  put(token: HardwareToken): void {
    this.drop(token.id);
    this.#byId.set(token.id, token);
    const { user } = token.record;
    if (user === null) return;
    const own = [...this.of(user), token];
    this.#byUser.set(user, own.sort((a, b) => assigned(a) - assigned(b) || (a.id < b.id ? -1 : 1)));
  }

  drop(id: string): void {
    const known = this.get(id);
    if (known === null) return;
    this.#byId.delete(id);
    const { user } = known.record;
    if (user === null) return;
    const rest = this.of(user).filter((token) => token.id !== id);
    if (rest.length === 0) this.#byUser.delete(user);
    else this.#byUser.set(user, rest);
  }
}

function assigned({ record: { assignedMs } }: HardwareToken): number {
  return assignedMs ?? 0;
}
