// The tolerated shapes of bodies: each row has an example that is read as the row says, and that is not without the row.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import { SCHEMAS_SHAPES, VALUE_SHAPES } from "../../../../scim/v2/schema/body_shapes.ts";
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
