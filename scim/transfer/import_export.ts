// The services of import and export for the console: reading files, many writes, and resources as lines.

import type { Clock } from "../../platform/runtime.ts";
import { resourceLocation } from "../http/routes.ts";
import type { Target } from "../ports.ts";
import { renderResource } from "../schema/render_resource.ts";
import type { GroupContent, Stored } from "../schema/resource.ts";
import { type BulkRequest, parseBulkRows } from "./bulk_plan.ts";
import { writeBulk } from "./bulk_writer.ts";
import { createCsvWriter } from "./csv_writer.ts";
import { checkUploaded, readUpload } from "./upload.ts";
import { validNames } from "./validate_rows.ts";

/** @param deps.http its URL is the beginning of the addresses of resources; it can change. */
export function createTransfer({ clock, http }: { clock: Clock; http: { readonly publicUrl: string } }) {
  return {
    readUpload,
    checkRow: checkUploaded,
    soundNames: validNames,
    readRows: parseBulkRows,
    write: (target: Target, request: BulkRequest) => writeBulk(target, request, { clock }),
    lines: (target: RenderedTarget, stored: Stored) => resourceLines(target, stored, http),
    table: createCsvWriter,
    resourceText: (target: RenderedTarget, stored: Stored) => renderStored(target, stored, http),
  };
}

type RenderedTarget = Pick<Target, "name" | "mapping">;

function renderStored(
  { name: target, mapping }: RenderedTarget,
  stored: Stored,
  { publicUrl }: { publicUrl: string },
): string {
  const { kind, name } = stored.content;
  const location = resourceLocation({ publicUrl, target }, { kind, name });
  return renderResource(stored, { location, mapping });
}

/** A larger group continues in further lines, so that no line is too long for an import. */
const MAX_LINE_MEMBERS = 1000;

/**
 * A resource as lines of JSON, each like a response of the SCIM interface. Further lines of a large group contain only members.
 *
 * @param options.publicUrl the beginning of the addresses of resources.
 */
function* resourceLines(
  target: RenderedTarget,
  stored: Stored,
  options: { publicUrl: string },
): Generator<string> {
  for (const part of partsOf(stored)) yield renderStored(target, part, options);
}

function* partsOf(stored: Stored): Generator<Stored> {
  const { content, attributesText: _text, memberIds: _ids, ...rest } = stored;
  if (content.kind === "user" || content.members.length <= MAX_LINE_MEMBERS) {
    yield stored;
    return;
  }
  for (let from = 0; from < content.members.length; from += MAX_LINE_MEMBERS) {
    const part: GroupContent = {
      ...content,
      attributes: from === 0 ? content.attributes : {},
      members: content.members.slice(from, from + MAX_LINE_MEMBERS),
    };
    yield { ...rest, content: part };
  }
}
