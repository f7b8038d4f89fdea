// POST /users/:id/unlock, and what GET /users/:id shows of a lock.

import { assertEquals } from "@std/assert";
import { valueOf } from "../../cli/admin_connection.ts";
import type { LockView } from "../../console/api/users/user_types.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const LOCKOUT = "[factors.lockout]\nfailures = 2\nhard_limit = 3\n";

async function fail({ store, radius: { limits } }: TestComposition, times: number): Promise<void> {
  for (let at = 0; at < times; at++) await store.commit({ mutations: [limits.fail("ann").mutation] });
}

async function lockOf({ api }: TestComposition, id: string): Promise<LockView> {
  const { login } = await valueOf(api.users[":id"].$get({ param: { id }, query: {} }));
  if (login === null) throw new Error("the users of this target do not log in");
  return login.lock;
}

const unlock = ({ api }: TestComposition, id: string) =>
  valueOf(api.users[":id"].unlock.$post({ param: { id }, json: {} }));

Deno.test("POST /users/:id/unlock forgets failures and lock, in store and memory, with a record", async () => {
  await using gateway = await openComposition(LOCKOUT);
  await fail(gateway, 3);
  const { locked, hardLocked, failures, locks } = await lockOf(gateway, "Ann");
  assertEquals([locked, hardLocked, failures, locks], [true, true, 3, 1]);
  const { user: { login } } = await unlock(gateway, "ANN");
  assertEquals([login?.lock.locked, gateway.radius.limits.isLocked("ann")], [false, false]);
  assertEquals((await gateway.store.get(["limit", "failures", "ann"])).value, null);
  assertEquals(await gateway.audits(), [{
    atMs: gateway.clock.nowMs(),
    actor: "command",
    action: "user.unlock",
    object: "user:ANN",
    before: "3 failures",
    how: "command",
  }]);
});

Deno.test("POST /users/:id/unlock of a user without failures changes and records nothing", async () => {
  await using gateway = await openComposition();
  await unlock(gateway, "ann");
  assertEquals(await gateway.dump(), "");
});

Deno.test("POST /users/:id/unlock keeps the lock when the store fails", async () => {
  await using gateway = await openComposition(LOCKOUT);
  await fail(gateway, 3);
  gateway.breakStore();
  assertEquals((await gateway.ask("POST", "/users/ann/unlock", {})).code, "internal");
  assertEquals(gateway.radius.limits.isLocked("ann"), true);
});

Deno.test("GET /users/:id shows failures and limits, and changes nothing", async () => {
  await using gateway = await openComposition();
  await fail(gateway, 1);
  const before = await gateway.dump();
  const { locked, inRow, pushesBlockedUntilMs, sendsBlockedUntilMs } = await lockOf(gateway, "ann");
  assertEquals([locked, inRow, pushesBlockedUntilMs, sendsBlockedUntilMs], [false, 1, null, null]);
  assertEquals(await gateway.dump(), before);
});
