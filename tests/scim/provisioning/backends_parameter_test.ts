// The parameter `backends`: the backends of an operation, the content of the others, and the resulting resource.

import { assertEquals } from "@std/assert";
import type { Target } from "../../../scim/ports.ts";
import type { JsonObject, Stored } from "../../../scim/schema/resource.ts";
import { ACTOR, group, openStage, refusalOf, type Stage, user } from "./stage.ts";

const SHAPE = { local: "store", a: "sync", b: "async" } as const;

type Step =
  | readonly ["create" | "replace", string, readonly string[] | undefined]
  | readonly ["remove", readonly string[] | undefined];

interface Row {
  readonly title: string;
  readonly steps: readonly Step[];
  /** The refusal of the last step, or the state after it. */
  readonly ends: string | {
    /** The title in the answer to GET; `null`: there is no resource. */
    readonly resource: string | null;
    readonly a: string | null;
    readonly b: string | null;
    readonly copies: number;
  };
}

const ROWS: readonly Row[] = [
  {
    title: "create on all",
    steps: [["create", "1", undefined]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
  {
    title: "create on one",
    steps: [["create", "1", ["a"]]],
    ends: { resource: "1", a: "1", b: null, copies: 0 },
  },
  {
    title: "create where another has it already",
    steps: [["create", "1", ["a"]], ["create", "2", ["b"]]],
    ends: { resource: "2", a: "1", b: "2", copies: 1 },
  },
  {
    title: "create where one of those named has it",
    steps: [["create", "1", ["a"]], ["create", "2", undefined]],
    ends: "taken",
  },
  {
    title: "replace on one leaves the others as they are",
    steps: [["create", "1", undefined], ["replace", "2", ["a"]]],
    ends: { resource: "2", a: "2", b: "1", copies: 2 },
  },
  {
    title: "replace on all afterwards makes them agree again",
    steps: [["create", "1", undefined], ["replace", "2", ["a"]], ["replace", "3", undefined]],
    ends: { resource: "3", a: "3", b: "3", copies: 0 },
  },
  {
    title: "replace with the same content makes no copies",
    steps: [["create", "1", undefined], ["replace", "1", ["a"]]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
  {
    title: "replace creates where it is missing, if another of those named has it",
    steps: [["create", "1", ["a"]], ["replace", "2", ["a", "b"]]],
    ends: { resource: "2", a: "2", b: "2", copies: 0 },
  },
  {
    title: "replace where none of those named has it",
    steps: [["create", "1", ["a"]], ["replace", "2", ["b"]]],
    ends: "not_found",
  },
  {
    title: "replace of what is nowhere",
    steps: [["replace", "2", undefined]],
    ends: "not_found",
  },
  {
    title: "remove on one",
    steps: [["create", "1", undefined], ["remove", ["a"]]],
    ends: { resource: "1", a: null, b: "1", copies: 0 },
  },
  {
    title: "remove where the others keep something else: the first of them is served",
    steps: [["create", "1", ["a", "b"]], ["replace", "2", ["a"]], ["remove", ["a"]]],
    ends: { resource: "1", a: null, b: "1", copies: 0 },
  },
  {
    title: "remove where none of those named has it",
    steps: [["create", "1", ["a"]], ["remove", ["b"]]],
    ends: "not_found",
  },
  {
    title: "remove backend by backend ends in nothing",
    steps: [["create", "1", undefined], ["remove", ["a"]], ["remove", ["b"]], ["remove", ["local"]]],
    ends: { resource: null, a: null, b: null, copies: 0 },
  },
  {
    title: "create again after a removal everywhere",
    steps: [["create", "1", undefined], ["remove", undefined], ["create", "2", undefined]],
    ends: { resource: "2", a: "2", b: "2", copies: 0 },
  },
  { title: "an unknown name", steps: [["create", "1", ["a", "nowhere"]]], ends: "unknown_backend" },
  { title: "no name", steps: [["create", "1", []]], ends: "unknown_backend" },
  {
    title: "a name twice, in another order",
    steps: [["create", "1", ["b", "a", "b"]]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
];

async function take(target: Target, step: Step): Promise<void> {
  const options = (backends: readonly string[] | undefined) => ({
    actor: ACTOR,
    ...(backends === undefined ? {} : { backends }),
  });
  if (step[0] === "remove") await target.remove("user", "anna", options(step[1]));
  else await target[step[0]](user("anna", { title: step[1] }), options(step[2]));
}

const titleOf = (holder: Pick<Stored, "content"> | null | undefined): string | null => {
  const attributes: JsonObject | undefined = holder?.content.attributes;
  return typeof attributes?.title === "string" ? attributes.title : null;
};

const quiet = (stage: Stage) =>
  stage.becomes("the outbox is empty", async () => (await stage.below("outbox")).length === 0);

for (const isQuiet of [true, false]) {
  for (const { title, steps, ends } of ROWS) {
    Deno.test(`backends: ${title}${isQuiet ? "" : ", with nothing delivered until the end"}`, async () => {
      await using stage = await openStage({ shape: SHAPE });
      const { target } = await stage.start();
      if (!isQuiet) stage.backend("b").trouble({ how: "before" });
      for (const step of steps.slice(0, -1)) {
        await take(target, step);
        if (isQuiet) await quiet(stage);
      }
      const last = steps.at(-1);
      if (last === undefined) throw new Error("A row without steps");
      if (typeof ends === "string") {
        assertEquals((await refusalOf(take(target, last))).code, ends);
        return;
      }
      await take(target, last);
      stage.backend("b").heal();
      await quiet(stage);
      assertEquals({
        resource: titleOf(await target.directory.read("user", "anna")),
        a: titleOf(stage.backend("a").users.get("anna")),
        b: titleOf(stage.backend("b").users.get("anna")),
        copies: (await stage.below("copy")).length,
      }, ends);
    });
  }
}

Deno.test("backends: a backend without groups is skipped for groups, and refused when it is named", async () => {
  await using stage = await openStage({ shape: SHAPE, holds: { groups: false, active: true } });
  const { target } = await stage.start();
  const { receipt } = await target.create(group("staff", ["anna"]), { actor: ACTOR });
  assertEquals(receipt.entries.map(({ backend }) => backend), ["local"]);
  const refusal = await refusalOf(target.create(group("more"), { actor: ACTOR, backends: ["a"] }));
  assertEquals(refusal.code, "unknown_backend");
});

Deno.test("backends: if no backend has groups, groups are not supported", async () => {
  await using stage = await openStage({ shape: { a: "sync" }, holds: { groups: false, active: true } });
  const { target } = await stage.start();
  assertEquals((await refusalOf(target.create(group("staff"), { actor: ACTOR }))).code, "unsupported");
});

Deno.test("backends: a change of members on one backend leaves the group of the other unchanged", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(group("staff", ["anna"]), { actor: ACTOR });
  await quiet(stage);
  const change = { add: ["ben"], remove: ["anna"] };
  const { stored } = await target.changeMembers("staff", change, { actor: ACTOR, backends: ["local", "b"] });
  await quiet(stage);
  assertEquals(stored?.content, group("staff", ["ben"]));
  assertEquals(stage.backend("a").groups.get("staff")?.content, group("staff", ["anna"]));
  assertEquals(stage.backend("b").groups.get("staff")?.content, group("staff", ["ben"]));
  assertEquals((await target.directory.read("group", "staff"))?.backends.a?.differs, true);
});

Deno.test("backends: a store without other backends changes members without reading the group, and accepts no unknown ones", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  await target.create(group("staff", ["anna"]), { actor: ACTOR });
  const { stored } = await target.changeMembers("Staff", { add: ["ben"], remove: [] }, { actor: ACTOR });
  assertEquals(stored?.content, group("staff", ["anna", "ben"]));
  const change = { add: ["ben"], remove: [] };
  assertEquals((await refusalOf(target.changeMembers("none", change, { actor: ACTOR }))).code, "not_found");
});
