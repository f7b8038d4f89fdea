// The value of a comparison as the value index has it, and the keys of values that are cut.

import { comparedText, dateText, type IndexText, markedText, NO_VALUE } from "../../directory/value_keys.ts";
import type { CompareOperator, FilterValue } from "../../filter/filter.ts";
import { type KeyRanges, valueRanges } from "./key_ranges.ts";

/** Values that begin alike: the index does not tell them apart. */
export function cutRanges(operator: CompareOperator, { text }: IndexText): KeyRanges | null {
  const same = { from: text, to: `${text}\u{10ffff}` };
  switch (operator) {
    case "eq":
    case "sw":
      return valueRanges("eq", markedText({ text, isCut: true }));
    case "gt":
    case "ge":
      return [{ from: same.from, to: NO_VALUE }];
    case "lt":
    case "le":
      return [{ from: "", to: same.to }];
    default:
      return null;
  }
}

/** The value as the index has it. `null`: no value of the attribute can be equal. */
export function wantedText(
  type: "text" | "exactText" | "boolean" | "dateTime",
  operator: CompareOperator,
  value: FilterValue,
): IndexText | null {
  if (type === "boolean") {
    const text = String(value).toLowerCase();
    return (text === "true" || text === "false") && typeof value !== "number" ? { text, isCut: false } : null;
  }
  if (typeof value !== "string") return null;
  if (type !== "dateTime" || operator === "sw") {
    return comparedText(type === "exactText" ? type : "text", value);
  }
  const ms = Date.parse(value);
  // The texts of other years have another order.
  return Number.isNaN(ms) || ms < MIN_DATE_MS || ms >= MAX_DATE_MS
    ? null
    : { text: dateText(ms), isCut: false };
}

const MIN_DATE_MS = Date.parse("0000-01-01T00:00:00Z");
const MAX_DATE_MS = Date.parse("+010000-01-01T00:00:00Z");
