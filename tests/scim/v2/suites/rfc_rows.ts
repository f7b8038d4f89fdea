// All rows of RFC 7643, RFC 7644 and RFC 9865, and those that public bug reports add.

import { BULK_REFERENCE_ROWS } from "./rfc7644_bulk_reference_rows.ts";
import { BULK_ROWS } from "./rfc7644_bulk_rows.ts";
import { COMMON_ROWS } from "./rfc7643_common_rows.ts";
import { CURSOR_ROWS } from "./rfc9865_cursor_rows.ts";
import { DISCOVERY_ROWS } from "./rfc7643_discovery_rows.ts";
import { FILTER_ROWS } from "./rfc7644_filter_rows.ts";
import { PATCH_ADD_ROWS } from "./rfc7644_patch_add_rows.ts";
import { PATCH_CHANGE_ROWS } from "./rfc7644_patch_change_rows.ts";
import { PATCH_ROWS } from "./rfc7644_patch_rows.ts";
import { PROJECTION_ROWS, VERSION_ROWS } from "./rfc7644_projection_rows.ts";
import { QUERY_ROWS } from "./rfc7644_query_rows.ts";
import { REPORTED_ROWS } from "./reported_rows.ts";
import { REQUEST_ROWS } from "./rfc7644_request_rows.ts";
import { RESOURCE_ROWS } from "./rfc7643_resource_rows.ts";
import { TYPE_ROWS } from "./rfc7643_type_rows.ts";
import { WRITE_ROWS } from "./rfc7644_write_rows.ts";
import type { SuiteRow } from "./suite_row.ts";

export const RFC_ROWS: readonly SuiteRow[] = [
  ...TYPE_ROWS,
  ...COMMON_ROWS,
  ...RESOURCE_ROWS,
  ...DISCOVERY_ROWS,
  ...REQUEST_ROWS,
  ...PROJECTION_ROWS,
  ...VERSION_ROWS,
  ...QUERY_ROWS,
  ...CURSOR_ROWS,
  ...FILTER_ROWS,
  ...WRITE_ROWS,
  ...PATCH_ROWS,
  ...PATCH_ADD_ROWS,
  ...PATCH_CHANGE_ROWS,
  ...BULK_ROWS,
  ...BULK_REFERENCE_ROWS,
  ...REPORTED_ROWS,
];
