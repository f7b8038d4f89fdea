// Laws of PATCH, for random operations (RFC 7644 §3.5.2).

import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import { applyPatch } from "../../../../scim/v2/patch/patch.ts";
import { holderOf } from "../../../../scim/v2/patch/patch_operations.ts";
import type { PatchSection } from "../../../../scim/v2/patch/patch_schema.ts";
import { checkAttribute, cleanAttribute } from "../../../../scim/v2/patch/patch_values.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { BADGE, ENTERPRISE, PATCH_OPTIONS, patchBody, USER, USER_PATCH } from "./patch_fixtures.ts";

function patch(resource: JsonObject, ...operations: readonly JsonValue[]) {
  return applyPatch(resource, patchBody(...operations), PATCH_OPTIONS.user);
}

function patched(resource: JsonObject, ...operations: readonly JsonValue[]): JsonObject {
  const outcome = patch(resource, ...operations);
  if (!outcome.ok) throw new Error(outcome.problem.detail);
  return outcome.resource;
}

const word = fc.constantFrom("a", "b", "True", "", "{}", "5");
const entry = fc.record({ value: word, type: fc.constantFrom("work", "home", "x"), primary: fc.boolean() }, {
  requiredKeys: ["value"],
});
/** An independent path and a value that it accepts. */
const CHOICES = [
  ["title", word],
  ["displayName", word],
  ["name.givenName", word],
  ["name.familyName", word],
  ["active", fc.boolean()],
  ["emails", fc.array(entry, { maxLength: 1 })],
  ["phoneNumbers", fc.array(entry, { maxLength: 1 })],
  ['roles[type eq "x"].value', word],
  [`${ENTERPRISE}:employeeNumber`, word],
  [`${ENTERPRISE}:manager.value`, word],
  [`${BADGE}:colours`, fc.array(word, { maxLength: 3 })],
] as const;
const assignment = fc.oneof(
  ...CHOICES.map(([path, value]) => fc.record({ path: fc.constant<string>(path), value })),
);
const anyPath = fc.oneof(
  fc.constantFrom<string | null>(
    ...CHOICES.map(([path]) => path),
    null,
    "userName",
    "id",
    "emails.value",
    "emails.primary",
    'emails[type eq "work"]',
    "emails[primary eq true].value",
    'emails[type eq "home"].primary',
    "manager",
    ENTERPRISE,
    BADGE,
    `${BADGE}:doors`,
    `${BADGE}:number`,
    `${BADGE}:level`,
    "__proto__",
    "schemas",
  ),
  fc.string({ maxLength: 20 }),
);
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  word,
  fc.boolean(),
  entry,
  fc.array(entry, { maxLength: 3 }),
  fc.dictionary(
    fc.constantFrom(
      "title",
      "name",
      "value",
      "emails",
      "Active",
      "__proto__",
      "employeeNumber",
      ENTERPRISE,
      "number",
    ),
    fc.oneof(
      word,
      fc.array(entry, { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("value", "givenName"), word),
    ),
    { maxKeys: 3 },
  ),
  fc.jsonValue({ maxDepth: 3 }),
);
const validOperation = fc.tuple(fc.constantFrom("add", "Replace"), assignment).map(([op, one]) => ({
  op,
  ...one,
}));
const looseOperation = fc.record({
  op: fc.constantFrom("add", "replace", "remove", "Add"),
  path: anyPath,
  value: anyValue,
}, { requiredKeys: ["op"] });
const anyOperation = fc.oneof(validOperation, looseOperation);

Deno.test("applyPatch() that replaces twice has the effect of once", () => {
  fc.assert(fc.property(assignment, ({ path, value }) => {
    const operation = { op: "replace", path, value } as JsonObject;
    const once = patched(USER, operation);
    const again = patch(once, operation);
    if (!again.ok) throw new Error(again.problem.detail);
    assert(!again.isChanged);
    assertStrictEquals(again.resource, once);
  }));
});

Deno.test("applyPatch() that adds and then removes gives the resource before", () => {
  const { name: _, ...bare } = USER;
  const fresh = fc.constantFrom<readonly [string, JsonValue]>(
    ["title", "x"],
    ["name.givenName", "x"],
    ['phoneNumbers[type eq "x"]', { value: "1" }],
    ['emails[value eq "new"]', { type: "other" }],
    [`${BADGE}:colours`, ["red"]],
    [`${BADGE}:level`, 5],
  );
  fc.assert(fc.property(fresh, ([path, value]) => {
    const added = patch(bare, { op: "add", path, value });
    if (!added.ok) throw new Error(added.problem.detail);
    assert(added.isChanged);
    assertEquals(patched(added.resource, { op: "remove", path }), bare);
  }));
});

Deno.test("applyPatch() depends on the order only for equal paths", () => {
  fc.assert(fc.property(assignment, assignment, (one, two) => {
    fc.pre(one.path !== two.path);
    const [first, second] = [one, two].map((each) => ({ op: "replace", ...each } as JsonObject));
    const inOrder = patched(USER, first ?? null, second ?? null);
    const { schemas: urns, ...reversed } = patched(USER, second ?? null, first ?? null);
    const { schemas, ...forward } = inOrder;
    assertEquals(forward, reversed);
    assertEquals(new Set(schemas as readonly string[]), new Set(urns as readonly string[]));
  }));
});

/** Whether a resource has only what the schemas allow, in their spelling. */
function checkResource(resource: JsonObject): void {
  const urns = USER_PATCH.sections.filter(({ isCore }) => !isCore).map(({ id }) => id);
  checkSection(
    Object.fromEntries(Object.entries(resource).filter(([name]) => !urns.includes(name))),
    USER_PATCH.core,
  );
  for (const section of USER_PATCH.sections.filter(({ isCore }) => !isCore)) {
    const isListed = (resource.schemas as readonly string[]).includes(section.id);
    assertEquals(Object.hasOwn(resource, section.id), isListed, section.id);
    if (isListed) assert(Object.keys(holderOf(resource, section)).length > 0);
    checkSection(holderOf(resource, section), section);
  }
}

function checkSection(holder: JsonObject, { attributes }: PatchSection): void {
  const names = new Set([...attributes.values()].map(({ name }) => name));
  for (const name of Object.keys(holder)) assert(names.has(name), name);
  for (const node of attributes.values()) {
    const value = holder[node.name];
    checkAttribute(value, node);
    if (value !== undefined) assertEquals(cleanAttribute(value, node), value);
  }
}

Deno.test("applyPatch() never throws, changes nothing if it refuses, and gives a valid resource if not", () => {
  const before = structuredClone(USER);
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(anyOperation, { minLength: 1, maxLength: 4 }), (operations) => {
      const outcome = patch(USER, ...operations as JsonValue[]);
      assertEquals(USER, before);
      if (!outcome.ok) return;
      accepted++;
      checkResource(outcome.resource);
    }),
    { numRuns: 3000 },
  );
  assert(accepted > 300, `only ${accepted} were accepted`);
});

Deno.test("applyPatch() never throws for any body", () => {
  fc.assert(fc.property(fc.jsonValue(), (body) => {
    applyPatch(USER, body as JsonValue, PATCH_OPTIONS.user);
    patch(USER, body as JsonValue);
  }));
});
