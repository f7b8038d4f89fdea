// What an HTTP status of a SCIM server means for the caller (RFC 7644 §3.12).

import type { BackendFault } from "../../backend_port.ts";
import type { ScimAnswer } from "./scim_http.ts";
import { cleanDetail, Trouble } from "../backend_error.ts";

interface StatusRow {
  readonly kind: BackendFault["kind"];
  readonly retry: boolean;
  /** It may have been done all the same. */
  readonly unsure?: true;
  readonly says: string;
}

const STATUSES: ReadonlyMap<number, StatusRow> = new Map([
  [400, { kind: "refused", retry: false, says: "the server does not accept the request" }],
  [401, { kind: "refused", retry: true, says: "the server does not accept the gateway's credential" }],
  [403, { kind: "refused", retry: true, says: "the gateway's credential may not do that" }],
  [404, { kind: "refused", retry: true, says: "the server has nothing at that path" }],
  [405, { kind: "unsupported", retry: false, says: "the server does not support that" }],
  [408, { kind: "busy", retry: true, unsure: true, says: "the server waited too long" }],
  [409, { kind: "refused", retry: true, says: "the server has another resource of that name" }],
  [412, { kind: "refused", retry: true, says: "another client changed the resource meanwhile" }],
  [413, { kind: "refused", retry: false, says: "the request is too large for the server" }],
  [429, { kind: "busy", retry: true, says: "the server asks for fewer requests" }],
  [501, { kind: "unsupported", retry: false, says: "the server does not support that" }],
  [502, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    says: "something before the server cannot reach it",
  }],
  [503, { kind: "busy", retry: true, unsure: true, says: "the server is busy" }],
  [504, { kind: "unreachable", retry: true, unsure: true, says: "the server was too slow" }],
]);
const SERVER_FAILED: StatusRow = { kind: "refused", retry: true, unsure: true, says: "the server failed" };
const OTHER: StatusRow = { kind: "nonsense", retry: true, says: "the server's answer makes no sense" };
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The fault of an answer that is no success. @param secrets texts that must not come back in its detail. */
export function troubleOf(
  answer: ScimAnswer,
  { writes, secrets, nowMs }: { writes: boolean; secrets: readonly string[]; nowMs: number },
): Trouble {
  const { status, body, headers } = answer;
  const row = STATUSES.get(status) ?? (status >= 500 ? SERVER_FAILED : OTHER);
  const said = typeof body?.detail === "string" ? cleanDetail(body.detail, secrets) : "";
  const type = typeof body?.scimType === "string" ? cleanDetail(body.scimType, secrets) : "";
  const words = [String(status), type, said].filter((word) => word !== "").join(": ");
  const retryAfterMs = readRetryAfter(headers.get("retry-after"), nowMs);
  return new Trouble({
    kind: row.kind,
    detail: `${row.says} (${words})`,
    unsure: writes && row.unsure === true,
    retry: row.retry,
    ...retryAfterMs === null ? {} : { retryAfterMs },
  });
}

/** RFC 9110 §10.2.3: seconds or a date. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, waitMs)) : null;
}
