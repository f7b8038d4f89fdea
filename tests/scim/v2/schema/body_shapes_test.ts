// The tolerated shapes of bodies: each row has an example that is read as the row says, and that is not without the row.

import { assert, assertEquals } from "@std/assert";
import { property } from "../../../../scim/schema/attributes.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import {
  isMessage,
  MESSAGE_SHAPES,
  SCHEMAS_SHAPES,
  VALUE_SHAPES,
} from "../../../../scim/v2/schema/body_shapes.ts";
import { bodyOf } from "../../schema/bodies.ts";
import { accepted, ENTERPRISE_URN, outcomeOf, problemOf } from "./read_bodies.ts";

const ada = { userName: "ada" };

for (const [name, row] of Object.entries(VALUE_SHAPES)) {
  Deno.test(`VALUE_SHAPES.${name} is tolerated as its row says, and refused or stored as sent without the row`, () => {
    const sent = bodyOf(row.example);
    const [attribute] = Object.keys(sent);
    const place = (body: JsonObject): JsonObject =>
      attribute === "manager" ? { ...ada, [ENTERPRISE_URN]: body } : { ...ada, ...body };
    assertEquals(accepted("user", place(sent)), place(bodyOf(row.becomes)));
    const without = outcomeOf("user", place(sent), { strict: new Set([name]) });
    const isSame = without.ok &&
      JSON.stringify(without.resource).includes(JSON.stringify(bodyOf(row.becomes)).slice(1, -1));
    assertEquals(isSame, false);
    assert(row.link.startsWith("https://"));
  });
}

for (const [name, row] of Object.entries(SCHEMAS_SHAPES)) {
  Deno.test(`SCHEMAS_SHAPES.${name} is tolerated, and refused without the row`, () => {
    const { schemas = [], ...rest } = bodyOf(row.example);
    const kind = "userName" in rest ? "user" : "group";
    assertEquals(accepted(kind, { schemas, ...rest }), rest);
    assertEquals(problemOf(kind, { schemas, ...rest }, { strict: new Set([name]) })[0], "invalidValue");
  });
}

Deno.test("readBody() never reads JSON text that is too large, and no text that only looks like JSON", () => {
  for (const value of ["{", "{}", '{"value":5}', `{"value":"${"x".repeat(5000)}"}`, `{"a":{"b":{"c":1}}}`]) {
    assertEquals(accepted("user", { ...ada, roles: [{ value }] }), { ...ada, roles: [{ value }] });
  }
});

const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

for (const [name, row] of Object.entries(MESSAGE_SHAPES)) {
  Deno.test(`MESSAGE_SHAPES.${name} is tolerated`, () => {
    assert(isMessage(property(bodyOf(row.example), "schemas"), PATCH_OP));
    assert(row.link.startsWith("https://"));
  });
}

Deno.test("isMessage() accepts the URN in any case, and no other message", () => {
  for (const schemas of [[PATCH_OP], [PATCH_OP.toUpperCase()], ["urn:x", PATCH_OP], [], null, undefined]) {
    assert(isMessage(schemas, PATCH_OP), JSON.stringify(schemas));
  }
  const other = PATCH_OP.replace("PatchOp", "BulkRequest");
  for (const schemas of ["x", 5, {}, [other], ["urn:x"], [5], ["PatchOp"], new Array(101).fill(PATCH_OP)]) {
    assert(!isMessage(schemas, PATCH_OP), JSON.stringify(schemas).slice(0, 100));
  }
});
