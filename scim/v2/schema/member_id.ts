// The id in an entry of `members`: in `value`, or at the end of `$ref` (RFC 7643 §4.2).

import { property } from "../../schema/attributes.ts";
import { isJsonObject } from "../../schema/json_limits.ts";
import type { JsonValue } from "../../schema/resource.ts";

const MAX_ID_CHARACTERS = 256;
const MAX_REFERENCE_CHARACTERS = 2048;
/** An absolute or a relative URL of a user. */
const USER_REFERENCE = /(?:^|\/)Users\/([^/?#]+)\/?$/i;

export const NO_MEMBER_ID = 'Send each member as an object with the id of a user in "value".';

export function isMemberId(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_CHARACTERS &&
    value.isWellFormed();
}

/** `null`: the entry names no member. A name alone (`display`) is not an id: names change. */
export function memberIdOf(entry: JsonValue): string | null {
  if (!isJsonObject(entry)) return null;
  const value = property(entry, "value") ?? referencedId(property(entry, "$ref"));
  return isMemberId(value) ? value : null;
}

function referencedId(reference: JsonValue | undefined): string | undefined {
  if (typeof reference !== "string" || reference.length > MAX_REFERENCE_CHARACTERS) return undefined;
  const segment = USER_REFERENCE.exec(reference)?.[1];
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch (fault) {
    if (fault instanceof URIError) return undefined;
    throw fault;
  }
}
