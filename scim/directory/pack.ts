// One commit in the making: the changes of one or several writes, with what they already changed laid over what the store says. Memory
// is brought up to date when the commit is durable, never before.

import type { Mutation, Store } from "../../store.ts";
import type { CommitOutcome } from "../../platform/transaction.ts";
import type { ResourceKind } from "../resource.ts";
import { indexWords, wordsOfGroup, wordsOfUser } from "../pure/words.ts";
import type { IndexDraft } from "./counted_index.ts";
import type { Indexes } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import { type MemberChange, type MemberSet, type MemberSets, withChanges } from "./member_sets.ts";
import { encodeRecord, type KeptRecord, octetsOf, type ReadRecord, readRecord } from "./records.ts";

export interface PackDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  /** Grows; never the same twice. */
  readonly nextNumber: () => number;
  /** Told of each user's record that changed, when that is durable; `null`: deleted. */
  readonly onUser: (canonical: string, record: KeptRecord | null) => void;
}

/** What stays of a deleted user. */
export interface Tombstone {
  readonly name: string;
  /** Grows with time. */
  readonly order: number;
}

export interface Pack {
  /** Reads ahead what a write will ask for. */
  expect(kind: ResourceKind, canonical: string): void;
  record(kind: ResourceKind, canonical: string): Promise<KeptRecord | null>;
  /** Puts a record, or `null` in its place, and keeps the indexes in step. @throws RangeError when it is too large. */
  keep(place: { kind: ResourceKind; canonical: string }, record: KeptRecord | null): Promise<void>;
  /** The commit fails when somebody else writes this record before. */
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
  /** Changes that are somebody else's: taken as they are. */
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

const SMALL_VALUE_OCTETS = 100;
const FENCE_OCTETS = 700;

export function createPack(deps: PackDeps): Pack {
  const { store, keys, indexes, memberSets } = deps;
  const reads = new Map<string, Promise<ReadRecord | null>>();
  const overlay = new Map<string, KeptRecord | null>();
  const sets = new Map<string, MemberSet>();
  const membershipReads = new Map<string, Promise<Map<string, string>>>();
  const sides = new Map<string, Map<string, string | null>>();
  const tombstones = new Map<string, Tombstone | null>();
  const own = new Map<string, Mutation>();
  const foreign: Mutation[] = [];
  const checks = new Map<string, { key: Deno.KvKey; versionstamp: string | null }>();
  const drafts = {
    names: { user: indexes.names.user.draft(), group: indexes.names.group.draft() },
    words: { user: indexes.words.user.draft(), group: indexes.words.group.draft() },
    gone: indexes.gone.draft(),
  };
  const allDrafts: IndexDraft[] = [
    drafts.names.user,
    drafts.names.group,
    drafts.words.user,
    drafts.words.group,
    drafts.gone,
  ];
  const done: (() => void)[] = [];
  const undone: (() => void)[] = [];
  let octets = 0;

  const set = (key: Deno.KvKey, value: unknown, sizeOctets = SMALL_VALUE_OCTETS): void => {
    own.set(key.join("\0"), { type: "set", key, value });
    octets += sizeOctets;
  };
  const remove = (key: Deno.KvKey): void => {
    own.set(key.join("\0"), { type: "delete", key });
    octets += SMALL_VALUE_OCTETS;
  };

  const read = (kind: ResourceKind, canonical: string): Promise<ReadRecord | null> => {
    const place = `${kind}\0${canonical}`;
    const known = reads.get(place);
    if (known !== undefined) return known;
    // A name that no hash is known of has no record: most creations read nothing.
    const reading = indexes.names[kind].mayHave(canonical)
      ? readRecord({ store, keys }, { kind, canonical })
      : Promise.resolve(null);
    reads.set(place, reading);
    return reading;
  };
  const record = async (kind: ResourceKind, canonical: string): Promise<KeptRecord | null> => {
    const changed = overlay.get(`${kind}\0${canonical}`);
    return changed === undefined ? (await read(kind, canonical))?.record ?? null : changed;
  };

  const listMemberships = async (user: string): Promise<Map<string, string>> => {
    const found = new Map<string, string>();
    // Where there is no group, nobody is a member: an import of users before groups reads nothing.
    if (indexes.names.group.total === 0) return found;
    for await (const { key, value } of store.list<string>(keys.memberships(user))) {
      if (value !== null) found.set(String(key[3]), value);
    }
    return found;
  };
  const readMemberships = (user: string): Promise<Map<string, string>> => {
    const known = membershipReads.get(user);
    if (known !== undefined) return known;
    const reading = listMemberships(user);
    membershipReads.set(user, reading);
    return reading;
  };

  const tombstoneOf = async (canonical: string): Promise<Tombstone | null> => {
    const changed = tombstones.get(canonical);
    if (changed !== undefined) return changed;
    if (!indexes.gone.mayHave(canonical)) return null;
    return (await store.get<Tombstone>(keys.gone(canonical))).value;
  };

  const changeWords = (
    { kind, canonical }: { kind: ResourceKind; canonical: string },
    { before, after }: { before: Map<string, number>; after: Map<string, number> },
  ): void => {
    const draft = drafts.words[kind];
    for (const [word, depth] of before) {
      if (after.get(word) === depth) continue;
      draft.remove(`${word}\0${canonical}`, depth);
      if (!after.has(word)) remove(keys.word(kind, word, canonical));
    }
    for (const [word, depth] of after) {
      if (before.get(word) === depth) continue;
      draft.add(`${word}\0${canonical}`, depth);
      set(keys.word(kind, word, canonical), depth);
    }
  };
  const writeParts = (
    { kind, canonical }: { kind: ResourceKind; canonical: string },
    { before, parts, name }: { before: KeptRecord | null; parts: readonly string[]; name: string },
  ): void => {
    for (let number = 0; number < (before?.partCount ?? 0); number++) {
      remove(keys.part(kind, canonical, { parts: before?.parts ?? "", number }));
    }
    for (const [number, text] of parts.entries()) {
      set(keys.part(kind, canonical, { parts: name, number }), text, octetsOf(text));
    }
  };

  return {
    expect(kind, canonical) {
      // Whoever asks for it hears of a failure; nobody may.
      read(kind, canonical).catch(() => undefined);
      // A new user may be a member already.
      if (kind === "user" && !indexes.names.user.mayHave(canonical)) {
        readMemberships(canonical).catch(() => undefined);
      }
    },
    record,
    async keep({ kind, canonical }, next) {
      const before = await record(kind, canonical);
      const encoded = next === null ? null : encodeRecord(next, () => `${deps.nextNumber()}`);
      writeParts({ kind, canonical }, {
        before,
        parts: encoded?.parts ?? [],
        name: encoded?.head.parts ?? "",
      });
      if (encoded === null) remove(keys.record(kind, canonical));
      else set(keys.record(kind, canonical), encoded.head, encoded.sizeOctets);
      if (before === null && next !== null) drafts.names[kind].add(canonical);
      if (before !== null && next === null) drafts.names[kind].remove(canonical);
      if (!sameWords(before, next)) {
        changeWords({ kind, canonical }, { before: wordsFor(kind, before), after: wordsFor(kind, next) });
      }
      const whole = next === null || encoded === null
        ? null
        : { ...next, parts: encoded.head.parts, partCount: encoded.head.partCount };
      overlay.set(`${kind}\0${canonical}`, whole);
      if (kind === "user") done.push(() => deps.onUser(canonical, whole));
    },
    async guard(kind, canonical) {
      const key = keys.record(kind, canonical);
      const versionstamp = (await read(kind, canonical))?.versionstamp ?? null;
      checks.set(key.join("\0"), { key, versionstamp });
    },
    members: async (setId) => sets.get(setId) ?? await memberSets.load(setId),
    async changeMembers({ setId, group }, changes) {
      const before = sets.get(setId) ?? await memberSets.load(setId);
      for (const { canonical, name } of changes) {
        if (name === null) {
          remove(keys.member(setId, canonical));
          remove(keys.memberOf(canonical, setId));
        } else {
          set(keys.member(setId, canonical), name, name.length * 2 + SMALL_VALUE_OCTETS);
          set(keys.memberOf(canonical, setId), group, group.length * 2 + SMALL_VALUE_OCTETS);
        }
        const side = sides.get(canonical) ?? new Map<string, string | null>();
        side.set(setId, name === null ? null : group);
        sides.set(canonical, side);
      }
      const after = withChanges(before, changes);
      sets.set(setId, after);
      done.push(() => memberSets.keep(setId, after));
    },
    async memberships(user) {
      const found = new Map(await readMemberships(user));
      for (const [setId, group] of sides.get(user) ?? []) {
        if (group === null) found.delete(setId);
        else found.set(setId, group);
      }
      return found;
    },
    async tombstone(canonical, value) {
      const before = await tombstoneOf(canonical);
      if (before !== null) remove(keys.departure(before.order));
      if (value !== null) {
        set(keys.gone(canonical), value, value.name.length * 2 + SMALL_VALUE_OCTETS);
        set(keys.departure(value.order), canonical, canonical.length * 2 + SMALL_VALUE_OCTETS);
        if (before === null) drafts.gone.add(canonical);
      } else if (before !== null) {
        remove(keys.gone(canonical));
        drafts.gone.remove(canonical);
      }
      tombstones.set(canonical, value);
    },
    set,
    remove,
    also(mutations) {
      foreign.push(...mutations);
      octets += mutations.reduce((sum, mutation) => sum + estimateOctets(mutation), 0);
    },
    whenDone: (task) => void done.push(task),
    whenUndone: (task) => void undone.push(task),
    get mutationCount() {
      return own.size + foreign.length + allDrafts.reduce((sum, { touched }) => sum + touched, 0);
    },
    get checkCount() {
      return checks.size;
    },
    get sizeOctets() {
      return octets + allDrafts.reduce((sum, { touched }) => sum + touched, 0) * FENCE_OCTETS;
    },
    async commit() {
      const mutations = [...own.values(), ...foreign, ...allDrafts.flatMap((draft) => draft.mutations())];
      const outcome = await store.commit({
        checks: [...checks.values()],
        mutations,
        sizeOctets: octets + allDrafts.reduce((sum, { touched }) => sum + touched, 0) * FENCE_OCTETS,
      });
      if (!outcome.ok) return outcome;
      for (const draft of allDrafts) draft.apply();
      for (const task of done) task();
      return outcome;
    },
    abandon() {
      for (const task of undone) task();
    },
  };
}

function wordsFor(kind: ResourceKind, record: KeptRecord | null): Map<string, number> {
  return indexWords(record === null ? [] : recordWords(kind, record));
}

/** The words that a resource is found by. */
export function recordWords(kind: ResourceKind, { name, text, groups }: KeptRecord): string[] {
  return kind === "group" ? wordsOfGroup(name) : wordsOfUser({ name, attributes: JSON.parse(text), groups });
}

function sameWords(before: KeptRecord | null, after: KeptRecord | null): boolean {
  return before !== null && after !== null && before.name === after.name && before.text === after.text &&
    before.groups.length === after.groups.length &&
    before.groups.every((name, at) => name === after.groups[at]);
}

/** What a foreign change takes in the store, roughly: it must only keep a commit below its limit. */
function estimateOctets(mutation: Mutation): number {
  const value = mutation.type === "set" ? mutation.value : mutation.type === "audit" ? mutation.entry : null;
  return SMALL_VALUE_OCTETS + (value === null ? 0 : sizeOf(value, 6));
}

function sizeOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length * 2;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null || depth === 0) return 16;
  return Object.entries(value).reduce(
    (sum, [name, item]) => sum + name.length * 2 + sizeOf(item, depth - 1),
    16,
  );
}
