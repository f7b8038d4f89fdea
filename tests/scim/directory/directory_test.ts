// The directory: reads, writes, passwords and deleted users.

import { assert, assertEquals, assertThrows } from "@std/assert";
import type { DirectoryWrite, TargetDirectory } from "../../../scim/ports.ts";
import type { GroupContent, JsonObject, UserContent } from "../../../scim/schema/resource.ts";
import {
  drop,
  links,
  loginOf,
  NAME,
  namesOf,
  numbered,
  openWorld,
  putGroup,
  putUser,
  storedIn,
} from "./world.ts";

// The directory: writes, pages, group memberships, deleted and inactive users, sign-ins.

const content = (name: string, more: Partial<UserContent> = {}): UserContent => ({
  kind: "user",
  name,
  active: true,
  attributes: { name: NAME },
  ...more,
});
const creation = (name: string, more: Partial<UserContent> = {}): DirectoryWrite => ({
  kind: "user",
  name,
  expected: null,
  next: { content: content(name, more), backends: { store: { state: "present", sinceMs: 1 } } },
});

Deno.test("createDirectory() returns what was written, and finds it in any case", async () => {
  await using world = await openWorld();
  const attributes = { name: { familyName: "Smith", givenName: "Anna" }, emails: [{ value: "a@b.example" }] };
  const written = await world.directory.write(creation("Anna.Smith", { attributes }));
  const read = await world.directory.read("user", "anna.smith");
  assertEquals(read, storedIn(written));
  assertEquals(read?.content, content("Anna.Smith", { attributes }));
  assertEquals(read?.backends, { store: { state: "present", sinceMs: 1 } });
  assertEquals(JSON.parse(read?.attributesText ?? ""), attributes);
  assertEquals(await world.directory.read("group", "anna.smith"), null);
  assertEquals(await (await world.reopen()).read("user", "anna.smith"), read);
});

Deno.test("write() accepts one of two creations of a name", async () => {
  await using world = await openWorld();
  const results = await Promise.all([
    world.directory.write(creation("anna")),
    world.directory.write(creation("ANNA")),
  ]);
  assertEquals(results.map(({ ok }) => ok), [true, false]);
  assertEquals(world.directory.count("user"), 1);
});

Deno.test("write() accepts one of two writes of the same version", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const version = (await world.directory.read("user", "anna"))?.version ?? null;
  const write = (name: string) => world.directory.write({ ...creation(name), expected: version });
  const results = await Promise.all([write("Anna"), write("aNNa")]);
  assertEquals(results.map(({ ok }) => ok), [true, false]);
  assertEquals((await world.directory.read("user", "anna"))?.content.name, "Anna");
});

Deno.test("writePlanned() plans each write on those before it in the same commit, and one that is refused leaves the others", async () => {
  await using world = await openWorld();
  await putGroup(world.directory, "staff", ["anna"]);
  const seen: (string | null)[] = [];
  const rename = (name: string) =>
    world.directory.writePlanned({ kind: "user", name }, (stored) => {
      seen.push(stored?.content.name ?? null);
      if (name === "refused") return Promise.reject(new Error("it is refused"));
      return Promise.resolve({ ...creation(name), expected: stored?.version ?? null });
    });
  const settled = await Promise.allSettled(["anna", "refused", "Anna", "ben", "ANNA"].map(rename));
  assertEquals(settled.map(({ status }) => status === "fulfilled"), [true, false, true, true, true]);
  assertEquals(seen, [null, null, "anna", null, "Anna"]);
  assertEquals((await world.directory.read("user", "anna"))?.content.name, "ANNA");
  const members: (readonly string[] | null)[] = [];
  const staff = { kind: "group", name: "staff" } as const;
  await world.directory.writePlanned(staff, (stored) => {
    members.push(stored?.content.kind === "group" ? stored.content.members : null);
    const content: GroupContent = { ...staff, attributes: {}, members: ["ben"] };
    return Promise.resolve({ ...staff, expected: stored?.version ?? null, next: { content, backends: {} } });
  });
  assertEquals(members, [["anna"]]);
  assertEquals(links(await world.directory.read("user", "anna")), []);
  assertEquals(links(await world.directory.read("user", "ben")), ["staff"]);
});

Deno.test("write() reports a conflict when another process wrote the record", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const read = await world.directory.read("user", "anna");
  const key = ["user", "default", "anna"];
  const { value } = await world.store.get<Record<string, unknown>>(key);
  await world.store.commit({ mutations: [{ type: "set", key, value: { ...value, revision: 7 } }] });
  const result = await world.directory.write({ ...creation("anna"), expected: read?.version ?? null });
  assertEquals(result, { ok: false, reason: "changed" });
});

Deno.test("write() accepts a version from before a change of the user's groups, and then changes the version", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const before = await world.directory.read("user", "anna");
  await putGroup(world.directory, "staff", ["anna"]);
  const after = await world.directory.read("user", "anna");
  assert(before?.version !== after?.version);
  const result = await world.directory.write({ ...creation("anna"), expected: before?.version ?? null });
  assertEquals(links(storedIn(result)), ["staff"]);
});

Deno.test("writeMany() applies each write completely or not at all", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "u00007");
  const results = await world.directory.writeMany(numbered("u", 300).map((name) => creation(name)));
  assertEquals(results.filter(({ ok }) => !ok).length, 1);
  assertEquals(results[7], { ok: false, reason: "changed" });
  assertEquals(world.directory.count("user"), 300);
});

Deno.test("writeMany() refuses a write that is too large and applies the others", async () => {
  await using world = await openWorld();
  const huge = { name: NAME, note: "x".repeat(600_000) };
  const settled = await Promise.allSettled([
    world.directory.write(creation("a")),
    world.directory.write(creation("b", { attributes: huge })),
    world.directory.write(creation("c")),
  ]);
  assertEquals(settled.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert(settled[1]?.status === "rejected" && settled[1].reason instanceof RangeError);
  assertEquals(namesOf((await world.directory.page("user", { page: 1, size: 10 })).resources), ["a", "c"]);
});

Deno.test("write() stores long attributes in parts, and removes the parts again", async () => {
  await using world = await openWorld();
  for (const note of ["x".repeat(500_000), '\u{1f600}\n"'.repeat(40_000), "short"]) {
    await putUser(world.directory, "anna", { attributes: { note } });
    const read = await (await world.reopen()).read("user", "anna");
    assertEquals(read?.content.attributes.note, note);
    const { resources } = await world.directory.page("user", { page: 1, size: 1 });
    assertEquals(resources[0]?.content.attributes.note, note);
  }
  assertEquals((await Array.fromAsync(world.store.list(["part"]))).length, 0);
});

Deno.test("page() returns every user once, for any page size", async () => {
  await using world = await openWorld();
  const names = numbered("u", 1000);
  await world.directory.writeMany(names.toReversed().map((name) => creation(name)));
  for (const size of [1, 7, 128, 999, 1000, 2000]) {
    const directory = size === 7 ? await world.reopen() : world.directory;
    const middle = await directory.page("user", { page: 2, size });
    assertEquals(namesOf(middle.resources), names.slice(size, 2 * size));
    assertEquals([middle.total, middle.startIndex], [1000, size + 1]);
  }
  const past = await world.directory.page("user", { page: 5000, size: 100 });
  assertEquals([past.total, past.resources.length], [1000, 0]);
  assertEquals(namesOf(await Array.fromAsync(world.directory.all("user"))), names);
});

Deno.test("createDirectory() stores members who are no users, and links them when they are created", async () => {
  await using world = await openWorld();
  await putGroup(world.directory, "Staff", ["Anna", "bert"]);
  assertEquals(links(await world.directory.read("group", "staff")), ["Anna", "bert"]);
  await putUser(world.directory, "anna");
  assertEquals(links(await world.directory.read("user", "anna")), ["Staff"]);
  assertEquals((await loginOf(world.directory, "anna")).groups, ["Staff"]);
  await putGroup(world.directory, "Staff", ["bert"]);
  assertEquals((await loginOf(world.directory, "anna")).groups, []);
});

Deno.test("write() updates members when the spelling of a group changes", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  await putGroup(world.directory, "staff", ["anna"]);
  await putGroup(world.directory, "Staff", ["ANNA"]);
  assertEquals(links(await world.directory.read("user", "anna")), ["Staff"]);
  assertEquals(links(await world.directory.read("group", "staff")), ["ANNA"]);
});

for (const act of ["delete", "deactivate"] as const) {
  Deno.test(`write() removes a user from every group: ${act}`, async () => {
    const asked: string[] = [];
    await using world = await openWorld({
      prepareOffboarding: (name) => ({
        mutations: [{ type: "delete", key: ["pairing", name] }],
        done: () => asked.push(`done ${name}`),
        undo: () => asked.push(`undo ${name}`),
      }),
    });
    const groups = numbered("g", 120);
    await putUser(world.directory, "anna");
    await world.store.commit({ mutations: [{ type: "set", key: ["pairing", "anna"], value: 1 }] });
    for (const group of groups) await putGroup(world.directory, group, ["anna", "bert"]);
    if (act === "delete") await drop(world.directory, { kind: "user", name: "anna" });
    else await putUser(world.directory, "anna", { active: false });
    assertEquals(asked, ["done anna"]);
    assertEquals((await world.store.get(["pairing", "anna"])).value, null);
    for (const group of groups) assertEquals(links(await world.directory.read("group", group)), ["bert"]);
    assertEquals((await Array.fromAsync(world.store.list(["memberof", "default", "anna"]))).length, 0);
    assertEquals((await Array.fromAsync(world.store.list(["chore"]))).length, 0);
    assertEquals((await loginOf(world.directory, "anna")).status, act === "delete" ? "deleted" : "inactive");
    await putUser(world.directory, "anna");
    assertEquals((await loginOf(world.directory, "anna")).status, "active");
    assertEquals(links(await world.directory.read("user", "anna")), []);
  });
}

Deno.test("write() adds the related mutations to the same commit, and none if the write is refused", async () => {
  await using world = await openWorld();
  const also = (value: string) => [{ type: "set", key: ["audit", value], value }] as const;
  await world.directory.write({ ...creation("anna"), also: also("first") });
  await world.directory.write({ ...creation("anna"), also: also("second") });
  const audit = await Array.fromAsync(world.store.list<string>(["audit"]));
  assertEquals(audit.map(({ value }) => value), ["first"]);
});

Deno.test("login() distinguishes unknown, deleted and existing users, also after a restart", async () => {
  await using world = await openWorld();
  const phoneNumbers: JsonObject[] = [{ value: "+49 171 1" }, { type: "home" }, { value: "2" }];
  await putUser(world.directory, "Anna", { attributes: { phoneNumbers } });
  await putUser(world.directory, "bert");
  await drop(world.directory, { kind: "user", name: "bert" });
  for (const directory of [world.directory, await world.reopen()]) {
    assertEquals(directory.prepareLogin("nobody"), null);
    assertEquals(directory.login("nobody").status, "unknown");
    const anna = { status: "active", name: "Anna", phoneNumbers: ["+49 171 1", "2"], groups: [] } as const;
    const id = (await directory.read("user", "anna"))?.id ?? "";
    assertEquals(await loginOf(directory, "anna"), { ...anna, id });
    const bert = { status: "deleted", name: "bert", phoneNumbers: [], groups: [] } as const;
    assertEquals(await loginOf(directory, "bert"), bert);
    assertEquals(directory.prepareLogin("anna"), null);
  }
});

Deno.test("login() throws for a user who was not prepared", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const directory = await world.reopen();
  assertThrows(() => directory.login("anna"), Error, "prepare() was not called");
});

Deno.test("login() sees a deletion as soon as it is acknowledged, without another preparation", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  await loginOf(world.directory, "anna");
  await drop(world.directory, { kind: "user", name: "anna" });
  assertEquals(world.directory.login("anna").status, "deleted");
});

Deno.test("createDirectory() removes the oldest tombstones above its limit", async () => {
  await using world = await openWorld({ maxTombstones: 2 });
  for (const name of ["d", "a", "c", "b"]) {
    await putUser(world.directory, name);
    await drop(world.directory, { kind: "user", name });
  }
  await putUser(world.directory, "last");
  const directory = await world.reopen();
  const statuses = await Promise.all(
    ["d", "a", "c", "b"].map(async (name) => (await loginOf(directory, name)).status),
  );
  assertEquals(statuses, ["unknown", "unknown", "deleted", "deleted"]);
});

Deno.test("changeMembers() adds and removes members of a group of 3,000", async () => {
  await using world = await openWorld();
  const names = numbered("u", 3000);
  await world.directory.writeMany(names.map((name) => creation(name)));
  const created = await putGroup(world.directory, "all", names);
  assertEquals(links(storedIn(created))?.length, 3000);
  assertEquals((await loginOf(world.directory, "u02999")).groups, ["all"]);
  await putUser(world.directory, "New");
  const changed = await world.directory.changeMembers({ group: "ALL", add: ["New"], remove: ["u00005"] });
  assertEquals(links(storedIn(changed))?.length, 3000);
  const directory = await world.reopen();
  for (const one of [world.directory, directory]) {
    assertEquals((await loginOf(one, "new")).groups, ["all"]);
    assertEquals((await loginOf(one, "u00005")).groups, []);
    assertEquals(links(await one.read("group", "all")), ["New", ...names].toSpliced(6, 1).sort(byCanonical));
  }
  await drop(directory, { kind: "group", name: "all" });
  assertEquals(links(await directory.read("user", "u00006")), []);
  assertEquals((await Array.fromAsync(world.store.list(["member"]))).length, 0);
  assertEquals((await Array.fromAsync(world.store.list(["memberof"]))).length, 0);
  assertEquals(await world.directory.changeMembers({ group: "nobody", add: [], remove: [] }), {
    ok: false,
    reason: "changed",
  });
});

const byCanonical = (a: string, b: string): number => a.toLowerCase() < b.toLowerCase() ? -1 : 1;

Deno.test("observe() reports each write, until it is stopped", async () => {
  await using world = await openWorld();
  const seen: unknown[] = [];
  const stop = world.directory.observe((change) => seen.push(change));
  await putUser(world.directory, "Anna");
  await putGroup(world.directory, "g", []);
  await drop(world.directory, { kind: "user", name: "Anna" });
  stop();
  await putUser(world.directory, "bert");
  assertEquals(seen, [
    { kind: "user", name: "Anna", deleted: false },
    { kind: "group", name: "g", deleted: false },
    { kind: "user", name: "Anna", deleted: true },
  ]);
});

// Passwords of users in the directory.

const WRITE = {
  kind: "user",
  name: "anna",
  next: {
    content: {
      kind: "user",
      name: "anna",
      active: true,
      attributes: { name: { familyName: "", givenName: "" } },
    },
    backends: { store: { state: "present", sinceMs: 1 } },
  },
  password: { algorithm: "scrypt", costLog2: 14, salt: "s", hash: "h" },
} as const satisfies Omit<DirectoryWrite, "expected">;
const { password } = WRITE;

Deno.test("write() keeps a password until the user is deleted", async () => {
  await using world = await openWorld();
  await world.directory.write({ ...WRITE, expected: null });
  await putUser(world.directory, "anna", { active: false });
  assertEquals(await world.directory.readPassword("anna"), password);
  await drop(world.directory, { kind: "user", name: "anna" });
  await putUser(world.directory, "anna");
  assertEquals(await world.directory.readPassword("anna"), null);
});

Deno.test("write() reports a changed password of an existing user, in the same commit", async () => {
  const asked: string[] = [];
  await using world = await openWorld({
    prepareForgetDevices: (name) => ({
      mutations: [{ type: "delete", key: ["remembered", name] }],
      done: () => asked.push(`done ${name}`),
      undo: () => asked.push(`undo ${name}`),
    }),
  });
  const { directory, store } = world;
  await directory.write({ ...WRITE, expected: null });
  assertEquals(asked, []);
  await store.commit({ mutations: [{ type: "set", key: ["remembered", "anna"], value: 1 }] });
  await putUser(directory, "anna");
  assertEquals([asked, (await store.get(["remembered", "anna"])).value], [[], 1]);
  const stored = await directory.read("user", "anna");
  await directory.write({ ...WRITE, expected: stored?.version ?? null });
  assertEquals([asked, (await store.get(["remembered", "anna"])).value], [["done anna"], null]);
});

Deno.test("write() reports other phone numbers of an existing user", async () => {
  const asked: string[] = [];
  await using world = await openWorld({
    prepareForgetDevices: (name) => ({ mutations: [], done: () => asked.push(name), undo: () => undefined }),
  });
  const numbers = (...values: readonly string[]) => ({
    attributes: { phoneNumbers: values.map((value) => ({ value })) },
  });
  await putUser(world.directory, "anna", numbers("+4915112345678", "+4915187654321"));
  await putUser(world.directory, "anna", numbers("+4915187654321", "+4915112345678"));
  assertEquals(asked, []);
  await putUser(world.directory, "anna", numbers("+4915187654321"));
  await putUser(world.directory, "anna", numbers());
  await putUser(world.directory, "anna", { attributes: { displayName: "Anna" } });
  assertEquals(asked, ["anna", "anna"]);
});

// Entries of the trash in the store: limits and expiry.

const namesIn = async (directory: TargetDirectory) =>
  (await Array.fromAsync(directory.trash.list())).map(({ name }) => name);

Deno.test("the trash keeps the newest users up to its maximum, also for deletions that share commits and after a restart", async () => {
  const maxTrashed = 600;
  await using world = await openWorld({ maxTrashed });
  for (const [at, prefix] of ["a", "b", "c"].entries()) {
    const directory = at === 0 ? world.directory : await world.reopen();
    const names = numbered(prefix, 350);
    await Promise.all(names.map((name) => putUser(directory, name)));
    await Promise.all(names.map((name) => drop(directory, { kind: "user", name })));
    const kept = await namesIn(directory);
    assert(kept.length <= maxTrashed);
    assertEquals(kept.filter((name) => name.startsWith(prefix)).length, Math.min(350, kept.length));
    assertEquals((await Array.fromAsync(world.store.list(["trash_part"]))).length, kept.length);
  }
});

Deno.test("a user who is too large for the commit of the deletion is deleted without an entry", async () => {
  await using world = await openWorld();
  for (const [name, octets] of [["large", 300_000], ["huge", 400_000]] as const) {
    await putUser(world.directory, name, { attributes: { photos: [{ value: "x".repeat(octets) }] } });
    assert((await drop(world.directory, { kind: "user", name })).ok);
  }
  assertEquals(await namesIn(world.directory), ["large"]);
  const [entry] = await Array.fromAsync(world.directory.trash.list());
  const trashed = await world.directory.trash.read(entry?.id ?? "");
  assertEquals(JSON.stringify(trashed?.content.attributes.photos)?.length, 300_000 + '[{"value":""}]'.length);
});

Deno.test("every key of the trash expires after 30 days", async () => {
  const lifetimes = new Map<string, number | undefined>();
  await using world = await openWorld();
  const directory = await world.reopen({
    store: {
      ...world.store,
      commit(transaction) {
        for (const one of transaction.mutations) {
          if (one.type === "set" && String(one.key[0]).startsWith("trash")) {
            lifetimes.set(String(one.key[0]), one.expireInMs);
          }
        }
        return world.store.commit(transaction);
      },
    },
  });
  await putUser(directory, "anna");
  await drop(directory, { kind: "user", name: "anna" });
  const days = 30 * 24 * 3600_000;
  assertEquals([...lifetimes].sort(), [["trash", days], ["trash_part", days]]);
});

Deno.test("a failed deletion leaves no entry", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const broken = await world.reopen({
    store: { ...world.store, commit: () => Promise.reject(new Error("the disk is full")) },
  });
  const failed = await drop(broken, { kind: "user", name: "anna" }).then(() => false, () => true);
  assertEquals([failed, await namesIn(world.directory)], [true, []]);
});
