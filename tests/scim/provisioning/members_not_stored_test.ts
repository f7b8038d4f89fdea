// Members of a group that a backend does not know: receipt and stored status name them, for sync and async backends and
// after a refresh.

import { assertEquals } from "@std/assert";
import type { Target } from "../../../scim/ports.ts";
import type { BackendState, MembersNotStored } from "../../../scim/schema/resource.ts";
import { membersNotStored, stillNotStored } from "../../../scim/backend_port.ts";
import { settle } from "../../support/settle.ts";
import { ACTOR, group, openStage, type Stage, user } from "./stage.ts";

const OPTIONS = { actor: ACTOR } as const;
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
  const changed = await target.changeMembers("team", { add: [], remove: ["eve"] }, OPTIONS);
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
