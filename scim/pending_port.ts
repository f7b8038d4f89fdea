// What a target reports about its backends: the progress and result of a refresh, and the writes that are pending. Types only.

import type { BackendFault } from "./backend_port.ts";
import type { ResourceKind } from "./schema/resource.ts";

export type RefreshProgress = Readonly<{ backend: string; kind: ResourceKind; read: number }>;

/** How many resources a refresh changed, by what it did. */
export type RefreshCounts = Readonly<
  Record<"created" | "updated" | "unchanged" | "vanished" | "deleted", number>
>;

/** The counts are those of users and groups together. */
export interface RefreshReport extends RefreshCounts {
  readonly ofGroups: RefreshCounts;
  /** A backend that could not be read, or where the deletion limit stopped the removals, with the reason. The others are up to date. */
  readonly faults: readonly {
    readonly backend: string;
    readonly detail: string;
    /**
     * Absent: the backend could not be reached. `left_out`: some entries cannot be resources here; all others are up to date. `rename_conflict`: a
     * resource has another name at the backend, and cannot have it here.
     */
    readonly kind?:
      | BackendFault["kind"]
      | "deletion_limit"
      | "addition_limit"
      | "left_out"
      | "rename_conflict";
  }[];
  readonly tookMs: number;
}

/** One entry of the outbox, for display. */
export interface PendingWrite {
  readonly id: string;
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: "put" | "remove" | "rename";
  readonly attempts: number;
  readonly sinceMs: number;
  /** `null` for a dead letter. */
  readonly nextMs: number | null;
  readonly why: string | null;
}
