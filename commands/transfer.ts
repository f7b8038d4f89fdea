// The console's way to the reading and writing of files that the commands have as well.

import type { Transfer } from "../console/api/transfer.ts";
import type { Bulk } from "../scim/bulk/bulk.ts";
import { resourceLocation } from "../scim/facts/routes.ts";
import { renderResource } from "../scim/pure/render.ts";
import { createTableOut } from "./export/table_out.ts";
import { soundNames } from "./import/checked_rows.ts";
import { checkUploaded, readUpload } from "./import/upload.ts";

/** @param deps.publicUrl what the resources' addresses begin with. */
export function createTransfer(
  { bulk, publicUrl }: { bulk: Bulk; publicUrl: string },
): Transfer {
  return {
    readUpload,
    checkRow: checkUploaded,
    soundNames,
    readRows: bulk.readRows,
    write: bulk.write,
    lines: bulk.lines,
    table: createTableOut,
    resourceText({ name: target, mapping }, stored) {
      const { kind, name } = stored.content;
      const location = resourceLocation({ publicUrl, target }, { kind, name });
      return renderResource(stored, { location, mapping });
    },
  };
}
