// Several words in q: the result does not depend on how frequent a word is, and a rare word limits the reading.

import { assert, assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { Store } from "../../../platform/store.ts";
import { namesOf, openWorld, putUser } from "./world.ts";

const PEOPLE = 400;

/** All have the name Anna, every second one the name Berg, and each has a number. */
async function fill(directory: TargetDirectory): Promise<void> {
  const given = (at: number) => ({
    name: { givenName: "Anna", familyName: at % 2 === 0 ? "Berg" : "Tal" },
  });
  await Promise.all(
    Array.from({ length: PEOPLE }, (_, at) => putUser(directory, `n${1000 + at}`, { attributes: given(at) })),
  );
}

async function found(directory: TargetDirectory, q: string): Promise<{ total: number; names: string[] }> {
  const outcome = await directory.search("user", q, { page: 1, size: 1000 });
  if (!outcome.ok) throw new Error(outcome.problem.detail);
  return { total: outcome.page.total, names: namesOf(outcome.page.resources) };
}

Deno.test("search() of several words finds the users who have all of them, however frequent each word is", async () => {
  await using world = await openWorld();
  await fill(world.directory);
  const rows: [string, number][] = [
    ["anna n1007", 1],
    ["n1007 anna", 1],
    ["berg n1007", 0],
    ["anna n100", 10],
    ["anna n10 tal", 50],
    ["anna berg", PEOPLE / 2],
    ["an be", PEOPLE / 2],
    ["anna zoe", 0],
    ["n1001 n1002", 0],
  ];
  for (const [q, total] of rows) {
    const { names, total: said } = await found(world.directory, q);
    assertEquals([said, names.length], [total, total], q);
    assertEquals(names, names.toSorted(), q);
  }
});

Deno.test("search() of a common and a rare word reads only a part of the common one", async () => {
  let read = 0;
  await using world = await openWorld();
  await fill(world.directory);
  const counting: Store = {
    ...world.store,
    async *range<T>(...args: Parameters<Store["range"]>) {
      for await (const entry of world.store.range<T>(...args)) {
        read += 1;
        yield entry;
      }
    },
  };
  const directory = await world.reopen({ store: counting });
  read = 0;
  assertEquals((await found(directory, "anna n1007")).total, 1);
  assert(read < 100, `${read} entries were read`);
});
