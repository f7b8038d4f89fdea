// Password hashes of administrators: correctness, limits, and no blocking of the thread that answers RADIUS.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { createAdminPasswordHasher } from "../../console/api/auth/admin_store.ts";
import { sourceKey } from "../../platform/addresses.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import {
  ACCOUNT_WINDOW_MS,
  ATTACKED_WAIT_MS,
  createAccountRateLimit,
  MAX_ACCOUNT_FAILURES,
} from "../../console/api/auth/sign_in_rate_limit.ts";
import { createManualClock } from "../fakes/console_app.ts";

const random = createSystemRandom();

Deno.test("createPasswordHasher() distinguishes the right password from others, in NFC", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const hash = await hasher.make("pa\u00dfwort \u00e9");
  assertEquals(await hasher.check("pa\u00dfwort e\u0301", hash), true);
  assertEquals(await hasher.check("pa\u00dfwort e", hash), false);
  assertEquals(await hasher.check("anything", null), false);
  assertEquals(await hasher.check("", null), false);
  assertNotEquals((await hasher.make("same")).hash, (await hasher.make("same")).hash);
});

Deno.test("createPasswordHasher() checks hashes of another cost", async () => {
  const earlier = createAdminPasswordHasher({ random, cost: { costLog2: 5 } });
  const hash = await earlier.make("same words");
  const now = createAdminPasswordHasher({ random, cost: { costLog2: 4, parallelization: 3 } });
  assertEquals(await now.check("same words", hash), true);
  assertEquals(await earlier.check("same words", await now.make("same words")), true);
  assertEquals(await now.check("other words", hash), false);
});

Deno.test("createPasswordHasher() runs 2 checks, queues 16, and refuses the rest", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 10 } });
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => hasher.make("x")));
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  assertEquals(refused.length, 2);
  for (const { reason } of refused) assert(reason instanceof Refusal && reason.code === "busy");
  await hasher.make("room again");
});

Deno.test("createPasswordHasher() frees its slots when a hash fails", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const broken = { algorithm: "scrypt", costLog2: 40, salt: "x", hash: "" } as const;
  for (let round = 0; round < 5; round += 1) await assertRejects(() => hasher.check("x", broken));
  assertEquals(await hasher.check("x", await hasher.make("x")), true);
});

Deno.test("createPasswordHasher() does not block the thread at its real cost", async () => {
  const hasher = createAdminPasswordHasher({ random });
  let turns = 0;
  const timer = setInterval(() => turns += 1, 1);
  const { costLog2, parallelization } = await hasher.make("one");
  clearInterval(timer);
  assertEquals([costLog2, parallelization], [15, 3]);
  // A synchronous hash would leave no time for a timer.
  assert(turns > 0);
});

const SOURCES: readonly (readonly [address: string, key: string])[] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
];
for (const [address, key] of SOURCES) {
  Deno.test(`sourceKey() counts ${address} under ${key}`, () => assertEquals(sourceKey(address), key));
}

async function attacked() {
  const clock = createManualClock();
  const attempts = createAccountRateLimit({ clock });
  const isRefused = async (source: string, name = "Ada") => {
    try {
      await attempts.refuseLimited({ name, source });
      return false;
    } catch (fault) {
      if (fault instanceof Refusal && fault.code === "too_many_attempts") return true;
      throw fault;
    }
  };
  for (let at = 0; at < MAX_ACCOUNT_FAILURES; at += 1) {
    await attempts.failed({ name: "ada", source: `198.51.100.${at}` });
  }
  return { clock, attempts, isRefused };
}

Deno.test("createAccountRateLimit() allows each source one wrong sign-in in 15 minutes for an account under attack", async () => {
  const { clock, attempts, isRefused } = await attacked();
  assertEquals([await isRefused("203.0.113.1"), await isRefused("198.51.100.3")], [false, true]);
  assertEquals(await isRefused("198.51.100.3", "bob"), false);
  await attempts.failed({ name: "ADA", source: "203.0.113.1" });
  assertEquals(await isRefused("203.0.113.1"), true);
  clock.advance(ATTACKED_WAIT_MS);
  assertEquals(await isRefused("203.0.113.1"), false);
});

Deno.test("createAccountRateLimit() does not limit a source from which the account signed in", async () => {
  const { attempts, isRefused } = await attacked();
  await attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(await isRefused("2001:db8::2"), true);
  await attempts.succeeded({ name: "ada", source: "2001:db8::2" });
  await attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(await isRefused("2001:db8::1"), false);
});

Deno.test("createAccountRateLimit() forgets an attack after an hour", async () => {
  const { clock, isRefused } = await attacked();
  clock.advance(ACCOUNT_WINDOW_MS);
  assertEquals(await isRefused("198.51.100.3"), false);
});
