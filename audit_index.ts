// The one form of the audit: records under ids in order of time, found again by what they are about and by who did it.

import { canonicalName } from "./canonical_name.ts";
import type { Mutation } from "./store.ts";

/** How long a record is kept. */
export const AUDIT_KEPT_MS = 90 * 24 * 3600_000;
/** A key of the store is small; longer names are found by their beginning. */
const MOST_NAME_CHARACTERS = 300;
/** A record is found by so many objects; what is done to more of them is a record each. */
const MOST_OBJECTS = 100;

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
  const named = ["user", "group", "client"].flatMap((kind) =>
    textsOf(record[kind]).map((name) => `${kind}:${name}`)
  );
  const objects = [...new Set([...textsOf(record.object), ...textsOf(record.objects), ...named])];
  // Each write of the directory names its target; only what is about nothing else is about the target.
  return objects.length > 0 ? objects : textsOf(record.target).map((name) => `target:${name}`);
}

function textsOf(value: unknown): string[] {
  const texts = Array.isArray(value) ? value.slice(0, MOST_OBJECTS) : [value];
  return texts.filter((text) => typeof text === "string").filter((text) => text !== "");
}

/** Who did it. The directory writes `console:ada` for an administrator whom the console calls `ada`: it is one person. */
export function auditActor(record: Readonly<Record<string, unknown>>): string {
  const { actor } = record;
  return typeof actor === "string" ? actor.replace(/^console:(?=.)/, "") : "";
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
  const actor = auditActor(record);
  const places = auditObjects(record).map((name) => auditIndexKey("object", name));
  if (actor !== "") places.push(auditIndexKey("actor", actor));
  return places.map((place) => ({
    type: "set",
    key: [...place, id],
    value: true,
    expireInMs: expireInMs ?? AUDIT_KEPT_MS,
  }));
}
