// The attributes that every resource has (RFC 7643 §3, §3.1). /Schemas does not list them.

import { type AttributeDefinition, defineAttribute } from "./attribute_definition.ts";

const REF = "RFC 7643 §3.1";
const READ_ONLY = { mutability: "readOnly", ref: REF } as const;

/** RFC 7643 §3 and §3.1. */
export const COMMON_DEFINITIONS: readonly AttributeDefinition[] = [
  defineAttribute("schemas", "The URNs of the schemas of the resource.", {
    type: "reference",
    referenceTypes: ["uri"],
    multiValued: true,
    required: true,
    caseExact: true,
    returned: "always",
    ref: "RFC 7643 §3",
  }),
  defineAttribute("id", "The identifier that the server gave to the resource. It never changes.", {
    ...READ_ONLY,
    caseExact: true,
    returned: "always",
    uniqueness: "server",
  }),
  defineAttribute("externalId", "The identifier that the client gave to the resource.", {
    caseExact: true,
    ref: REF,
  }),
  defineAttribute("meta", "Data about the resource itself.", {
    ...READ_ONLY,
    type: "complex",
    subAttributes: [
      defineAttribute("resourceType", "The name of the resource type.", { ...READ_ONLY, caseExact: true }),
      defineAttribute("created", "When the resource was created.", { ...READ_ONLY, type: "dateTime" }),
      defineAttribute("lastModified", "When the resource last changed.", { ...READ_ONLY, type: "dateTime" }),
      defineAttribute("location", "The URL of the resource.", {
        ...READ_ONLY,
        type: "reference",
        referenceTypes: ["uri"],
        caseExact: true,
      }),
      defineAttribute("version", "The entity tag of the resource.", { ...READ_ONLY, caseExact: true }),
    ],
  }),
];
