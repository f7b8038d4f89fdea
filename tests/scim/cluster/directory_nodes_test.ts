// Several nodes: the directory, renames, transfers, and both interfaces.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { openScimNodes, type ScimNode } from "../../fakes/scim_nodes.ts";
import { act, assertFinds, assertSame, note, perform } from "../directory/acts.ts";
import { createModel } from "../directory/model.ts";
import {
  drop,
  links,
  loginOf,
  numbered,
  pageOf,
  putGroup,
  putUser,
  storedIn,
  tickingClock,
} from "../directory/world.ts";
import { basisOn } from "../../../platform/cluster/change_log.ts";
import { createLog } from "../../../platform/log.ts";
import { openTargetLease } from "../../../scim/locks.ts";
import { ACTOR, group, user } from "../provisioning/stage.ts";
import { type Clock, createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { createTransfer } from "../../../scim/transfer/import_export.ts";
import { createPasswordHasher, type PasswordHasher } from "../../../platform/password_hasher.ts";
import { createVault } from "../../../platform/vault.ts";
import { Credentials } from "../../../scim/http/credentials.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import { openNode } from "../../fakes/shared_store.ts";
import { userContent } from "../../fakes/scim_target.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { openSite } from "../http/site.ts";

// The directory on several nodes: each node's memory follows the writes of the others.

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

// A rename on one node, as other nodes see it, and renames that race with other writes.

const OPTIONS = { actor: ACTOR };

Deno.test("a rename on one node is complete on another: logins, lists, ids, and observers of both names", async () => {
  await using nodes = await openScimNodes({ local: "store", ldap: "sync" });
  const [a, b] = [await nodes.start("a"), await nodes.start("b")];
  const { stored } = await a.target.create(user("anna"), OPTIONS);
  await a.target.create(group("staff", ["anna"]), OPTIONS);
  await b.store.catchUp();
  const { directory } = b.target;
  assertEquals((await loginOf(directory, "anna")).status, "active");
  assertEquals((await loginOf(directory, "zoe")).status, "unknown");
  const seen: string[] = [];
  directory.observe(({ kind, name, deleted }) => void seen.push(`${kind} ${name} ${deleted}`));
  await a.target.rename("user", "anna", user("zoe"), OPTIONS);
  await a.target.rename("group", "staff", group("team", ["zoe"]), OPTIONS);
  await b.store.catchUp();
  assertEquals((await loginOf(directory, "anna")).status, "deleted");
  const login = await loginOf(directory, "zoe");
  assertEquals([login.status, login.groups], ["active", ["team"]]);
  const content = (await directory.read("group", "team"))?.content;
  assertEquals(content?.kind === "group" && content.members, ["zoe"]);
  assertEquals((await directory.readById("user", stored?.id ?? ""))?.content.name, "zoe");
  assertEquals(directory.count("user"), 1);
  for (const change of ["user anna true", "user zoe false", "group staff true", "group team false"]) {
    assert(seen.includes(change), `${change} is not in ${seen}`);
  }
  // The other node writes next, with the names as they are now.
  await b.target.rename("user", "zoe", user("anna"), OPTIONS);
  await a.store.catchUp();
  assertEquals((await a.target.directory.read("user", "anna"))?.groups, ["team"]);
  assertEquals([...nodes.backend("ldap").users.keys()], ["anna"]);
});

Deno.test("concurrent renames and changes of members leave a user in exactly the groups that name it", async () => {
  await using nodes = await openScimNodes({ local: "store", ldap: "async" });
  const { target } = await nodes.start("a");
  await target.create(user("u0"), OPTIONS);
  for (const name of ["g0", "g1", "g2"]) await target.create(group(name, []), OPTIONS);
  const nameNow = { value: "u0" };
  const renames = (async () => {
    for (let at = 1; at <= 12; at++) {
      await target.rename("user", nameNow.value, user(`u${at}`), OPTIONS);
      nameNow.value = `u${at}`;
    }
  })();
  const changes = ["g0", "g1", "g2"].map(async (name) => {
    for (let at = 0; at < 12; at++) {
      const change = at % 2 === 0
        ? { add: [nameNow.value], remove: [] }
        : { add: [], remove: [nameNow.value] };
      await target.changeMembers(name, change, OPTIONS).catch(() => undefined);
    }
  });
  const respelled = (async () => {
    for (let at = 0; at < 6; at++) {
      await target.rename("group", at % 2 === 0 ? "g2" : "g3", group(at % 2 === 0 ? "g3" : "g2", []), OPTIONS)
        .catch(() => undefined);
    }
  })();
  await Promise.all([renames, respelled, ...changes]);
  const stored = await target.directory.read("user", "u12");
  const inside: string[] = [];
  for await (const { content } of target.directory.all("group")) {
    if (content.kind === "group" && content.members.includes("u12")) inside.push(content.name);
  }
  assertEquals(stored?.groups, inside.sort());
  assertEquals(target.directory.count("user"), 1);
});

Deno.test("a commit whose record changed since it was read is refused, and the node keeps its lease", async () => {
  await using nodes = await openScimNodes();
  const { store, cluster } = await nodes.start("a");
  const log = createLog({ format: "text", level: "error", clock: tickingClock(), write: () => undefined });
  const lease = await openTargetLease({ cluster, log, target: "other" });
  await lease.claim();
  const fenced = lease.fence(store);
  const set = { type: "set", key: ["record"], value: 1 } as const;
  const first = await fenced.commit({ mutations: [set] });
  const basis = basisOn(first.ok ? first.versionstamp : "");
  assertEquals((await fenced.commit({ mutations: [set] })).ok, true);
  assertEquals((await fenced.commit({ mutations: [{ ...set, basis }] })).ok, false);
  assertEquals((await fenced.commit({ mutations: [set] })).ok, true);
});

// Imports on several nodes at the same time.

Deno.test("two nodes import users and their groups at the same time, and no row is lost", async () => {
  await using nodes = await openScimNodes();
  const both = [await nodes.start("a"), await nodes.start("b")];
  const bulk = createTransfer({ clock: systemClock, http: { publicUrl: "http://127.0.0.1:8080" } });
  const names = numbered("u", 240);
  const outcomes = await Promise.all(both.map(async ({ target }, at) => {
    const own = names.filter((_, row) => row % 2 === at);
    const rows = own.map((userName) => ({ kind: "user", body: { userName }, groups: ["staff"] }));
    const request = {
      rows: bulk.readRows(rows) ?? [],
      actor: ACTOR,
      mayUpdate: false,
      isDryRun: false,
      covers: null,
    };
    return await bulk.write(target, request);
  }));
  assertEquals(outcomes.flat().filter(({ did }) => did !== "created"), []);
  for (const { store, target: { directory } } of both) {
    await store.catchUp();
    const staff = await directory.read("group", "staff");
    assertEquals(staff?.content.kind === "group" ? staff.content.members : [], names);
    assertEquals(directory.count("user"), names.length);
    assertEquals((await directory.read("user", "u00239"))?.groups, ["staff"]);
  }
});

// SCIM over HTTP on several nodes: each request waits for the writes of the other nodes, and a revoked credential is refused by all nodes.

Deno.test("a request is answered after the node has the writes of the others", async () => {
  let put = (): void => undefined;
  const store = {
    async catchUp() {
      await new Promise((resolve) => setTimeout(resolve, 5));
      put();
    },
  };
  await using site = await openSite({ store });
  put = () => void site.target.put(userContent("anna"));
  assertEquals((await site.call("/Users/anna")).status, 200);
});

const BROKEN_STORES = [
  { title: "fails", catchUp: () => Promise.reject(new Error("connection closed")) },
  { title: "does not answer", catchUp: () => new Promise<void>(() => undefined) },
];

for (const { title, catchUp } of BROKEN_STORES) {
  Deno.test(`a request gets 503 with Retry-After while the store ${title}`, async () => {
    const clock = {
      nowMs: systemClock.nowMs,
      after: (_delayMs: number, task: () => void) => systemClock.after(5, task),
    };
    await using site = await openSite({ clock, store: { catchUp } });
    site.target.put(userContent("anna"));
    const { status, headers, json } = await site.call("/Users/anna");
    assertEquals([status, headers.get("retry-after"), headers.get("content-type")], [
      503,
      "5",
      "application/scim+json",
    ]);
    assertEquals(json.detail, "The store does not answer. Try again in a moment.");
  });
}

const random = createSystemRandom();

/** The credentials of one node. */
async function openCredentials(kv: Deno.Kv, node: string, clock: Clock = systemClock) {
  const { store } = await openNode(kv, node);
  const sound = createPasswordHasher({ random, cost: { costLog2: 4 } });
  let hashed = 0;
  const hasher: PasswordHasher = {
    ...sound,
    check(password, hash) {
      hashed++;
      return sound.check(password, hash);
    },
  };
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const credentials = new Credentials({ store, vault, clock, random, hasher, log, settings: [] });
  return { store, credentials, hashed: () => hashed };
}

Deno.test("a credential that one node revokes is refused by a node that has checked it a moment ago", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openCredentials(kv, "a"), await openCredentials(kv, "b")];
  const actor = { name: "command", source: "" };
  const given = { name: "hr", password: "a password of twelve" };
  const check = async () => (await b.credentials.check(given, "192.0.2.1"))?.name ?? null;
  await a.credentials.add({ ...given, targets: ["default"], access: "write" }, actor);
  assertEquals([await check(), await check()], ["hr", "hr"]);
  const pending = check();
  await a.credentials.revoke("hr", actor);
  await b.store.catchUp();
  await pending;
  assertEquals(await check(), null);
});

Deno.test("guesses of a credential on two nodes count together, and beyond the limit one check a second is made", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const [a, b] = [await openCredentials(kv, "a", clock), await openCredentials(kv, "b", clock)];
  const guess = async (at: number): Promise<unknown> => {
    const { store, credentials } = at % 2 === 0 ? a : b;
    await store.catchUp();
    try {
      return await credentials.check({ name: "saas", password: `guess ${at}` }, "192.0.2.1");
    } catch (fault) {
      return fault instanceof ScimRefusal ? fault.code : fault;
    }
  };
  const outcomes: unknown[] = [];
  for (let at = 0; at < 8; at++) outcomes.push(await guess(at));
  const refused = "too_many_failures";
  assertEquals(outcomes, [null, null, null, null, null, refused, refused, refused]);
  assertEquals([a.hashed(), b.hashed()], [3, 3]);
  clock.advance(60_001);
  assertEquals(await guess(0), null);
});
