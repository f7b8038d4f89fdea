// One row of a table as the body of a POST.

import type { JsonObject, JsonValue } from "../schema/resource.ts";
import type { AttributePath } from "../schema/attribute_path.ts";
import { cellTexts, type Column } from "./columns.ts";
import { splitTexts, unguard } from "./csv_cells.ts";

export interface TableRow {
  readonly body: JsonObject;
  /** Of a user: names as given. */
  readonly groups: readonly string[];
}

/** A value while it is put together. Maps, because names are foreign: one of them may be `__proto__`. */
type Growing = Map<string, JsonValue | Growing | Growing[]>;

/** @param cells as many as there are columns. Empty ones say nothing. */
export function bodyOfRow(columns: readonly Column[], cells: readonly string[]): TableRow {
  const body: Growing = new Map();
  let groups: readonly string[] = [];
  for (const [at, { target }] of columns.entries()) {
    const cell = unguard(cells[at] ?? "");
    if (cell === "" || target.to === "ignored") continue;
    if (target.to === "plain") body.set(target.member, cell);
    else if (target.to === "paths") {
      for (const path of target.paths) put(body, path, cellTexts(cell, path));
    } else {
      const names = splitTexts(cell).filter((name) => name !== "");
      if (target.member === "groups") groups = names;
      else body.set("members", names.map((display) => ({ display })));
    }
  }
  return { body: settle(body), groups };
}

function put(body: Growing, path: AttributePath, texts: readonly string[]): void {
  const { schema, attribute, sub, multi, known } = path;
  const holder = schema === null ? body : within(body, schema);
  if (sub === null) {
    const isList = multi || (known === null && texts.length > 1);
    holder.set(attribute, isList ? texts.filter((text) => text !== "") : texts[0] ?? "");
  } else if (multi) {
    const entries = entriesOf(holder, attribute);
    for (const [at, text] of texts.entries()) {
      const entry = entries[at] ?? new Map();
      entries[at] = entry;
      if (text !== "") entry.set(sub, text);
    }
  } else within(holder, attribute).set(sub, known === null && texts.length > 1 ? [...texts] : texts[0] ?? "");
}

function within(holder: Growing, name: string): Growing {
  const found = holder.get(name);
  if (found instanceof Map) return found;
  const made: Growing = new Map();
  holder.set(name, made);
  return made;
}

function entriesOf(holder: Growing, name: string): Growing[] {
  const found = holder.get(name);
  if (Array.isArray(found) && found.every((one) => one instanceof Map)) return found;
  const made: Growing[] = [];
  holder.set(name, made);
  return made;
}

function settle(growing: Growing): JsonObject {
  return Object.fromEntries([...growing].map(([name, value]) => [name, settleValue(value)]));
}

function settleValue(value: JsonValue | Growing | Growing[]): JsonValue {
  if (value instanceof Map) return settle(value);
  return Array.isArray(value) ? value.map((one) => one instanceof Map ? settle(one) : one) : value;
}
