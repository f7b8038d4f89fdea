// The unit of work of one turn: what a commit takes with it, and in which order memory is taken back.

import { assertEquals } from "@std/assert";
import { UnitOfWork } from "../../radius/doing/unit_of_work.ts";

function filled(): { work: UnitOfWork; ran: string[] } {
  const work = new UnitOfWork();
  const ran: string[] = [];
  work.mutations.push({ type: "set", key: ["request_used", "r"], value: true });
  work.checks.push({ key: ["request_used", "r"], versionstamp: null });
  for (const name of ["first", "second", "third"]) {
    work.whenCommitted(() => ran.push(`${name} committed`));
    work.whenFailed(() => ran.push(`${name} failed`));
  }
  return { work, ran };
}

Deno.test("UnitOfWork.committed() clears mutations, checks and tasks, so that the next commit does not race with this one", () => {
  const { work, ran } = filled();
  work.committed();
  assertEquals(ran, ["first committed", "second committed", "third committed"]);
  assertEquals([work.mutations, work.checks], [[], []]);
  work.committed();
  work.rollBack();
  assertEquals(ran.length, 3);
});

Deno.test("UnitOfWork.rollBack() runs the tasks from the last to the first, once", () => {
  const { work, ran } = filled();
  work.rollBack();
  work.rollBack();
  work.committed();
  assertEquals(ran, ["third failed", "second failed", "first failed"]);
  assertEquals(work.checks, []);
});

Deno.test("UnitOfWork: two tasks that put the same value back leave the original value", () => {
  const work = new UnitOfWork();
  let value = "original";
  for (const next of ["one", "two"]) {
    const before = value;
    value = next;
    work.whenFailed(() => value = before);
  }
  work.rollBack();
  assertEquals(value, "original");
});
