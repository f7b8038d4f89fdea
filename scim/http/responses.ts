// Answers of the identity interface: the headers that all of them carry, resources, refusals in the form of RFC 7644 §3.12, and the receipt of
// a write.

import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/runtime.ts";
import { type RefusalRow, SCIM_REFUSALS, ScimRefusal } from "./refusals.ts";
import type { Receipt, ReceiptEntry } from "../ports.ts";
import { renderError } from "../schema/render_resource.ts";

/** On every answer; `content-type` only with a body. */
export const ALWAYS = {
  "content-type": "application/scim+json",
  "content-language": "en",
  vary: "Accept-Language, Cookie",
  "x-frame-options": "DENY",
} as const;

/** The header that says what became of a write at each backend. */
export const RECEIPT_HEADER = "backends-receipt";

/** @param text JSON, or `null` for an answer without a body. */
export function answer(
  text: string | null,
  { status, headers = {} }: { status: number; headers?: Readonly<Record<string, string>> },
): Response {
  const { "content-type": type, ...others } = ALWAYS;
  if (text === null) return new Response(null, { status, headers: { ...others, ...headers } });
  const octets = new TextEncoder().encode(text);
  // HEAD has the length of GET (RFC 9110 §9.3.2); Hono leaves its body out.
  const length = { "content-length": String(octets.length) };
  return new Response(octets, {
    status,
    headers: { "content-type": type, ...length, ...others, ...headers },
  });
}

/**
 * The receipt as a List of Strings with a Token as parameter (RFC 9651 §3.1), in the order in which the target names its backends:
 * `"local";outcome=done, "directory";outcome=queued`. Names are Strings because keys of a Dictionary may hold no capital. A backend that did not
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

/** RFC 9651 §3.3.3; names of backends are ASCII by the settings, so anything else is only made harmless. */
function stringItem(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}

/** Headers for a receipt; none when no backend was asked. */
export function receiptHeaders(receipt: Receipt | null): Record<string, string> {
  return receipt === null || receipt.entries.length === 0 ? {} : { [RECEIPT_HEADER]: receiptText(receipt) };
}

/** The answer for a refusal. */
export function refusalAnswer(refusal: ScimRefusal): Response {
  const { scimType }: RefusalRow = SCIM_REFUSALS[refusal.code];
  return errorAnswer({
    status: refusal.status,
    scimType,
    detail: refusal.message,
    headers: { ...refusal.headers, ...receiptHeaders(refusal.receipt) },
  });
}

/** An error that was found before the interface saw the request, in the same form. */
export function errorAnswer(
  { status, scimType, detail, headers }: {
    status: number;
    scimType?: RefusalRow["scimType"];
    detail: string;
    headers?: Readonly<Record<string, string>>;
  },
): Response {
  return answer(renderError({ status, scimType, detail }), { status, headers });
}

/** What was thrown, as an answer. What is no refusal goes to the log under an id that the answer names. */
export function faultAnswer(fault: unknown, { log, random }: { log: Log; random: Random }): Response {
  if (fault instanceof ScimRefusal) return refusalAnswer(fault);
  const id = random.bytes(4).toHex();
  const error = fault instanceof Error ? fault : new Error(String(fault));
  log.error("an identity request failed", { id, error: error.message, stack: error.stack });
  const { status, detail } = SCIM_REFUSALS.internal;
  return errorAnswer({ status, detail: `${detail} Look for ${id}.` });
}
