// The ids of resources (RFC 7643 §3.1): unique, never changed, never reused. An id is derived from the facts of the creation, and has an index of its own.

import { createHash } from "node:crypto";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import type { DirectoryKeys } from "./keys.ts";
import { type ResourceRecord, toStored } from "./records.ts";

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
