// Read-only backends and attributes, and members that a backend did not store.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { NO_READ_ONLY, readOnlyNames } from "../../../scim/schema/merge.ts";
import { ACTOR, group, openStage, refusalOf, type Shape, type Stage, trashOf, user } from "./stage.ts";
import type { Target, WriteOptions } from "../../../scim/ports.ts";
import { writeBulk } from "../../../scim/transfer/import_export.ts";
import type { MemoryBackend } from "../../fakes/memory_backend.ts";
import type { BackendState, MembersNotStored } from "../../../scim/schema/resource.ts";
import { membersNotStored, stillNotStored } from "../../../scim/backend_port.ts";
import { settle } from "../../support/settle.ts";

// Read-only attributes of backends: never written, never a difference, and read-only for clients if all backends have
// them.

const OPTIONS: WriteOptions = { actor: ACTOR };
const KEPT = { a: ["title"] } as const;
const shown = async (stage: Stage) =>
  (await stage.target().directory.read("user", "anna"))?.content.attributes;
const heldBy = (stage: Stage, name: string) =>
  stage.backend(name).users.get("anna")?.content.attributes.title;

/** Another client changes the attribute in the backend. */
function setAt(stage: Stage, backend: string, title: string): void {
  const known = stage.backend(backend).users.get("anna");
  const remoteId = known?.remoteId ?? "id";
  const content = user("anna", { ...known?.content.attributes, title });
  stage.backend(backend).users.set("anna", { content, remoteId });
}

Deno.test("Target: an attribute that is read-only in the only backend is ignored in writes, read from there, and never differs", async () => {
  const shapes: readonly Shape[] = [{ a: "sync" }, { local: "store", a: "sync" }, {
    local: "store",
    a: "async",
  }];
  for (const shape of shapes) {
    await using stage = await openStage({ shape, readOnly: KEPT });
    const { target } = await stage.start();
    assertEquals(readOnlyNames(target.readOnly ?? NO_READ_ONLY), ["title"]);
    await target.create(user("anna", { title: "ours", nickName: "An" }), OPTIONS);
    await stage.becomes("it is there", () => stage.backend("a").users.has("anna"));
    assertEquals([(await shown(stage))?.title, heldBy(stage, "a")], [undefined, undefined]);

    setAt(stage, "a", "theirs");
    const read = await target.refreshOne("user", "anna", ACTOR);
    assertEquals([read?.content.attributes.title, read?.backends.a?.differs], ["theirs", undefined]);

    const written = await target.replace(user("anna", { title: "ours", nickName: "Anna" }), OPTIONS);
    await stage.becomes("it is delivered", () => target.pendingWrites(9).length === 0);
    assertEquals(
      written.stored?.content.attributes,
      user("anna", { title: "theirs", nickName: "Anna" }).attributes,
    );
    assertEquals(heldBy(stage, "a"), "theirs");
    assertEquals((await target.heldElsewhere("user", "anna")).size, 0);
    await target.refreshAll(ACTOR);
    assertEquals((await stage.below("copy")).length, 0);
  }
});

Deno.test("Target: an attribute that is read-only in one of two backends is written to the other, and the backend's own value is no difference", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" }, readOnly: KEPT });
  const { target } = await stage.start();
  assertEquals(readOnlyNames(target.readOnly ?? NO_READ_ONLY), []);
  assertEquals(target.backends.map(({ keeps }) => keeps), [["title"], undefined]);
  await target.create(user("anna", { title: "ours" }), OPTIONS);
  assertEquals([heldBy(stage, "a"), heldBy(stage, "b")], [undefined, "ours"]);

  setAt(stage, "a", "theirs");
  const read = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(read?.content.attributes.title, "ours");
  assertEquals([read?.backends.a?.differs, read?.backends.b?.differs], [undefined, undefined]);
  const held = await target.heldElsewhere("user", "anna");
  assertEquals([...held].map(([name, { attributes }]) => [name, attributes.title]), [["a", "theirs"]]);

  await target.replace(user("anna", { title: "newer" }), OPTIONS);
  assertEquals([heldBy(stage, "a"), heldBy(stage, "b")], ["theirs", "newer"]);
  assertEquals((await target.heldElsewhere("user", "anna")).get("a")?.attributes.title, "theirs");
  await target.refreshAll(ACTOR);
  assertEquals((await shown(stage))?.title, "newer");

  setAt(stage, "a", "newer");
  const agreed = await target.refreshOne("user", "anna", ACTOR);
  assertEquals([agreed?.backends.a?.kept, (await target.heldElsewhere("user", "anna")).size], [undefined, 0]);
});

Deno.test("Target: at the first read the values of the read-only attributes apply, and another attribute still differs", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" }, readOnly: KEPT });
  const { target } = await stage.start();
  setAt(stage, "a", "theirs");
  assertEquals((await target.refreshOne("user", "anna", ACTOR))?.content.attributes.title, "theirs");
  await target.replace(user("anna", { title: "ours" }), { ...OPTIONS, backends: ["a", "b"] }).catch(() =>
    null
  );
  const other = user("anna", { title: "theirs", nickName: "An" });
  stage.backend("b").users.set("anna", { content: other, remoteId: "b" });
  const read = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(read?.backends.b?.differs, true);
});

Deno.test("Target: a put with an unknown result is not repeated because of a read-only attribute", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "async", b: "async" }, readOnly: KEPT });
  const { target } = await stage.start();
  setAt(stage, "a", "theirs");
  stage.backend("a").trouble({ operation: "put", how: "after", times: 1 });
  await target.create(user("anna", { title: "ours" }), OPTIONS);
  await stage.becomes("all is delivered", () => target.pendingWrites(9).length === 0);
  const puts = stage.backend("a").calls.filter(({ operation }) => operation === "put");
  assertEquals([puts.length, heldBy(stage, "a"), heldBy(stage, "b")], [1, "theirs", "ours"]);
});

// Read-only connectors (`access = "read"`): no operation of a target writes there, and each refusal names the connector.

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
  [
    "a change of a user",
    (target) => target.replace(user("ada", { title: "Prof" }), OPTIONS),
  ],
  ["a change that names it", (target) => target.replace(user("ada", { title: "Prof" }), THERE)],
  [
    "a password",
    (target) => target.replace(user("ada", { title: "Dr" }), { ...OPTIONS, password: "new pw" }),
  ],
  [
    "a rename",
    (target) => target.rename("user", "ada", user("ada2", { title: "Dr" }), OPTIONS),
  ],
  [
    "another spelling of the name",
    (target) => target.replace(user("Ada", { title: "Dr" }), OPTIONS),
  ],
  ["a deletion", (target) => target.remove("user", "ada", OPTIONS)],
  ["a deletion that names it", (target) => target.remove("user", "ada", THERE)],
  ["a new user there", (target) => target.create(user("eve"), THERE)],
  ["a new user with a name that it has", (target) => target.create(user("ada"), OPTIONS)],
  ["adding a user of the store", (target) => target.replace(user("bob"), THERE)],
  ["a new group there", (target) => target.create(group("new"), THERE)],
  ["members of a group", (target) => target.changeMembers("staff", member, OPTIONS)],
  [
    "a removed member",
    (target) => target.changeMembers("staff", { add: [], remove: ["ada"] }, OPTIONS),
  ],
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
  assertEquals(
    (await refusalOf(target.remove("user", "bob", OPTIONS))).code,
    "read_only",
  );
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

// Members of a group that a backend does not know: receipt and stored status name them, for sync and async backends and
// after a refresh.

const SYNC = { shape: { local: "store", corp: "sync" }, knownMembersOnly: true } as const;
const ASYNC = { shape: { local: "store", corp: "async" }, knownMembersOnly: true } as const;
const BOTH: MembersNotStored = { count: 2, names: ["bob", "eve"] };

async function stateOf(target: Target, name = "team"): Promise<BackendState | undefined> {
  return (await target.directory.read("group", name))?.backends["corp"];
}

async function isDelivered(stage: Stage, target: Target): Promise<void> {
  await stage.becomes("nothing is pending", async () => {
    return (await stage.below("outbox")).length === 0 && target.pendingWrites(1).length === 0;
  });
}

Deno.test("the receipt and status of a sync backend name the members that it did not store, until it stores them", async () => {
  await using stage = await openStage(SYNC);
  const { target } = await stage.start();
  await target.create(user("anna"), OPTIONS);
  const made = await target.create(group("team", ["bob", "anna", "eve"]), OPTIONS);
  assertEquals(made.receipt.entries, [
    { backend: "local", outcome: "done" },
    { backend: "corp", outcome: "done", notStored: BOTH },
  ]);
  assertEquals([made.stored?.backends["corp"]?.state, made.stored?.backends["corp"]?.notStored], [
    "present",
    BOTH,
  ]);
  assertEquals(made.stored?.backends["local"]?.notStored, undefined);

  await target.create(user("bob"), OPTIONS);
  const changed = await target.changeMembers(
    "team",
    { add: [], remove: ["eve"] },
    OPTIONS,
  );
  assertEquals(changed.receipt.entries, [
    { backend: "local", outcome: "done" },
    { backend: "corp", outcome: "done" },
  ]);
  assertEquals((await stateOf(target))?.notStored, undefined);
  assertEquals(stage.backend("corp").groups.get("team")?.content, group("team", ["anna", "bob"]));
});

Deno.test("the status of an async backend names them after the delivery, also after a failed attempt and a restart", async () => {
  await using stage = await openStage(ASYNC);
  const { target, kill } = await stage.start();
  stage.backend("corp").trouble({ operation: "put", how: "after", name: "team", times: 1 });
  const made = await target.create(group("team", ["bob", "eve"]), OPTIONS);
  assertEquals(made.receipt.entries[1], { backend: "corp", outcome: "queued" });
  assertEquals((await stateOf(target))?.notStored, undefined);
  await isDelivered(stage, target);
  assertEquals([(await stateOf(target))?.state, (await stateOf(target))?.notStored], ["present", BOTH]);
  kill();

  const again = (await stage.start()).target;
  assertEquals((await stateOf(again))?.notStored, BOTH);
  await again.create(user("bob"), OPTIONS);
  await again.changeMembers("team", { add: ["bob"], remove: ["eve"] }, OPTIONS);
  assertEquals((await stateOf(again))?.state, "pending");
  await isDelivered(stage, again);
  assertEquals([(await stateOf(again))?.state, (await stateOf(again))?.notStored], ["present", undefined]);
});

Deno.test("the delivery of a group waits for its new members, so that an async backend stores them", async () => {
  await using stage = await openStage(ASYNC);
  const { target } = await stage.start();
  const corp = stage.backend("corp");
  const puts: string[] = [];
  const holdPut = (name: string) => {
    const { held, release } = corp.hold();
    held.then(() => puts.push(name));
    return release;
  };
  const release = holdPut("bob");
  await target.create(user("bob"), OPTIONS);
  await stage.becomes("the user is being delivered", () => puts.length > 0);
  holdPut("team");
  await target.create(group("team", ["bob"]), OPTIONS);
  stage.clock.advance(1000);
  await settle();
  assertEquals(puts, ["bob"]);
  release();
  await isDelivered(stage, target);
  assertEquals([(await stateOf(target))?.state, (await stateOf(target))?.notStored], ["present", undefined]);
});

Deno.test("a deleted user is removed from the members that were not stored", async () => {
  await using stage = await openStage(SYNC);
  const { target } = await stage.start();
  await target.create(user("bob"), { ...OPTIONS, backends: ["local"] });
  await target.create(group("team", ["bob", "eve"]), OPTIONS);
  assertEquals((await stateOf(target))?.notStored, BOTH);
  await target.remove("user", "bob", OPTIONS);
  await isDelivered(stage, target);
  assertEquals((await stateOf(target))?.notStored, { count: 1, names: ["eve"] });
});

for (const scope of ["one", "all"] as const) {
  Deno.test(`a refresh of ${scope} keeps the names that the backend still lacks, and drops the others`, async () => {
    await using stage = await openStage(SYNC);
    const { target } = await stage.start();
    await target.create(user("anna"), OPTIONS);
    await target.create(group("team", ["bob", "anna", "eve"]), OPTIONS);
    const refresh = () =>
      scope === "one" ? target.refreshOne("group", "team", ACTOR) : target.refreshAll(ACTOR);
    await refresh();
    assertEquals((await stateOf(target))?.notStored, BOTH);
    const { groups } = stage.backend("corp");
    const held = groups.get("team");
    if (held === undefined) throw new Error("the backend has no group");
    groups.set("team", { ...held, content: group("team", ["anna", "Bob"]) });
    await refresh();
    assertEquals((await stateOf(target))?.notStored, { count: 1, names: ["eve"] });
    groups.set("team", { ...held, content: group("team", ["bob", "anna", "eve"]) });
    await refresh();
    const state = await stateOf(target);
    assertEquals([state?.state, state?.notStored, state?.differs], ["present", undefined, undefined]);
  });
}

Deno.test("membersNotStored() has at most ten names and 1,000 characters; the count covers all", () => {
  assertEquals(membersNotStored([]), undefined);
  const names = Array.from({ length: 50_000 }, (_, n) => `user-${n}`);
  assertEquals(membersNotStored(names), { count: 50_000, names: names.slice(0, 10) });
  const long = Array.from({ length: 10 }, (_, n) => `${n}`.repeat(256));
  assertEquals(membersNotStored(long), { count: 10, names: long.slice(0, 3) });
});

Deno.test("stillNotStored() counts members without a name at most as often as before", () => {
  const names = Array.from({ length: 12 }, (_, n) => `user-${n}`);
  const before = { count: 12, names: names.slice(0, 10) };
  const wanted = group("team", [...names, "removed there"]);
  const after = (members: readonly string[]) =>
    stillNotStored(before, { wanted, held: group("team", members) });
  assertEquals(after([]), before);
  assertEquals(after(["USER-0", "user-11", "removed there"]), { count: 10, names: names.slice(1, 10) });
  assertEquals(after(wanted.members), undefined);
});
