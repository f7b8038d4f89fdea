// The schema extensions in the settings of a target: problems of their JSON, and schemas that follow the settings.

import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import { extensionsProblem, followExtensions } from "../../../../scim/v2/schema/extension_setting.ts";
import { BADGE_EXTENSION, BADGE_URN } from "./read_bodies.ts";

const BADGE = JSON.stringify([BADGE_EXTENSION]);

const ROWS: readonly (readonly [json: string, problem: string | null])[] = [
  [BADGE, null],
  ["[]", null],
  [`\uFEFF${BADGE}\r\n`, null],
  ["", "the extensions must be JSON: a list of schemas"],
  ["x", "the extensions must be JSON: a list of schemas"],
  ["[1,]", "the extensions must be JSON: a list of schemas"],
  ["{}", "the extensions must be a list"],
  ['"[]"', "the extensions must be a list"],
  ["[".repeat(1000) + "]".repeat(1000), "the JSON of extensions must have at most 16 levels"],
  [`[${"1,".repeat(60_000)}1]`, "the JSON of extensions must have at most 50000 values"],
  [`[${" ".repeat(600_000)}]`, "the JSON of extensions must have at most 524288 characters"],
  ['[{"__proto__":{"id":"urn:a:b"}}]', "an extension or one of its attributes needs the text id"],
  [
    '[{"id":"urn:example:a","name":"a","attributes":[{"name":"x"},{"name":"X"}]}]',
    "urn:example:a has two attributes of the same name. Case does not count",
  ],
];

for (const [json, problem] of ROWS) {
  Deno.test(`extensionsProblem() of ${JSON.stringify(json.slice(0, 40))}: ${problem}`, () => {
    assertEquals(extensionsProblem(json), problem);
  });
}

Deno.test("extensionsProblem() accepts the most extensions with the most attributes", () => {
  const attributes = Array.from({ length: 100 }, (_, at) => ({
    name: `attribute${at}`,
    type: "string",
    description: "x".repeat(100),
  }));
  const schemas = Array.from(
    { length: 20 },
    (_, at) => ({ id: `urn:example:e${at}`, name: "E", attributes }),
  );
  assertEquals(extensionsProblem(JSON.stringify(schemas)), null);
});

Deno.test("followExtensions() makes the schemas once for each change, and for each target", () => {
  const targets: { name: string; extensions?: string }[] = [{ name: "a", extensions: BADGE }, { name: "b" }];
  const config = { targets };
  const schemasOf = followExtensions(config);
  const urnsOf = (target: string) => schemasOf(target).types.user.extensions.map(({ schema }) => schema.id);
  assert(urnsOf("a").includes(BADGE_URN));
  assert(!urnsOf("b").includes(BADGE_URN));
  assert(!urnsOf("gone").includes(BADGE_URN));
  const first = schemasOf("a");
  // A change of another setting replaces the object of the target.
  targets.splice(0, 1, { name: "a", extensions: `${BADGE}` });
  assertStrictEquals(schemasOf("a"), first);
  targets.splice(0, 1, { name: "a", extensions: BADGE.replace(BADGE_URN, "urn:example:other") });
  assertEquals(urnsOf("a").at(-1), "urn:example:other");
  assertStrictEquals(schemasOf("a"), schemasOf("a"));
  targets.splice(0, 1, { name: "a" });
  assertStrictEquals(schemasOf("a"), schemasOf("b"));
  targets.splice(0, 1, { name: "a", extensions: BADGE });
  assertNotStrictEquals(schemasOf("a"), first);
  assert(urnsOf("a").includes(BADGE_URN));
});
