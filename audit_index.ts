// The one form of the audit: records under ids in order of time, found again by what they are about and by who did it.

import { canonicalName } from "./canonical_name.ts";
import type { Mutation } from "./store.ts";

/** How long a record is kept. */
export const AUDIT_KEPT_MS = 90 * 24 * 3600_000;
/** A key of the store is small; longer names are found by their beginning. */
const MOST_NAME_CHARACTERS = 300;

/** Where the index has a name. */
export type AuditRole = "object" | "actor";

/** The key of a record. `id` grows with time. */
export function auditKey(id: string): Deno.KvKey {
  return ["audit", id];
}

/** Where ids of records stand that are about `name` (`user:ada`), or were written by it. */
export function auditIndexKey(role: AuditRole, name: string): Deno.KvKey {
  return ["audit_by", role, canonicalName(name).slice(0, MOST_NAME_CHARACTERS)];
}

/** The first id of a moment: 1024 ids fit into a millisecond, 11 characters of base 36. */
export function auditIdAt(atMs: number): string {
  return Math.max(0, Math.floor(atMs * 1024)).toString(36).padStart(11, "0");
}

/** What a record is about, as the console writes objects: `user:ada`, `client:vpn-1`. */
export function auditObjects(record: Readonly<Record<string, unknown>>): string[] {
  const named = ["user", "group", "client"].flatMap((kind) => {
    const name = record[kind];
    return typeof name === "string" && name !== "" ? [`${kind}:${name}`] : [];
  });
  const { object } = record;
  return [...new Set(typeof object === "string" && object !== "" ? [object, ...named] : named)];
}

/** The changes with what finds their audit records again; the same list when there are none. */
export function withAuditIndex(mutations: readonly Mutation[]): readonly Mutation[] {
  const index = mutations.flatMap((mutation) => mutation.type === "set" ? indexOf(mutation) : []);
  return index.length === 0 ? mutations : [...mutations, ...index];
}

function indexOf({ key, value, expireInMs }: Extract<Mutation, { type: "set" }>): Mutation[] {
  const id = key[1];
  if (key[0] !== "audit" || key.length !== 2 || typeof id !== "string") return [];
  if (typeof value !== "object" || value === null) return [];
  const record = value as Record<string, unknown>;
  const { actor } = record;
  const places = auditObjects(record).map((name) => auditIndexKey("object", name));
  if (typeof actor === "string") places.push(auditIndexKey("actor", actor));
  return places.map((place) => ({
    type: "set",
    key: [...place, id],
    value: true,
    expireInMs: expireInMs ?? AUDIT_KEPT_MS,
  }));
}
