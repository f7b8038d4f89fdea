// Reads resources: one by its name or its id, a page by its rank, all in bounded steps, or a user for a login. Gives ids to new ones.

import type { Store } from "../../platform/store.ts";
import type { LoginUser, Page, PageOptions } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import type { NameIndexes } from "./indexes.ts";
import type { GroupNesting } from "./group_nesting.ts";
import type { DirectoryKeys } from "./keys.ts";
import { type MemberSets, NO_MEMBERS, type PendingRenames } from "./member_sets.ts";
import {
  joinParts,
  phoneNumbersOf,
  readRecord,
  type ResourceRecord,
  type Tombstone,
  toStored,
} from "./records.ts";
import { createHash } from "node:crypto";
import { canonicalName } from "../../platform/canonical_name.ts";

interface ResourceReaderDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: NameIndexes;
  readonly memberSets: MemberSets;
  readonly pendingRenames: PendingRenames;
}

/** A record as stored, which may have parts, or as read. */
interface NamedRecord {
  readonly canonical: string;
  readonly record: ResourceRecord;
}

/** How many resources {@link ResourceReader.all} reads at a time. */
const BATCH_SIZE = 200;
const MAX_ATTEMPTS = 5;

export class ResourceReader {
  readonly #deps: ResourceReaderDeps;

  constructor(deps: ResourceReaderDeps) {
    this.#deps = deps;
  }

  async read(kind: ResourceKind, canonical: string): Promise<Stored | null> {
    const record = await this.record(kind, canonical);
    return record === null ? null : await this.#complete(kind, { canonical, record });
  }

  /** Reads the resource with an id. */
  async readById(kind: ResourceKind, id: string): Promise<Stored | null> {
    const found = await findRecordById({ ...this.#deps, reader: this }, { kind, id });
    return found === null ? null : await this.#complete(kind, found);
  }

  /** Reads several resources, in this order. Resources that do not exist are left out. */
  async readMany(kind: ResourceKind, canonicals: readonly string[]): Promise<Stored[]> {
    const found = await Promise.all(canonicals.map((canonical) => this.read(kind, canonical)));
    return found.filter((stored) => stored !== null);
  }

  /** The resource of a record that was just read. `null` if it was deleted in the meantime. */
  async complete(kind: ResourceKind, head: NamedRecord): Promise<Stored | null> {
    const found = await this.#join(kind, head);
    return found === null ? null : await this.#complete(kind, found);
  }

  async record(kind: ResourceKind, canonical: string): Promise<ResourceRecord | null> {
    if (!this.#deps.indexes.names[kind].mayContain(canonical)) return null;
    return (await readRecord(this.#deps, { kind, canonical }))?.record ?? null;
  }

  async page(kind: ResourceKind, { page, size, isReverse = false }: PageOptions): Promise<Page> {
    const { indexes, keys } = this.#deps;
    const { total } = indexes.names[kind];
    const before = (page - 1) * size;
    if (before >= total) return { total, startIndex: before + 1, resources: [] };
    // The ranks count from the first name. The last page in reverse order can be shorter.
    const first = isReverse ? Math.max(0, total - before - size) : before;
    const limit = isReverse ? total - before - first : size;
    const { bound, skip } = indexes.names[kind].seek(first);
    const found = await this.#readFrom(kind, { start: keys.record(kind, bound), skip, limit });
    if (isReverse) found.reverse();
    const resources: Stored[] = [];
    for (const one of found) {
      const stored = await this.#complete(kind, one);
      if (stored !== null) resources.push(stored);
    }
    return { total, startIndex: before + 1, resources };
  }

  async *all(kind: ResourceKind): AsyncGenerator<Stored> {
    const { keys } = this.#deps;
    let start = keys.records(kind);
    for (let left = Infinity; left > 0;) {
      const found = await this.#readFrom(kind, { start, skip: 0, limit: BATCH_SIZE });
      for (const one of found) {
        // One by one, so that memory never holds the members of two hundred groups.
        const stored = await this.#complete(kind, one);
        if (stored !== null) yield stored;
      }
      left = found.length;
      // The key that follows the last one.
      start = keys.record(kind, `${found.at(-1)?.canonical ?? ""}\0`);
    }
  }

  /** Adds the members of a group. `null` if the group was deleted in the meantime. */
  async #complete(kind: ResourceKind, found: NamedRecord): Promise<Stored | null> {
    const { memberSets, keys, pendingRenames: renames } = this.#deps;
    const place = { kind, target: keys.target };
    if (kind === "user") return toStored(place, renames.inRecord(found.record), NO_MEMBERS);
    let current: ResourceRecord | null = found.record;
    for (let attempt = 0; attempt < MAX_ATTEMPTS && current !== null; attempt++) {
      const { setId }: ResourceRecord = current;
      const members = await memberSets.load(setId);
      if (memberSets.has(setId)) return toStored(place, current, renames.inMembers(members));
      // The set came from the store. If the group has another set now, this one may be partly deleted.
      current = await this.record(kind, found.canonical);
      if (current?.setId === setId) return toStored(place, current, renames.inMembers(members));
    }
    if (current === null) return null;
    throw new Error(`Cannot read the group "${found.canonical}": it changed at every attempt`);
  }

  /** Reads the records from `start` on, in order of name, at most `limit`. */
  async #readFrom(
    kind: ResourceKind,
    { start, skip, limit }: { start: Deno.KvKey; skip: number; limit: number },
  ): Promise<NamedRecord[]> {
    const { store, keys } = this.#deps;
    const selector = { start, end: keys.recordsEnd(kind) };
    const heads: NamedRecord[] = [];
    let at = 0;
    for await (const { key, value } of store.range<ResourceRecord>(selector, { limit: skip + limit })) {
      if (at++ < skip || value === null) continue;
      heads.push({ canonical: String(key[2]), record: value });
    }
    const whole = await Promise.all(heads.map((head) => this.#join(kind, head)));
    return whole.filter((found) => found !== null);
  }

  async #join(kind: ResourceKind, { canonical, record: head }: NamedRecord): Promise<NamedRecord | null> {
    const record = head.parts === ""
      ? head
      : await joinParts(this.#deps, { kind, canonical, head }) ?? await this.record(kind, canonical);
    return record === null ? null : { canonical, record };
  }
}

export interface LoginUserView {
  /** @throws Error if {@link LoginUserView.prepare} was not called before. */
  login(canonical: string): LoginUser;
  prepare(canonical: string): Promise<void> | null;
  /** Call it after a user's record was written durably. `null`: the record was deleted. */
  update(canonical: string, record: ResourceRecord | null): void;
  /** Call it after another node wrote a user's record. @param head as stored, without the parts of a large record */
  follow(canonical: string, head: ResourceRecord | null): void;
}

/** A user in memory. */
interface CachedUser {
  /** With the groups that list the user. */
  readonly own: LoginUser;
  /** With the groups that contain these groups, too. */
  readonly user: LoginUser;
  /** The version of the nesting of groups that `user` follows; -1: none. */
  readonly nesting: number;
}

interface LoginViewDeps {
  readonly nesting: GroupNesting;
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: NameIndexes;
  /** Whether other nodes use the store, too. */
  readonly isShared?: boolean;
  /** The minimum number of cached users. The maximum is twice as many. */
  readonly maxUsers?: number;
  readonly pendingRenames: Pick<PendingRenames, "inRecord" | "inGroups">;
  /** Reads the values of reply attributes from a user. Absent: none are configured. */
  readonly repliesOf?: RepliesOf | undefined;
}

/** The values of reply attributes that a user has, by the attribute; `undefined` without any. */
export type RepliesOf = (user: Stored) => LoginUser["replies"];

export function createLoginView(
  { store, keys, indexes, isShared = false, maxUsers = 25_000, pendingRenames, nesting, repliesOf }:
    LoginViewDeps,
): LoginUserView {
  const userOf = (record: ResourceRecord) => loginUserOf(keys.target, record, repliesOf);
  const users = new LoginUserCache(maxUsers);
  const loading = new Map<string, { isStale: boolean; done: Promise<void> }>();

  const isUnknown = (canonical: string): boolean =>
    !indexes.names.user.mayContain(canonical) && !indexes.tombstones.mayContain(canonical);

  const readUser = async (canonical: string): Promise<LoginUser> => {
    const found = await readRecord({ store, keys }, { kind: "user", canonical });
    if (found !== null) return userOf(found.record);
    // Another node may have deleted the user a moment ago.
    if (!isShared && !indexes.tombstones.mayContain(canonical)) return unknownUser(canonical);
    const { value } = await store.get<Tombstone>(keys.gone(canonical));
    return value === null ? unknownUser(canonical) : { ...unknownUser(value.name), status: "deleted" };
  };
  const load = async (canonical: string, state: { isStale: boolean }): Promise<void> => {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      state.isStale = false;
      const own = await readUser(canonical);
      await nesting.load(own.groups);
      const user = nestedUser(nesting, own);
      // A write in the meantime may be newer than this read.
      if (!state.isStale && user.nesting === nesting.version) return users.keep(canonical, user);
    }
    throw new Error(`Cannot read the user "${canonical}": it changed at every attempt`);
  };

  const markStale = (canonical: string): void => {
    const state = loading.get(canonical);
    if (state !== undefined) state.isStale = true;
  };
  const update = (canonical: string, record: ResourceRecord | null): void => {
    markStale(canonical);
    const known = users.find(canonical) ?? users.findOutdated(canonical);
    if (known === undefined) return;
    const own: LoginUser = record === null
      ? { ...unknownUser(known.own.name), status: "deleted" }
      : userOf(record);
    users.keep(canonical, nestedUser(nesting, own));
  };

  return {
    login(canonical) {
      const known = users.find(canonical) ?? users.findOutdated(canonical);
      if (known !== undefined) return withNamesOfNow(pendingRenames, known.user);
      if (isUnknown(canonical)) return unknownUser(canonical);
      // The result "unknown" could admit a user who was deleted.
      throw new Error("Cannot find the user of a login: prepare() was not called");
    },
    prepare(canonical) {
      const under = loading.get(canonical);
      if (under !== undefined) return under.done;
      const known = users.find(canonical);
      if (known !== undefined) {
        if (known.nesting === nesting.version) return null;
        const user = nestedUser(nesting, known.own);
        if (user.nesting >= 0) {
          users.keep(canonical, user);
          return null;
        }
      } else if (isUnknown(canonical)) return null;
      const state = { isStale: false, done: Promise.resolve() };
      state.done = load(canonical, state).finally(() => loading.delete(canonical));
      loading.set(canonical, state);
      return state.done;
    },
    update,
    follow(canonical, head) {
      if (head === null || head.parts === "") return update(canonical, head);
      markStale(canonical);
      users.outdate(canonical, { name: head.name, status: head.active ? "active" : "inactive" });
    },
  };
}

/** A user with the groups that contain the user's groups, as far as they are in memory. */
function nestedUser(nesting: GroupNesting, own: LoginUser): CachedUser {
  const groups = nesting.withContainers(own.groups);
  if (groups === null) return { own, user: own, nesting: -1 };
  const user = groups === own.groups ? own : { ...own, allGroups: groups };
  return { own, user, nesting: nesting.version };
}

/** A user with the names that groups have while a rename is in progress. */
function withNamesOfNow(renames: LoginViewDeps["pendingRenames"], known: LoginUser): LoginUser {
  const user = renames.inRecord(known);
  const { allGroups } = user;
  return allGroups === undefined ? user : { ...user, allGroups: renames.inGroups(allGroups) };
}

const NONE: readonly never[] = [];

/** Two generations: a lookup moves a user to the young one. When that is full, the old one is dropped. */
class LoginUserCache {
  readonly #maxUsers: number;
  #young = new Map<string, CachedUser>();
  #old = new Map<string, CachedUser>();
  /** Large users that another node changed, until they are loaded again. Their status is that of the change. */
  readonly #outdated = new Map<string, CachedUser>();

  constructor(maxUsers: number) {
    this.#maxUsers = maxUsers;
  }

  keep(canonical: string, user: CachedUser): void {
    if (this.#outdated.size > 0) this.#outdated.delete(canonical);
    if (this.#young.size >= this.#maxUsers) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(canonical, user);
  }

  find(canonical: string): CachedUser | undefined {
    const known = this.#young.get(canonical);
    if (known !== undefined) return known;
    const older = this.#old.get(canonical);
    if (older !== undefined) this.keep(canonical, older);
    return older;
  }

  findOutdated(canonical: string): CachedUser | undefined {
    return this.#outdated.get(canonical);
  }

  /** The user must be loaded again. */
  outdate(canonical: string, change: Pick<LoginUser, "name" | "status">): void {
    const known = this.find(canonical) ?? this.#outdated.get(canonical);
    if (known === undefined) return;
    this.#young.delete(canonical);
    this.#old.delete(canonical);
    if (this.#outdated.size >= this.#maxUsers) this.#outdated.clear();
    const { own, user, nesting } = known;
    this.#outdated.set(canonical, { own: { ...own, ...change }, user: { ...user, ...change }, nesting });
  }
}

function unknownUser(name: string): LoginUser {
  return { status: "unknown", name, phoneNumbers: NONE, groups: NONE };
}

function loginUserOf(target: string, record: ResourceRecord, repliesOf: RepliesOf | undefined): LoginUser {
  const { name, active, text, groups, id } = record;
  const replies = repliesOf?.(toStored({ kind: "user", target }, record));
  const status = active ? "active" : "inactive";
  const user: LoginUser = { status, name, phoneNumbers: phoneNumbersOf(text), groups, id };
  return replies === undefined ? user : { ...user, replies };
}

// The ids of resources (RFC 7643 §3.1): unique, never changed, never reused. An id is derived from the facts of the creation, and has an index of its own.

/** What an id is derived from. */
interface IdSource {
  readonly target: string;
  readonly kind: ResourceKind;
  /** The canonical name at the creation. */
  readonly canonical: string;
  readonly createdMs: number;
}

/** The value under ["resource_id", target, id]. */
export interface IdEntry {
  readonly kind: ResourceKind;
  readonly canonical: string;
  /** Tells the resource from a later one with the same name. */
  readonly createdMs: number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the form of an id, so that a read can find it. */
export function isResourceId(text: string): boolean {
  return UUID.test(text);
}

/**
 * A UUID of version 8 (RFC 9562 §5.8): 48 bits of milliseconds, then 74 bits of a SHA-256. New ids have ascending keys, because the store writes those
 * several times faster.
 *
 * @param salt tells apart two resources with the same name that were created in the same millisecond.
 */
export function deriveId({ target, kind, canonical, createdMs }: IdSource, salt = 0): string {
  const facts = [target, kind, canonical, createdMs, ...(salt === 0 ? [] : [salt])];
  const hash = createHash("sha256").update(JSON.stringify(facts)).digest();
  hash.writeUIntBE(Math.max(0, Math.trunc(createdMs)) % 2 ** 48, 0, 6);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const text = hash.toString("hex", 0, 16);
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A name that is deleted and created again in the same millisecond gets another id. */
const MAX_RETIRED = 10_000;

/** Gives ids to new resources. */
export class IdIssuer {
  /** Ids of resources that were deleted a short time ago. */
  readonly #retired = new Set<string>();

  issue(source: IdSource): string {
    let id = deriveId(source);
    for (let salt = 1; this.#retired.has(id); salt++) id = deriveId(source, salt);
    return id;
  }

  /** The resource with the id is being deleted. */
  retire(id: string): void {
    this.#retired.add(id);
    for (const oldest of this.#retired) {
      if (this.#retired.size <= MAX_RETIRED) return;
      this.#retired.delete(oldest);
    }
  }
}

export interface RecordByIdDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly reader: { record(kind: ResourceKind, canonical: string): Promise<ResourceRecord | null> };
}

/** Renames that one read follows. */
const MAX_RENAMES = 10;

/** The record with an id, and its canonical name. */
export async function findRecordById(
  deps: RecordByIdDeps,
  { kind, id }: { kind: ResourceKind; id: string },
): Promise<{ readonly canonical: string; readonly record: ResourceRecord } | null> {
  const { store, keys, reader } = deps;
  if (!isResourceId(id)) return null;
  let former: string | null = null;
  for (let tries = 0; tries <= MAX_RENAMES; tries++) {
    const { value: entry } = await store.get<IdEntry>(keys.resourceId(id));
    if (entry?.kind !== kind) return null;
    const { canonical } = entry;
    const record = await reader.record(kind, canonical);
    if (record?.id === id) return { canonical, record };
    // The resource may have got another name between the two reads. If not, it is gone.
    if (canonical === former) return null;
    former = canonical;
  }
  return null;
}

/** The resource with an id. A group has no members here, so the cost does not depend on their number. */
export async function readHeadById(
  deps: RecordByIdDeps,
  wanted: { kind: ResourceKind; id: string },
): Promise<Stored | null> {
  const found = await findRecordById(deps, wanted);
  return found === null ? null : toStored({ kind: wanted.kind, target: deps.keys.target }, found.record);
}

/** The ids of resources, in the order of the names. `null`: no resource has the name. */
export async function readIds(
  { reader }: Pick<RecordByIdDeps, "reader">,
  { kind, names }: { kind: ResourceKind; names: readonly string[] },
): Promise<(string | null)[]> {
  return await Promise.all(
    names.map(async (name) => (await reader.record(kind, canonicalName(name)))?.id ?? null),
  );
}
