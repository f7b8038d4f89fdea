// Entries of multi-valued attributes, and objects, as a backend that may hold less says them, laid over what is known.

import type { JsonObject, JsonValue } from "./resource.ts";
import { property, textsOf } from "./attribute_path.ts";

/** Sub-attributes that say what an entry is for; they outlive a backend that forgets them. */
const KEPT_WITH_VALUE = ["type", "primary", "display"];
/** The same for an entry that is known by its place only. */
const KEPT_WITH_PLACE = ["type", "primary"];

/** Which sub-attributes of a value a backend holds; `null` for all. */
type Subs = ReadonlySet<string> | null;

/** What a backend holds of a value; `firstOnly`: of several entries, the first. */
export interface Reach {
  readonly subs: Subs;
  readonly firstOnly: boolean;
}

/** Lays the parts that a backend holds over an object; `undefined` when nothing is left. */
export function mergeObject(
  previous: JsonObject,
  read: JsonObject,
  subs: ReadonlySet<string>,
): JsonObject | undefined {
  const merged = new Map<string, JsonValue>(Object.entries(previous));
  for (const sub of subs) {
    const now = property(read, sub);
    // What the backend holds alike stays as it is: an empty text is nothing to it.
    if (sameTexts(textsOf(merged.get(sub)), textsOf(now))) continue;
    if (now === undefined) merged.delete(sub);
    else merged.set(sub, now);
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}

/** Lays entries of a multi-valued attribute over entries; `undefined` when none are left. */
export function mergeEntries(
  previous: readonly JsonObject[],
  read: readonly JsonObject[],
  { subs, firstOnly }: Reach,
): JsonObject[] | undefined {
  if (subs !== null && holdsSame(previous, read, { subs, firstOnly })) {
    return previous.length === 0 ? undefined : [...previous];
  }
  if (subs !== null && firstOnly) return mergeFirst(previous, read[0] ?? {}, subs);
  return read.length === 0 ? undefined : mergeAll(previous, read, subs);
}

/**
 * A directory keeps the parts of entries as sets: it loses which belongs to which, their order, and what two have in common. Where the sets are the
 * same, so are the entries.
 */
function holdsSame(
  previous: readonly JsonObject[],
  read: readonly JsonObject[],
  { subs, firstOnly }: { subs: ReadonlySet<string>; firstOnly: boolean },
): boolean {
  const setOf = (entries: readonly JsonObject[], sub: string) => {
    const texts = entries.flatMap((entry) => textsOf(property(entry, sub)));
    return new Set(firstOnly ? texts.slice(0, 1) : texts);
  };
  return [...subs].every((sub) => setOf(previous, sub).symmetricDifference(setOf(read, sub)).size === 0);
}

/** Lays the one entry that a backend holds over the first; the others it knows nothing of. */
function mergeFirst(
  [first = {}, ...others]: readonly JsonObject[],
  read: JsonObject,
  subs: ReadonlySet<string>,
): JsonObject[] | undefined {
  const merged = mergeObject(first, read, subs) ?? {};
  const isLeft = Object.keys(merged).some((name) => !KEPT_WITH_VALUE.includes(name));
  const entries = isLeft ? [merged, ...others] : others;
  return entries.length === 0 ? undefined : entries;
}

/** Lays entries over entries: those of before that are still there, in their order, then the new ones. */
function mergeAll(previous: readonly JsonObject[], read: readonly JsonObject[], subs: Subs): JsonObject[] {
  const waiting = new Map<string, JsonObject[]>();
  for (const entry of read) {
    const key = keyOf(entry, subs);
    waiting.set(key, [...waiting.get(key) ?? [], entry]);
  }
  const { kept, matched, replaced } = keepEntries(previous, waiting, subs);
  const added = read.flatMap((entry, at) => {
    if (matched.has(entry)) return [];
    // An entry without a value of its own that took another's place: an address that was corrected.
    const before = property(entry, "value") === undefined && replaced.has(at) ? previous[at] : undefined;
    return [before === undefined ? entry : { ...pick(before, KEPT_WITH_PLACE), ...entry }];
  });
  return [...kept, ...added];
}

/** The entries of before that are still there, in their order. */
function keepEntries(
  previous: readonly JsonObject[],
  waiting: ReadonlyMap<string, JsonObject[]>,
  subs: Subs,
): { kept: JsonObject[]; matched: Set<JsonObject>; replaced: Set<number> } {
  const matched = new Set<JsonObject>();
  const replaced = new Set<number>();
  const kept: JsonObject[] = [];
  for (const [at, entry] of previous.entries()) {
    const same = waiting.get(keyOf(entry, subs)) ?? [];
    const next = same.find((one) => !matched.has(one)) ?? (subs === null ? undefined : same[0]);
    if (next === undefined) replaced.add(at);
    else {
      matched.add(next);
      kept.push({ ...(subs === null ? pick(entry, KEPT_WITH_VALUE) : entry), ...next });
    }
  }
  return { kept, matched, replaced };
}

/** What tells two entries apart: the value, or where there is none, all that the backend holds of them. */
function keyOf(entry: JsonObject, subs: Subs): string {
  const value = property(entry, "value");
  if (value !== undefined) return JSON.stringify(value);
  const names = [...subs ?? Object.keys(entry)].filter((name) => !KEPT_WITH_VALUE.includes(name)).sort();
  return JSON.stringify(names.map((name) => [name, property(entry, name) ?? null]));
}

function pick(entry: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name): [string, JsonValue][] => {
      const value = property(entry, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
