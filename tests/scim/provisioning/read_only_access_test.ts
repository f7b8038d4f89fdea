// Read-only connectors (`access = "read"`): no operation of a target writes there, and each refusal names the connector.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Target, WriteOptions } from "../../../scim/ports.ts";
import { writeBulk } from "../../../scim/transfer/bulk_writer.ts";
import type { MemoryBackend } from "../../fakes/memory_backend.ts";
import { ACTOR, group, openStage, refusalOf, type Shape, type Stage, user } from "./stage.ts";
import { trashOf } from "./trash_stage.ts";

const OPTIONS: WriteOptions = { actor: ACTOR };
const HERE: WriteOptions = { ...OPTIONS, backends: ["local"] };
const THERE: WriteOptions = { ...OPTIONS, backends: ["corp-ldap"] };
const SHAPES: readonly Shape[] = [
  { local: "store", "corp-ldap": "sync" },
  { local: "store", "corp-ldap": "async" },
  { "corp-ldap": "sync", local: "store" },
];
/** As OpenLDAP, which does not store whether a user is active. */
const HOLDS = { groups: true, active: false };

const writesOf = ({ calls }: MemoryBackend) =>
  calls.filter(({ operation }) => operation !== "read" && operation !== "list");

/** The directory has ada and the group staff; the embedded store also has bob and the group local-staff. */
async function open(shape: Shape): Promise<{ stage: Stage; target: Target }> {
  const stage = await openStage({ shape, closed: new Set(["corp-ldap"]), holds: HOLDS });
  const { target } = await stage.start();
  const ldap = stage.backend("corp-ldap");
  ldap.users.set("ada", { content: user("ada", { title: "Dr" }), remoteId: "1" });
  ldap.groups.set("staff", { content: group("staff", ["ada"]), remoteId: "2" });
  await target.refreshAll(ACTOR);
  await target.create(user("bob"), OPTIONS);
  await target.create(group("local-staff", ["bob"]), OPTIONS);
  return { stage, target };
}

const member = { add: ["bob"], remove: [] };
const REFUSED: readonly [string, (target: Target) => Promise<unknown>][] = [
  ["a change of a user", (target) => target.replace(user("ada", { title: "Prof" }), OPTIONS)],
  ["a change that names it", (target) => target.replace(user("ada", { title: "Prof" }), THERE)],
  [
    "a password",
    (target) => target.replace(user("ada", { title: "Dr" }), { ...OPTIONS, password: "new pw" }),
  ],
  ["a rename", (target) => target.rename("user", "ada", user("ada2", { title: "Dr" }), OPTIONS)],
  ["another spelling of the name", (target) => target.replace(user("Ada", { title: "Dr" }), OPTIONS)],
  ["a deletion", (target) => target.remove("user", "ada", OPTIONS)],
  ["a deletion that names it", (target) => target.remove("user", "ada", THERE)],
  ["a new user there", (target) => target.create(user("eve"), THERE)],
  ["a new user with a name that it has", (target) => target.create(user("ada"), OPTIONS)],
  ["adding a user of the store", (target) => target.replace(user("bob"), THERE)],
  ["a new group there", (target) => target.create(group("new"), THERE)],
  ["members of a group", (target) => target.changeMembers("staff", member, OPTIONS)],
  ["a removed member", (target) => target.changeMembers("staff", { add: [], remove: ["ada"] }, OPTIONS)],
  ["a change of a group", (target) => target.replace(group("staff", []), OPTIONS)],
  ["a deletion of a group", (target) => target.remove("group", "staff", OPTIONS)],
];

Deno.test("Target: no operation writes to a read-only connector, and the refusal names it", async (t) => {
  for (const shape of SHAPES) {
    const { stage, target } = await open(shape);
    await using _stage = stage;
    const ldap = stage.backend("corp-ldap");
    for (const [name, operation] of REFUSED) {
      await t.step(`${name}, ${JSON.stringify(shape)}`, async () => {
        const refusal = await refusalOf(operation(target));
        assertEquals([refusal.code, refusal.status], ["read_only", 403]);
        assertStringIncludes(refusal.message, '"corp-ldap" is read-only');
      });
    }
    assertEquals([writesOf(ldap), target.pendingWrites(9)], [[], []]);
    assertEquals((await target.directory.read("user", "ada"))?.content.attributes.title, "Dr");
  }
});

Deno.test("Target: what a read-only connector does not have, and what it cannot store, can be changed", async () => {
  for (const shape of SHAPES) {
    const { stage, target } = await open(shape);
    await using _stage = stage;
    const read = (name: string) => target.directory.read("user", name);
    const created = await target.create(user("eve"), OPTIONS);
    assertEquals(created.receipt.entries, [
      { backend: "local", outcome: "done" },
      { backend: "corp-ldap", outcome: "read_only" },
    ]);
    await target.replace({ ...user("bob", { title: "Mr" }), active: false }, OPTIONS);
    await target.rename("user", "bob", user("bobby"), OPTIONS);
    await target.changeMembers("local-staff", { add: ["ada"], remove: [] }, OPTIONS);
    await target.replace({ ...user("ada", { title: "Dr" }), active: false }, OPTIONS);
    const ada = await read("ada");
    assertEquals([Object.keys(ada?.backends ?? {}), ada?.backends["corp-ldap"]?.differs], [
      ["corp-ldap"],
      undefined,
    ]);
    const removed = await target.remove("user", "eve", OPTIONS);
    assertEquals([removed.stored, Object.keys((await read("bobby"))?.backends ?? {})], [null, ["local"]]);
    await target.refreshAll(ACTOR);
    assertEquals((await read("ada"))?.content.kind === "user" && (await read("ada"))?.content, {
      ...user("ada", { title: "Dr" }),
      active: false,
    });
    assertEquals([writesOf(stage.backend("corp-ldap")), target.pendingWrites(9)], [[], []]);
  }
});

Deno.test("Target: a user of both connectors can be changed and deleted in the other one, and stays in the read-only one", async () => {
  const { stage, target } = await open({ local: "store", "corp-ldap": "sync" });
  await using _stage = stage;
  const ldap = stage.backend("corp-ldap");
  ldap.users.set("bob", { content: user("bob", { title: "Sir" }), remoteId: "3" });
  await target.refreshAll(ACTOR);
  assertEquals((await refusalOf(target.remove("user", "bob", OPTIONS))).code, "read_only");
  await target.replace(user("bob", { title: "Mr" }), HERE);
  const removed = await target.remove("user", "bob", HERE);
  assertEquals([removed.stored?.content.attributes.title, Object.keys(removed.stored?.backends ?? {})], [
    "Sir",
    ["corp-ldap"],
  ]);
  assertEquals(writesOf(ldap), []);
});

Deno.test("Target: a user who vanishes from a read-only connector leaves the groups here only, and is not restored there", async () => {
  const { stage, target } = await open({ local: "store", "corp-ldap": "sync" });
  await using _stage = stage;
  const ldap = stage.backend("corp-ldap");
  ldap.users.set("kim", { content: user("kim"), remoteId: "4" });
  ldap.groups.set("staff", { content: group("staff", ["ada", "kim"]), remoteId: "2" });
  await target.refreshAll(ACTOR);
  ldap.users.delete("kim");
  await target.refreshOne("user", "kim", ACTOR);
  assertEquals(await target.directory.read("user", "kim"), null);
  const [entry] = await trashOf(target);
  const refusal = await refusalOf(target.restoreUser(entry?.id ?? "", { actor: ACTOR }));
  assertStringIncludes(refusal.message, '"corp-ldap" is read-only');
  assertEquals([writesOf(ldap), target.pendingWrites(9)], [[], []]);
});

Deno.test("Target: writes that were pending when the connector became read-only fail, and are delivered when it may be written again", async () => {
  const closed = new Set<string>();
  await using stage = await openStage({ shape: { local: "store", "corp-ldap": "async" }, closed });
  const first = await stage.start();
  const ldap = stage.backend("corp-ldap");
  ldap.trouble({ operation: "put", how: "before", times: 1 });
  await first.target.create(user("zoe"), OPTIONS);
  first.kill();
  closed.add("corp-ldap");
  ldap.calls.splice(0);
  const { target } = await stage.start();
  await stage.becomes(
    "the write has failed",
    () => target.pendingWrites(9).some(({ nextMs }) => nextMs === null),
  );
  assertStringIncludes(target.pendingWrites(9)[0]?.why ?? "", "read-only");
  await target.retryDeadLetters({});
  await stage.becomes(
    "it has failed again",
    () => target.pendingWrites(9).some(({ nextMs }) => nextMs === null),
  );
  assertEquals([writesOf(ldap), ldap.users.size], [[], 0]);
  closed.clear();
  const { target: open } = await stage.start();
  await open.retryDeadLetters({});
  await stage.becomes("it is delivered", () => ldap.users.has("zoe"));
});

Deno.test("writeBulk() names a read-only connector for each row, in the dry run as in the real one", async () => {
  for (const isDryRun of [true, false]) {
    const { stage, target } = await open({ local: "store", "corp-ldap": "sync" });
    await using _stage = stage;
    const rows = [["ada", "Prof"], ["ada", "Dr"], ["bob", "Mr"], ["eve", "Ms"]].map(([userName, title]) => ({
      ...{ row: "resource", kind: "user", joins: false, groups: [] } as const,
      body: { userName, title } as Record<string, string>,
    }));
    const outcomes = await writeBulk(target, {
      ...{ actor: ACTOR, rows, mayUpdate: true, covers: null, isDryRun },
    }, { clock: stage.clock });
    assertEquals(outcomes.map((one) => one.did === "refused" ? one.code : one.did), [
      "read_only",
      "unchanged",
      "updated",
      "created",
    ]);
    assertEquals(writesOf(stage.backend("corp-ldap")), []);
  }
});
