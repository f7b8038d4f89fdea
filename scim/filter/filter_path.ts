// Attributes as filters name them (RFC 7644 §3.10), and what is known of them.

import type { Mapping, ResourceKind } from "../schema/resource.ts";
import { readPath } from "../schema/attribute_path.ts";
import {
  ATTRIBUTES,
  type AttributeSet,
  findAttribute,
  type KnownAttribute,
  withoutCoreSchema,
} from "../schema/attributes.ts";

/** An attribute as a filter names it. Names of the table are spelled as they are stored; others as given. */
export interface FilterPath {
  /** The URN of an extension; `null` for attributes of the resource itself. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly sub: string | null;
}

/** RFC 7643 §2.1, and `$ref`. */
const ATTRIBUTE_NAME = /^[A-Za-z$][A-Za-z0-9_$-]*$/;
const NOTHING: AttributeSet = new Map();
const KINDS = ["user", "group"] as const;

/** `emails.value`, with the schema's URN in front where there is one: for looking up what is indexed. */
export function pathText({ schema, attribute, sub }: FilterPath): string {
  return `${schema === null ? "" : `${schema}:`}${attribute}${sub === null ? "" : `.${sub}`}`;
}

/** Reads a path; `null` when it cannot be one. */
export function readFilterPath(text: string): FilterPath | null {
  const plain = withoutCoreSchema("group", withoutCoreSchema("user", text));
  const isExtension = plain.slice(0, 4).toLowerCase() === "urn:";
  const colon = isExtension ? plain.lastIndexOf(":") : -1;
  const schema = isExtension ? plain.slice(0, colon) : null;
  const [attribute = "", sub = null, ...more] = plain.slice(colon + 1).split(".");
  if (more.length > 0 || !ATTRIBUTE_NAME.test(attribute)) return null;
  if (sub !== null && !ATTRIBUTE_NAME.test(sub)) return null;
  if (schema !== null && schema.length <= "urn:".length) return null;
  const extension = schema === null ? undefined : findInAny(schema);
  const known = schema === null ? findInAny(attribute) : findAttribute(extension?.sub ?? NOTHING, attribute);
  return {
    schema: extension?.name ?? schema,
    attribute: known?.name ?? attribute,
    sub: sub === null ? null : findAttribute(known?.sub ?? NOTHING, sub)?.name ?? sub,
  };
}

/** A path inside of `emails[…]`: one of its sub-attributes. */
export function readSubPath(text: string, parent: FilterPath): FilterPath | null {
  if (!ATTRIBUTE_NAME.test(text)) return null;
  const known = findAttribute(attributeAt(parent)?.sub ?? NOTHING, text);
  return { schema: null, attribute: known?.name ?? text, sub: null };
}

/** What is known of the attribute at a path, whichever kind of resource has it. Names mean the same in both. */
export function attributeAt(path: FilterPath): KnownAttribute | undefined {
  return attributeOf("user", path) ?? attributeOf("group", path);
}

/** What is known of the attribute at a path of one kind of resource. */
export function attributeOf(
  kind: ResourceKind,
  { schema, attribute, sub }: FilterPath,
): KnownAttribute | undefined {
  const set = schema === null ? ATTRIBUTES[kind] : findAttribute(ATTRIBUTES[kind], schema)?.sub ?? NOTHING;
  const known = findAttribute(set, attribute);
  return sub === null ? known : findAttribute(known?.sub ?? NOTHING, sub);
}

/**
 * Whether a resource of that kind can have the attribute.
 *
 * @param mapping adds the attributes that the settings name. Others that bodies bring are kept, but it is not announced that they can be searched: a
 * search that misses silently makes provisioning programs create everybody twice.
 */
export function knownPath(kind: ResourceKind, path: FilterPath, mapping?: Mapping): boolean {
  const known = attributeOf(kind, path);
  if (known !== undefined) return known.mutability !== "writeOnly";
  return mapping !== undefined && mapping[kind].some(({ scim }) => {
    const row = readPath(kind, scim);
    return row.attribute.toLowerCase() === path.attribute.toLowerCase() && row.schema === path.schema &&
      (path.sub === null || row.sub?.toLowerCase() === path.sub.toLowerCase());
  });
}

/** {@link knownPath} for some kind, and without a mapping: whether words look like a filter at all. */
export function isKnownSomewhere(path: FilterPath): boolean {
  return KINDS.some((kind) => knownPath(kind, path));
}

function findInAny(name: string): KnownAttribute | undefined {
  return findAttribute(ATTRIBUTES.user, name) ?? findAttribute(ATTRIBUTES.group, name);
}
