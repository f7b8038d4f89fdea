// Parses the path of a PATCH operation by the schemas of a resource type (RFC 7644 §3.5.2, figure 7, and §3.10 for URNs). The refusal of a PATCH.

import { MAX_FILTER_CHARACTERS, parseEntryFilter, type ScimFilter } from "../../filter/filter.ts";
import {
  type AttributeDefinition,
  COMMON_DEFINITIONS,
  findDefinition,
  findSub,
  type SchemaDefinition,
} from "../../schema/attribute_table.ts";

/** The target of an operation. */
export interface PatchPath {
  readonly section: PatchSection;
  /** `null`: the whole extension. */
  readonly attribute: AttributeDefinition | null;
  /** Selects entries of a multi-valued attribute. */
  readonly filter: ScimFilter | null;
  readonly sub: AttributeDefinition | null;
}

const MAX_PATH_CHARACTERS = MAX_FILTER_CHARACTERS;
/** An attribute, a filter in brackets, a sub-attribute. A `]` inside of a quoted value is not the last one. */
const PATH = /^([A-Za-z$][A-Za-z0-9_$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][A-Za-z0-9_$-]*))?$/s;

/**
 * Parses a path of at most 8,192 characters.
 *
 * @throws PatchRefusal `invalidPath`, or `invalidFilter` for the part in brackets.
 */
export function parsePatchPath(text: string, schema: PatchSchema): PatchPath {
  if (text.length > MAX_PATH_CHARACTERS) {
    throw new PatchRefusal("invalidPath", `Use a path of at most ${MAX_PATH_CHARACTERS} characters.`);
  }
  const { section, rest } = splitSection(text, schema);
  if (rest === null) return { section, attribute: null, filter: null, sub: null };
  const parts = PATH.exec(rest);
  if (parts === null) {
    throw new PatchRefusal("invalidPath", "Write the path as attribute[filter].subAttribute.");
  }
  const [, name = "", filter, subName] = parts;
  const attribute = findDefinition(section.attributes, name);
  if (attribute === undefined) {
    throw new PatchRefusal("invalidPath", `Use an attribute of the schema: "${name}" is unknown.`);
  }
  return {
    section,
    attribute,
    filter: filter === undefined ? null : readFilter(filter, attribute),
    sub: subName === undefined ? null : readSub(subName, attribute),
  };
}

/** The schema in front of the attribute. A URN may contain dots and colons, so known URNs decide where it ends. */
function splitSection(text: string, schema: PatchSchema): { section: PatchSection; rest: string | null } {
  const small = text.toLowerCase();
  for (const section of schema.sections) {
    const urn = section.id.toLowerCase();
    if (small === urn && !section.isCore) return { section, rest: null };
    if (small.startsWith(`${urn}:`)) return { section, rest: text.slice(urn.length + 1) };
  }
  if (small.startsWith("urn:")) {
    throw new PatchRefusal("invalidPath", "Use an attribute of a schema that /Schemas lists.");
  }
  return { section: schema.core, rest: text };
}

function readFilter(text: string, attribute: AttributeDefinition): ScimFilter {
  if (!attribute.multiValued) {
    throw new PatchRefusal(
      "invalidPath",
      `Remove the brackets: "${attribute.name}" is not multi-valued.`,
    );
  }
  const parsed = parseEntryFilter(text, (name) => entryNode(attribute, name)?.name ?? null);
  if (!parsed.ok) {
    throw new PatchRefusal(
      "invalidFilter",
      `Correct the filter of "${attribute.name}": ${parsed.problem}.`,
    );
  }
  return parsed.filter;
}

function readSub(name: string, attribute: AttributeDefinition): AttributeDefinition {
  const sub = findSub(attribute, name);
  if (sub === undefined) {
    throw new PatchRefusal(
      "invalidPath",
      `Use a sub-attribute of "${attribute.name}": "${name}" is unknown.`,
    );
  }
  return sub;
}

/** A sub-attribute of an entry. An entry that is not complex is its own `value` (RFC 7643 §2.4). */
export function entryNode(attribute: AttributeDefinition, name: string): AttributeDefinition | undefined {
  if (attribute.type === "complex") return findSub(attribute, name);
  return name.toLowerCase() === "value" ? { ...attribute, name: "value", multiValued: false } : undefined;
}

/** One schema of a resource type. The core schema has the common attributes, too. */
export interface PatchSection extends Pick<SchemaDefinition, "id" | "attributes"> {
  readonly isCore: boolean;
}

/** The schemas of a resource type. The longest URN is first, so that a URN never hides a longer one. */
export interface PatchSchema {
  readonly core: PatchSection;
  readonly sections: readonly PatchSection[];
}

/** Why a PATCH is refused: the error of RFC 7644 §3.12, with status 400. */
export interface PatchProblem {
  readonly scimType:
    | "invalidSyntax"
    | "invalidPath"
    | "invalidFilter"
    | "invalidValue"
    | "noTarget"
    | "mutability"
    | "tooMany";
  /** A sentence that explains what to do. */
  readonly detail: string;
}

/** Thrown inside of scim/v2/patch. `applyPatch` returns its problem. */
export class PatchRefusal extends Error {
  override readonly name = "PatchRefusal";
  readonly problem: PatchProblem;

  constructor(scimType: PatchProblem["scimType"], detail: string) {
    super(detail);
    this.problem = { scimType, detail };
  }
}

/** The schemas of a resource type for {@link applyPatch}. */
export function createPatchSchema(
  core: Pick<SchemaDefinition, "id" | "attributes">,
  extensions: readonly Pick<SchemaDefinition, "id" | "attributes">[] = [],
): PatchSchema {
  const own = { ...core, isCore: true, attributes: [...COMMON_DEFINITIONS, ...core.attributes] };
  const others = extensions.map((extension) => ({ ...extension, isCore: false }));
  return { core: own, sections: [own, ...others].sort((a, b) => b.id.length - a.id.length) };
}

/** The extension of that URN, without case. */
export function findExtension({ sections }: PatchSchema, urn: string): PatchSection | undefined {
  const small = urn.toLowerCase();
  return sections.find(({ id, isCore }) => !isCore && id.toLowerCase() === small);
}
