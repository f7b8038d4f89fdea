// Audit records of logins: the address of the RADIUS client and the caller (Calling-Station-Id, RFC 2865 §5.31).

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone } from "./phone.ts";

const CALLER = "198.51.100.23";

/** The audit records of logins: the event, the address of the client, and the caller. */
async function audited(world: InProcess): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
    if (String(value?.action).startsWith("login.")) found.push([value?.action, value?.source, value?.caller]);
  }
  return found;
}

Deno.test("login audit: a decision and a login that expired have the caller beside the client", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
  const phone = await pairPhone(world, "anna");
  const denied = world.login({ user: "anna", callingStationId: CALLER });
  await denied.start();
  await phone.deny();
  await denied.answer("");
  await world.login({ user: "anna", callingStationId: CALLER }).start();
  await jump(world.clock, 61_000);
  await becomes("the end is recorded", async () => (await audited(world)).length === 2);
  assertEquals(await audited(world), [
    ["login.rejected", "127.0.0.1", CALLER],
    ["login.expired", "127.0.0.1", CALLER],
  ]);
});

Deno.test("login audit: a login without a Calling-Station-Id has no caller", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  await phone.deny();
  await login.answer("");
  assertEquals(await audited(world), [["login.rejected", "127.0.0.1", undefined]]);
});
