// POST /imports/rows: the rows of a file, as the import command sends them.

import { assert, assertEquals } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const user = (userName: string, more: Record<string, unknown> = {}) => ({
  kind: "user",
  body: { userName, ...more },
});
const post = ({ ask }: TestComposition, rows: unknown, more: Record<string, unknown> = {}) =>
  ask("POST", "/imports/rows", { target: "default", rows, ...more });
const outcomesOf = async (gateway: TestComposition, rows: unknown, more: Record<string, unknown> = {}) =>
  JSON.parse((await post(gateway, rows, more)).text).outcomes;

Deno.test("POST /imports/rows writes users, groups and members, and returns a result for each row", async () => {
  await using gateway = await openComposition();
  const rows = [
    user("anna", { title: "Dr", password: "a password of hers" }),
    user("x/.."),
    { kind: "group", body: { displayName: "staff" } },
    { kind: "members", group: "staff", add: ["anna"] },
    user("ANNA"),
  ];
  const { outcomes } = await apiValue(gateway.api.imports.rows.$post({ json: { target: "default", rows } }));
  assertEquals(outcomes.map((one) => one.did === "refused" ? one.code : one.did), [
    "created",
    "invalid_value",
    "created",
    "updated",
    "taken",
  ]);
  assertEquals((await gateway.identity.logins.directory.read("user", "anna"))?.groups, ["staff"]);
});

Deno.test("POST /imports/rows is recorded with the actor `command`, and passwords are never stored or recorded in clear", async () => {
  await using gateway = await openComposition();
  await post(gateway, [user("anna", { password: "a password of hers" }), user("bob")]);
  const records = await gateway.audits();
  const lines = records.map(({ actor, action, object, target }) => `${actor} ${action} ${object} ${target}`);
  assertEquals(lines.toSorted(), [
    "command user.created user:anna default",
    "command user.created user:bob default",
  ]);
  assert(!(await gateway.dump()).includes("a password of hers"));
});

Deno.test("POST /imports/rows changes nothing in a dry run", async () => {
  await using gateway = await openComposition();
  assertEquals(await outcomesOf(gateway, [user("anna")], { isDryRun: true }), [{ did: "created" }]);
  assertEquals(await gateway.dump(), "");
});

Deno.test("POST /imports/rows replaces an existing user only with mayUpdate, and then only the attributes in covers", async () => {
  await using gateway = await openComposition();
  await post(gateway, [user("anna", { title: "Dr", displayName: "Anna" })]);
  const again = [user("anna", { displayName: "A." })];
  const [refused] = await outcomesOf(gateway, again);
  assertEquals(refused.code, "taken");
  const covers = ["userName", "displayName"];
  assertEquals(await outcomesOf(gateway, again, { mayUpdate: true, covers }), [{ did: "updated" }]);
  const stored = await gateway.identity.logins.directory.read("user", "anna");
  const { title, displayName } = stored?.content.attributes ?? {};
  assertEquals([title, displayName], ["Dr", "A."]);
});

/** An object with the given number of levels. */
function nested(levels: number): unknown {
  return levels === 0 ? "x" : { a: nested(levels - 1) };
}

Deno.test("POST /imports/rows accepts a resource of 32 levels, like files and SCIM, and no deeper body", async () => {
  await using gateway = await openComposition();
  assertEquals(await outcomesOf(gateway, [user("anna", { x: nested(31) })]), [{ did: "created" }]);
  assertEquals((await post(gateway, [user("bob", { x: nested(32) })])).code, "malformed");
});

/** Requests that are refused as a whole. */
const REFUSED: readonly (readonly [code: string, rows: unknown, more?: Record<string, unknown>])[] = [
  ["malformed", undefined],
  ["malformed", "rows"],
  ["malformed", [null]],
  ["malformed", [{ kind: "admin", body: {} }]],
  ["malformed", [{ kind: "user", body: {}, groups: ["a/.."] }]],
  ["malformed", Array.from({ length: 1001 }, () => user("anna"))],
  ["malformed", [user("anna")], { mayUpdate: "yes" }],
  ["malformed", [user("anna")], { isDryRun: 1 }],
  ["malformed", [user("anna")], { backends: "a,b" }],
  ["malformed", [user("anna")], { covers: [1] }],
  ["malformed", [user("anna")], { actor: "eve" }],
  ["bad_value", [user("anna")], { backends: ["nowhere"] }],
  ["unknown_target", [user("anna")], { target: "corp" }],
];
for (const [code, rows, more = {}] of REFUSED) {
  const what = JSON.stringify({ rows, ...more }).slice(0, 70);
  Deno.test(`POST /imports/rows refuses ${what} as ${code} and stores nothing`, async () => {
    await using gateway = await openComposition();
    assertEquals((await post(gateway, rows, more)).code, code);
    assertEquals(await gateway.dump(), "");
  });
}
