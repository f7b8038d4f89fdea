// Every phone that is paired or removed has a record with its time, its address and its browser, written by the running
// program.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { CONSOLE, createCaller, startSecured } from "./console_caller.ts";

interface Item {
  readonly id: string;
  readonly action: string;
  readonly actor: string;
  readonly source: string;
  readonly before: string;
  readonly after: string;
  readonly objects: readonly string[];
  readonly details: Readonly<Record<string, string>>;
}

const PHONE = {
  "user-agent": "Mozilla/5.0 (Android 16; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
} as const;

Deno.test("pairing by invitation, and removal on the phone and by an administrator are in the audit log and the timeline", async () => {
  await using site = await startSecured();
  const { owner, gateway } = site;
  await site.createUser("ada", { name: { givenName: "Ada", familyName: "L" } });
  const audit = async (query: string) =>
    (await owner.take<{ items: Item[] }>(`${CONSOLE}/audit?${query}`)).items;
  const pairPhone = async () => {
    const { link } = await owner.take<{ link: string }>(`${CONSOLE}/users/ada/invitation`, { json: {} });
    const phone = createCaller(gateway, PHONE);
    const invitation = new URLSearchParams(new URL(link).hash.slice(1)).get("invite");
    const { pairingId } = await phone.take<{ pairingId: string }>("/device/api/invitation/accept", {
      json: { invitation, name: "Pixel" },
    });
    return { phone, pairingId };
  };

  const first = await pairPhone();
  const [added] = await audit("object=user:ada&action=pairing.add");
  assertEquals([added?.actor, added?.source, added?.objects, added?.details], [
    "user:ada",
    "127.0.0.1",
    ["user:ada"],
    {
      browser: "Firefox on Android",
      factor: "device",
      how: "invitation",
      pairing: first.pairingId,
      phone: "Pixel",
    },
  ]);

  await first.phone.take(`/device/api/pairings/${first.pairingId}`, { method: "DELETE" });
  const [removed] = await audit("object=user:ada&action=pairing.revoke");
  assertEquals([removed?.actor, removed?.details.how, removed?.details.browser], [
    "user:ada",
    "phone",
    "Firefox on Android",
  ]);

  const second = await pairPhone();
  await owner.take(`${CONSOLE}/users/ada/pairings/${second.pairingId}`, { method: "DELETE", json: {} });
  const [revoked] = await audit("object=user:ada&action=pairing.revoke");
  assertEquals([revoked?.actor, revoked?.details.how, revoked?.details.pairing], [
    "root",
    "console",
    second.pairingId,
  ]);

  const { stdout } = await gateway.pair("ada", "--sms", "+14155550123");
  assertStringIncludes(stdout, "ada");
  const [number] = await audit("object=user:ada&action=pairing.add");
  assertEquals([number?.action, number?.actor, number?.details.factor, number?.details.number], [
    "pairing.add",
    "command",
    "sms",
    "+1*******123",
  ]);

  const { entries } = await owner.take<{ entries: Item[] }>(`${CONSOLE}/users/ada/timeline`);
  assertEquals(entries.map(({ action }) => action), [
    "pairing.add",
    "pairing.revoke",
    "pairing.add",
    "invitation.make",
    "pairing.revoke",
    "pairing.add",
    "invitation.make",
    "user.created",
  ]);
});

Deno.test("a phone number in a profile is recorded as a factor, masked, with the values before and after", async () => {
  await using site = await startSecured();
  const { owner } = site;
  await site.createUser("bob", { name: { givenName: "Bob", familyName: "K" }, title: "Clerk" });
  await owner.take(`/console/api/users/bob/active`, { method: "PUT", json: { active: false } });
  const audit = async (query: string) =>
    (await owner.take<{ items: Item[] }>(`${CONSOLE}/audit?${query}`)).items;
  const [change] = await audit("q=BOB&action=user.replaced");
  assertEquals([change?.before, change?.after], ['{"active":true}', '{"active":false}']);

  await site.createUser("carol", {
    name: { givenName: "C", familyName: "D" },
    phoneNumbers: [{ value: "+14155550123", type: "mobile" }],
  });
  const [factor] = await audit("object=carol&action=pairing.add");
  assertEquals([factor?.actor, factor?.details], ["root", {
    factor: "directory_number",
    how: "profile",
    number: "+1*******123",
    target: "default",
  }]);
  const all = JSON.stringify(await audit(""));
  assertEquals(all.includes("4155550123"), false);
});
