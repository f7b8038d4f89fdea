// The list of pending writes, while entries are delivered during the read.

import { assertEquals } from "@std/assert";
import { PendingWriteList, type StoredEntry } from "../../../scim/provisioning/pending_writes.ts";

function kept(sequence: string): StoredEntry {
  const entry = {
    kind: "user",
    name: sequence,
    operation: "put",
    sinceMs: 0,
    attempts: 0,
    nextMs: 0,
  } as const;
  return {
    backend: "cloud",
    sequence,
    entry: { ...entry, started: false, why: null },
    versionstamp: "1",
    isDead: false,
  };
}

Deno.test("PendingWriteList does not list entries that were delivered while the store was read", async () => {
  const read = Promise.withResolvers<void>();
  const list = new PendingWriteList(async function* () {
    yield kept("a");
    await read.promise;
    // This entry is of a batch that was read before its delivery.
    yield kept("b");
    yield kept("c");
  });
  const loading = list.load();
  list.forget("b");
  read.resolve();
  await loading;
  assertEquals(list.oldest(9).map(({ id }) => id), ["a", "c"]);
});
