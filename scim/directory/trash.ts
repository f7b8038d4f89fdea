// The trash of one target: deleted users, so that an administrator can restore them. An entry is written in the commit that deletes the
// user. It expires after 30 days. If there are too many entries, the oldest are removed first.

import { type ResourceIdentity, type ResourceRecord, textParts, textSizeOctets } from "./records.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { PasswordHash } from "../../platform/password_hasher.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { DELETED_USER_DAYS } from "../../platform/user_record.ts";
import type { JsonObject } from "../schema/resource.ts";
import type { Deletion, TrashedUser, TrashEntry, UserTrash } from "../ports.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { DirectoryKeys } from "./keys.ts";

const RETENTION_MS = DELETED_USER_DAYS * 24 * 3600_000;
const DEFAULT_MAX_ENTRIES = 10_000;
/** One batch has fewer deletions. */
const MIN_ROOM = 200;
/** After a trim, so many entries fit that not each deletion counts the entries. */
const ROOM_AFTER_TRIM = 500;
const MAX_TRIMMED_PER_COMMIT = 50;
/** A larger user is deleted without an entry, because the commit of the deletion has a limit. */
const MAX_CONTENT_OCTETS = 320 * 1024;
const ID_CHARACTERS = 19;
const MAX_DISPLAY_NAME_CHARACTERS = 200;

/** The value under ["trash", target, id]. The content is in parts, so that a list of the trash reads little. */
interface TrashRecord extends Omit<TrashEntry, "id"> {
  /** The id, the external id and the connection of the user. */
  readonly identity: ResourceIdentity;
  readonly partCount: number;
}

/** What the parts contain, as JSON. */
interface TrashContent {
  readonly attributes: JsonObject;
  readonly groups: readonly string[];
  readonly password?: PasswordHash;
}

interface DirectoryTrashDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly keys: DirectoryKeys;
  readonly newSetId: () => string;
  readonly maxEntries?: number | undefined;
}

export class DirectoryTrash implements UserTrash {
  readonly days = DELETED_USER_DAYS;
  readonly maxEntries: number;
  readonly #deps: DirectoryTrashDeps;
  /** How many entries fit before the next trim. */
  #room = 0;

  constructor(deps: DirectoryTrashDeps) {
    this.#deps = deps;
    this.maxEntries = deps.maxEntries ?? DEFAULT_MAX_ENTRIES;
  }

  async *list(): AsyncIterable<TrashEntry> {
    const { store, keys } = this.#deps;
    for await (const { key, value } of store.list<TrashRecord>(keys.trashAll, { reverse: true })) {
      if (value !== null && this.#isCurrent(value)) yield entryOf(String(key[2]), value);
    }
  }

  async read(id: string): Promise<TrashedUser | null> {
    const record = await this.#record(id);
    if (record === null) return null;
    const { store, keys } = this.#deps;
    const parts = await Promise.all(
      partNumbers(record).map(async (number) => (await store.get<string>(keys.trashPart(id, number))).value),
    );
    // Another node removed the entry in between.
    if (parts.includes(null)) return null;
    const content: TrashContent = JSON.parse(parts.join(""));
    return {
      entry: entryOf(id, record),
      content: { kind: "user", name: record.name, active: record.active, attributes: content.attributes },
      groups: content.groups,
      password: content.password ?? null,
    };
  }

  async removal(id: string): Promise<Mutation[] | null> {
    const record = await this.#record(id);
    return record === null ? null : this.#removalOf(id, record);
  }

  /** What a restore keeps of the user of an entry. Empty if there is no such entry. */
  async identity(id: string): Promise<Partial<ResourceIdentity>> {
    return (await this.#record(id))?.identity ?? {};
  }

  /** Adds an entry for a deleted user to the batch. @returns its id; `null` if the user is too large. */
  async add(
    batch: DirectoryBatch,
    { before, deletion }: { before: ResourceRecord; deletion: Deletion | undefined },
  ): Promise<string | null> {
    const { store, clock, keys, newSetId } = this.#deps;
    const { value: password } = await store.get<PasswordHash>(keys.password(canonicalName(before.name)));
    const attributes: JsonObject = JSON.parse(before.text);
    const content: TrashContent = {
      attributes,
      groups: before.groups,
      ...(password === null ? {} : { password }),
    };
    const text = JSON.stringify(content);
    if (textSizeOctets(text) > MAX_CONTENT_OCTETS) return null;
    const id = newSetId().padStart(ID_CHARACTERS, "0");
    const parts = textParts(text);
    const record: TrashRecord = {
      name: before.name,
      displayName: displayNameOf(attributes),
      active: before.active,
      groupCount: before.groups.length,
      backends: Object.keys(before.backends),
      deletedMs: clock.nowMs(),
      actor: deletion?.actor.name ?? "",
      source: deletion?.actor.source ?? "",
      cause: deletion?.cause ?? "deleted",
      hasPassword: password !== null,
      identity: {
        id: before.id,
        ...(before.externalId === undefined ? {} : { externalId: before.externalId }),
        ...(before.managedBy === undefined ? {} : { managedBy: before.managedBy }),
      },
      partCount: parts.length,
    };
    const expireInMs = RETENTION_MS;
    batch.also([
      { type: "set", key: keys.trash(id), value: record, expireInMs },
      ...parts.map((value, number): Mutation => ({
        ...{ type: "set", key: keys.trashPart(id, number) },
        value,
        expireInMs,
      })),
    ]);
    this.#room--;
    return id;
  }

  /** Another node may have added entries. */
  forgetCount(): void {
    this.#room = 0;
  }

  /** Removes the oldest entries if those of a batch might not fit. Call it before each batch with deletions. */
  async trim(): Promise<void> {
    if (this.#room >= MIN_ROOM) return;
    const { store, keys } = this.#deps;
    const { maxEntries } = this;
    let count = 0;
    for await (const _entry of store.list(keys.trashAll)) count++;
    const excessNow = count + MIN_ROOM > maxEntries ? count + ROOM_AFTER_TRIM - maxEntries : 0;
    for (let excess = Math.min(excessNow, count); excess > 0; excess -= MAX_TRIMMED_PER_COMMIT) {
      const mutations: Mutation[] = [];
      const limit = Math.min(excess, MAX_TRIMMED_PER_COMMIT);
      for await (const { key, value } of store.list<TrashRecord>(keys.trashAll, { limit })) {
        if (value !== null) mutations.push(...this.#removalOf(String(key[2]), value));
      }
      if (mutations.length > 0) await store.commit({ mutations });
    }
    this.#room = maxEntries - count + Math.max(0, excessNow);
  }

  async #record(id: string): Promise<TrashRecord | null> {
    const { store, keys } = this.#deps;
    const { value } = await store.get<TrashRecord>(keys.trash(id));
    return value === null || !this.#isCurrent(value) ? null : value;
  }

  /** The store removes expired entries late. */
  #isCurrent({ deletedMs }: TrashRecord): boolean {
    return deletedMs + RETENTION_MS > this.#deps.clock.nowMs();
  }

  #removalOf(id: string, record: TrashRecord): Mutation[] {
    const { keys } = this.#deps;
    return [
      { type: "delete", key: keys.trash(id) },
      ...partNumbers(record).map((number): Mutation => ({ type: "delete", key: keys.trashPart(id, number) })),
    ];
  }
}

function entryOf(id: string, { partCount: _parts, identity: _identity, ...entry }: TrashRecord): TrashEntry {
  return { id, ...entry };
}

function partNumbers({ partCount }: TrashRecord): number[] {
  return Array.from({ length: partCount }, (_, number) => number);
}

function displayNameOf({ displayName, name }: JsonObject): string {
  if (typeof displayName === "string" && displayName !== "") return shortened(displayName);
  if (typeof name !== "object" || name === null || Array.isArray(name)) return "";
  const { givenName, familyName, formatted } = name as JsonObject;
  const words = [givenName, familyName].filter((word) => typeof word === "string" && word !== "");
  return shortened(words.length === 0 && typeof formatted === "string" ? formatted : words.join(" "));
}

function shortened(text: string): string {
  return text.slice(0, MAX_DISPLAY_NAME_CHARACTERS).toWellFormed();
}

/** Adds a user who is restored to the groups that still exist. The user's record then contains their names. */
export async function rejoinGroups(
  batch: DirectoryBatch,
  name: string,
  groups: readonly string[],
): Promise<void> {
  for (const group of groups.map(canonicalName)) {
    const record = await batch.record("group", group);
    if (record === null) continue;
    await batch.changeMembers({ setId: record.setId, group }, [{ canonical: canonicalName(name), name }]);
  }
}
