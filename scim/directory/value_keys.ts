// Keys of the value index: attribute, value and canonical name. Their order is that of the values (RFC 7644 §3.4.2.3).

import { canonicalName } from "../../platform/canonical_name.ts";
import type { IndexedAttribute } from "../index_port.ts";
import { isoTime } from "../schema/render_resource.ts";

/** An attribute in the value index. */
export interface IndexedAttributeRow {
  /** The first part of its keys. */
  readonly code: string;
  readonly type: "text" | "exactText" | "boolean" | "dateTime";
  /** A resource can have several values. */
  readonly multi?: true;
  /** The resources that have the attribute. */
  readonly kinds: readonly ("user" | "group")[];
  readonly ref: string;
}

const BOTH = ["user", "group"] as const;

/** The attributes, besides names and ids, that a filter or an order finds without reading resources. */
export const INDEXED_VALUES: Readonly<Record<IndexedAttribute, IndexedAttributeRow>> = {
  active: { code: "a", type: "boolean", kinds: ["user"], ref: "RFC 7643 §4.1.1" },
  "meta.created": { code: "c", type: "dateTime", kinds: BOTH, ref: "RFC 7643 §3.1" },
  displayName: { code: "d", type: "text", kinds: ["user"], ref: "RFC 7643 §4.1.1" },
  "emails.value": { code: "e", type: "text", multi: true, kinds: ["user"], ref: "RFC 7643 §4.1.2" },
  "meta.lastModified": { code: "m", type: "dateTime", kinds: BOTH, ref: "RFC 7643 §3.1" },
  externalId: { code: "x", type: "exactText", kinds: BOTH, ref: "RFC 7643 §3.1" },
};

/** The value of a resource that does not have the attribute: after all values (RFC 7644 §3.4.2.3). */
export const NO_VALUE = "\u{10fffe}";
/** A resource with more values than the index has: its values must be compared. It does not count in an order. */
export const MORE_VALUES = `${NO_VALUE}${NO_VALUE}`;
/** The end of a value that is only the beginning of the resource's one. */
const CUT = "\u{10fffd}";
const MAX_VALUE_CHARACTERS = 200;

/** A value as the index has it. */
export interface IndexText {
  readonly text: string;
  /** Only the beginning of the value, so that the resource must be compared, too. */
  readonly isCut: boolean;
}

/** A text in the order of its code points. */
export function indexText(value: string): IndexText {
  const isShort = value.length <= MAX_VALUE_CHARACTERS;
  if (isShort && (PLAIN.test(value) || !NEEDS_CARE.test(value))) return { text: value, isCut: false };
  const end = endOfKept(value);
  const text = value.slice(0, end).replace(RESERVED, (one) => ESCAPES.get(one) ?? one);
  return { text, isCut: end < value.length };
}

/** The value with the mark of a value that is cut. */
export function markedText({ text, isCut }: IndexText): string {
  return isCut ? `${text}${CUT}` : text;
}

/** A text of the attribute's type, as filters compare it. */
export function comparedText(type: "text" | "exactText", value: string): IndexText {
  return indexText(type === "text" ? canonicalName(value) : value);
}

/** An instant in the order of time. Filters compare its beginning, without case. */
export function dateText(ms: number): string {
  return isoTime(ms).toLowerCase();
}

/** Nearly every value, and the fastest test. */
const PLAIN = /^[ -~]*$/;
const NEEDS_CARE = /[\p{Cc}\p{Cs}\u{10fffc}-\u{10ffff}]/u;
const RESERVED = /[\p{Cc}\u{10fffc}-\u{10ffff}]/gu;
/** Characters that separate or mark keys. The order of texts stays. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\0", "\u0001\u0001"],
  ["\u0001", "\u0001\u0002"],
  ["\u{10fffc}", "\u{10fffc}\u0002"],
  ["\u{10fffd}", "\u{10fffc}\u0003"],
  ["\u{10fffe}", "\u{10fffc}\u0004"],
  ["\u{10ffff}", "\u{10fffc}\u0005"],
]);

/** Keys are well formed, and never cut inside of a character. */
function endOfKept(value: string): number {
  const limit = Math.min(value.length, MAX_VALUE_CHARACTERS);
  for (let at = 0; at < limit;) {
    const point = value.codePointAt(at) ?? 0;
    if (point >= 0xd800 && point <= 0xdfff) return at;
    const next = at + (point > 0xffff ? 2 : 1);
    if (next > limit) return at;
    at = next;
  }
  return limit;
}
