// The help desk over HTTP: bypass codes, lost phones, unlocking, and who may do it to whom.

import { eventually } from "../upstream/manual_clock.ts";
import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type {
  IssuedBypass,
  LostPhoneResult,
  StartedVerification,
} from "../../console/api/help_desk/help_desk_types.ts";
import type { Content } from "../../scim/schema/resource.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import { type HelpDeskSite, openHelpDesk } from "./help_desk_site.ts";

const MINUTE_MS = 60_000;
const ONE_USE = { uses: 1, minutes: 60 };

const textOfStore = async ({ store }: HelpDeskSite) =>
  (await Array.fromAsync(store.list<unknown>([]))).map((entry) => Deno.inspect(entry, { depth: 9 })).join(
    "\n",
  );

Deno.test("a bypass code is issued once, shown to viewers without the code, and revoked, each with a record", async () => {
  await using site = await openHelpDesk();
  const hanna = await site.as("help_desk");
  const issued = await hanna<IssuedBypass & { user: UserView }>("POST", "/users/ADA/bypass", {
    ...{ uses: 3, minutes: 120 },
    reason: "Ticket 17",
  });
  assertEquals(issued.status, 200);
  const { code, bypass } = issued.body;
  assertMatch(code, /^[0-9]{5}-[0-9]{5}$/);
  const { id, ...shown } = bypass;
  assertEquals(shown, {
    ...{ uses: 3, usesLeft: 3, by: "hanna", createdMs: site.clock.nowMs() },
    expiresMs: site.clock.nowMs() + 120 * MINUTE_MS,
  });
  const seen = await (await site.as("viewer"))<UserView>("GET", "/users/ada");
  assertEquals(seen.body.login?.bypass, bypass);
  for (const text of [code, code.replace("-", "")]) {
    assertNotMatch(JSON.stringify(seen.body), new RegExp(text));
    assertEquals((await textOfStore(site)).includes(text), false);
  }
  assertEquals((await hanna("DELETE", "/users/ada/bypass", {})).status, 200);
  assertEquals((await hanna("DELETE", "/users/ada/bypass", {})).code, "no_bypass");
  const records = await site.audited("bypass.issue", "bypass.revoke");
  assertEquals(records.map(({ atMs: _at, browser: _browser, ...record }) => record), [
    {
      ...{ actor: "hanna", source: "192.0.2.9", action: "bypass.issue", object: "user:ada", how: "console" },
      ...{ bypass: id, deadlineMs: bypass.expiresMs, uses: 3, reason: "Ticket 17" },
    },
    {
      ...{ actor: "hanna", source: "192.0.2.9", action: "bypass.revoke", object: "user:ada", how: "console" },
      ...{ bypass: id, usesLeft: 3 },
    },
  ]);
});

Deno.test("a bypass code within the limits of the settings only, and only for an active user of the directory", async () => {
  await using site = await openHelpDesk({
    toml: "[help_desk]\nbypass_max_minutes = 60\nbypass_max_uses = 2\nbypass_any_uses = false\n",
  });
  const hanna = await site.as("help_desk");
  const codeOf = async (wish: unknown, user = "ada") =>
    (await hanna("POST", `/users/${user}/bypass`, wish)).code;
  assertEquals(await codeOf(ONE_USE), "");
  for (
    const wish of [{ uses: 3, minutes: 60 }, { uses: null, minutes: 60 }, { uses: 1, minutes: 61 }, {
      uses: 1,
      minutes: 14,
    }]
  ) {
    assertEquals(await codeOf(wish), "bad_bypass", JSON.stringify(wish));
  }
  for (
    const wish of [{ uses: 0, minutes: 60 }, { uses: 1.5, minutes: 60 }, { minutes: 60 }, {
      ...ONE_USE,
      reason: "\u0007",
    }]
  ) {
    assertEquals(await codeOf(wish), "malformed", JSON.stringify(wish));
  }
  assertEquals(await codeOf(ONE_USE, "unknown"), "bypass_inactive");
  assertEquals((await site.ask("PUT", "/users/bob/active", { active: false })).status, 200);
  assertEquals(await codeOf(ONE_USE, "bob"), "bypass_inactive");
});

Deno.test("a new bypass code is issued as soon as the last one has expired, also while the store still has its record", async () => {
  await using site = await openHelpDesk();
  const issue = async () => (await (await site.as("help_desk"))("POST", "/users/ada/bypass", ONE_USE)).code;
  assertEquals(await issue(), "");
  site.clock.advance(ONE_USE.minutes * MINUTE_MS);
  assertEquals([await issue(), site.radius.bypassCodes.status("ada")?.usesLeft], ["", 1]);
});

Deno.test("a lost phone of a name that is no active user makes no invitation, also without a bypass code", async () => {
  await using site = await openHelpDesk();
  const hanna = await site.as("help_desk");
  assertEquals((await site.ask("PUT", "/users/bob/active", { active: false })).status, 200);
  for (const name of ["bob", "mallory", " ada", "ada ", "x/../ada", "\u0000"]) {
    const path = `/users/${encodeURIComponent(name)}/lost-phone`;
    const { code } = await hanna("POST", path, { phones: [], bypass: null });
    assertEquals(code, "bypass_inactive", JSON.stringify(name));
  }
  assertEquals(await site.audited("invitation.make", "user.lost_phone"), []);
});

Deno.test("a lost phone adds no further phone: a user with a phone loses at least one", async () => {
  await using site = await openHelpDesk();
  const phone = await site.pair("ada");
  const hanna = await site.as("help_desk");
  const lost = (phones: readonly string[]) =>
    hanna<LostPhoneResult>("POST", "/users/ada/lost-phone", { phones, bypass: null });
  assertEquals((await lost([])).code, "no_lost_phone");
  assertEquals((await phone.view())?.pairings.length, 1);
  assertEquals((await lost([phone.pairingId])).body.revoked.length, 1);
});

Deno.test("a bypass code ends when its user is deactivated, and moves with a rename", async () => {
  await using site = await openHelpDesk();
  const hanna = await site.as("help_desk");
  const { body: { code } } = await hanna<IssuedBypass>("POST", "/users/ada/bypass", ONE_USE);
  await hanna("POST", "/users/bob/bypass", ONE_USE);
  await site.ask("PUT", "/users/bob/active", { active: false });
  await site.ask("PUT", "/users/bob/active", { active: true });
  assertEquals(site.radius.bypassCodes.status("bob"), null);
  const target = site.identity.targets.get("default");
  const ada = await target?.directory.read("user", "ada");
  if (target === null || ada === null || ada === undefined) throw new Error("Ada is not in the directory");
  const actor = { name: "scim:hr", source: "192.0.2.50" };
  await target.rename("user", "ada", { ...ada.content, name: "ada.l" } as Content, { actor });
  assertEquals([site.radius.bypassCodes.status("ada"), site.radius.bypassCodes.status("ada.l")?.usesLeft], [
    null,
    1,
  ]);
  assertEquals(site.radius.bypassCodes.matches("ada.l", code), true, "the code itself does not change");
});

Deno.test("the user sees a notice about a bypass code on the phone page", async () => {
  await using site = await openHelpDesk();
  const phone = await site.pair("ada");
  await (await site.as("help_desk"))("POST", "/users/ada/bypass", ONE_USE);
  const { body } = await phone.ask<{ notices: { what: string; by: string }[] }>("GET", "/view");
  assertEquals(body.notices.map(({ what, by }) => [what, by])[0], ["bypass", "administrator"]);
});

Deno.test("a lost phone: revoked, devices forgotten, a bypass code and an invitation, in one commit", async () => {
  await using site = await openHelpDesk();
  const [lost, kept] = [await site.pair("ada", "Lost"), await site.pair("ada", "Kept")];
  const hanna = await site.as("help_desk");
  const wish = { phones: [lost.pairingId], bypass: ONE_USE, reason: "Stolen" };
  const done = await hanna<LostPhoneResult & { user: UserView }>("POST", "/users/ada/lost-phone", wish);
  assertEquals(done.status, 200, done.code);
  const { revoked, bypass, invitation, user } = done.body;
  assertEquals(revoked, ["Lost"]);
  assertMatch(invitation?.link ?? "", /\/device#invite=[\w-]{22}$/);
  assertEquals(user.login?.pairings.map(({ name }) => name), ["Kept"]);
  assertEquals(user.login?.bypass?.usesLeft, 1);
  assertEquals([await lost.view(), (await kept.view())?.pairings.length], [null, 1]);
  const records = await site.audited(
    ...["user.lost_phone", "pairing.revoke", "user.forget_devices", "invitation.make", "bypass.issue"],
  );
  assertEquals(new Set(records.map(({ action }) => action)).size, 5);
  const ownRecords = records.filter(({ actor }) => actor === "hanna");
  assertEquals(ownRecords.map(({ action, phone, because }) => [action, phone, because]), [
    ["bypass.issue", undefined, undefined],
    ["user.lost_phone", "Lost", undefined],
    ["pairing.revoke", "Lost", "lost_phone"],
    ["user.forget_devices", undefined, "lost_phone"],
    ["invitation.make", undefined, "lost_phone"],
  ]);
  const [summary] = await site.audited("user.lost_phone");
  assertEquals([summary?.bypass, summary?.count, summary?.reason], [bypass?.bypass.id, 1, "Stolen"]);
  const again = await hanna("POST", "/users/ada/lost-phone", wish);
  assertEquals(again.code, "unknown_pairing");
});

Deno.test("a lost phone changes nothing if the store fails", async () => {
  await using site = await openHelpDesk();
  const phone = await site.pair("ada");
  const hanna = await site.as("help_desk");
  site.breakStore();
  const wish = { phones: [phone.pairingId], bypass: ONE_USE };
  assertEquals((await hanna("POST", "/users/ada/lost-phone", wish)).status, 500);
  assertEquals(site.radius.pairings.of("ada").map(({ id }) => id), [phone.pairingId]);
  assertEquals(site.radius.bypassCodes.status("ada"), null);
  assertEquals((await phone.view())?.pairings.length, 1);
});

Deno.test("a lost phone without a bypass code, and of a user without a phone", async () => {
  await using site = await openHelpDesk();
  const hanna = await site.as("help_desk");
  const none = await hanna<LostPhoneResult>("POST", "/users/bob/lost-phone", { phones: [], bypass: null });
  assertEquals([none.status, none.body.bypass, none.body.revoked], [200, null, []]);
  const other = await site.pair("ada");
  const foreign = await hanna("POST", "/users/bob/lost-phone", { phones: [other.pairingId], bypass: null });
  assertEquals(foreign.code, "unknown_pairing");
});

const MAIL = '[mail]\nhost = "127.0.0.1"\nport = 9\nfrom = "help@example.org"\n';

Deno.test("a bypass code is announced by mail in its commit, and the link for a new phone can be mailed", async () => {
  await using site = await openHelpDesk({ toml: MAIL });
  const hanna = await site.as("help_desk");
  const { body: issued } = await hanna<IssuedBypass>("POST", "/users/ada/bypass", ONE_USE);
  assertEquals(issued.mailedTo, "ada@example.org");
  await eventually("the mail waits", () => site.mail.status().waiting === 1);
  const wish = { phones: [], bypass: null, link: "mail" };
  const { body } = await hanna<LostPhoneResult>("POST", "/users/bob/lost-phone", wish);
  assertEquals([body.mailedTo, body.invitation], ["bob@example.org", null]);
  await eventually("both mails wait", () => site.mail.status().waiting === 2);
});

Deno.test("a factor that its user removes on /me is announced by mail in the commit of the removal", async () => {
  await using site = await openHelpDesk({ toml: MAIL });
  const phone = await site.pair("ada");
  const account = await site.account("ada");
  const removed = await account("DELETE", `/devices/${phone.pairingId}`);
  assertEquals(removed.status, 200);
  await eventually("the mail waits", () => site.mail.status().waiting === 1);
});

Deno.test("without a mail server the user is helped, and a link is not mailed to no address", async () => {
  await using site = await openHelpDesk();
  const hanna = await site.as("help_desk");
  const { body } = await hanna<IssuedBypass>("POST", "/users/ada/bypass", ONE_USE);
  assertEquals(body.mailedTo, null);
  const wish = { phones: [], bypass: null, link: "mail" };
  assertEquals((await hanna("POST", "/users/ada/lost-phone", wish)).code, "no_mail_address");
});

Deno.test("help_desk: changed settings apply to the next request of the help desk", async () => {
  await using site = await openHelpDesk();
  const { pairingId } = await site.pair("ada");
  const hanna = await site.as("help_desk");
  const observe = async () => {
    const codes = [];
    for (const wish of [{ uses: 3, minutes: 120 }, { uses: 1, minutes: 120 }, { uses: null, minutes: 60 }]) {
      codes.push((await hanna("POST", "/users/bob/bypass", wish)).code);
    }
    const asked = await hanna<StartedVerification>("POST", "/users/ada/verification", { phone: pairingId });
    codes.push(asked.code);
    if (asked.code === "") {
      await hanna("DELETE", `/users/ada/verification/${asked.body.verification.id}`, {});
    }
    return codes;
  };
  assertEquals(await observe(), ["", "", "", ""]);
  const { version } = JSON.parse((await site.ask("GET", "/settings")).text);
  const changes = {
    "help_desk.bypass_max_minutes": 60,
    "help_desk.bypass_max_uses": 2,
    "help_desk.bypass_any_uses": false,
    "help_desk.verifications_per_hour": 1,
  };
  const saved = await site.ask("PUT", "/settings", { version, changes });
  assertEquals(saved.status, 200, saved.text);
  assertEquals(await observe(), ["bad_bypass", "bad_bypass", "bad_bypass", "too_many_verifications"]);
});
