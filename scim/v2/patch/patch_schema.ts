// The attributes that PATCH can change, compiled from the definitions of the schemas (RFC 7643 §7).

/** The characteristics of an attribute that PATCH depends on (RFC 7643 §2.2). Absent ones have the default of that section. */
export interface PatchAttribute {
  readonly name: string;
  readonly type:
    | "string"
    | "boolean"
    | "decimal"
    | "integer"
    | "dateTime"
    | "reference"
    | "binary"
    | "complex";
  readonly multiValued?: boolean | undefined;
  readonly required?: boolean | undefined;
  readonly caseExact?: boolean | undefined;
  readonly mutability?: "readOnly" | "readWrite" | "immutable" | "writeOnly" | undefined;
  readonly subAttributes?: readonly PatchAttribute[] | undefined;
}

/** A schema: its URN and its attributes. */
interface PatchSchemaSource {
  readonly id: string;
  readonly attributes: readonly PatchAttribute[];
}

/** One attribute, compiled. */
export interface PatchNode {
  readonly name: string;
  readonly type: PatchAttribute["type"];
  readonly isMulti: boolean;
  readonly isRequired: boolean;
  readonly caseExact: boolean;
  readonly mutability: "readOnly" | "readWrite" | "immutable" | "writeOnly";
  readonly sub: PatchNodes;
}

/** By the name in lower case: names are compared without case (RFC 7643 §2.1). */
export type PatchNodes = ReadonlyMap<string, PatchNode>;

/** One schema of a resource type, compiled. */
export interface PatchSection {
  readonly id: string;
  readonly isCore: boolean;
  readonly attributes: PatchNodes;
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

/** RFC 7643 §3.1: every resource has these attributes, and no schema lists them. */
const COMMON_ATTRIBUTES: readonly PatchAttribute[] = [
  // RFC 7644 §3.5.2: an operation may change it. It still lists what the resource has, so a change alone has no effect.
  { name: "schemas", type: "reference", multiValued: true, caseExact: true, required: true },
  { name: "id", type: "string", caseExact: true, mutability: "readOnly" },
  { name: "externalId", type: "string", caseExact: true },
  {
    name: "meta",
    type: "complex",
    mutability: "readOnly",
    subAttributes: ["resourceType", "created", "lastModified", "location", "version"].map((name) => {
      return { name, type: "string", mutability: "readOnly" };
    }),
  },
];

/** Compiles the schemas of a resource type for {@link applyPatch}. */
export function createPatchSchema(
  core: PatchSchemaSource,
  extensions: readonly PatchSchemaSource[] = [],
): PatchSchema {
  const compiled: PatchSection = {
    id: core.id,
    isCore: true,
    attributes: compileNodes([...COMMON_ATTRIBUTES, ...core.attributes]),
  };
  const others = extensions.map(({ id, attributes }): PatchSection => {
    return { id, isCore: false, attributes: compileNodes(attributes) };
  });
  return {
    core: compiled,
    sections: [compiled, ...others].sort((a, b) => b.id.length - a.id.length),
  };
}

function compileNodes(attributes: readonly PatchAttribute[]): PatchNodes {
  return new Map(attributes.map((one) => [one.name.toLowerCase(), {
    name: one.name,
    type: one.type,
    isMulti: one.multiValued ?? false,
    isRequired: one.required ?? false,
    caseExact: one.caseExact ?? false,
    mutability: one.mutability ?? "readWrite",
    sub: compileNodes(one.subAttributes ?? []),
  }]));
}

/** The attribute of that name, without case. */
export function findPatchNode(nodes: PatchNodes, name: string): PatchNode | undefined {
  // No attribute has a long name.
  return name.length > 100 ? undefined : nodes.get(name.toLowerCase());
}

/** The extension of that URN, without case. */
export function findExtension({ sections }: PatchSchema, urn: string): PatchSection | undefined {
  const small = urn.toLowerCase();
  return sections.find(({ id, isCore }) => !isCore && id.toLowerCase() === small);
}
