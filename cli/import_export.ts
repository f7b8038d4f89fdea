// The console's way to the reading and writing of files that the commands have as well.

import type { Transfer } from "../console/api/imports/import_export.ts";
import type { Bulk } from "../scim/transfer/bulk.ts";
import { resourceLocation } from "../scim/http/routes.ts";
import { renderResource } from "../scim/schema/render_resource.ts";
import { createTableOut } from "../scim/transfer/csv_writer.ts";
import { soundNames } from "../scim/transfer/validate_rows.ts";
import { checkUploaded, readUpload } from "../scim/transfer/upload.ts";

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
