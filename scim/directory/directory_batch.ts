// The changes of one or several writes for one commit, on top of the stored state. Each record is read once, and memory is updated after the commit is
// durable.

import type { CommitOutcome } from "../../platform/commit_queue.ts";
import { type PreparedRename, WriteBatch } from "../../platform/write_batch.ts";
import type { Check, Mutation, Store, Transaction } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import {
  encodeMember,
  findMember,
  type MemberChange,
  type MemberSet,
  type MemberSets,
  withChanges,
} from "./member_sets.ts";
import type { Indexes, NameIndexes } from "./indexes.ts";
import {
  encodeRecord,
  type ReadRecord,
  readRecord,
  type ResourceRecord,
  textSizeOctets,
  type Tombstone,
} from "./records.ts";
import type { GroupNesting } from "./group_nesting.ts";
import type { IdEntry, IdIssuer } from "./reader.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { IndexDraft } from "./counted_index.ts";
import { KEY_EXTRACTORS } from "./index_keys.ts";

export interface DirectoryBatchDeps extends BatchReadDeps {
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  readonly ids: Pick<IdIssuer, "retire">;
  /** Returns a larger number with each call. */
  readonly nextNumber: () => number;
  /** A name that no parts of a record have had. */
  readonly newPartsName: () => string;
  /** Called for each changed record when the change is durable. */
  readonly onRecord: (place: RecordName, change: RecordChange) => void;
  /** Called when the change is durable. */
  readonly nesting: Pick<GroupNesting, "memberChanged" | "groupsChanged">;
}

/** The changes of one or several writes, for one commit. */
export class DirectoryBatch {
  readonly #deps: DirectoryBatchDeps;
  readonly #reads: BatchReads;
  readonly #changes: BatchMutations;
  readonly #records = new Map<string, ResourceRecord | null>();
  readonly #sets = new Map<string, MemberSet>();
  readonly #memberships = new Map<string, Map<string, string | null>>();
  readonly #tombstones = new Map<string, Tombstone | null>();
  readonly #batch = new WriteBatch();
  #versionstamp = "";

  constructor(deps: DirectoryBatchDeps) {
    this.#deps = deps;
    this.#reads = new BatchReads(deps);
    this.#changes = new BatchMutations(deps.indexes);
    this.#batch.whenCommitted(() => this.#changes.applyIndexes());
  }

  /** Reads ahead what a write will need. */
  prefetch(kind: ResourceKind, canonical: string): void {
    this.#reads.prefetch(kind, canonical);
  }

  async record(kind: ResourceKind, canonical: string): Promise<ResourceRecord | null> {
    const changed = this.#records.get(`${kind}\0${canonical}`);
    return changed === undefined ? (await this.#reads.record(kind, canonical))?.record ?? null : changed;
  }

  /** Replaces a record (`null` deletes it) and updates the indexes. @throws RangeError if it is too large. */
  async putRecord(
    place: RecordName,
    next: ResourceRecord | null,
  ): Promise<void> {
    const { kind, canonical } = place;
    const before = await this.record(kind, canonical);
    const { keys, newPartsName } = this.#deps;
    const encoded = next === null ? null : encodeRecord(next, newPartsName);
    this.#writeParts(place, { before, parts: encoded?.parts ?? [], name: encoded?.head.parts ?? "" });
    if (encoded === null) this.#changes.remove(keys.record(kind, canonical));
    else this.#changes.set(keys.record(kind, canonical), encoded.head, encoded.sizeOctets);
    this.#changes.changeKeys(place, { before, after: next });
    this.#indexId(place, { before, next });
    const { parts = "", partCount = 0 } = encoded?.head ?? {};
    const whole = next === null ? null : { ...next, parts, partCount };
    this.#records.set(`${kind}\0${canonical}`, whole);
    this.#batch.whenCommitted(() => this.#deps.onRecord({ kind, canonical }, { before, after: whole }));
    if (kind === "group" && before?.setId !== whole?.setId) {
      this.#batch.whenCommitted(() => this.#deps.nesting.groupsChanged());
    }
  }

  /** Makes the commit fail if another request writes this record first. */
  async checkUnchanged(kind: ResourceKind, canonical: string): Promise<void> {
    // With several nodes, each commit checks the lease of the target: while it is unchanged, no other node writes. A commit to `denokv`
    // has room for few checks.
    if (this.#deps.store.isShared) return;
    const key = this.#deps.keys.record(kind, canonical);
    const versionstamp = (await this.#reads.record(kind, canonical))?.versionstamp ?? null;
    this.#changes.check({ key, versionstamp });
  }

  async members(setId: string): Promise<MemberSet> {
    return this.#sets.get(setId) ?? await this.#deps.memberSets.load(setId);
  }

  /** Changes memberships, both keys of each. */
  async changeMembers(
    { setId, group }: { setId: string; group: string },
    changes: readonly MemberChange[],
  ): Promise<void> {
    const { keys, memberSets } = this.#deps;
    const before = this.#sets.get(setId) ?? await memberSets.load(setId);
    const identified: MemberChange[] = [];
    for (const { canonical, name, id: given } of changes) {
      const id = name === null ? null : given ?? (await this.record("user", canonical))?.id ?? null;
      identified.push({ canonical, name, id });
      if (name === null) {
        this.remove(keys.member(setId, canonical));
        this.remove(keys.memberOf(canonical, setId));
      } else {
        this.set(keys.member(setId, canonical), encodeMember(name, id), textOctets(name));
        this.set(keys.memberOf(canonical, setId), group, textOctets(group));
      }
      const ofUser = this.#memberships.get(canonical) ?? new Map<string, string | null>();
      ofUser.set(setId, name === null ? null : group);
      this.#memberships.set(canonical, ofUser);
    }
    const after = withChanges(before, identified);
    this.#sets.set(setId, after);
    this.#batch.whenCommitted(() => {
      memberSets.keep(setId, after);
      for (const { canonical } of changes) this.#deps.nesting.memberChanged(canonical);
    });
  }

  /** Gives the ids of users to their member entries, at most `limit` entries. Returns whether more remain. */
  async linkMembers(users: ReadonlyMap<string, string>, limit: number): Promise<boolean> {
    const bySet = new Map<string, { readonly group: string; readonly changes: MemberChange[] }>();
    let left = limit;
    for (const [canonical, id] of users) {
      for (const [setId, group] of await this.memberships(canonical)) {
        const { canonicals, names, ids } = await this.members(setId);
        const at = findMember({ canonicals }, canonical);
        if (at < 0 || ids[at] === id) continue;
        if (left-- > 0) {
          const ofSet = bySet.get(setId) ?? { group, changes: [] };
          ofSet.changes.push({ canonical, name: names[at] ?? canonical, id });
          bySet.set(setId, ofSet);
        }
      }
    }
    for (const [setId, { group, changes }] of bySet) await this.changeMembers({ setId, group }, changes);
    return left < 0;
  }

  /** The member sets of a user, with the canonical name of the group of each. */
  async memberships(user: string): Promise<Map<string, string>> {
    const found = new Map(await this.#reads.memberships(user));
    for (const [setId, group] of this.#memberships.get(user) ?? []) {
      if (group === null) found.delete(setId);
      else found.set(setId, group);
    }
    return found;
  }

  /** Marks a name as deleted, or as not deleted any more. */
  async setTombstone(canonical: string, value: Tombstone | null): Promise<void> {
    const { keys } = this.#deps;
    const changed = this.#tombstones.get(canonical);
    const before = changed === undefined ? await this.#reads.tombstone(canonical) : changed;
    if (before !== null) this.remove(keys.departure(before.order));
    if (value !== null) {
      this.set(keys.gone(canonical), value, textOctets(value.name));
      this.set(keys.departure(value.order), canonical, textOctets(canonical));
      if (before === null) this.#changes.tombstones.add(canonical);
    } else if (before !== null) {
      this.remove(keys.gone(canonical));
      this.remove(keys.renamed("user", canonical));
      this.#changes.tombstones.remove(canonical);
    }
    this.#tombstones.set(canonical, value);
  }

  set(key: Deno.KvKey, value: unknown, sizeOctets?: number): void {
    this.#changes.set(key, value, sizeOctets);
  }

  remove(key: Deno.KvKey): void {
    this.#changes.remove(key);
  }

  /** Adds changes unchanged. */
  also(mutations: readonly Mutation[]): void {
    this.#changes.also(mutations);
  }

  /** Adds the change of another module to the commit. */
  include({ mutations, checks = [], ...change }: PreparedRename): void {
    this.also(mutations);
    for (const check of checks) this.#changes.check(check);
    this.#batch.whenCommitted(() => change.done(this.#versionstamp));
    this.#batch.whenFailed(() => change.undo());
  }

  /** Runs when the commit is durable, in order. */
  whenCommitted(task: () => void): void {
    this.#batch.whenCommitted(task);
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

  /** Commits everything. Afterwards memory is updated, or discards the changes. */
  async commit(): Promise<CommitOutcome> {
    try {
      const outcome = await this.#deps.store.commit(this.#changes.toTransaction());
      if (outcome.ok) this.#versionstamp = outcome.versionstamp;
      if (outcome.ok) this.#batch.committed();
      else this.#batch.rollBack();
      return outcome;
    } catch (fault) {
      this.#batch.rollBack();
      throw fault;
    }
  }

  /** Discards the changes. Nothing was written. */
  rollBack(): void {
    this.#batch.rollBack();
  }

  /** Keeps the index of ids equal to the record. */
  #indexId(
    { kind, canonical }: RecordName,
    { before, next }: { before: ResourceRecord | null; next: ResourceRecord | null },
  ): void {
    const { keys, ids } = this.#deps;
    if (before !== null && next === null) {
      ids.retire(before.id);
      this.remove(keys.resourceId(before.id));
    }
    if (next === null || next.id === before?.id) return;
    const entry: IdEntry = { kind, canonical, createdMs: next.createdMs };
    this.set(keys.resourceId(next.id), entry, textOctets(canonical));
  }

  #writeParts(
    { kind, canonical }: RecordName,
    { before, parts, name }: { before: ResourceRecord | null; parts: readonly string[]; name: string },
  ): void {
    const { keys } = this.#deps;
    for (let number = 0; number < (before?.partCount ?? 0); number++) {
      this.remove(keys.part(kind, canonical, { parts: before?.parts ?? "", number }));
    }
    for (const [number, text] of parts.entries()) {
      this.set(keys.part(kind, canonical, { parts: name, number }), text, textSizeOctets(text));
    }
  }
}

function textOctets(text: string): number {
  return text.length * 2 + SMALL_VALUE_OCTETS;
}

export interface BatchReadDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: NameIndexes;
}

/** Each value is as of its first read. Names are canonical. */
export class BatchReads {
  readonly #deps: BatchReadDeps;
  readonly #records = new Map<string, Promise<ReadRecord | null>>();
  readonly #memberships = new Map<string, Promise<Map<string, string>>>();

  constructor(deps: BatchReadDeps) {
    this.#deps = deps;
  }

  /** Starts to read what the write of a resource needs. */
  prefetch(kind: ResourceKind, canonical: string): void {
    // A later call reports a failure of this read; there may be no later call.
    this.record(kind, canonical).catch(() => undefined);
    // A new user may be a member already.
    if (kind === "user" && !this.#deps.indexes.names.user.mayContain(canonical)) {
      this.memberships(canonical).catch(() => undefined);
    }
  }

  record(kind: ResourceKind, canonical: string): Promise<ReadRecord | null> {
    const { store, keys, indexes } = this.#deps;
    const place = `${kind}\0${canonical}`;
    const known = this.#records.get(place);
    if (known !== undefined) return known;
    // A name without a known hash has no record, so most creations read nothing.
    const reading = indexes.names[kind].mayContain(canonical)
      ? readRecord({ store, keys }, { kind, canonical })
      : Promise.resolve(null);
    this.#records.set(place, reading);
    return reading;
  }

  /** The member sets that contain a user, with the canonical name of the group of each. */
  memberships(user: string): Promise<ReadonlyMap<string, string>> {
    const reading = this.#memberships.get(user) ?? this.#listMemberships(user);
    this.#memberships.set(user, reading);
    return reading;
  }

  /** Each call reads the store again. */
  async tombstone(canonical: string): Promise<Tombstone | null> {
    const { store, keys, indexes } = this.#deps;
    if (!indexes.tombstones.mayContain(canonical)) return null;
    return (await store.get<Tombstone>(keys.gone(canonical))).value;
  }

  async #listMemberships(user: string): Promise<Map<string, string>> {
    const { store, keys, indexes } = this.#deps;
    const found = new Map<string, string>();
    // Without groups, there are no members: an import of users before groups reads nothing.
    if (indexes.names.group.total === 0) return found;
    for await (const { key, value } of store.list<string>(keys.memberships(user))) {
      if (value !== null) found.set(String(key[3]), value);
    }
    return found;
  }
}

/** The approximate size of a small value in the store, with its key. */
const SMALL_VALUE_OCTETS = 100;
/** A later merge writes a value for each changed entry, so a commit may not have too many of them. */
const LOG_OCTETS_PER_MUTATION = 1000;

/** Where a record is. */
interface RecordName {
  readonly kind: ResourceKind;
  readonly canonical: string;
}

/** A record before and after a write. `null`: it does not exist. */
interface RecordChange {
  readonly before: ResourceRecord | null;
  readonly after: ResourceRecord | null;
}

const NO_KEYS: ReadonlyMap<string, number> = new Map();

/** Later changes of a key replace earlier ones. */
class BatchMutations {
  /** Changes of tombstones. */
  readonly tombstones: IndexDraft;
  /** Changes of the keys of records, in each index. */
  readonly #keys;
  readonly #drafts: readonly IndexDraft[];
  readonly #own = new Map<string, Mutation>();
  readonly #foreign: Mutation[] = [];
  readonly #checks = new Map<string, Check>();
  #octets = 0;

  constructor(indexes: Indexes) {
    this.tombstones = indexes.tombstones.draft();
    this.#keys = (["names", "words", "values"] as const).map((name) => ({
      ...KEY_EXTRACTORS[name],
      drafts: { user: indexes[name].user.draft(), group: indexes[name].group.draft() },
    }));
    this.#drafts = [
      ...this.#keys.flatMap(({ drafts: { user, group } }) => [user, group]),
      this.tombstones,
    ];
  }

  set(key: Deno.KvKey, value: unknown, sizeOctets = SMALL_VALUE_OCTETS): void {
    this.#own.set(key.join("\0"), { type: "set", key, value });
    this.#octets += sizeOctets;
  }

  remove(key: Deno.KvKey): void {
    this.#own.set(key.join("\0"), { type: "delete", key });
    this.#octets += SMALL_VALUE_OCTETS;
  }

  /** Adds changes of other modules unchanged. */
  also(mutations: readonly Mutation[]): void {
    this.#foreign.push(...mutations);
    this.#octets += mutations.reduce((sum, mutation) => sum + estimateOctets(mutation), 0);
  }

  /** Keeps the keys of a record current in each index. */
  changeKeys({ kind, canonical }: RecordName, { before, after }: RecordChange): void {
    for (const { isSame, keysOf, drafts: { [kind]: draft } } of this.#keys) {
      if (before !== null && after !== null && isSame(before, after)) continue;
      const oldKeys = before === null ? NO_KEYS : keysOf(kind, before);
      const newKeys = after === null ? NO_KEYS : keysOf(kind, after);
      const placeOf = (key: string) => key === "" ? canonical : `${key}\0${canonical}`;
      for (const [key, depth] of oldKeys) if (newKeys.get(key) !== depth) draft.remove(placeOf(key), depth);
      for (const [key, depth] of newKeys) if (oldKeys.get(key) !== depth) draft.add(placeOf(key), depth);
    }
  }

  check(check: Check): void {
    this.#checks.set(check.key.join("\0"), check);
  }

  get count(): number {
    return this.#own.size + this.#foreign.length + Math.ceil(this.#logOctets / LOG_OCTETS_PER_MUTATION);
  }

  get checkCount(): number {
    return this.#checks.size;
  }

  get sizeOctets(): number {
    return this.#octets + this.#logOctets;
  }

  /** All changes so far as one transaction. */
  toTransaction(): Transaction {
    return {
      checks: [...this.#checks.values()],
      mutations: [
        ...this.#own.values(),
        ...this.#foreign,
        ...this.#drafts.flatMap((draft) => draft.mutations()),
      ],
      sizeOctets: this.sizeOctets,
    };
  }

  /** Updates the indexes in memory. Call it when the transaction is durable. */
  applyIndexes(): void {
    for (const draft of this.#drafts) draft.apply();
  }

  get #logOctets(): number {
    return this.#drafts.reduce((sum, { sizeOctets }) => sum + sizeOctets, 0);
  }
}

/** The approximate size of a change of another module. It only serves to keep a commit below its limit. */
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
