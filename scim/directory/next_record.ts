// What a write gives to a record besides its content: times, revision, id and external id.

import type { Clock } from "../../platform/runtime.ts";
import type { DirectoryWrite } from "../ports.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";
import type { IdIssuer } from "./resource_ids.ts";

export interface NextRecordDeps {
  readonly keys: DirectoryKeys;
  readonly clock: Clock;
  /** Returns a larger number with each call. */
  readonly nextNumber: () => number;
  readonly ids: Pick<IdIssuer, "issue">;
}

/** The times and the revision after a write. If only backend states change, the revision stays. So a client that read the resource before can still write it. */
export function nextTimes(
  { clock, nextNumber }: Pick<NextRecordDeps, "clock" | "nextNumber">,
  before: ResourceRecord | null,
  { statesOnly = false }: Pick<DirectoryWrite, "statesOnly"> = {},
): Pick<ResourceRecord, "createdMs" | "modifiedMs" | "revision" | "recorded"> {
  if (statesOnly && before !== null) {
    const { createdMs, modifiedMs, revision, recorded = 0 } = before;
    return { createdMs, modifiedMs, revision, recorded: recorded + 1 };
  }
  const nowMs = clock.nowMs();
  // The clock of the node that wrote the resource before may be ahead of this one's.
  const revision = Math.max(nextNumber(), (before?.revision ?? 0) + 1);
  return { createdMs: before?.createdMs ?? nowMs, modifiedMs: nowMs, revision };
}

/** The parts of a record that tell what the resource is for its clients. */
export type ResourceIdentity = Pick<
  ResourceRecord,
  "id" | "externalId" | "managedBy" | "activeUnassigned"
>;

/** The id, the external id and the connection after a write. A restored user gets those that it had. */
export function nextIdentity(
  { ids, keys: { target } }: Pick<NextRecordDeps, "ids" | "keys">,
  { kind, next, statesOnly = false }: Pick<DirectoryWrite, "kind" | "next" | "statesOnly">,
  { canonical, before, restored, createdMs }: {
    canonical: string;
    before: ResourceRecord | null;
    restored: Partial<ResourceIdentity>;
    createdMs: number;
  },
): ResourceIdentity {
  const earlier = before ?? restored;
  const id = earlier.id ?? ids.issue({ target, kind, canonical, createdMs });
  const externalId = next?.externalId === undefined ? earlier.externalId : next.externalId;
  const managedBy = next?.managedBy ?? earlier.managedBy;
  const isUnassigned = next?.activeUnassigned ?? (statesOnly && earlier.activeUnassigned === true);
  return {
    id,
    ...(externalId === undefined || externalId === null ? {} : { externalId }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(isUnassigned ? { activeUnassigned: true } : {}),
  };
}
