// What a target reports about its backends: the progress and result of a refresh, and the writes that are pending. Types only.

import type { BackendFault } from "./backend_port.ts";
import type { ResourceKind } from "./schema/resource.ts";

export type RefreshProgress = Readonly<{ backend: string; kind: ResourceKind; read: number }>;

export interface RefreshReport {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly vanished: number;
  readonly deleted: number;
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
