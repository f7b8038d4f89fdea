// The directory compared with a naive model: random sequences of writes, concurrent writes, and a restart.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { act, assertFinds, assertSame, canonicals, FAMILY, note, perform, writeOf } from "./acts.ts";
import { createModel } from "./model.ts";
import { drop, NAME, openWorld, pageOf, putUser } from "./world.ts";

Deno.test("createDirectory() equals a naive directory after any sequence of writes and a restart", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 40 }), async (acts) => {
      await using world = await openWorld();
      const model = createModel();
      for (const one of acts) {
        await perform(world.directory, one);
        note(model, one);
      }
      await assertSame(world.directory, model);
      await assertFinds(world.directory, model);
      const again = await world.reopen();
      await assertSame(again, model);
      await assertFinds(again, model);
    }),
    { numRuns: 25 },
  );
});

Deno.test("createDirectory() counts and finds exactly when index buckets are split and emptied again", async () => {
  await using world = await openWorld();
  const model = createModel();
  const random = fc.sample(fc.integer({ min: 0, max: 99_999 }), { numRuns: 1500, seed: 7 });
  const given = random.map((number) => ({
    name: `u${number}`,
    active: true,
    attributes: { name: { familyName: FAMILY[number % 8] ?? "", givenName: `g${number % 100}` } },
  }));
  await world.directory.writeMany([...new Map(given.map((one) => [one.name, one])).values()].map((one) => ({
    kind: "user",
    name: one.name,
    expected: null,
    next: { content: { kind: "user", ...one }, backends: {} },
  })));
  for (const one of given) model.putUser(one);
  for (const one of given.slice(0, 700)) {
    if (!model.users.has(one.name)) continue;
    await drop(world.directory, { kind: "user", name: one.name });
    model.drop("user", one.name);
  }
  for (const directory of [world.directory, await world.reopen()]) {
    for (const size of [50, 333]) {
      for (let page = 1; page <= model.users.size / size + 1; page++) {
        const { total, resources } = await directory.page("user", { page, size });
        assertEquals(total, model.users.size);
        assertEquals(canonicals(resources), model.names("user").slice((page - 1) * size, page * size));
      }
    }
    for (const q of ["u", "u1", "u12", "g", "g7", "smith", "s", "o'", "b", "g1 smith"]) {
      const expected = model.found("user", q);
      const gathered: string[] = [];
      for (let page = 1; page <= expected.length / 100 + 1; page++) {
        const found = pageOf(await directory.search("user", q, { page, size: 100 }));
        assertEquals([q, found.total], [q, expected.length]);
        gathered.push(...canonicals(found.resources));
      }
      assertEquals(gathered.sort(), expected.sort());
    }
  }
});

Deno.test("createDirectory() handles concurrent writes as if they came one by one", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 15 }),
      fc.array(act, { minLength: 2, maxLength: 12 }),
      async (before, acts) => {
        await using world = await openWorld();
        const model = createModel();
        for (const one of before) {
          await perform(world.directory, one);
          note(model, one);
        }
        const writes = await Promise.all(acts.map((one) => writeOf(world.directory, one)));
        const results = await Promise.all(writes.map((write) => write()));
        // Another write may have made a version outdated. A refused write must change nothing.
        for (const [at, one] of acts.entries()) if (results[at]?.ok) note(model, one);
        await assertSame(world.directory, model);
        await assertFinds(await world.reopen(), model);
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("writeMany() leaves no tombstone of a user who is deleted and created in the same commit", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  const expected = (await world.directory.read("user", "anna"))?.version ?? null;
  const content = { kind: "user", name: "Anna", active: true, attributes: { name: NAME } } as const;
  const results = await world.directory.writeMany([
    { kind: "user", name: "anna", expected, next: null },
    { kind: "user", name: "anna", expected: null, next: { content, backends: {} } },
  ]);
  assertEquals(results.map(({ ok }) => ok), [true, true]);
  assertEquals(world.directory.count("user"), 1);
  for (const prefix of ["gone", "departure"]) {
    assertEquals((await Array.fromAsync(world.store.list([prefix]))).length, 0);
  }
});
