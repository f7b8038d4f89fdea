// PATCH: operations, paths and members.

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  applyPatch,
  type MemberChanges,
  type MemberLimits,
  MembersNeeded,
} from "../../../../scim/v2/patch/patch.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import {
  BADGE,
  CORE_USER,
  ENTERPRISE,
  GROUP,
  GROUP_PATCH,
  PATCH_OPTIONS,
  patchBody,
  patchedUser,
  patchUser,
  USER,
} from "./patch_fixtures.ts";
import fc from "../../../packages/fast_check.ts";

// PATCH of a user (RFC 7644 §3.5.2): the forms of paths and operations, and what is refused.

const { emails: EMAILS } = USER;
const [WORK, HOME] = EMAILS as readonly [JsonObject, JsonObject];
const EXTENSION = USER[ENTERPRISE] as JsonObject;

/** The operation, and what it changes. `null`: the attribute is unassigned. */
const CHANGES: readonly (readonly [JsonObject, Readonly<Record<string, JsonValue>>])[] = [
  [{ op: "add", path: "title", value: "x" }, { title: "x" }],
  [{ op: "add", path: "TITLE", value: "x" }, { title: "x" }],
  [{ op: "add", path: `${CORE_USER}:title`, value: "x" }, { title: "x" }],
  [{ op: "add", value: { TITLE: "x", name: { givenName: "B" } } }, {
    title: "x",
    name: { givenName: "B", familyName: "Lee" },
  }],
  [{ op: "replace", path: "userName", value: "bob" }, { userName: "bob" }],
  [{ op: "replace", path: "name", value: { GivenName: "B" } }, {
    name: { givenName: "B", familyName: "Lee" },
  }],
  [{ op: "replace", path: "name", value: { givenName: null } }, { name: { familyName: "Lee" } }],
  [{ op: "replace", path: "name.givenName", value: "B" }, { name: { givenName: "B", familyName: "Lee" } }],
  [{ op: "replace", path: "name", value: null }, { name: null }],
  [{ op: "remove", path: "name.givenName" }, { name: { familyName: "Lee" } }],
  [{ op: "remove", path: "active" }, { active: null }],
  [{ op: "remove", path: "title" }, {}],
  [{ op: "remove", path: "active", value: true }, { active: null }],
  [{ op: "remove", path: "emails", value: [{ value: "a@example.com" }] }, { emails: [HOME] }],
  [{ op: "add", path: "password", value: "secret" }, { password: "secret" }],
  [{ op: "add", path: "externalId", value: "e" }, { externalId: "e" }],
  [{ op: "add", path: "emails", value: [{ value: "c@x", type: "other" }] }, {
    emails: [WORK, HOME, { value: "c@x", type: "other" }],
  }],
  [{ op: "add", path: "emails", value: [HOME] }, {}],
  [{ op: "add", path: "emails", value: [{ ...HOME, primary: true }] }, {
    emails: [{ ...WORK, primary: false }, { ...HOME, primary: true }],
  }],
  [{ op: "replace", path: "emails", value: [HOME] }, { emails: [HOME] }],
  [{ op: "replace", path: "emails", value: [] }, { emails: null }],
  [{ op: "remove", path: "emails" }, { emails: null }],
  [{ op: "remove", path: 'emails[type eq "work"]' }, { emails: [HOME] }],
  [{ op: "remove", path: 'emails[type eq "WORK" and value co "A@"]' }, { emails: [HOME] }],
  [{ op: "remove", path: "emails[not (primary eq true)]" }, { emails: [WORK] }],
  [{ op: "remove", path: 'emails[value ew "example.com"]' }, { emails: null }],
  [{ op: "remove", path: 'emails[type eq "]"]' }, {}],
  [{ op: "remove", path: 'emails[type eq "home"].type' }, { emails: [WORK, { value: "b@example.com" }] }],
  [{ op: "remove", path: "emails.type" }, {
    emails: [{ value: "a@example.com", primary: true }, { value: "b@example.com" }],
  }],
  [{ op: "replace", path: 'emails[type eq "home"].value', value: "n@x" }, {
    emails: [WORK, { ...HOME, value: "n@x" }],
  }],
  // What the operation does not name stays.
  [{ op: "replace", path: 'emails[type eq "home"]', value: { value: "n@x" } }, {
    emails: [WORK, { ...HOME, value: "n@x" }],
  }],
  [{ op: "replace", path: "emails[primary eq false].value", value: "n@x" }, {
    emails: [WORK, { ...HOME, value: "n@x" }],
  }],
  [{ op: "remove", path: "emails[primary eq false]" }, { emails: [WORK] }],
  [{ op: "add", path: "phoneNumbers.value", value: "5" }, { phoneNumbers: [{ value: "5" }] }],
  [{ op: "add", path: "", value: { title: "Guide" } }, { title: "Guide" }],
  [{ op: "add", path: 'emails[type eq "home"]', value: { display: "n" } }, {
    emails: [WORK, { ...HOME, display: "n" }],
  }],
  [{ op: "replace", path: 'emails[type eq "home"].primary', value: true }, {
    emails: [{ ...WORK, primary: false }, { ...HOME, primary: true }],
  }],
  [{ op: "replace", path: "emails[type pr].display", value: "d" }, {
    emails: [{ ...WORK, display: "d" }, { ...HOME, display: "d" }],
  }],
  [{ op: "replace", path: `${ENTERPRISE}:employeeNumber`, value: "2" }, {
    [ENTERPRISE]: { ...EXTENSION, employeeNumber: "2" },
  }],
  [{ op: "add", value: { [ENTERPRISE.toUpperCase()]: { employeeNumber: "2" } } }, {
    [ENTERPRISE]: { ...EXTENSION, employeeNumber: "2" },
  }],
  [{ op: "replace", path: ENTERPRISE, value: { employeeNumber: "2" } }, {
    [ENTERPRISE]: { ...EXTENSION, employeeNumber: "2" },
  }],
  [{ op: "remove", path: `${ENTERPRISE}:manager.value` }, { [ENTERPRISE]: { employeeNumber: "1" } }],
  [{ op: "remove", path: ENTERPRISE }, { [ENTERPRISE]: null, schemas: [CORE_USER] }],
  [{ op: "replace", path: ENTERPRISE, value: null }, { [ENTERPRISE]: null, schemas: [CORE_USER] }],
  [{ op: "replace", value: { [ENTERPRISE]: null } }, { [ENTERPRISE]: null, schemas: [CORE_USER] }],
  [{ op: "add", path: ENTERPRISE, value: null }, {}],
  [{ op: "add", path: `${BADGE}:colours`, value: ["red", "red", "blue"] }, {
    [BADGE]: { colours: ["red", "blue"] },
    schemas: [CORE_USER, ENTERPRISE, BADGE],
  }],
];

for (const [operation, changes] of CHANGES) {
  Deno.test(`applyPatch() ${JSON.stringify(operation)}`, () => {
    const wanted = Object.fromEntries(
      Object.entries({ ...USER, ...changes }).filter(([, value]) => value !== null),
    );
    const outcome = patchUser(operation);
    if (!outcome.ok) throw new Error(outcome.problem.detail);
    assertEquals(outcome.resource, wanted);
    assertEquals(outcome.isChanged, Object.keys(changes).length > 0);
    if (!outcome.isChanged) assertStrictEquals(outcome.resource, USER);
  });
}

const REFUSED: readonly (readonly [scimType: string, JsonValue])[] = [
  ["invalidSyntax", { op: "move", path: "title", value: "x" }],
  ["invalidSyntax", { path: "title", value: "x" }],
  ["invalidSyntax", "add"],
  ["invalidSyntax", { op: "add", OP: "remove", path: "title", value: "x" }],
  ["invalidSyntax", { op: "add", path: "title", Path: "nickName", value: "x" }],
  ["invalidSyntax", { op: "add", path: "title", value: "x", Value: "y" }],
  ["invalidSyntax", { op: "add", value: { title: "x", TITLE: "y" } }],
  ["invalidSyntax", { op: "add", path: "name", value: { givenName: "x", GivenName: "y" } }],
  ["invalidSyntax", { op: "add", path: "emails", value: [{ value: "x", Value: "y" }] }],
  ["invalidSyntax", { op: "add", path: ENTERPRISE, value: { employeeNumber: "1", EmployeeNumber: "2" } }],
  ["invalidSyntax", { op: "add", value: { [ENTERPRISE]: {}, [ENTERPRISE.toUpperCase()]: {} } }],
  ["invalidPath", { op: "add", path: 5, value: "x" }],
  ["invalidPath", { op: "add", path: "unknown", value: "x" }],
  ["invalidPath", { op: "add", path: "name.unknown", value: "x" }],
  ["invalidPath", { op: "add", path: "__proto__", value: {} }],
  ["invalidPath", { op: "add", path: "constructor.prototype", value: {} }],
  ["invalidPath", { op: "add", path: "name.givenName.x", value: "x" }],
  ["invalidPath", { op: "add", path: "urn:unknown:title", value: "x" }],
  ["invalidPath", { op: "remove", path: CORE_USER }],
  ["invalidPath", { op: "remove", path: 'name[givenName eq "x"]' }],
  ["invalidPath", { op: "remove", path: `emails[type eq "${"x".repeat(8200)}"]` }],
  ["invalidFilter", { op: "remove", path: "emails[]" }],
  ["invalidFilter", { op: "remove", path: 'emails[type eq "a]' }],
  ["invalidFilter", { op: "remove", path: 'emails[unknown eq "a"]' }],
  ["invalidFilter", { op: "remove", path: `emails[${"(".repeat(500)}type pr]` }],
  ["noTarget", { op: "remove" }],
  ["noTarget", { op: "replace", path: 'emails[type ne "work" and type ne "home"].value', value: "x" }],
  ["invalidValue", { op: "add", path: "title" }],
  ["invalidValue", { op: "add", path: "title", value: 5 }],
  ["invalidValue", { op: "add", path: "title", value: "\ud800" }],
  ["invalidValue", { op: "add", path: "title", value: "a\u0000" }],
  ["invalidValue", { op: "add", path: "active", value: "maybe" }],
  ["invalidValue", { op: "add", path: "name", value: "x" }],
  ["invalidValue", { op: "add", value: [] }],
  ["invalidValue", { op: "add", value: "x" }],
  ["invalidValue", { op: "remove", path: "emails", value: [{ display: "x" }] }],
  ["invalidValue", { op: "remove", path: "emails.type", value: "work" }],
  ["invalidValue", { op: "add", path: `${BADGE}:level`, value: 1.5 }],
  ["invalidValue", { op: "add", path: `${BADGE}:doors`, value: [{ key: "k" }] }],
  ["invalidValue", { op: "replace", path: "emails[type pr].primary", value: true }],
  ["invalidValue", {
    op: "add",
    path: "emails",
    value: [{ value: "c", primary: true }, { value: "d", primary: true }],
  }],
  ["mutability", { op: "replace", path: "id", value: "other" }],
  ["mutability", { op: "remove", path: "id" }],
  ["mutability", { op: "add", path: "groups", value: [{ value: "g" }] }],
  ["mutability", { op: "add", path: "meta", value: {} }],
  ["mutability", { op: "remove", path: "userName" }],
  ["mutability", { op: "replace", path: "userName", value: null }],
  ["mutability", { op: "replace", path: "userName", value: "" }],
  ["mutability", { op: "remove", path: "password" }],
  ["mutability", { op: "add", path: `${ENTERPRISE}:manager.displayName`, value: "x" }],
];

for (const [scimType, operation] of REFUSED) {
  Deno.test(`applyPatch() refuses with ${scimType} ${JSON.stringify(operation).slice(0, 120)}`, () => {
    const before = structuredClone(USER);
    // All or nothing: the first operation is right.
    const outcome = patchUser({ op: "add", path: "title", value: "first" }, operation);
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, scimType);
    assertEquals(USER, before);
  });
}

Deno.test("applyPatch() adds an immutable value once, accepts the same value and refuses another", () => {
  const add = (value: string) => ({ op: "add", path: `${BADGE}:number`, value });
  assertEquals(patchedUser(add("1"), add("1"))[BADGE], { number: "1" });
  const door = (key: string) => ({ op: "add", path: `${BADGE}:doors`, value: [{ value: "d", key }] });
  for (
    const operations of [
      [add("1"), add("2")],
      [add("1"), { op: "remove", path: `${BADGE}:number` }],
      [add("1"), { op: "remove", path: BADGE }],
      [door("a"), door("b")],
      [door("a"), { op: "replace", path: `${BADGE}:doors[value eq "d"].key`, value: "b" }],
    ]
  ) {
    const outcome = patchUser(...operations);
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "mutability", JSON.stringify(operations));
  }
});

Deno.test("applyPatch() does not remove a required sub-attribute, and removes its entry", () => {
  const add = { op: "add", path: `${BADGE}:doors`, value: [{ value: "d" }] };
  const path = `${BADGE}:doors[value eq "d"]`;
  const outcome = patchUser(add, { op: "remove", path: `${path}.value` });
  assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "mutability");
  assertEquals(patchedUser(add, { op: "remove", path }), USER);
});

Deno.test("applyPatch() without tolerated shapes refuses a readOnly sub-attribute in a value", () => {
  const value = { value: "b", displayName: "B" };
  const body = patchBody({ op: "replace", path: `${ENTERPRISE}:manager`, value });
  const outcome = applyPatch(USER, body, { ...PATCH_OPTIONS.user, shapes: [] });
  assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "mutability");
});

Deno.test("applyPatch() without tolerated shapes reads no paths in the keys of a value", () => {
  for (const key of ["name.givenName", `${ENTERPRISE}:employeeNumber`, "emails[type pr]", "unknown"]) {
    const body = patchBody({ op: "replace", value: { [key]: "x" } });
    const outcome = applyPatch(USER, body, { ...PATCH_OPTIONS.user, shapes: [] });
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "invalidPath", key);
  }
});

Deno.test("applyPatch() keeps at most 10,000 entries of an attribute", () => {
  const entries = Array.from({ length: 10_001 }, (_, at) => ({ value: `${at}@example.com` }));
  const outcome = patchUser({ op: "add", path: "phoneNumbers", value: entries });
  assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "invalidValue");
  patchedUser({ op: "add", path: "phoneNumbers", value: entries.slice(1) });
});

Deno.test("applyPatch() compares an attribute with caseExact with case", () => {
  const add = { op: "add", path: `${BADGE}:colours`, value: ["Red", "blue"] };
  const remove = (name: string) => ({ op: "remove", path: `${BADGE}:colours[value eq "${name}"]` });
  assertEquals(patchedUser(add, remove("red"), remove("blue"))[BADGE], { colours: ["Red"] });
});

Deno.test("applyPatch() refuses bodies that are not a PATCH message", () => {
  const bodies: readonly JsonValue[] = [
    null,
    [],
    5,
    {},
    { Operations: [] },
    patchBody(),
    { ...patchBody(), Operations: {} },
    { schemas: ["urn:x"], Operations: [{ op: "remove", path: "title" }] },
  ];
  for (const body of bodies) {
    const outcome = applyPatch(USER, body, { ...PATCH_OPTIONS.user, shapes: [] });
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "invalidSyntax", JSON.stringify(body));
  }
});

Deno.test("applyPatch() limits the operations and their work", () => {
  const remove = { op: "remove", path: "title" };
  const entries = Array.from({ length: 9_000 }, (_, at) => ({ value: `${at}@example.com` }));
  const add = { op: "add", path: "emails", value: [{ value: "x" }] };
  const requests = [
    Array.from({ length: 1001 }, () => remove),
    [{ op: "replace", path: "emails", value: entries }, ...Array.from({ length: 100 }, () => add)],
    [
      { op: "replace", path: "emails", value: entries.slice(0, 300) },
      ...Array.from(
        { length: 100 },
        () => ({ op: "remove", path: `emails[${Array(50).fill("type pr").join(" or ")}]` }),
      ),
    ],
  ];
  for (const request of requests) {
    const outcome = patchUser(...request);
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "tooMany");
  }
  patchedUser(...Array.from({ length: 1000 }, () => remove));
});

Deno.test("applyPatch() names are read without case, also those of the message", () => {
  const body = {
    SCHEMAS: patchBody().schemas ?? null,
    operations: [{ Op: "add", PATH: "title", Value: "x" }],
  };
  const outcome = applyPatch(USER, body, PATCH_OPTIONS.user);
  assertEquals(outcome.ok && outcome.resource.title, "x");
});

// Operations on the members of a group (RFC 7644 §3.5.2): ids to add and to remove, computed without the members.

const list = (...ids: readonly string[]) => ids.map((value) => ({ value }));
const add = (...ids: readonly string[]) => ({ op: "add", path: "members", value: list(...ids) });
const replace = (...ids: readonly string[]) => ({ op: "replace", path: "members", value: list(...ids) });
const remove = (...ids: readonly string[]) => ({ op: "remove", path: "members", value: list(...ids) });
const removeOne = (id: string) => ({ op: "remove", path: `members[value eq ${JSON.stringify(id)}]` });
const REMOVE_ALL = { op: "remove", path: "members" };

function patchGroup(
  operations: readonly JsonValue[],
  limits: MemberLimits = { canRemoveAll: true, maxChanges: 100 },
) {
  return applyPatch(GROUP, patchBody(...operations), { schema: GROUP_PATCH, members: limits });
}

const MEMBER_CHANGES: readonly (readonly [readonly JsonObject[], MemberChanges | null])[] = [
  [[add("a", "b"), add("b", "c")], { add: ["a", "b", "c"], remove: [] }],
  [[removeOne("a")], { add: [], remove: ["a"] }],
  [[{ op: "remove", path: 'members[value eq "a" or value eq "b"]' }], { add: [], remove: ["a", "b"] }],
  [[remove("a", "b")], { add: [], remove: ["a", "b"] }],
  [[{ op: "Remove", path: "members", value: [{ $ref: null, value: "a" }] }], { add: [], remove: ["a"] }],
  [[remove()], null],
  [[add()], null],
  [[add("a"), removeOne("a")], { add: [], remove: ["a"] }],
  [[removeOne("a"), add("a")], { add: ["a"], remove: [] }],
  [[replace("a", "b"), removeOne("a"), add("c")], { add: [], remove: [], replace: ["b", "c"] }],
  [[add("x"), replace("a")], { add: [], remove: [], replace: ["a"] }],
  [[replace()], { add: [], remove: [], replace: [] }],
  [[REMOVE_ALL], { add: [], remove: [], replace: [] }],
  [[REMOVE_ALL, add("a")], { add: [], remove: [], replace: ["a"] }],
  [[{ op: "replace", value: { id: "g1", displayName: "Staff" } }], null],
  [[{ op: "add", value: { members: list("a") } }], { add: ["a"], remove: [] }],
  [[{ op: "add", path: "members", value: [{ value: "a", type: "User", display: "A" }] }], {
    add: ["a"],
    remove: [],
  }],
  [[{ op: "add", path: "members", value: [{ $ref: "https://x.test/scim/v2/t/Users/a" }] }], {
    add: ["a"],
    remove: [],
  }],
  [[{ op: "remove", path: "members", value: [{ $ref: "../Users/a" }] }], { add: [], remove: ["a"] }],
  [[removeOne('"] or \\')], { add: [], remove: ['"] or \\'] }],
];

for (const [operations, wanted] of MEMBER_CHANGES) {
  Deno.test(`applyPatch() of members: ${JSON.stringify(operations)}`, () => {
    const outcome = patchGroup(operations);
    assertEquals(outcome, { ok: true, resource: GROUP, isChanged: false, members: wanted });
  });
}

const PRESENT = [
  { value: "a", $ref: "https://x.test/Users/a", display: "Ann", type: "User" },
  { value: "b", $ref: "https://x.test/Users/b", display: "Ben", type: "User" },
];

/** Filters that need the members, and the ids that they remove. */
const FILTERED:
  readonly (readonly [filter: string, removed: readonly string[], before?: readonly JsonObject[]])[] = [
    ['type eq "User"', ["a", "b"]],
    ['type eq "Group"', []],
    ['value eq "a" and type eq "User"', ["a"]],
    ['value eq "a" and value eq "b"', []],
    ['value ne "a"', ["b"]],
    ['not (value eq "a")', ["b"]],
    ['value eq "c" or display sw "b"', ["b"]],
    ['display eq "ann"', ["a"]],
    ['$ref eq "https://x.test/Users/b"', ["b"]],
    ['type eq "User"', ["a"], [removeOne("b")]],
  ];

for (const [filter, removed, before = []] of FILTERED) {
  Deno.test(`applyPatch() of members removes ${JSON.stringify(removed)} by ${filter} after ${before.length}`, () => {
    const limits = { canRemoveAll: true, maxChanges: 100, present: () => PRESENT };
    const outcome = patchGroup([...before, { op: "remove", path: `members[${filter}]` }], limits);
    const ids = outcome.ok ? outcome.members?.remove ?? [] : null;
    const earlier = before.length === 0 ? [] : ["b"];
    assertEquals([...ids ?? ["refused"]].sort(), [...removed, ...earlier].sort());
  });
}

Deno.test("applyPatch() of members counts those that the same request adds", () => {
  const limits = { canRemoveAll: true, maxChanges: 100, present: () => PRESENT };
  const all = { op: "remove", path: 'members[type eq "User"]' };
  const added = patchGroup([add("c"), all], limits);
  assertEquals(added.ok && added.members, { add: [], remove: ["a", "b", "c"] });
  const replaced = patchGroup(
    [replace("c", "a"), { op: "remove", path: 'members[display eq "Ann"]' }],
    limits,
  );
  assertEquals(replaced.ok && replaced.members, { add: [], remove: [], replace: ["c"] });
});

Deno.test("applyPatch() of members asks for them only if a filter needs them", () => {
  assertThrows(() => patchGroup([{ op: "remove", path: 'members[type eq "User"]' }]), MembersNeeded);
});

const MEMBER_REFUSALS: readonly (readonly [scimType: string, JsonObject])[] = [
  ["invalidFilter", { op: "remove", path: 'members[unknown eq "User"]' }],
  ["invalidValue", { op: "remove", path: "members", value: null }],
  ["invalidValue", { op: "add", path: "members", value: [{}] }],
  ["invalidValue", { op: "replace", path: "members", value: [{ value: null }] }],
  ["invalidPath", { op: "add", path: 'members[value eq "a"]', value: { value: "b" } }],
  ["mutability", { op: "replace", path: 'members[value eq "a"].value', value: "b" }],
  ["mutability", { op: "remove", path: "members.type" }],
  ["invalidValue", { op: "add", path: "members", value: [{ display: "a" }] }],
  ["invalidValue", { op: "add", path: "members", value: [{ value: "" }] }],
  ["invalidValue", { op: "add", path: "members", value: [{ value: "x".repeat(257) }] }],
  ["invalidValue", { op: "add", path: "members", value: 5 }],
  ["invalidValue", { op: "remove", path: "members", value: [{ value: "a" }, { display: "b" }] }],
  ["invalidValue", { op: "remove", path: "members", value: { display: "b" } }],
  ["tooMany", add(...Array.from({ length: 101 }, (_, at) => `${at}`))],
];

for (const [scimType, operation] of MEMBER_REFUSALS) {
  Deno.test(`applyPatch() of members refuses ${JSON.stringify(operation).slice(0, 90)}`, () => {
    const outcome = patchGroup([{ op: "replace", path: "displayName", value: "first" }, operation]);
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, scimType);
  });
}

Deno.test("applyPatch() removes all members only if the limits allow it", () => {
  const outcome = patchGroup([REMOVE_ALL], { canRemoveAll: false, maxChanges: 100 });
  assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "mutability");
});

Deno.test("applyPatch() of members has the effect of the operations one after the other", () => {
  const id = fc.constantFrom("a", "b", "c", "d");
  const ids = fc.array(id, { maxLength: 3 });
  const kinds = { add, replace, remove } as const;
  const step = fc.record({ kind: fc.constantFrom("add", "replace", "remove"), ids });
  fc.assert(
    fc.property(fc.uniqueArray(id), fc.array(step, { minLength: 1, maxLength: 8 }), (before, steps) => {
      const outcome = patchGroup(steps.map(({ kind, ids }) => kinds[kind](...ids)));
      if (!outcome.ok) throw new Error(outcome.problem.detail);
      const { add: added, remove: removed, replace: replaced } = outcome.members ?? { add: [], remove: [] };
      const actual = new Set(replaced ?? before);
      for (const one of added) actual.add(one);
      for (const one of removed) actual.delete(one);
      let wanted = new Set(before);
      for (const { kind, ids } of steps) {
        if (kind === "replace") wanted = new Set(ids);
        else for (const one of ids) kind === "add" ? wanted.add(one) : wanted.delete(one);
      }
      assertEquals([...actual].sort(), [...wanted].sort());
      assertEquals(added.filter((one) => removed.includes(one)), []);
    }),
  );
});
