// Finds the record of a resource by its id, and the ids of resources by their names, without their members.

import type { Store } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import type { DirectoryKeys } from "./keys.ts";
import { type ResourceRecord, toStored } from "./records.ts";
import { type IdEntry, isResourceId } from "./resource_ids.ts";

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
