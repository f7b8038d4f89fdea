// Entries of the trash in the store: limits and expiry.

import { assert, assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { drop, numbered, openWorld, putUser } from "./world.ts";

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
