// One commit in the making: the changes of one or several writes, with what they already changed laid over what the store says. Memory
// is brought up to date when the commit is durable, never before.

import type { CommitOutcome } from "../../platform/transaction.ts";
import type { Mutation } from "../../store.ts";
import type { ResourceKind } from "../resource.ts";
import { BatchMutations, SMALL_VALUE_OCTETS } from "./batch_mutations.ts";
import { type BatchReadDeps, BatchReads, type Tombstone } from "./batch_reads.ts";
import { type MemberChange, type MemberSet, type MemberSets, withChanges } from "./member_sets.ts";
import { hasSameWords, indexedWords } from "./record_words.ts";
import { encodeRecord, type KeptRecord, octetsOf } from "./records.ts";

export interface PackDeps extends BatchReadDeps {
  readonly memberSets: MemberSets;
  /** Grows; never the same twice. */
  readonly nextNumber: () => number;
  /** Told of each user's record that changed, when that is durable; `null`: deleted. */
  readonly onUser: (canonical: string, record: KeptRecord | null) => void;
}

export interface Pack {
  /** Reads ahead what a write will ask for. */
  expect(kind: ResourceKind, canonical: string): void;
  record(kind: ResourceKind, canonical: string): Promise<KeptRecord | null>;
  /** Puts a record, or `null` in its place, and keeps the indexes in step. @throws RangeError when it is too large. */
  keep(place: { kind: ResourceKind; canonical: string }, record: KeptRecord | null): Promise<void>;
  /** The commit fails when another request writes this record before. */
  guard(kind: ResourceKind, canonical: string): Promise<void>;
  members(setId: string): Promise<MemberSet>;
  /** Changes memberships, both keys of each. */
  changeMembers(set: { setId: string; group: string }, changes: readonly MemberChange[]): Promise<void>;
  /** A user's sets, with the canonical name of the group each was made for. */
  memberships(user: string): Promise<Map<string, string>>;
  /** Marks a name as deleted, or as not deleted any more. */
  tombstone(canonical: string, value: Tombstone | null): Promise<void>;
  set(key: Deno.KvKey, value: unknown, sizeOctets?: number): void;
  remove(key: Deno.KvKey): void;
  /** Changes from the caller: committed as they are. */
  also(mutations: readonly Mutation[]): void;
  /** Runs when the commit is durable, in order. */
  whenDone(task: () => void): void;
  whenUndone(task: () => void): void;
  readonly mutationCount: number;
  readonly checkCount: number;
  readonly sizeOctets: number;
  /** Writes everything; then memory follows. */
  commit(): Promise<CommitOutcome>;
  /** Gives up: nothing was written. */
  abandon(): void;
}

/** Starts a commit without any change. */
export function createPack(deps: PackDeps): Pack {
  return new OpenPack(deps);
}

class OpenPack implements Pack {
  readonly #deps: PackDeps;
  readonly #reads: BatchReads;
  readonly #changes: BatchMutations;
  readonly #records = new Map<string, KeptRecord | null>();
  readonly #sets = new Map<string, MemberSet>();
  readonly #memberships = new Map<string, Map<string, string | null>>();
  readonly #tombstones = new Map<string, Tombstone | null>();
  readonly #done: (() => void)[] = [];
  readonly #undone: (() => void)[] = [];

  constructor(deps: PackDeps) {
    this.#deps = deps;
    this.#reads = new BatchReads(deps);
    this.#changes = new BatchMutations(deps.indexes);
  }

  expect(kind: ResourceKind, canonical: string): void {
    this.#reads.expect(kind, canonical);
  }

  async record(kind: ResourceKind, canonical: string): Promise<KeptRecord | null> {
    const changed = this.#records.get(`${kind}\0${canonical}`);
    return changed === undefined ? (await this.#reads.record(kind, canonical))?.record ?? null : changed;
  }

  async keep(place: { kind: ResourceKind; canonical: string }, next: KeptRecord | null): Promise<void> {
    const { kind, canonical } = place;
    const before = await this.record(kind, canonical);
    const key = this.#deps.keys.record(kind, canonical);
    const encoded = next === null ? null : encodeRecord(next, () => `${this.#deps.nextNumber()}`);
    this.#writeParts(place, { before, parts: encoded?.parts ?? [], name: encoded?.head.parts ?? "" });
    if (encoded === null) this.#changes.remove(key);
    else this.#changes.set(key, encoded.head, encoded.sizeOctets);
    if (before === null && next !== null) this.#changes.names[kind].add(canonical);
    if (before !== null && next === null) this.#changes.names[kind].remove(canonical);
    if (!hasSameWords(before, next)) this.#changeWords(place, { before, next });
    const whole = next === null || encoded === null
      ? null
      : { ...next, parts: encoded.head.parts, partCount: encoded.head.partCount };
    this.#records.set(`${kind}\0${canonical}`, whole);
    if (kind === "user") this.#done.push(() => this.#deps.onUser(canonical, whole));
  }

  async guard(kind: ResourceKind, canonical: string): Promise<void> {
    const key = this.#deps.keys.record(kind, canonical);
    const versionstamp = (await this.#reads.record(kind, canonical))?.versionstamp ?? null;
    this.#changes.check({ key, versionstamp });
  }

  async members(setId: string): Promise<MemberSet> {
    return this.#sets.get(setId) ?? await this.#deps.memberSets.load(setId);
  }

  async changeMembers(
    { setId, group }: { setId: string; group: string },
    changes: readonly MemberChange[],
  ): Promise<void> {
    const { keys, memberSets } = this.#deps;
    const before = this.#sets.get(setId) ?? await memberSets.load(setId);
    for (const { canonical, name } of changes) {
      if (name === null) {
        this.remove(keys.member(setId, canonical));
        this.remove(keys.memberOf(canonical, setId));
      } else {
        this.set(keys.member(setId, canonical), name, textOctets(name));
        this.set(keys.memberOf(canonical, setId), group, textOctets(group));
      }
      const ofUser = this.#memberships.get(canonical) ?? new Map<string, string | null>();
      ofUser.set(setId, name === null ? null : group);
      this.#memberships.set(canonical, ofUser);
    }
    const after = withChanges(before, changes);
    this.#sets.set(setId, after);
    this.#done.push(() => memberSets.keep(setId, after));
  }

  async memberships(user: string): Promise<Map<string, string>> {
    const found = new Map(await this.#reads.memberships(user));
    for (const [setId, group] of this.#memberships.get(user) ?? []) {
      if (group === null) found.delete(setId);
      else found.set(setId, group);
    }
    return found;
  }

  async tombstone(canonical: string, value: Tombstone | null): Promise<void> {
    const { keys } = this.#deps;
    const changed = this.#tombstones.get(canonical);
    const before = changed === undefined ? await this.#reads.tombstone(canonical) : changed;
    if (before !== null) this.remove(keys.departure(before.order));
    if (value !== null) {
      this.set(keys.gone(canonical), value, textOctets(value.name));
      this.set(keys.departure(value.order), canonical, textOctets(canonical));
      if (before === null) this.#changes.gone.add(canonical);
    } else if (before !== null) {
      this.remove(keys.gone(canonical));
      this.#changes.gone.remove(canonical);
    }
    this.#tombstones.set(canonical, value);
  }

  set(key: Deno.KvKey, value: unknown, sizeOctets?: number): void {
    this.#changes.set(key, value, sizeOctets);
  }

  remove(key: Deno.KvKey): void {
    this.#changes.remove(key);
  }

  also(mutations: readonly Mutation[]): void {
    this.#changes.also(mutations);
  }

  whenDone(task: () => void): void {
    this.#done.push(task);
  }

  whenUndone(task: () => void): void {
    this.#undone.push(task);
  }

  get mutationCount(): number {
    return this.#changes.count;
  }

  get checkCount(): number {
    return this.#changes.checkCount;
  }

  get sizeOctets(): number {
    return this.#changes.sizeOctets;
  }

  async commit(): Promise<CommitOutcome> {
    const outcome = await this.#deps.store.commit(this.#changes.toTransaction());
    if (!outcome.ok) return outcome;
    this.#changes.applyIndexes();
    for (const task of this.#done) task();
    return outcome;
  }

  abandon(): void {
    for (const task of this.#undone) task();
  }

  #changeWords(
    { kind, canonical }: { kind: ResourceKind; canonical: string },
    records: { before: KeptRecord | null; next: KeptRecord | null },
  ): void {
    const { keys } = this.#deps;
    const before = indexedWords(kind, records.before);
    const after = indexedWords(kind, records.next);
    const draft = this.#changes.words[kind];
    for (const [word, depth] of before) {
      if (after.get(word) === depth) continue;
      draft.remove(`${word}\0${canonical}`, depth);
      if (!after.has(word)) this.remove(keys.word(kind, word, canonical));
    }
    for (const [word, depth] of after) {
      if (before.get(word) === depth) continue;
      draft.add(`${word}\0${canonical}`, depth);
      this.set(keys.word(kind, word, canonical), depth);
    }
  }

  #writeParts(
    { kind, canonical }: { kind: ResourceKind; canonical: string },
    { before, parts, name }: { before: KeptRecord | null; parts: readonly string[]; name: string },
  ): void {
    const { keys } = this.#deps;
    for (let number = 0; number < (before?.partCount ?? 0); number++) {
      this.remove(keys.part(kind, canonical, { parts: before?.parts ?? "", number }));
    }
    for (const [number, text] of parts.entries()) {
      this.set(keys.part(kind, canonical, { parts: name, number }), text, octetsOf(text));
    }
  }
}

function textOctets(text: string): number {
  return text.length * 2 + SMALL_VALUE_OCTETS;
}
