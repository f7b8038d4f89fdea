// The directory on several nodes: each node's memory follows the writes of the others.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { openScimNodes, type ScimNode } from "../../fakes/scim_nodes.ts";
import { act, assertFinds, assertSame, note, perform } from "../directory/acts.ts";
import { createModel } from "../directory/model.ts";
import { drop, links, loginOf, numbered, pageOf, putGroup, putUser, storedIn } from "../directory/world.ts";

/** Small limits, so that few writes split and merge many buckets. */
const SMALL_MERGE = { minUnmerged: 3, maxUnmerged: 8, stepMutations: 6 };

const caughtUp = (...nodes: readonly ScimNode[]) => Promise.all(nodes.map(({ store }) => store.catchUp()));

Deno.test("writes that alternate between two nodes leave both equal to a naive directory", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(act, fc.nat(1)), { minLength: 1, maxLength: 30 }),
      fc.boolean(),
      async (acts, isMerged) => {
        await using nodes = await openScimNodes();
        const directory = isMerged ? { merge: SMALL_MERGE } : {};
        const both = [
          await nodes.start("a", { directory }),
          await nodes.start("b", { directory, skewMs: -3000 }),
        ];
        const model = createModel();
        for (const [one, at] of acts) {
          const node = both[at] as ScimNode;
          await node.store.catchUp();
          await perform(node.target.directory, one);
          note(model, one);
        }
        await caughtUp(...both);
        for (const { target } of both) {
          await assertSame(target.directory, model);
          await assertFinds(target.directory, model);
        }
      },
    ),
    { numRuns: 12 },
  );
});

Deno.test("a node that starts, or reads, while another splits and merges its indexes has all of them", async () => {
  await using nodes = await openScimNodes();
  const directory = { merge: { minUnmerged: 64, maxUnmerged: 256, stepMutations: 50 } };
  const a = await nodes.start("a", { directory });
  const early = await nodes.start("early", { directory });
  const names = numbered("user", 900);
  const write = (name: string) => putUser(a.target.directory, name, { attributes: { title: name } });
  let missing = 0;
  const writing = (async () => {
    for (let from = 0; from < names.length; from += 30) {
      const slice = names.slice(from, from + 30);
      await Promise.all(slice.map(write));
      await early.store.catchUp();
      // No entry may disappear while another node moves it to another bucket.
      const { total } = await early.target.directory.page("user", { page: 1, size: 1 });
      if (total !== from + slice.length) missing++;
    }
  })();
  const late = await nodes.start("late", { directory });
  await writing;
  assertEquals(missing, 0);
  for (const name of names.slice(0, 300)) await drop(a.target.directory, { kind: "user", name });
  await caughtUp(early, late);
  const model = createModel();
  for (const name of names) {
    model.putUser({ name, active: true, attributes: { name: { familyName: "", givenName: "" } } });
  }
  for (const name of names.slice(0, 300)) model.drop("user", name);
  for (const { target } of [early, late]) {
    assertEquals(target.directory.count("user"), 600);
    const page = await target.directory.page("user", { page: 6, size: 100 });
    assertEquals(page.resources.map(({ content }) => content.name), names.slice(800));
    const found = await target.directory.search("user", "user", { page: 1, size: 10 });
    assertEquals(pageOf(found).total, 600);
  }
  assertEquals((await loginOf(early.target.directory, names[5] ?? "")).status, "deleted");
  // The follower becomes the writer, and the writer the follower.
  await Promise.all(numbered("later", 300).map((name) => putUser(late.target.directory, name)));
  await caughtUp(a, early, late);
  for (const { target } of [a, early, late]) assertEquals(target.directory.count("user"), 900);
  const again = await nodes.start("again", { directory });
  assertEquals(again.target.directory.count("user"), 900);
});

Deno.test("a split that is committed while a node reads its buckets hides no entry", async () => {
  await using nodes = await openScimNodes();
  const directory = { merge: { minUnmerged: 8, maxUnmerged: 16, stepMutations: 10 } };
  const a = await nodes.start("a", { directory });
  const names = numbered("u", 1200);
  const written: string[] = [];
  let begun = 0;
  let reads = 0;
  const write = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const name = names[begun++] ?? "";
      await putUser(a.target.directory, name);
      written.push(name);
    }
  };
  const beforeRead = async () => {
    if (reads++ < 4) await write(3);
  };
  const b = await nodes.start("b", { directory, beforeRead });
  while (written.length < 1000) {
    reads = 0;
    await write(10);
    const expected = [...written];
    await b.store.catchUp();
    assert(b.target.directory.count("user") >= expected.length);
    for (const name of expected.slice(-150)) {
      assertEquals((await b.target.directory.read("user", name))?.content.name, name);
    }
  }
});

Deno.test("members of a large group follow, and a reader never sees a part of a change", async () => {
  await using nodes = await openScimNodes();
  const [a, b] = [await nodes.start("a"), await nodes.start("b")];
  const crowd = numbered("m", 700);
  const sizes = new Set<number>();
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      await b.store.catchUp();
      sizes.add(links(await b.target.directory.read("group", "staff"))?.length ?? 0);
    }
  })();
  await putGroup(a.target.directory, "staff", crowd);
  await putGroup(a.target.directory, "staff", crowd.slice(0, 350));
  await putGroup(b.target.directory, "staff", crowd.slice(300));
  isDone = true;
  await reading;
  assertEquals([...sizes].filter((size) => ![0, 700, 350, 400].includes(size)), []);
  await a.target.directory.changeMembers({ group: "staff", add: ["x"], remove: ["m00300"] });
  await b.store.catchUp();
  assertEquals(links(await b.target.directory.read("group", "staff")), [...crowd.slice(301), "x"]);
});

const LOGINS: readonly { title: string; isKnown: boolean; large: boolean }[] = [
  { title: "a user that the node looked up", isKnown: true, large: false },
  { title: "a user that the node never looked up", isKnown: false, large: false },
  { title: "a user with a record in several parts", isKnown: true, large: true },
];

for (const { title, isKnown, large } of LOGINS) {
  Deno.test(`login() on another node refuses a deactivated or deleted user: ${title}`, async () => {
    await using nodes = await openScimNodes();
    const [a, b] = [await nodes.start("a"), await nodes.start("b")];
    const attributes: JsonObject = large
      ? { title: "x".repeat(60_000), phoneNumbers: [{ value: "+49" }] }
      : {};
    const observed: string[] = [];
    b.target.directory.observe(({ name, deleted }) => void observed.push(`${name} ${deleted}`));
    const statusAfter = async (active: boolean | null) => {
      if (active === null) await drop(a.target.directory, { kind: "user", name: "Anna" });
      else await putUser(a.target.directory, "Anna", { attributes, active });
      await b.store.catchUp();
      if (!isKnown) await b.target.directory.prepareLogin("anna");
      return b.target.directory.login("anna").status;
    };
    assertEquals(b.target.directory.login("anna").status, "unknown");
    await putUser(a.target.directory, "Anna", { attributes });
    await b.store.catchUp();
    if (isKnown) assertEquals((await loginOf(b.target.directory, "anna")).status, "active");
    assertEquals(await statusAfter(false), "inactive");
    assertEquals(await statusAfter(true), "active");
    assertEquals(await statusAfter(null), "deleted");
    assertEquals(await statusAfter(true), "active");
    assertEquals((await loginOf(b.target.directory, "anna")).phoneNumbers, large ? ["+49"] : []);
    assertEquals(observed, ["Anna false", "Anna false", "Anna false", "anna true", "Anna false"]);
  });
}

Deno.test("login() sees a deactivation that arrives while the user is loaded", async () => {
  await using nodes = await openScimNodes();
  const [a, b] = [await nodes.start("a"), await nodes.start("b")];
  for (let round = 0; round < 20; round++) {
    const name = `u${round}`;
    await putUser(a.target.directory, name);
    await b.store.catchUp();
    const deactivating = putUser(a.target.directory, name, { active: false });
    for (let turns = 0; turns < round; turns++) await Promise.resolve();
    const preparing = b.target.directory.prepareLogin(name);
    await Promise.all([deactivating, preparing]);
    await b.store.catchUp();
    assertEquals((await loginOf(b.target.directory, name)).status, "inactive");
  }
});

Deno.test("the revision of a resource grows with each write, although the clock of one node is behind", async () => {
  await using nodes = await openScimNodes();
  const both = [await nodes.start("a"), await nodes.start("b", { skewMs: -3600_000 })];
  const revisions: number[] = [];
  for (let at = 0; at < 8; at++) {
    const { store, target } = both[at % 2] as ScimNode;
    await store.catchUp();
    const stored = storedIn(await putUser(target.directory, "anna", { attributes: { title: `${at}` } }));
    revisions.push(parseInt(stored?.version.split(".")[0] ?? "", 36));
  }
  assertEquals(revisions, [...new Set(revisions)].sort((one, other) => one - other));
});
