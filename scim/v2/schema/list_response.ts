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
      readonly nextCursor?: string;
      /** Absent: the page is the first one, or the server does not go back. */
      readonly previousCursor?: string;
    }
  );

/** @returns JSON text. `Resources` is present on an empty page, too: clients read it without a check. */
export function renderListResponse(page: ListResponsePage): string {
  const { total, texts } = page;
  const place = "startIndex" in page ? { startIndex: page.startIndex } : {
    ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
    ...(page.previousCursor === undefined ? {} : { previousCursor: page.previousCursor }),
  };
  const head = JSON.stringify({
    schemas: [LIST_SCHEMA],
    totalResults: total,
    itemsPerPage: texts.length,
    ...place,
  });
  return `${head.slice(0, -1)},"Resources":[${texts.join(",")}]}`;
}
