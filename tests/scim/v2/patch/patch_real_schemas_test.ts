// PATCH with the schemas of the interface: what a client sends ends as a body of the same schemas could.

import { assertEquals } from "@std/assert";
import { applyPatch } from "../../../../scim/v2/patch/patch.ts";
import { createPatchSchema } from "../../../../scim/v2/patch/patch_schema.ts";
import { ENTERPRISE_DEFINITION, GROUP_DEFINITION } from "../../../../scim/v2/schema/group_schema.ts";
import { USER_DEFINITION } from "../../../../scim/v2/schema/user_schema.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";

const USERS = createPatchSchema(USER_DEFINITION, [ENTERPRISE_DEFINITION]);
const GROUPS = createPatchSchema(GROUP_DEFINITION, []);
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const USER: JsonObject = {
  schemas: [USER_DEFINITION.id],
  id: "2819c223-7f76-453a-919d-413861904646",
  userName: "bjensen",
  active: true,
};

interface Row {
  readonly operations: readonly JsonObject[];
  readonly expected: Readonly<Record<string, JsonValue>>;
}

const ROWS: Readonly<Record<string, Row>> = {
  "Entra ID disables a user with a text": {
    operations: [{ op: "Replace", path: "active", value: "False" }],
    expected: { active: false },
  },
  "a value path that matches nothing creates the entry": {
    operations: [{ op: "add", path: 'emails[type eq "work"].value', value: "b@example.com" }],
    expected: { emails: [{ type: "work", value: "b@example.com" }] },
  },
  "an attribute of the enterprise extension by its URN": {
    operations: [{ op: "add", path: `${ENTERPRISE_DEFINITION.id}:department`, value: "Sales" }],
    expected: {
      schemas: [USER_DEFINITION.id, ENTERPRISE_DEFINITION.id],
      [ENTERPRISE_DEFINITION.id]: { department: "Sales" },
    },
  },
  "dotted keys without a path": {
    operations: [{ op: "replace", value: { "name.givenName": "Barbara", displayName: "Babs" } }],
    expected: { name: { givenName: "Barbara" }, displayName: "Babs" },
  },
};

for (const [title, { operations, expected }] of Object.entries(ROWS)) {
  Deno.test(`applyPatch() with the schemas of users: ${title}`, () => {
    const outcome = applyPatch(USER, { schemas: [PATCH], Operations: operations }, { schema: USERS });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.problem));
    assertEquals(outcome.resource, { ...USER, ...expected });
  });
}

Deno.test("applyPatch() with the schemas of users: the id is read-only, and the user name is required", () => {
  const problemOf = (operation: JsonObject) => {
    const outcome = applyPatch(USER, { schemas: [PATCH], Operations: [operation] }, { schema: USERS });
    return outcome.ok ? null : outcome.problem.scimType;
  };
  assertEquals(problemOf({ op: "replace", path: "id", value: "another" }), "mutability");
  assertEquals(problemOf({ op: "remove", path: "userName" }), "mutability");
  assertEquals(problemOf({ op: "replace", path: "noSuchAttribute", value: 1 }), "invalidPath");
});

Deno.test("applyPatch() with the schemas of groups: members are collected, not read", () => {
  const group = { schemas: [GROUP_DEFINITION.id], id: "g1", displayName: "Staff" };
  const operations: JsonObject[] = [
    { op: "Add", path: "members", value: [{ value: "u1" }, { value: "u2" }] },
    { op: "remove", path: 'members[value eq "u2"]' },
    { op: "replace", path: "displayName", value: "All staff" },
  ];
  const outcome = applyPatch(group, { schemas: [PATCH], Operations: operations }, {
    schema: GROUPS,
    members: { canRemoveAll: false },
  });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problem));
  assertEquals(outcome.members, { add: ["u1"], remove: ["u2"] });
  assertEquals(outcome.resource, { ...group, displayName: "All staff" });
});
