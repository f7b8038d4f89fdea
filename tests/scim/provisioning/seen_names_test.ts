// The compact set of names, and texts that are longer than a value of the store.

import fc from "../../packages/fast_check.ts";
import { assert, assertEquals } from "@std/assert";
import {
  deleteChunkedText,
  readChunkedText,
  setChunkedText,
} from "../../../scim/provisioning/backend_status.ts";
import { NameHashSet } from "../../../scim/directory/name_hashes.ts";
import { createStore } from "../../../platform/store.ts";

Deno.test("NameHashSet contains what was added and, of 100,000 others, nothing", () => {
  const seen = new NameHashSet(12345);
  for (let n = 0; n < 100_000; n++) seen.add(`user${n}`);
  for (let n = 0; n < 100_000; n++) assert(seen.has(`user${n}`));
  let wrong = 0;
  for (let n = 100_000; n < 200_000; n++) if (seen.has(`user${n}`)) wrong++;
  assertEquals(wrong, 0);
  assert(!new NameHashSet(1).has("anybody"));
});

/**
 * A commit accepts 800 KiB, and a character takes at most two octets. Copies are shorter, and the intent log writes ten
 * parts in one commit. A piece of several emoji can be longer than twelve characters.
 */
const MAX_CHARACTERS_PER_COMMIT = 300_000;

Deno.test("law: a long text is read as it was set, over any other text, and a deletion leaves nothing", async () => {
  const kv = await Deno.openKv(":memory:");
  const store = createStore(kv);
  const key = ["copy", "corp"];
  const text = fc.tuple(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    fc.integer({ min: 0, max: 12_000 }),
  )
    .map(([piece, times]) => piece.repeat(times).slice(0, MAX_CHARACTERS_PER_COMMIT));
  const longest = "\u4e2d".repeat(MAX_CHARACTERS_PER_COMMIT);
  await fc.assert(
    fc.asyncProperty(text, text, async (first, second) => {
      for (const written of [first, second]) {
        const before = (await readChunkedText(store, key))?.parts ?? 0;
        await store.commit({ mutations: setChunkedText(key, written, { before }) });
        assertEquals((await readChunkedText(store, key))?.text, written);
      }
      const parts = (await readChunkedText(store, key))?.parts ?? 0;
      await store.commit({ mutations: deleteChunkedText(key, parts) });
      for await (const { key: left } of kv.list({ prefix: [] })) throw new Error(`left: ${left.join(" ")}`);
    }),
    { numRuns: 30, examples: [[longest, "a"], ["a", longest]] },
  );
  await store.close();
});
