// Tolerated shapes of PATCH: each row has the effect of its RFC form, and is needed for that.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { applyPatch } from "../../../../scim/v2/patch/patch.ts";
import { type PatchShape, TOLERATED_SHAPES } from "../../../../scim/v2/patch/patch_shapes.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import { GROUP, PATCH_OPTIONS, patchBody, patchedUser, patchUser, USER } from "./patch_fixtures.ts";

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
