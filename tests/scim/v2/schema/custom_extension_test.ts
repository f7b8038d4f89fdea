// Definitions of custom extensions: what is accepted, and the sentence for each problem.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { renderSchema } from "../../../../scim/v2/schema/discovery.ts";
import { parseExtensions } from "../../../../scim/v2/schema/custom_extension.ts";
import { refused, taken } from "../../schema/bodies.ts";
import { BADGE_EXTENSION } from "./read_bodies.ts";

const VALID: JsonObject = { id: "urn:example:a:2.0:User", name: "A", attributes: [{ name: "x" }] };
const withAttribute = (attribute: JsonValue): JsonValue => [{ ...VALID, attributes: [attribute] }];

/** What is wrong, and a part of the sentence. */
const PROBLEMS: readonly [JsonValue, string][] = [
  [{}, "must be a list"],
  [null, "must be a list"],
  [new Array(21).fill(VALID), "at most 20 extensions"],
  [[5], "must be an object"],
  [[{ ...VALID, id: "x" }], "must be a URN"],
  [[{ ...VALID, id: "urn:example:a:" }], "must be a URN"],
  [[{ ...VALID, id: `urn:example:${"a".repeat(200)}` }], "at most 200 characters"],
  [[{ ...VALID, id: "URN:ietf:params:scim:schemas:core:2.0:User" }], "must not begin with"],
  [[{ ...VALID, id: "URN:ietf:params" }], "must not be the beginning of"],
  [[{ ...VALID, name: "" }], "needs the text name"],
  [[{ ...VALID, description: "x".repeat(501) }], "at most 500"],
  [[{ ...VALID, resourceType: "Device" }], "must be User or Group"],
  [[{ ...VALID, extensionRequired: "yes" }], "must be true or false"],
  [[{ ...VALID, attributes: [] }], "list of 1 to 100"],
  [[VALID, VALID], "begins with the URN of another"],
  [[VALID, { ...VALID, id: "urn:example:a:2.0:USER:more" }], "begins with the URN of another"],
  [[{ ...VALID, attributes: [{ name: "x" }, { name: "X" }] }], "two attributes of the same name"],
  [withAttribute("x"), "must be an object"],
  [withAttribute({}), "needs the text name"],
  [withAttribute({ name: "__proto__" }), "name that is not allowed"],
  [withAttribute({ name: "constructor" }), "name that is not allowed"],
  [withAttribute({ name: "Password" }), "name that is not allowed"],
  [withAttribute({ name: "a.b" }), "name that is not allowed"],
  [withAttribute({ name: "$ref" }), "name that is not allowed"],
  [withAttribute({ name: "x".repeat(65) }), "at most 64"],
  [withAttribute({ name: "x", type: "date" }), "type of"],
  [withAttribute({ name: "x", type: ["string"] }), "type of"],
  [withAttribute({ name: "x", mutability: "writeOnly" }), "would show it"],
  [withAttribute({ name: "x", returned: "never" }), "would show it"],
  [withAttribute({ name: "x", uniqueness: "server" }), "only names are unique"],
  [withAttribute({ name: "x", multiValued: 1 }), "must be true or false"],
  [withAttribute({ name: "x", canonicalValues: [1] }), "list of at most 100 short texts"],
  [withAttribute({ name: "x", canonicalValues: new Array(101).fill("a") }), "list of at most 100"],
  [withAttribute({ name: "x", type: "complex" }), "list of 1 to 100 subAttributes"],
  [
    withAttribute({ name: "x", type: "complex", subAttributes: [{ name: "y", type: "complex" }] }),
    "must not be complex",
  ],
  [[{
    ...VALID,
    attributes: [{
      name: "x",
      type: "complex",
      subAttributes: Array.from({ length: 100 }, (_, at) => ({ name: `y${at}` })),
    }],
  }], "over 100 attributes"],
];

for (const [value, part] of PROBLEMS) {
  Deno.test(`parseExtensions() refuses ${JSON.stringify(value).slice(0, 90)}: ${part}`, () => {
    const { problem } = refused(parseExtensions(value));
    assert(problem.includes(part), problem);
  });
}

Deno.test("parseExtensions() reads what /Schemas shows of an extension", () => {
  const [extension] = taken(parseExtensions([BADGE_EXTENSION])).extensions;
  if (extension === undefined) throw new Error("There is no extension.");
  const again = taken(parseExtensions([renderSchema(extension.schema, "https://x")])).extensions[0];
  assertEquals(again, extension);
});

Deno.test("parseExtensions() reads the resource type, and whether the extension is required", () => {
  const value = { ...VALID, resourceType: "Group", extensionRequired: true };
  const [extension] = taken(parseExtensions([value])).extensions;
  assertEquals([extension?.kind, extension?.required], ["group", true]);
});

const json = fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value)));

Deno.test("law: parseExtensions() never throws", () => {
  fc.assert(fc.property(json, json, (inner, outer) => {
    const values = [
      outer,
      [outer],
      [{ ...VALID, attributes: inner }],
      withAttribute({ name: "x", subAttributes: inner }),
    ];
    for (const value of values) assertEquals(typeof parseExtensions(value).ok, "boolean");
  }));
});
