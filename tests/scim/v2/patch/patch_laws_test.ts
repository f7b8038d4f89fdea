// PATCH: laws, shapes of vendors, and real schemas.

import { assert, assertEquals, assertMatch, assertNotEquals, assertStrictEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import { applyPatch } from "../../../../scim/v2/patch/patch.ts";
import { checkAttribute, cleanAttribute, holderOf } from "../../../../scim/v2/patch/patch_operations.ts";
import { createPatchSchema, type PatchSection } from "../../../../scim/v2/patch/patch_path.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import {
  BADGE,
  ENTERPRISE,
  GROUP,
  PATCH_OPTIONS,
  patchBody,
  patchedUser,
  patchUser,
  USER,
  USER_PATCH,
} from "./patch_fixtures.ts";
import { type PatchShape, TOLERATED_SHAPES } from "../../../../scim/v2/patch/patch_shapes.ts";
import { ENTERPRISE_DEFINITION, GROUP_DEFINITION } from "../../../../scim/schema/attribute_table.ts";
import { USER_DEFINITION } from "../../../../scim/schema/attribute_table.ts";

// Laws of PATCH, for random operations (RFC 7644 §3.5.2).

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
  const names = new Set(attributes.map(({ name }) => name));
  for (const name of Object.keys(holder)) assert(names.has(name), name);
  for (const node of attributes) {
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

// Tolerated shapes of PATCH: each row has the effect of its RFC form, and is needed for that.

const ROWS: readonly (readonly [string, PatchShape])[] = Object.entries(TOLERATED_SHAPES);
const RESOURCES = { user: USER, group: GROUP };

function run({ kind }: PatchShape, operations: readonly JsonObject[], shapes: readonly PatchShape[]) {
  return applyPatch(RESOURCES[kind], patchBody(...operations), { ...PATCH_OPTIONS[kind], shapes });
}

for (const [title, row] of ROWS) {
  Deno.test(`TOLERATED_SHAPES: ${title}`, () => {
    const wanted = run(row, row.becomes, []);
    assert(wanted.ok, JSON.stringify(wanted));
    assertEquals(run(row, row.sample, ROWS.map(([, one]) => one)), wanted);
    const others = ROWS.filter(([other]) => other !== title).map(([, one]) => one);
    assertNotEquals(run(row, row.sample, others), wanted, "the row has no effect");
    assertMatch(row.link, /^https:\/\//);
  });
}

Deno.test("applyPatch() changes one entry when several operations describe the same new entry", () => {
  const path = 'phoneNumbers[type eq "fax"]';
  assertEquals(
    patchedUser({ op: "Add", path: `${path}.value`, value: "1" }, {
      op: "Replace",
      path: `${path}.primary`,
      value: "True",
    })
      .phoneNumbers,
    [{ type: "fax", value: "1", primary: true }],
  );
});

Deno.test('applyPatch() creates an entry from `primary eq "True"` with a boolean', () => {
  assertEquals(patchedUser({ op: "add", path: 'roles[primary eq "True"].value', value: "x" }).roles, [
    { primary: true, value: "x" },
  ]);
});

Deno.test("applyPatch() creates no entry from a filter that does not describe one", () => {
  for (
    const filter of ['type ne "work"', 'type eq "a" or type eq "b"', 'not (type eq "a")', "type eq null"]
  ) {
    const outcome = patchUser({ op: "add", path: `phoneNumbers[${filter}].value`, value: "1" });
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "noTarget", filter);
  }
});

Deno.test("applyPatch() accepts the id of the resource and refuses another", () => {
  assertEquals(patchedUser({ op: "replace", value: { id: "u1", displayName: "Ann" } }).displayName, "Ann");
  const other = patchUser({ op: "replace", value: { id: "u2", displayName: "Ann" } });
  assertEquals(other.ok ? other : other.problem.scimType, "mutability");
});

Deno.test("applyPatch() keeps text that only looks like a tolerated shape", () => {
  assertEquals(patchedUser({ op: "replace", path: "title", value: "False" }).title, "False");
  assertEquals(patchedUser({ op: "add", path: "roles", value: [{ value: "{no json" }] }).roles, [
    { value: "{no json" },
  ]);
});

// PATCH with the schemas of the interface: what a client sends ends as a body of the same schemas could.

const USERS = createPatchSchema(USER_DEFINITION, [ENTERPRISE_DEFINITION]);
const GROUPS = createPatchSchema(GROUP_DEFINITION, []);
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const FULL_USER: JsonObject = {
  schemas: [USER_DEFINITION.id],
  id: "2819c223-7f76-453a-919d-413861904646",
  userName: "bjensen",
  active: true,
};

interface Row {
  readonly operations: readonly JsonObject[];
  readonly expected: Readonly<Record<string, JsonValue>>;
}

const VENDOR_ROWS: Readonly<Record<string, Row>> = {
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

for (const [title, { operations, expected }] of Object.entries(VENDOR_ROWS)) {
  Deno.test(`applyPatch() with the schemas of users: ${title}`, () => {
    const outcome = applyPatch(FULL_USER, { schemas: [PATCH], Operations: operations }, {
      schema: USERS,
    });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.problem));
    assertEquals(outcome.resource, { ...FULL_USER, ...expected });
  });
}

Deno.test("applyPatch() with the schemas of users: the id is read-only, and the user name is required", () => {
  const problemOf = (operation: JsonObject) => {
    const outcome = applyPatch(FULL_USER, { schemas: [PATCH], Operations: [operation] }, {
      schema: USERS,
    });
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
