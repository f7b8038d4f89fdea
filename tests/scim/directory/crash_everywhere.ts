// A write of the directory with a crash of the process at each of its commits.

import { assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { dying, openWorld, type World } from "./world.ts";

/** Runs `act` with a crash at each of its commits in turn, and checks the state after each new start. */
export async function crashEverywhere(
  { before, act, check }: {
    before: (directory: TargetDirectory) => Promise<void>;
    act: (directory: TargetDirectory) => Promise<unknown>;
    check: (world: World, directory: TargetDirectory, acknowledged: boolean) => Promise<void>;
  },
): Promise<number> {
  await using first = await openWorld();
  await before(first.directory);
  const entries = (await Array.fromAsync(first.store.list<unknown>([])))
    .map(({ key, value }) => ({ type: "set", key, value } as const));
  for (let commits = 0; commits < 200; commits++) {
    await using world = await openWorld();
    for (let at = 0; at < entries.length; at += 500) {
      await world.store.commit({ mutations: entries.slice(at, at + 500) });
    }
    const mortal = await world.reopen({ store: dying(world.store, commits) });
    const acknowledged = await act(mortal).then(() => true, () => false);
    const directory = await world.reopen();
    await check(world, directory, acknowledged);
    assertEquals((await Array.fromAsync(world.store.list(["chore"]))).length, 0);
    if (acknowledged) return commits;
  }
  throw new Error("Cannot finish the write in 200 commits");
}
