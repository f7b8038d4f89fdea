// Attributes as they are put together from front-end texts.

import type { JsonObject, JsonValue } from "./resource.ts";
import type { AttributePath } from "./attribute_path.ts";

export interface Draft {
  /** @param texts at least one, none empty. */
  set(path: AttributePath, texts: readonly string[]): void;
  finish(): JsonObject;
}

/** A value while it is put together. Maps, because names are foreign: one of them may be `__proto__`. */
type Growing = Map<string, JsonValue | Growing | Entries>;

class Entries {
  readonly list: Growing[] = [];
}

export function createDraft(): Draft {
  const top: Growing = new Map();
  return {
    set(path, texts) {
      const holder = path.schema === null ? top : within(top, path.schema);
      const { attribute, sub } = path;
      if (sub === null) holder.set(attribute, valueOf(path, texts));
      else if (path.multi) fillEntries(entriesOf(holder, attribute), path, texts);
      else within(holder, attribute).set(sub, valueOf(path, texts));
    },
    finish: () => settle(top),
  };
}

/** A text, a truth, or (where nothing is known of the attribute) as many texts as there are. */
function valueOf({ known, multi }: AttributePath, texts: readonly string[]): JsonValue {
  const first = texts[0] ?? "";
  if (known?.type === "boolean") return first.toLowerCase() === "true";
  if (known !== null) return first;
  return multi || texts.length > 1 ? texts : first;
}

function fillEntries(entries: Growing[], path: AttributePath, texts: readonly string[]): void {
  for (const [at, text] of texts.entries()) {
    const entry = entries[at] ?? new Map();
    entries[at] = entry;
    if (path.sub !== null) {
      entry.set(path.sub, path.known?.type === "boolean" ? text.toLowerCase() === "true" : text);
    }
  }
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
  if (found instanceof Entries) return found.list;
  const made = new Entries();
  holder.set(name, made);
  return made.list;
}

function settle(growing: Growing): JsonObject {
  return Object.fromEntries(
    [...growing].map(([name, value]): [string, JsonValue] => {
      if (value instanceof Map) return [name, settle(value)];
      return [name, value instanceof Entries ? value.list.map(settle) : value];
    }),
  );
}
