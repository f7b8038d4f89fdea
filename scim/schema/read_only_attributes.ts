// Attributes that a backend keeps for itself (`read_only` of its settings): read there, and never written. Pure.

import type { Backend } from "../backend_port.ts";
import type { Content } from "./resource.ts";
import { type AttributePath, readPath } from "./attribute_path.ts";
import { ATTRIBUTES, findAttribute } from "./attributes.ts";
import { mergeContent } from "./merge.ts";

/** Attributes of users, as `coveredAttributes` spells them: `title`; `name` and `name.givenName`; a URN and `urn:…:department`. */
export type Kept = ReadonlySet<string>;

export const NOTHING_KEPT: Kept = new Set();

/** What of a backend says which attributes are whose. */
export type Keeper = Pick<Backend, "covers" | "keeps">;

/** @param paths SCIM attributes of a user, in the document's spelling or the RFC's. */
export function keptAttributes(paths: readonly string[]): Kept {
  return new Set(paths.map((path) => readPath("user", path)).flatMap((path) => [topOf(path), leafOf(path)]));
}

export function isKept(path: AttributePath, kept: Kept): boolean {
  return kept.has(leafOf(path));
}

/** `wanted` with what is kept as `held` has it; what `held` lacks is gone. Names, `active` and groups cannot be kept. */
export function layKept(wanted: Content, held: Content | null, kept: Kept): Content {
  if (kept.size === 0 || wanted.kind !== "user") return wanted;
  const attributes = held === null ? {} : held.attributes;
  return mergeContent(wanted, { ...wanted, attributes }, kept);
}

/** What a directory may not change: what some of its backends keeps, and every other that can hold it keeps as well. */
export function keptByAll(backends: readonly Keeper[]): Kept {
  const every = new Set(backends.flatMap(({ keeps = NOTHING_KEPT }) => [...keeps]));
  const leaves = [...every].filter((name) => ![...every].some((other) => isBelow(other, name)));
  const own = leaves.filter((leaf) =>
    backends.every(({ covers, keeps = NOTHING_KEPT }) => keeps.has(leaf) || !canHold(covers, leaf))
  );
  return new Set(own.flatMap((leaf) => [...[...every].filter((name) => isBelow(leaf, name)), leaf]));
}

/** As people call them: an extension's attribute by its own name, a list as a whole, an object by its parts. */
export function keptNames(kept: Kept): string[] {
  const leaves = [...kept].filter((name) => ![...kept].some((other) => isBelow(other, name)));
  return leaves.flatMap((leaf) => {
    if (leaf.startsWith("urn:")) return [leaf.slice(leaf.lastIndexOf(":") + 1)];
    const known = findAttribute(ATTRIBUTES.user, leaf);
    const isObject = known !== undefined && !known.multi && known.sub.size > 0;
    return isObject
      ? [...known.sub.values()].map(({ name }) => `${leaf}.${name}`)
      : [leaf.replace(/\.value$/, "")];
  });
}

function canHold(covers: Backend["covers"], leaf: string): boolean {
  if (covers === null || covers.has(leaf)) return true;
  // A backend that names an attribute as a whole holds all of it.
  const above = [...covers].find((name) => isBelow(leaf, name));
  return above !== undefined && ![...covers].some((name) => isBelow(name, above));
}

/** `name.givenName` is below `name`, an extension's attribute below its URN. */
function isBelow(name: string, above: string): boolean {
  return name.startsWith(above.startsWith("urn:") ? `${above}:` : `${above}.`);
}

function topOf({ schema, attribute }: AttributePath): string {
  return schema ?? attribute;
}

function leafOf({ schema, attribute, sub }: AttributePath): string {
  if (schema !== null) return `${schema}:${attribute}`;
  return sub === null ? attribute : `${attribute}.${sub}`;
}
