// What an operator's commands ask of targets beyond single operations: many writes, whole listings.

import type { Clock } from "../../runtime.ts";
import { ScimRefusal } from "../facts/refusals.ts";
import type { Target } from "../ports.ts";
import type { ResourceKind } from "../resource.ts";
import type { BulkRequest } from "./bulk_plan.ts";
import { writeBulk } from "./bulk_writer.ts";
import { type Listing, openListing } from "./listing.ts";
import { type BulkRow, readRows, type RowOutcome } from "./rows.ts";

export interface Bulk {
  /** See {@link readRows}. */
  readRows(value: unknown): BulkRow[] | null;
  /** See {@link writeBulk}. */
  write(target: Target, request: BulkRequest): Promise<RowOutcome[]>;
  list(target: Target, kind: ResourceKind): Listing;
  /** The sentence of a refusal of a target; `null` for any other fault. */
  refusalText(fault: unknown): string | null;
}

/** @param deps.publicUrl what the addresses of resources begin with. */
export function createBulk(
  { clock, publicUrl }: { clock: Clock; publicUrl: string },
): Bulk {
  return {
    readRows,
    write: (target, request) => writeBulk(target, request, { clock }),
    list: (target, kind) => openListing(target, kind, { publicUrl }),
    refusalText: (fault) => fault instanceof ScimRefusal ? fault.message : null,
  };
}
