// The queues of password checks: order, limits, and the answer to a caller that waits too long.

import { assertEquals } from "@std/assert";
import { CheckQueue, UserChecks } from "../../radius/factors/first_factor.ts";
import type { FirstFactorVerdict } from "../../radius/ports.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";

const PATIENCE_MS = 10_000;

/** A check that ends when the test ends it, and records that it began. */
function createCheck(began: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  const check = () => {
    began.push(name);
    return promise;
  };
  return { check, end: resolve };
}

Deno.test("UserChecks runs the checks of one user one after another, and those of other users in parallel", async () => {
  const checks = new UserChecks({ clock: createManualClock() });
  const began: string[] = [];
  const [first, second, other] = [
    createCheck(began, "first"),
    createCheck(began, "second"),
    createCheck(began, "other"),
  ];
  const answers = [
    checks.run("ada", first.check),
    checks.run("ada", second.check),
    checks.run("bob", other.check),
  ];
  await settle();
  assertEquals(began, ["first", "other"]);
  first.end("wrong");
  await settle();
  assertEquals(began, ["first", "other", "second"]);
  second.end("right");
  other.end("right");
  assertEquals(await Promise.all(answers), ["wrong", "right", "right"]);
});

Deno.test("UserChecks queues 16 checks of a user, and answers further ones with busy", async () => {
  const checks = new UserChecks({ clock: createManualClock() });
  const began: string[] = [];
  const first = createCheck(began, "first");
  const running = checks.run("ada", first.check);
  const waiting = Array.from({ length: 16 }, () => checks.run("ada", () => Promise.resolve("wrong")));
  assertEquals(await checks.run("ada", () => Promise.resolve("right")), "busy");
  assertEquals(await checks.run("bob", () => Promise.resolve("right")), "right");
  first.end("wrong");
  assertEquals(await Promise.all([running, ...waiting]), Array(17).fill("wrong"));
  assertEquals(await checks.run("ada", () => Promise.resolve("right")), "right");
});

Deno.test("UserChecks answers a check that cannot begin within 10 s with busy, and never begins it", async () => {
  const clock = createManualClock();
  const checks = new UserChecks({ clock });
  const began: string[] = [];
  const [first, second] = [createCheck(began, "first"), createCheck(began, "second")];
  const running = checks.run("ada", first.check);
  const late = checks.run("ada", second.check);
  clock.advance(PATIENCE_MS);
  assertEquals(await late, "busy");
  first.end("right");
  assertEquals([await running, began], ["right", ["first"]]);
});

Deno.test("CheckQueue reserves places of the queue for other clients", async () => {
  const clock = createManualClock();
  const queue = new CheckQueue({ atOnce: 1, waiting: 4, waitingPerClient: 2, clock });
  const began: string[] = [];
  const first = createCheck(began, "first");
  const run = (client: string) => queue.run(client, () => Promise.resolve("right"));
  const running = queue.run("vpn", first.check);
  const waiting = [run("vpn"), run("vpn"), run("wifi"), run("wifi")];
  assertEquals([await run("vpn"), await run("wifi"), await run("door")], ["busy", "busy", "busy"]);
  first.end("wrong");
  assertEquals(await Promise.all([running, ...waiting]), ["wrong", "right", "right", "right", "right"]);
});

Deno.test("CheckQueue answers unavailable if a check takes over 10 s, and the check keeps its place", async () => {
  const clock = createManualClock();
  const queue = new CheckQueue({ atOnce: 1, waiting: 4, waitingPerClient: 2, clock });
  const began: string[] = [];
  const [first, second] = [createCheck(began, "first"), createCheck(began, "second")];
  const answers = [queue.run("vpn", first.check), queue.run("vpn", second.check)];
  clock.advance(PATIENCE_MS);
  assertEquals([await Promise.all(answers), began], [["unavailable", "busy"], ["first"]]);
});
