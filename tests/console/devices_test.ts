// The API of authenticators of all users: the masked list, the last use, and revoking one or several.

import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { DevicePage, RevocationResult } from "../../console/api/groups/group_types.ts";
import { encodeLoginRecord, historyKey, historyKeyAt } from "../../radius/conversation/login_record.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

Deno.test("devices: all pairings are listed masked, filtered by name and kind, and revoked with a record", async () => {
  await using site = await startPeopleConsole();
  for (const name of ["ada", "bob"]) {
    const user = { canonical: name, shown: name };
    const { mutation, pairing } = site.pairings.prepare(user, { kind: "sms", number: "+4915112345678" });
    await site.store.commit({ mutations: [mutation] });
    site.pairings.adopt(pairing);
  }
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const text = JSON.stringify(await ask<DevicePage>("/console/api/devices"));
  assertNotMatch(text, /15112345/);
  assertMatch(text, /"total":2/);
  assertEquals((await ask<DevicePage>("/console/api/devices?kind=device")).total, 0);
  const [row] = (await ask<DevicePage>("/console/api/devices?q=AD")).rows;
  assertEquals([row?.user, row?.usedMs, row?.unusedSinceMs], ["ada", null, null], "never used");
  await ask(`/console/api/devices/${row?.id}`, { method: "DELETE", json: {} });
  assertEquals((await ask<DevicePage>("/console/api/devices")).rows.map(({ user }) => user), ["bob"]);
  const record = (await site.audits()).find(({ action }) => action === "pairing.revoke");
  assertEquals(record?.object, "user:ada");
});

Deno.test("devices: pages in order of user have each pairing once, also if a page ends between those of a user", async () => {
  await using site = await startPeopleConsole();
  const added: string[] = [];
  for (const user of ["eve", "ada", "bob", "Ada-2"]) {
    for (let phone = 0; phone < 3; phone++) {
      await site.pairings.addDevice({ id: `${user.toLowerCase()} ${phone}`, userName: user, totpLength: 6 });
      added.push(`${user.toLowerCase()} ${phone}`);
    }
  }
  const ask = apiCaller(site, await site.signIn("viewer"));
  for (const sort of ["", "&sort=user"]) {
    const found: string[] = [];
    for (let page = 1; page <= 4; page++) {
      const { total, rows } = await ask<DevicePage>(`/console/api/devices?size=5&page=${page}${sort}`);
      assertEquals([total, rows.length], [12, Math.max(0, Math.min(5, 12 - 5 * (page - 1)))]);
      found.push(...rows.map(({ id }) => id));
    }
    assertEquals(found, added.toSorted());
  }
});

Deno.test("devices: several are revoked in one request, each with a record, and one that is gone does not keep the others", async () => {
  await using site = await startPeopleConsole();
  for (const user of ["ada", "bob", "eve"]) {
    await site.pairings.addDevice({ id: `phone-${user}`, userName: user, totpLength: 6 });
  }
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const ids = ["phone-ada", "phone-gone", "phone-eve", "phone-ada"];
  const result = await ask<RevocationResult>("/console/api/devices/revoke", {
    method: "POST",
    json: { ids },
  });
  assertEquals(result.revoked, ["phone-ada", "phone-eve"]);
  assertEquals(result.failed.map(({ id }) => id), ["phone-gone"]);
  assertEquals((await ask<DevicePage>("/console/api/devices")).rows.map(({ user }) => user), ["bob"]);
  const records = (await site.audits()).filter(({ action }) => action === "pairing.revoke");
  assertEquals(records.map(({ object }) => object).toSorted(), ["user:ada", "user:eve"]);
  const cookie = await site.signIn("user_manager");
  for (const bad of [[], [""], Array.from({ length: 101 }, String)]) {
    const json = { ids: bad };
    const refused = await site.call("/console/api/devices/revoke", { method: "POST", json, cookie });
    assertEquals(refused.status, 400, `${bad.length} ids`);
  }
});

Deno.test("devices: a use before the pairing belongs to another factor, and an old unused factor shows its age", async () => {
  await using site = await startPeopleConsole();
  for (const user of ["ada", "bob"]) {
    await site.pairings.addDevice({ id: `phone of ${user}`, userName: user, totpLength: 6 });
  }
  const pairedMs = site.pairings.of("bob")[0]?.createdMs ?? 0;
  const day = 24 * 3_600_000;
  const ended = (user: string, endedMs: number) => {
    const startedMs = endedMs - 2000;
    const login = {
      ...{ user, client: "vpn-1", source: "10.1.0.7", place: "", factor: "device", startedMs, endedMs },
      ...{ outcome: "accepted", refusedFor: null, passwordRight: false, moments: [] },
    };
    const key = historyKey(`${historyKeyAt(startedMs)}${user}`);
    return { type: "set" as const, key, value: encodeLoginRecord(login) };
  };
  await site.store.commit({ mutations: [ended("ada", pairedMs - day), ended("bob", pairedMs + 1000)] });
  const ask = apiCaller(site, await site.signIn("viewer"));
  const { rows } = await ask<DevicePage>("/console/api/devices");
  assertEquals(rows.map(({ user, usedMs, unusedSinceMs }) => [user, usedMs, unusedSinceMs]), [
    ["ada", null, null],
    ["bob", pairedMs + 1000, null],
  ]);
});
