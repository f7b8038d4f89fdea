// The first owner, created by a link that works once.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Refusal } from "../../console/api/errors.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";

const CLAIM = { name: "Ada", password: "a long enough one" };

function tokenOf(link: string | null): string {
  return link?.split("#")[1] ?? "";
}

Deno.test("setupLink() is null when the settings name an owner", async () => {
  await using site = await startConsole();
  assertEquals(await site.admins.setupLink(), null);
});

Deno.test("setupLink() has 128 bits after the public address, and the store has only their digest", async () => {
  await using site = await startConsole({ admins: [] });
  const link = await site.admins.setupLink();
  assertMatch(link ?? "", /^http:\/\/127\.0\.0\.1:\d+\/setup#[A-Za-z0-9_-]{22}$/);
  const kept = JSON.stringify(await site.store.get(["console_setup"]));
  assertEquals(kept.includes(tokenOf(link)), false);
});

Deno.test("createSetUpRoutes() creates the owner, signs in, and uses up the link", async () => {
  await using site = await startConsole({ admins: [] });
  const before = await (await site.call("/console/api/session")).json();
  assertEquals(before.needsSetUp, true);
  const token = tokenOf(await site.admins.setupLink());
  const call = (claim: Record<string, string>) =>
    site.call("/console/api/setup", { method: "POST", json: { token, ...claim } });
  const made = await call(CLAIM);
  assertEquals((await made.json()).session.role, "owner");
  assertMatch(made.headers.get("set-cookie") ?? "", /HttpOnly; SameSite=Strict$/);
  const again = await call({ name: "Eve", password: CLAIM.password });
  assertEquals([again.status, (await again.json()).error.code], [410, "bad_set_up_link"]);
  assertEquals(await site.admins.setupLink(), null);
  const signedIn = await site.call("/console/api/session", {
    method: "POST",
    json: { name: "aDA ", password: CLAIM.password },
  });
  assertEquals((await signedIn.json()).session.name, "Ada");
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.actor, value?.action, value?.after]), [
    ["Ada", "administrator.create", { role: "owner" }],
  ]);
});

Deno.test("setUp() accepts one of two simultaneous claims", async () => {
  await using site = await startConsole({ admins: [] });
  const token = tokenOf(await site.admins.setupLink());
  const claims = ["a", "b", "c"].map((name) =>
    site.admins.setUp({ token, name, password: CLAIM.password, source: "" })
  );
  const outcomes = await Promise.allSettled(claims);
  assertEquals(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
});

Deno.test("setUp() refuses an old link, a voided one, and an unknown one", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ admins: [], clock });
  const claim = (token: string) =>
    assertRejects(() => site.admins.setUp({ token, ...CLAIM, source: "" }), Refusal, "no longer valid");
  await claim("");
  const voided = tokenOf(await site.admins.setupLink());
  const current = tokenOf(await site.admins.setupLink());
  await claim(voided);
  clock.advance(3_600_001);
  await claim(current);
});

const WEAK: readonly (readonly [name: string, password: string, code: string])[] = [
  ["Ada", "elevenchars", "weak_password"],
  ["Ada", "x".repeat(1025), "weak_password"],
  ["", "a long enough one", "bad_name"],
  ["  ", "a long enough one", "bad_name"],
  ["a\u202eb", "a long enough one", "bad_name"],
  ["a\r\nb", "a long enough one", "bad_name"],
  ["x".repeat(65), "a long enough one", "bad_name"],
];
Deno.test("setUp() refuses weak passwords and invalid names, and the link stays valid", async () => {
  await using site = await startConsole({ admins: [] });
  const token = tokenOf(await site.admins.setupLink());
  for (const [name, password, code] of WEAK) {
    const fault = await assertRejects(
      () => site.admins.setUp({ token, name, password, source: "" }),
      Refusal,
    );
    assertEquals(fault.code, code);
  }
  assertEquals((await site.admins.setUp({ token, ...CLAIM, source: "" })).name, "Ada");
});
