// The two headers that only the embedded second-factor service knows: what the phone page shows of a login, and the
// number that the login prompt shows. An external service never gets or gives them.

import { asRecord, parseBoundedJson } from "../platform/safe_json.ts";
import type { ApprovalContext } from "../radius/doing/ports.ts";

export const CONTEXT_HEADER = "X-Request-Context";
export const NUMBER_HEADER = "X-Number-To-Match";

const MAX_TEXT_CHARACTERS = 200;
const MAX_HEADER_CHARACTERS = 4096;
const MAX_DEPTH = 32;

/** JSON of the three facts, percent-encoded so that any name fits into a header. */
export function encodeContext({ client, place, hasPrompt }: ApprovalContext): string {
  return encodeURIComponent(JSON.stringify({ client: shorten(client), place: shorten(place), hasPrompt }));
}

/** What {@link encodeContext} wrote; without a header, or with a broken one, nothing is shown and no prompt assumed. */
export function decodeContext(header: string | null): ApprovalContext {
  const none: ApprovalContext = { client: "", place: "", hasPrompt: false };
  if (header === null || header.length > MAX_HEADER_CHARACTERS) return none;
  const record = readRecord(header);
  if (record === null) return none;
  const text = (name: string): string => {
    const value = record.member(name);
    return typeof value === "string" ? shorten(value) : "";
  };
  return { client: text("client"), place: text("place"), hasPrompt: record.member("hasPrompt") === true };
}

function readRecord(header: string) {
  try {
    const parsed = parseBoundedJson(decodeURIComponent(header), { maxDepth: MAX_DEPTH });
    return parsed.ok ? asRecord(parsed.value) : null;
  } catch (_notPercentEncoded) {
    return null;
  }
}

/** The number for the login prompt: two digits, or `undefined`. */
export function readNumberToMatch(headers: Headers): string | undefined {
  const text = headers.get(NUMBER_HEADER);
  return text !== null && /^[1-9]\d$/.test(text) ? text : undefined;
}

function shorten(text: string): string {
  return text.toWellFormed().slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
}
