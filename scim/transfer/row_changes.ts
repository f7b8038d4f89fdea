// What a row of an import changes in an existing resource, for the preview.

import type { Content, JsonValue } from "../schema/resource.ts";
import { isJsonArray, isJsonObject } from "../schema/json_limits.ts";

/** One attribute, with its values as text; "": no value. */
export interface RowValueChange {
  /** `name.familyName`; the last part of the name of an extension is left out. */
  readonly attribute: string;
  readonly before: string;
  readonly after: string;
}

const MAX_CHANGES = 20;
const MAX_CHARACTERS = 200;
const HIDDEN = "••••••";

/** The attributes that differ, at most 20. A password is not shown. */
export function rowChanges(
  before: Content,
  after: Content,
  { setsPassword }: { setsPassword: boolean },
): RowValueChange[] {
  const [old, next] = [textsOf(before), textsOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])]
    .map((attribute) => ({
      attribute,
      before: old.get(attribute) ?? "",
      after: next.get(attribute) ?? "",
    }))
    .filter((change) => change.before !== change.after)
    .concat(setsPassword ? [{ attribute: "password", before: "", after: HIDDEN }] : [])
    .slice(0, MAX_CHANGES)
    .map((change) => ({ ...change, before: shortened(change.before), after: shortened(change.after) }));
}

function textsOf(content: Content): Map<string, string> {
  const texts = new Map<string, string>();
  texts.set(content.kind === "user" ? "userName" : "displayName", content.name);
  if (content.kind === "user") texts.set("active", String(content.active));
  else texts.set("members", content.members.toSorted().join(", "));
  for (const [name, value] of Object.entries(content.attributes)) {
    if (!isJsonObject(value)) texts.set(name, textOf(value));
    else {
      const prefix = name.includes(":") ? "" : `${name}.`;
      for (const [part, one] of Object.entries(value)) texts.set(prefix + part, textOf(one));
    }
  }
  return texts;
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (isJsonArray(value)) return value.map(textOf).join(", ");
  if (!isJsonObject(value)) return String(value);
  const { value: main, type } = value;
  if (typeof main !== "string") return JSON.stringify(value);
  return typeof type === "string" ? `${main} (${type})` : main;
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS).toWellFormed()}…` : text;
}
