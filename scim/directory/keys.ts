// The keys of the directory in the store.

import { renamedKey } from "../../platform/user_record.ts";
import type { ResourceKind } from "../schema/resource.ts";

/** The keys of one target. */
export function createDirectoryKeys(target: string) {
  return {
    target,
    record: (kind: ResourceKind, canonical: string): Deno.KvKey => [kind, target, canonical],
    records: (kind: ResourceKind): Deno.KvKey => [kind, target],
    recordsEnd: (kind: ResourceKind): Deno.KvKey => [kind, target, LAST_CHARACTER],
    part: (
      kind: ResourceKind,
      canonical: string,
      at: PartPlace,
    ): Deno.KvKey => ["part", target, kind, canonical, at.parts, at.number],
    gone: (canonical: string): Deno.KvKey => ["gone", target, canonical],
    /** The name of the resource with an id. */
    resourceId: (id: string): Deno.KvKey => ["resource_id", target, id],
    /** The name that a renamed resource has now, under its earlier name. */
    renamed: (kind: ResourceKind, canonical: string): Deno.KvKey => renamedKey(target, { kind, canonical }),
    goneAll: ["gone", target] as Deno.KvKey,
    /** Tombstones in order of time. */
    departure: (order: number): Deno.KvKey => ["departure", target, order],
    departures: ["departure", target] as Deno.KvKey,
    password: (canonical: string): Deno.KvKey => ["password", target, canonical],
    member: (setId: string, user: string): Deno.KvKey => ["member", target, setId, user],
    /** The members of all sets. */
    allMembers: ["member", target] as Deno.KvKey,
    members: (setId: string): Deno.KvKey => ["member", target, setId],
    memberOf: (user: string, setId: string): Deno.KvKey => ["memberof", target, user, setId],
    memberships: (user: string): Deno.KvKey => ["memberof", target, user],
    /** The memberships of all users. */
    allMemberships: ["memberof", target] as Deno.KvKey,
    /** The index of words or values. The parts of an entry follow: word and name, or attribute, value and name. */
    entries: (index: "word" | "value", kind: ResourceKind): Deno.KvKey => [index, target, kind],
    /** The log of a counted index. A number follows. */
    indexLog: (index: string): Deno.KvKey => ["index_log", target, index],
    buckets: (index: string): Deno.KvKey => ["fence", target, index],
    /** A deleted user. The id begins with the time of the deletion. */
    trash: (id: string): Deno.KvKey => ["trash", target, id],
    trashAll: ["trash", target] as Deno.KvKey,
    trashPart: (id: string, number: number): Deno.KvKey => ["trash_part", target, id, number],
    chore: (id: string): Deno.KvKey => ["chore", target, id],
    chores: ["chore", target] as Deno.KvKey,
  };
}

/** `parts` names the set of parts, so that a reader never mixes two; `number` counts from 0. */
interface PartPlace {
  readonly parts: string;
  readonly number: number;
}

export type DirectoryKeys = ReturnType<typeof createDirectoryKeys>;

/** Greater than every word and name, because neither contains U+10FFFF. */
export const LAST_CHARACTER = "\u{10ffff}";

/** Negative, zero or positive, as the store orders two strings. Both are well formed. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** A surrogate is a part of a character beyond U+FFFF, so it comes after every other code unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
