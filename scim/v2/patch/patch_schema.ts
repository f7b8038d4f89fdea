// The schemas of the attributes that PATCH can change, and why it is refused.

import type { SchemaDefinition } from "../../schema/attribute_definition.ts";
import { COMMON_DEFINITIONS } from "../../schema/attribute_table.ts";

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
