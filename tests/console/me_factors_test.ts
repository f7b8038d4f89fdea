// The account API after the sign-in: own factors and logins, reports of foreign logins, and notices.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { AccountFactors, AccountLogins } from "../../console/api/account/account_types.ts";
import type { NoticeList } from "../../console/api/notices/notices.ts";
import { userNotice } from "../../platform/user_record.ts";
import { decodeBase32, matchTotp, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { approval, conversation } from "../fakes/console_gateway.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { enteredByLink, pairPhone, post, startWithAda } from "./account_visitor.ts";

Deno.test("me factors: an authenticator app is enrolled with one of its codes, works at once, and is removed again", async () => {
  await using site = await startWithAda();
  const browser = await enteredByLink(site, "ada");
  assertEquals(await browser.refused("/totp/confirm", post({ code: "123456" })), [410, "no_totp_begun"]);
  const { secret, uri } = await browser.ask<{ secret: string; uri: string }>("/totp", post({}));
  assertMatch(uri, /^otpauth:\/\/totp\/.*ada\?secret=/);
  assertEquals(await browser.refused("/totp/confirm", post({ code: "000000x" })), [400, "wrong_totp"]);
  const seed = decodeBase32(secret) ?? new Uint8Array();
  const code = totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS), 6);
  const { pairingId } = await browser.ask<{ pairingId: string }>("/totp/confirm", post({ code }));
  const [app] = site.pairings.of("ada");
  assertEquals(app?.id, pairingId);
  // RFC 6238 §5.2: the code that proved the secret cannot be used for a login.
  const lastStep = app?.kind === "totp" ? app.lastStep : -1;
  const open = { seed, code, nowMs: Date.now(), digits: 6, lastStep, toleranceSteps: 1 };
  assertEquals(matchTotp(open), null);
  await browser.ask("/preference", { method: "PUT", json: { factor: "totp" } });
  const factors = await browser.ask<AccountFactors>("/factors");
  assertEquals([factors.totp.length, factors.preference, factors.locked], [1, "totp", null]);
  // The session was opened by a link, so the last factor may be removed.
  await browser.ask(`/totp/${pairingId}`, { method: "DELETE" });
  assertEquals(site.pairings.of("ada"), []);
  const done = (await site.audits()).filter(({ actor }) => actor === "user:ada").map(({ action }) => action);
  assertEquals(done, ["user.me_entered", "pairing.add", "preference.set", "pairing.revoke"]);
});

Deno.test("me factors: a user names a phone, and the record says which one", async () => {
  await using site = await startWithAda();
  await pairPhone(site);
  const browser = await enteredByLink(site, "ada");
  assertEquals((await browser.ask<AccountFactors>("/factors")).devices[0]?.name, undefined);
  const put = (name: string) => ({ method: "PUT", json: { name } });
  assertEquals(await browser.refused("/devices/p1", put("\u202e")), [400, "bad_phone_name"]);
  await browser.ask("/devices/p1", put("Pixel of Ada"));
  assertEquals((await browser.ask<AccountFactors>("/factors")).devices[0]?.name, "Pixel of Ada");
  const record = (await site.audits()).findLast(({ action }) => action === "pairing.rename");
  assertEquals(
    [record?.actor, record?.before, record?.after],
    ["user:ada", undefined, "Pixel of Ada"],
  );
});

Deno.test("me factors: a confirmation removes all notices, however many there are", async () => {
  await using site = await startWithAda();
  const browser = await enteredByLink(site, "ada");
  const notice = { atMs: 1, what: "totp", by: "self", recordId: "record" } as const;
  const mutations = Array.from({ length: 120 }, (_, at) => userNotice("ada", notice, `${at}`));
  await site.store.commit({ mutations });
  await browser.ask("/notices", { method: "DELETE" });
  assertEquals((await Array.fromAsync(site.store.list(["user_notice"]))).length, 0);
});

Deno.test("me factors: a user cannot change another user's factors, and an invitation belongs to its user", async () => {
  await using site = await startWithAda();
  await site.put("bert");
  await site.pairings.addDevice({ id: "of-bert", userName: "bert", totpLength: 6 });
  const browser = await enteredByLink(site, "ada");
  for (const path of ["/devices/of-bert", "/totp/of-bert", "/totp/none"]) {
    assertEquals(await browser.refused(path, { method: "DELETE" }), [404, "unknown_pairing"], path);
  }
  const name = { method: "PUT", json: { name: "mine" } };
  assertEquals(await browser.refused("/devices/of-bert", name), [404, "unknown_pairing"]);
  assertEquals(site.pairings.of("bert").length, 1);
  const { url } = await browser.ask<{ url: string }>("/devices/invitation", post({}));
  assertMatch(url, /\/device#invite=/);
});

Deno.test("me recovery codes: ten are shown once and not recorded; new codes void the old ones", async () => {
  await using site = await startWithAda();
  const browser = await enteredByLink(site, "ada");
  assertEquals((await browser.ask<AccountFactors>("/factors")).recovery, { left: 0, createdMs: null });
  const { codes } = await browser.ask<{ codes: string[] }>("/recovery-codes", post({}));
  assertEquals([codes.length, new Set(codes).size], [10, 10]);
  assertEquals((await browser.ask<AccountFactors>("/factors")).recovery.left, 10);
  assert(site.recoveryCodes.find("ada", codes[0] ?? "") !== null);
  await browser.ask("/recovery-codes", post({}));
  assertEquals(site.recoveryCodes.find("ada", codes[0] ?? ""), null);
  const records = JSON.stringify(
    (await site.audits()).filter(({ action }) => action === "recovery_codes.make"),
  );
  assertMatch(records, /0 left.*10 left/);
  for (const code of codes) assertNotMatch(records, new RegExp(code));
});

Deno.test("me logins: only the user's own, including logins in progress and requests that wait for the phone", async () => {
  await using site = await startWithAda();
  site.watch.put(conversation(1, { user: "ADA" }));
  site.watch.put(conversation(2, { user: "adalbert" }));
  site.secondFactorAdmin.wait(approval("r1"));
  site.secondFactorAdmin.wait(approval("r2", { userName: "adalbert" }));
  const browser = await enteredByLink(site, "ada");
  const logins = await browser.ask<AccountLogins>("/logins");
  assertEquals(logins.open.map(({ conversationId, waitsForPhone }) => [conversationId, waitsForPhone]), [
    [conversation(1).id, true],
  ]);
  assertEquals(logins.approvals.map(({ requestId }) => requestId), ["r1"]);
  assertEquals(logins.recent, []);
});

Deno.test("not me: in one commit it denies waiting logins, locks for an hour, ends other sessions and notifies administrators", async () => {
  await using site = await startWithAda();
  const other = await enteredByLink(site, "ada");
  const browser = await enteredByLink(site, "ada");
  site.watch.put(conversation(1, { user: "ada", client: "vpn-1", place: "198.51.100.7" }));
  site.watch.put(conversation(2, { user: "bert" }));
  site.secondFactorAdmin.wait(approval("r1"));
  site.secondFactorAdmin.wait(approval("r2", { userName: "bert" }));
  const ofBert = { conversationId: conversation(2).id };
  assertEquals(await browser.refused("/not-me", post(ofBert)), [404, "login_gone"]);
  assertEquals(site.limits.isLocked("ada"), false);
  const done = await browser.ask<{ lockedUntilMs: number; denied: number }>(
    "/not-me",
    post({ conversationId: conversation(1).id }),
  );
  assertEquals([done.denied, Math.round((done.lockedUntilMs - Date.now()) / 60_000)], [1, 60]);
  assertEquals(site.secondFactorAdmin.decided, [{ id: "r1", verb: "deny" }]);
  assertEquals([site.limits.isLocked("ada"), site.limits.isLocked("bert")], [true, false]);
  assertEquals((await browser.ask<AccountFactors>("/factors")).locked, { untilMs: done.lockedUntilMs });
  assertEquals(await other.refused("/factors"), [401, "me_over"]);
  const record = (await site.audits()).find(({ action }) => action === "user.not_me");
  assertEquals([record?.actor, record?.object], ["user:ada", "user:ada"]);
  // Where the login came from, not where its user is.
  assertEquals([record?.client, record?.caller], ["vpn-1", "198.51.100.7"]);
  await site.log.flush();
  assertMatch(site.lines.join(""), /a user says that a login was not theirs.*not_me/);
  const entries = await Promise.all([
    site.store.get(["limit", "failures", "ada"]),
    site.store.get(["console_notice", "ada"]),
  ]);
  assertEquals(new Set(entries.map(({ versionstamp }) => versionstamp)).size, 1, "one commit");
});

Deno.test("notices: all roles read them, operators can dismiss one, viewers cannot, and the dismissal is recorded", async () => {
  await using site = await startPeopleConsole();
  for (const user of ["ada", "bert"]) {
    await site.put(user);
    await (await enteredByLink(site, user)).ask("/not-me", post({ conversationId: null }));
  }
  const viewer = await site.signIn("viewer");
  const seen = await apiCaller(site, viewer)<NoticeList>("/console/api/notices");
  assertEquals([seen.total, seen.items.map(({ user }) => user)], [2, ["bert", "ada"]]);
  const ofAda = await apiCaller(site, viewer)<NoticeList>("/console/api/notices?user=Ada");
  const id = ofAda.items[0]?.id;
  const dismissal = { method: "DELETE", json: {} };
  const refused = await site.call(`/console/api/notices/${id}`, { ...dismissal, cookie: viewer });
  assertEquals(await codeOf(refused), "role");
  const operator = await site.signIn("operator");
  await apiCaller(site, operator)(`/console/api/notices/${id}`, dismissal);
  const again = await site.call(`/console/api/notices/${id}`, { ...dismissal, cookie: operator });
  assertEquals(await codeOf(again), "unknown_notice");
  const left = await apiCaller(site, viewer)<NoticeList>("/console/api/notices");
  assertEquals(left.items.map(({ user }) => user), ["bert"]);
  const record = (await site.audits()).find(({ action }) => action === "notice.dismiss");
  assertEquals([record?.actor, record?.object], ["operator", "user:ada"]);
});
