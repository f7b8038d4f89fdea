// Schemas, resources and requests for the tests of PATCH (RFC 7643 §4 and §8).

import { applyPatch, type PatchOptions, type PatchOutcome } from "../../../../scim/v2/patch/patch.ts";
import {
  type AttributeDefinition,
  type Characteristics,
  defineAttribute,
} from "../../../../scim/schema/attribute_table.ts";
import { createPatchSchema } from "../../../../scim/v2/patch/patch_path.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";

export const CORE_USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const CORE_GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const BADGE = "urn:example:params:scim:schemas:extension:badge:1.5:User";
const MESSAGE = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

const text = (name: string, more: Partial<Characteristics> = {}): AttributeDefinition =>
  defineAttribute(name, "", { ref: "", ...more });
const contact = (name: string, more: Partial<Characteristics> = {}): AttributeDefinition =>
  text(name, {
    type: "complex",
    multiValued: true,
    subAttributes: [text("value"), text("display"), text("type"), text("primary", { type: "boolean" })],
    ...more,
  });

export const USER_PATCH = createPatchSchema(
  {
    id: CORE_USER,
    attributes: [
      text("userName", { required: true }),
      text("name", { type: "complex", subAttributes: [text("givenName"), text("familyName")] }),
      text("displayName"),
      text("title"),
      text("active", { type: "boolean" }),
      text("password", { mutability: "writeOnly" }),
      contact("emails"),
      contact("phoneNumbers"),
      contact("roles"),
      contact("groups", { mutability: "readOnly" }),
    ],
  },
  [
    {
      id: ENTERPRISE,
      attributes: [
        text("employeeNumber"),
        text("manager", {
          type: "complex",
          subAttributes: [
            text("value"),
            text("$ref", { type: "reference" }),
            text("displayName", { mutability: "readOnly" }),
          ],
        }),
      ],
    },
    {
      id: BADGE,
      attributes: [
        // Also an attribute of the core schema.
        text("title"),
        text("number", { mutability: "immutable" }),
        text("colours", { multiValued: true, caseExact: true }),
        text("level", { type: "integer" }),
        text("doors", {
          type: "complex",
          multiValued: true,
          subAttributes: [text("value", { required: true }), text("key", { mutability: "immutable" })],
        }),
      ],
    },
  ],
);

export const GROUP_PATCH = createPatchSchema({
  id: CORE_GROUP,
  attributes: [
    text("displayName", { required: true }),
    text("members", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        text("value", { mutability: "immutable" }),
        text("$ref", { type: "reference", mutability: "immutable" }),
        text("type", { mutability: "immutable" }),
        text("display", { mutability: "readOnly" }),
      ],
    }),
  ],
});

export const USER: JsonObject = {
  schemas: [CORE_USER, ENTERPRISE],
  id: "u1",
  userName: "ann",
  name: { givenName: "Anna", familyName: "Lee" },
  active: true,
  emails: [
    { value: "a@example.com", type: "work", primary: true },
    { value: "b@example.com", type: "home" },
  ],
  [ENTERPRISE]: { employeeNumber: "1", manager: { value: "b0" } },
};

export const GROUP: JsonObject = { schemas: [CORE_GROUP], id: "g1", displayName: "Staff" };

/** The options of a kind of resource. Groups cannot remove all members at once. */
export const PATCH_OPTIONS = {
  user: { schema: USER_PATCH },
  group: { schema: GROUP_PATCH, members: { canRemoveAll: false } },
} as const satisfies Record<string, PatchOptions>;

export function patchBody(...operations: readonly JsonValue[]): JsonObject {
  return { schemas: [MESSAGE], Operations: operations };
}

export function patchUser(...operations: readonly JsonValue[]): PatchOutcome {
  return applyPatch(USER, patchBody(...operations), PATCH_OPTIONS.user);
}

/** The user after operations that must succeed. */
export function patchedUser(...operations: readonly JsonValue[]): JsonObject {
  const outcome = patchUser(...operations);
  if (!outcome.ok) throw new Error(outcome.problem.detail);
  return outcome.resource;
}
