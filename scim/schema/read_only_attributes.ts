// Read-only attributes of a backend (`read_only` in its settings): read from it, and never written. Pure.

import type { Backend } from "../backend_port.ts";
import type { Content } from "./resource.ts";
import { type AttributePath, findAttribute, readPath, SCIM_ATTRIBUTES } from "./attributes.ts";
import { mergeContent } from "./merge.ts";

/** Attributes of users, as `coveredAttributes` spells them: `title`; `name` and `name.givenName`; a URN and `urn:…:department`. */
export type ReadOnlyAttributes = ReadonlySet<string>;

export const NO_READ_ONLY: ReadOnlyAttributes = new Set();

/** The settings of a backend that decide which attributes are read-only. */
type BackendAttributes = Pick<Backend, "covers" | "readOnly">;

/** @param paths SCIM attributes of a user, in the spelling of the interface specification or of the RFC. */
export function toReadOnlyAttributes(paths: readonly string[]): ReadOnlyAttributes {
  return new Set(paths.map((path) => readPath("user", path)).flatMap((path) => [topOf(path), leafOf(path)]));
}

export function isReadOnly(path: AttributePath, readOnly: ReadOnlyAttributes): boolean {
  return readOnly.has(leafOf(path));
}

/** `wanted` with the read-only attributes of `held`. Those that `held` lacks are removed. Names, `active` and groups cannot be read-only. */
export function withReadOnly(wanted: Content, held: Content | null, readOnly: ReadOnlyAttributes): Content {
  if (readOnly.size === 0 || wanted.kind !== "user") return wanted;
  const attributes = held === null ? {} : held.attributes;
  return mergeContent(wanted, { ...wanted, attributes }, readOnly);
}

/** Attributes that are read-only at every backend that stores them, and at least at one. */
export function commonReadOnly(backends: readonly BackendAttributes[]): ReadOnlyAttributes {
  const every = new Set(backends.flatMap(({ readOnly = NO_READ_ONLY }) => [...readOnly]));
  const leaves = [...every].filter((name) => ![...every].some((other) => isBelow(other, name)));
  const own = leaves.filter((leaf) =>
    backends.every(({ covers, readOnly = NO_READ_ONLY }) => readOnly.has(leaf) || !canHold(covers, leaf))
  );
  return new Set(own.flatMap((leaf) => [...[...every].filter((name) => isBelow(leaf, name)), leaf]));
}

/** Display names: an attribute of an extension without the URN, a list as a whole, an object by its parts. */
export function readOnlyNames(readOnly: ReadOnlyAttributes): string[] {
  const leaves = [...readOnly].filter((name) => ![...readOnly].some((other) => isBelow(other, name)));
  return leaves.flatMap((leaf) => {
    if (leaf.startsWith("urn:")) return [leaf.slice(leaf.lastIndexOf(":") + 1)];
    const known = findAttribute(SCIM_ATTRIBUTES.user, leaf);
    const isObject = known !== undefined && !known.multi && known.sub.size > 0;
    return isObject
      ? [...known.sub.values()].map(({ name }) => `${leaf}.${name}`)
      : [leaf.replace(/\.value$/, "")];
  });
}

function canHold(covers: Backend["covers"], leaf: string): boolean {
  if (covers === null || covers.has(leaf)) return true;
  // A backend that names a whole attribute stores all of its parts.
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
