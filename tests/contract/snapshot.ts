// Compares a contract with its committed snapshot: interfaces for administrators, clients and stored data must not
// change.
// To accept a change on purpose, run the test with UPDATE_SNAPSHOTS=1, and read the difference before you commit it:
//   UPDATE_SNAPSHOTS=1 deno test -A --lock=tests/deno.lock tests/contract

import { assertEquals } from "@std/assert";

const SNAPSHOTS = new URL("snapshots/", import.meta.url);

/** Compares `text` with a file of snapshots/. With UPDATE_SNAPSHOTS=1 it writes the file instead. */
export async function assertSnapshot(name: string, text: string): Promise<void> {
  const file = new URL(name, SNAPSHOTS);
  if (Deno.env.get("UPDATE_SNAPSHOTS") === "1") {
    await Deno.writeTextFile(file, text);
    return;
  }
  assertEquals(
    text.split("\n"),
    (await Deno.readTextFile(file)).split("\n"),
    `${name} is no longer the same`,
  );
}
