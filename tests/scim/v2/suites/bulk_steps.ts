// Steps with bulk requests (RFC 7644 §3.7).

import { type Step } from "./suite_row.ts";
import { BULK_REQUEST, BULK_RESPONSE, GROUP, sent, USER } from "./suite_steps.ts";

type BulkOperation = Readonly<Record<string, unknown>>;

export function bulkOf(
  operations: readonly BulkOperation[],
  json: Step["json"],
  more: BulkOperation = {},
): Step {
  return sent("POST /Bulk", { schemas: [BULK_REQUEST], Operations: operations, ...more }, 200, {
    schemas: [BULK_RESPONSE],
    ...json,
  });
}

export const newBulkUser = (bulkId: string, attributes: BulkOperation = {}): BulkOperation => ({
  method: "POST",
  path: "/Users",
  bulkId,
  data: { schemas: [USER], userName: `{row}-${bulkId}`, ...attributes },
});

export const newBulkGroup = (bulkId: string, members: readonly string[]): BulkOperation => ({
  method: "POST",
  path: "/Groups",
  bulkId,
  data: { schemas: [GROUP], displayName: `{row}-${bulkId}`, members: members.map((value) => ({ value })) },
});
