// Operations on the members of a group (RFC 7644 §3.5.2): ids to add and to remove, computed without the members.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import { applyPatch } from "../../../../scim/v2/patch/patch.ts";
import {
  type MemberChanges,
  type MemberLimits,
  MembersNeeded,
} from "../../../../scim/v2/patch/patch_members.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { GROUP, GROUP_PATCH, patchBody } from "./patch_fixtures.ts";

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

const CHANGES: readonly (readonly [readonly JsonObject[], MemberChanges | null])[] = [
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

for (const [operations, wanted] of CHANGES) {
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

const REFUSED: readonly (readonly [scimType: string, JsonObject])[] = [
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

for (const [scimType, operation] of REFUSED) {
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
