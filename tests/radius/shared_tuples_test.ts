// Tuples that several logins share: detection, a retention of a day, and limits.

import { assertEquals } from "@std/assert";
import { createLog } from "../../platform/log.ts";
import { SharedTuples } from "../../radius/conversation/shared_tuples.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

const DAY_MS = 24 * 3600_000;

async function ground(limits: { maxKnown?: number; maxShared?: number } = {}) {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32), createSystemRandom());
  const make = () => new SharedTuples({ store, clock, log, vault, ...limits });
  const tuples = make();
  const login = (place: string, user: string, more: { busy?: boolean; proven?: boolean } = {}) =>
    tuples.distinguishes({ place, user, busy: false, proven: true, ...more });
  return {
    ...{ clock, store, tuples, login },
    async again() {
      const later = make();
      await later.load();
      return later;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("distinguishes() is true while each login of a tuple has its final answer before the next", async () => {
  await using at = await ground();
  for (let count = 0; count < 5; count++) {
    assertEquals(at.login("p", "ada"), true);
    at.tuples.concluded("p", "ada");
  }
  assertEquals(at.tuples.isShared("p"), false);
});

Deno.test("distinguishes() is false for a day after a second login came before the first was answered", async () => {
  await using at = await ground();
  assertEquals(at.login("p", "ada"), true);
  assertEquals([at.login("p", "ada"), at.tuples.isShared("p")], [false, true]);
  at.tuples.concluded("p", "ada");
  assertEquals([at.login("p", "ada"), at.login("another", "ada")], [false, true]);
  at.tuples.concluded("p", "ada");
  at.clock.advance(DAY_MS + 1);
  assertEquals(at.login("p", "ada"), true);
});

Deno.test("distinguishes() is false after another user name used the tuple, and during a login in progress", async () => {
  await using at = await ground();
  at.login("p", "ada");
  at.tuples.concluded("p", "ada");
  assertEquals(at.login("p", "bob"), false);
  assertEquals(at.login("q", "ada", { busy: true }), false);
  assertEquals([at.tuples.isShared("p"), at.tuples.isShared("q")], [true, true]);
});

Deno.test("a login that does not prove the secret is checked, and leaves no mark", async () => {
  await using at = await ground();
  assertEquals(at.login("p", "eve", { proven: false }), true);
  assertEquals(at.login("p", "ada"), true);
  assertEquals([at.login("p", "eve", { proven: false }), at.login("p", "ada", { proven: false })], [
    false,
    false,
  ]);
  assertEquals(at.tuples.isShared("p"), false);
});

Deno.test("a shared tuple is shared after a restart too, also with a long key", async () => {
  await using at = await ground();
  const long = `${"x".repeat(1000)} 3 vpn`;
  for (const place of ["p", long]) {
    at.login(place, "ada");
    at.login(place, "bob");
  }
  // A commit after those of the marks.
  await at.store.commit({ mutations: [{ type: "set", key: ["after"], value: 1 }] });
  const later = await at.again();
  assertEquals([later.isShared("p"), later.isShared(long), later.isShared("q")], [true, true, false]);
  at.clock.advance(DAY_MS);
  assertEquals((await at.again()).isShared("p"), false);
});

Deno.test("shared tuples stay when the table is full, others are removed", async () => {
  await using at = await ground({ maxKnown: 10, maxShared: 5 });
  at.login("shared", "ada");
  at.login("shared", "bob");
  for (let count = 0; count < 1000; count++) at.login(`p${count}`, "ada");
  assertEquals([at.tuples.isShared("shared"), at.tuples.isShared("p0")], [true, false]);
});

Deno.test("when too many tuples are shared, every tuple counts as shared until the marks expire", async () => {
  await using at = await ground({ maxKnown: 10, maxShared: 5 });
  for (let count = 0; count < 5; count++) at.login(`p${count}`, "ada", { busy: true });
  assertEquals([at.tuples.isShared("q"), at.login("q", "ada")], [true, false]);
  at.clock.advance(DAY_MS + 1);
  assertEquals([at.tuples.isShared("q"), at.login("r", "ada")], [false, true]);
});
