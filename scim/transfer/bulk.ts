// What imports and exports ask of targets beyond single operations: many writes, and resources as lines.

import type { Clock } from "../../platform/runtime.ts";
import type { Target } from "../ports.ts";
import type { Stored } from "../schema/resource.ts";
import type { BulkRequest } from "./bulk_plan.ts";
import { writeBulk } from "./bulk_writer.ts";
import { resourceLines } from "./resource_lines.ts";
import { type BulkRow, readRows, type RowOutcome } from "./import_rows.ts";

export interface Bulk {
  /** See {@link readRows}. */
  readRows(value: unknown): BulkRow[] | null;
  /** See {@link writeBulk}. */
  write(target: Target, request: BulkRequest): Promise<RowOutcome[]>;
  /** See {@link resourceLines}. */
  lines(target: Pick<Target, "name" | "mapping">, stored: Stored): Iterable<string>;
}

/** @param deps.publicUrl what the addresses of resources begin with. */
export function createBulk(
  { clock, publicUrl }: { clock: Clock; publicUrl: string },
): Bulk {
  return {
    readRows,
    write: (target, request) => writeBulk(target, request, { clock }),
    lines: (target, stored) => resourceLines(target, stored, { publicUrl }),
  };
}
