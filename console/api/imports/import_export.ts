// What the console needs to move many people at once, into a target and out of it: a port that the composition root fills.

import type { FileRow } from "../../../scim/transfer/row_reader.ts";
import type { RowCheck, UploadOutcome } from "../../../scim/transfer/upload.ts";
import type { TableOut } from "../../../scim/transfer/csv_writer.ts";
import type { BulkRequest } from "../../../scim/transfer/bulk_plan.ts";
import type { BulkRow, RowOutcome } from "../../../scim/transfer/import_rows.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Mapping, ResourceKind, Stored } from "../../../scim/schema/resource.ts";
import { Refusal } from "../errors.ts";

export interface Transfer {
  /** Reads the text of a table or of JSON. */
  readUpload(
    file: { readonly name: string; readonly text: string },
    options: { mapping: Mapping; mostRows: number },
  ): UploadOutcome;
  /** Checks a row like the body of a POST. */
  checkRow(row: FileRow, mapping: Mapping): RowCheck;
  /** Names as rows give them, each once and in NFC. */
  soundNames(names: readonly string[]): string[];
  /** Rows of a request; `null` for what is no rows, or too many. */
  readRows(value: unknown): BulkRow[] | null;
  /** Writes rows, or says what writing them would do. @throws ScimRefusal */
  write(target: Target, request: BulkRequest): Promise<RowOutcome[]>;
  /** A resource as lines of JSON; a large group has several. */
  lines(target: Target, stored: Stored): Iterable<string>;
  /** A table of resources whose cells no spreadsheet calculates. */
  table(kind: ResourceKind, mapping: Mapping): TableOut;
  /** One resource as the identity interface answers it: JSON text. */
  resourceText(target: Target, stored: Stored): string;
}

/** The part that a route needs, or the refusal where the console runs without a directory. */
export function requiredTransfer(transfer: Transfer | undefined): Transfer {
  if (transfer === undefined) throw new Refusal("no_directory");
  return transfer;
}
