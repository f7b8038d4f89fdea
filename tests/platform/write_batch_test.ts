// The write batch: the content of a commit, and the order of a rollback.

import { assertEquals } from "@std/assert";
import { WriteBatch } from "../../platform/write_batch.ts";

function filled(): { batch: WriteBatch; ran: string[] } {
  const batch = new WriteBatch();
  const ran: string[] = [];
  batch.mutations.push({ type: "set", key: ["request_used", "r"], value: true });
  batch.checks.push({ key: ["request_used", "r"], versionstamp: null });
  for (const name of ["first", "second", "third"]) {
    batch.whenCommitted(() => ran.push(`${name} committed`));
    batch.whenFailed(() => ran.push(`${name} failed`));
  }
  return { batch, ran };
}

Deno.test("WriteBatch.committed() clears mutations, checks and tasks, so that the next commit does not race with this one", () => {
  const { batch, ran } = filled();
  batch.committed();
  assertEquals(ran, ["first committed", "second committed", "third committed"]);
  assertEquals([batch.mutations, batch.checks], [[], []]);
  batch.committed();
  batch.rollBack();
  assertEquals(ran.length, 3);
});

Deno.test("WriteBatch.rollBack() runs the tasks from the last to the first, once", () => {
  const { batch, ran } = filled();
  batch.rollBack();
  batch.rollBack();
  batch.committed();
  assertEquals(ran, ["third failed", "second failed", "first failed"]);
  assertEquals(batch.checks, []);
});

Deno.test("WriteBatch: two rollback tasks of the same value restore the original value", () => {
  const batch = new WriteBatch();
  let value = "original";
  for (const next of ["one", "two"]) {
    const before = value;
    value = next;
    batch.whenFailed(() => value = before);
  }
  batch.rollBack();
  assertEquals(value, "original");
});
