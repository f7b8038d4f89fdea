// Renders ListResponse with index or cursor pagination (RFC 7644 §3.4.2, RFC 9865 §2). Errors have the text of
// scim/schema/render_resource.ts.

import { LIST_SCHEMA } from "../../schema/attribute_table.ts";

/** One page. */
type ListResponsePage =
  & {
    /** Resources that match, on all pages. */
    readonly total: number;
    /** One JSON text for each resource of the page. */
    readonly texts: readonly string[];
  }
  & (
    | {
      /** From 1. */
      readonly startIndex: number;
    }
    | {
      /** Absent: the page is the last one. */
      readonly nextCursor?: string | undefined;
      /** Absent: the page is the first one, or the server does not go back. */
      readonly previousCursor?: string | undefined;
    }
  );

/** @returns JSON text. `Resources` is present on an empty page, too: clients read it without a check. */
export function renderListResponse({ total, texts, ...place }: ListResponsePage): string {
  const counts = { totalResults: total, itemsPerPage: texts.length };
  const head = JSON.stringify({ schemas: [LIST_SCHEMA], ...counts, ...place });
  return `${head.slice(0, -1)},"Resources":[${texts.join(",")}]}`;
}
