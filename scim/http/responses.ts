// Responses of the SCIM interface: common headers, resources, errors (RFC 7644 §3.12), and the receipt of a write.

import { HttpError } from "../../platform/http_error.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/runtime.ts";
import { type RefusalRow, refusalRow, SCIM_REFUSALS, ScimRefusal } from "./refusals.ts";
import type { Receipt, ReceiptEntry } from "../ports.ts";
import { errorBody } from "../schema/render_resource.ts";

/** On every response; `content-type` only with a body. */
export const COMMON_HEADERS = {
  "content-type": "application/scim+json",
  "content-language": "en",
  vary: "Accept-Language, Cookie",
  "x-frame-options": "DENY",
} as const;

/** The header with the result of a write at each backend. */
export const RECEIPT_HEADER = "backends-receipt";

/** So many octets cost more to copy than a stream. */
const LARGE_OCTETS = 65_536;

/** @param text JSON, or `null` for a response without a body. */
export function createResponse(
  text: string | null,
  { status, headers = {} }: { status: number; headers?: Readonly<Record<string, string>> },
): Response {
  const { "content-type": type, ...others } = COMMON_HEADERS;
  if (text === null) return new Response(null, { status, headers: { ...others, ...headers } });
  const octets = new TextEncoder().encode(text);
  // HEAD has the length of GET (RFC 9110 §9.3.2). Hono omits its body.
  const length = { "content-length": String(octets.length) };
  return new Response(octets.length < LARGE_OCTETS ? octets : handedOver(octets), {
    status,
    headers: { "content-type": type, ...length, ...others, ...headers },
  });
}

/** A body that the response does not copy, as it does with octets. */
function handedOver(octets: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(octets);
      controller.close();
    },
  });
}

/**
 * The receipt as a List of Strings with a Token as parameter (RFC 9651 §3.1), in the order in which the target names its backends:
 * `"local";outcome=done, "directory";outcome=queued`. Names are Strings because keys of a Dictionary cannot have capital letters. A backend that did not
 * store members of the group adds the count and the first names: `"corp";outcome=done;not-stored=2;names="bob eve"`.
 */
export function receiptText({ entries }: Receipt): string {
  let left = MAX_NAME_OCTETS;
  return entries.map((entry) => {
    const names = namesText(entry, left);
    left -= names.length;
    return `${stringItem(entry.backend)};outcome=${entry.outcome}${notStoredText(entry, names)}`;
  }).join(", ");
}

/** Octets of member names in one header; proxies refuse responses with headers of more than 4 to 8 KiB. */
const MAX_NAME_OCTETS = 1024;

/** The first names that fit, percent-encoded (RFC 3986 §2.1) and separated by spaces. */
function namesText({ notStored }: ReceiptEntry, maxOctets: number): string {
  let text = "";
  for (const name of notStored?.names ?? []) {
    const more = `${text === "" ? "" : " "}${encodeURIComponent(name.toWellFormed())}`;
    if (text.length + more.length > maxOctets) break;
    text += more;
  }
  return text;
}

/** Members that the backend did not store: an Integer parameter with the count and, where names fit, a String parameter. */
function notStoredText({ notStored }: ReceiptEntry, names: string): string {
  if (notStored === undefined) return "";
  return `;not-stored=${notStored.count}${names === "" ? "" : `;names=${stringItem(names)}`}`;
}

/** RFC 9651 §3.3.3. The settings allow only ASCII names of backends, so other characters are only escaped. */
function stringItem(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}

/** The headers of a receipt. None if no backend was called. */
export function receiptHeaders(receipt: Receipt | null): Record<string, string> {
  return receipt === null || receipt.entries.length === 0 ? {} : { [RECEIPT_HEADER]: receiptText(receipt) };
}

/** The response for a refusal. */
function scimRefusalResponse(refusal: ScimRefusal): Response {
  const { scimType } = refusalRow(refusal.code);
  return errorResponse({
    status: refusal.status,
    scimType,
    detail: refusal.message,
    headers: { ...refusal.headers, ...receiptHeaders(refusal.receipt) },
  });
}

/** An error of the HTTP server, in the same format. */
export function errorResponse(
  { status, scimType, detail, headers }: {
    status: number;
    scimType?: RefusalRow["scimType"];
    detail: string;
    headers?: Readonly<Record<string, string>>;
  },
): Response {
  return createResponse(JSON.stringify(errorBody({ status, scimType, detail })), { status, headers });
}

interface FaultDeps {
  readonly log: Log;
  readonly random: Random;
}

/** An error as a refusal. An unexpected error is logged under an ID that the refusal contains. */
export function toRefusal(fault: unknown, { log, random }: FaultDeps): ScimRefusal {
  if (fault instanceof ScimRefusal) return fault;
  const id = random.bytes(4).toHex();
  const error = fault instanceof Error ? fault : new Error(String(fault));
  log.error("a SCIM request failed", { id, error: error.message, stack: error.stack });
  return new ScimRefusal("internal", { detail: `${SCIM_REFUSALS.internal.detail} Look for ${id}.` });
}

/** Renders an error as a response. Errors of the HTTP server stay as they are: a body that is too large, or too slow. */
export function faultResponse(fault: unknown, deps: FaultDeps): Response {
  if (fault instanceof HttpError && !(fault instanceof ScimRefusal)) {
    return errorResponse({ status: fault.status, detail: fault.message, headers: fault.headers });
  }
  return scimRefusalResponse(toRefusal(fault, deps));
}
