// The version of a resource: a write changes it, the result of the write at a backend does not.

import { assertEquals, assertNotEquals } from "@std/assert";
import { ACTOR, group, openStage, refusalOf, type Stage, user } from "./stage.ts";

const SHAPE = { local: "store", cloud: "async" } as const;

const isIdle = (stage: Stage) => async () => (await stage.below("outbox")).length === 0;

/** The source of an ETag and of a time stamp. */
async function stampsOf(stage: Stage, kind: "user" | "group", name: string) {
  const stored = await stage.target().directory.read(kind, name);
  return { version: stored?.version, modifiedMs: stored?.modifiedMs, state: stored?.backends.cloud?.state };
}

Deno.test("a recorded delivery does not change the version and time of a user", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  assertEquals(stored?.backends.cloud?.state, "pending");
  stage.clock.advance(5000);
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(await stampsOf(stage, "user", "anna"), {
    version: stored?.version,
    modifiedMs: stored?.modifiedMs,
    state: "present",
  });
});

Deno.test("a recorded delivery does not change the version and time of a group", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  const { stored } = await target.create(group("staff", ["anna"]), { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  const { version, modifiedMs, state } = await stampsOf(stage, "group", "staff");
  assertEquals([version, modifiedMs, state], [stored?.version, stored?.modifiedMs, "present"]);
});

Deno.test("a recorded fault, a dead letter and its retry do not change the version", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  stage.backend("cloud").trouble({
    operation: "put",
    how: "before",
    fault: { kind: "refused", retry: false },
  });
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  const dead = await waitFor(stage, "failed");
  stage.backend("cloud").heal();
  await target.retryDeadLetters({ backend: "cloud" });
  const revived = await waitFor(stage, "present");
  assertEquals([dead, revived], [stored?.version, stored?.version]);
});

Deno.test("a write with the version from before a delivery is accepted; one from before a write is not", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const first = (await target.create(user("anna"), { actor: ACTOR })).stored?.version ?? "";
  await stage.becomes("the outbox is empty", isIdle(stage));
  const second =
    (await target.replace(user("anna", { title: "Dr" }), { actor: ACTOR, ifVersion: first })).stored;
  assertNotEquals(second?.version, first);
  await stage.becomes("the outbox is empty", isIdle(stage));
  const late = target.replace(user("anna", { title: "Mx" }), { actor: ACTOR, ifVersion: first });
  assertEquals((await refusalOf(late)).code, "precondition");
});

Deno.test("consecutive writes, each with the version of the one before, get no false conflict", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  let version = (await target.create(user("anna"), { actor: ACTOR })).stored?.version ?? "";
  for (let number = 0; number < 5; number += 1) {
    const saved = target.replace(user("anna", { title: String(number) }), {
      actor: ACTOR,
      ifVersion: version,
    });
    version = (await saved).stored?.version ?? "";
    // Before half of them there is a delivery.
    if (number % 2 === 0) await stage.becomes("the outbox is empty", isIdle(stage));
  }
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(stage.backend("cloud").users.get("anna")?.content, user("anna", { title: "4" }));
});

Deno.test("a directory write that read the backends before a delivery was recorded gets a conflict", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  if (stored === null) throw new Error("Cannot go on: nothing was stored");
  const write = {
    kind: "user",
    name: "anna",
    expected: stored.version,
    next: { content: stored.content, backends: stored.backends },
  } as const;
  const stale = await target.directory.write({ ...write, recorded: stored.recorded ?? 0 });
  assertEquals(stale, { ok: false, reason: "changed" });
  assertEquals((await target.directory.write(write)).ok, true);
});

async function waitFor(stage: Stage, state: string): Promise<string | undefined> {
  await stage.becomes(`it is ${state}`, async () => (await stampsOf(stage, "user", "anna")).state === state);
  return (await stampsOf(stage, "user", "anna")).version;
}
