// The push and message limits of a user: shown with the time at which they end, and reset by an administrator.

import { assert, assertEquals } from "@std/assert";
import type { UserView } from "../../console/api/users/user_types.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { caller } from "../fakes/user_calls.ts";

const USERS = "/console/api/users";

Deno.test("users: the push and message limits of a user are shown with their time, and reset", async () => {
  await using site = await startPeopleConsole();
  const number = "+4915112345678";
  await site.put("ada", { phoneNumbers: [{ value: "+49 151 12345678" }] });
  for (let count = 0; count < 5; count++) {
    site.limits.countPush("ada");
    await site.store.commit({ mutations: site.limits.countSend({ user: "ada", number, client: "vpn" }) });
  }
  const ask = caller(site, await site.signIn("user_manager"));
  const lockOf = ({ login }: UserView) => login?.lock;
  const before = lockOf(await ask<UserView>(`${USERS}/ada`));
  assert((before?.pushesBlockedUntilMs ?? 0) > Date.now() + 3_500_000);
  assert((before?.sendsBlockedUntilMs ?? 0) > Date.now() + 500_000);
  const { user } = await ask<{ user: UserView }>(`${USERS}/ada/reset-limits`, { method: "POST", json: {} });
  assertEquals([lockOf(user)?.pushesBlockedUntilMs, lockOf(user)?.sendsBlockedUntilMs], [null, null]);
  assertEquals(site.limits.limitOf({ user: "ada", number, client: "vpn" }), null);
  assertEquals((await site.audits()).at(-1)?.action, "user.reset_limits");
  // After a restart they are still reset.
  const kept = [];
  for await (const { key } of site.store.list(["limit"])) kept.push(key[1]);
  assertEquals(kept.sort(), ["client_sends", "sends"]);
});
