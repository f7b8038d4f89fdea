// The API of a person's own page: the ways in, what is one's own, and what is not.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type {
  MeFactors,
  MeLinkLook,
  MeLogins,
  MeSessionAnswer,
} from "../../console/api/account/account_types.ts";
import type { NoticeList } from "../../console/api/notices/notices.ts";
import { decodeBase32 } from "../../platform/base32.ts";
import { matchTotp, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import type { CallOptions } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { approval, conversation } from "../fakes/console_gateway.ts";
import { FAKE_TOKEN } from "../fakes/console_phone.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";

const ME = "/me/api";
const PHONE_COOKIE = `countersign-phone=${FAKE_TOKEN}`;

/** A browser with its cookie; every answer must be good unless `refused` is asked. */
function visitor(site: PeopleConsole, extra = "") {
  let cookie = "";
  const send = async (path: string, options: CallOptions = {}): Promise<Response> => {
    const held = [cookie, extra].filter((one) => one !== "").join("; ");
    const response = await site.call(`${ME}${path}`, { ...options, cookie: held });
    for (const line of response.headers.getSetCookie()) {
      if (line.startsWith("countersign-me=")) cookie = line.split(";")[0] ?? "";
    }
    return response;
  };
  return {
    send,
    cookie: () => cookie,
    async ask<T>(path: string, options: CallOptions = {}): Promise<T> {
      const response = await send(path, options);
      const text = await response.text();
      assertEquals(response.status, 200, `${options.method} ${path}: ${text}`);
      return JSON.parse(text) as T;
    },
    async refused(path: string, options: CallOptions = {}): Promise<[number, string]> {
      const response = await send(path, options);
      return [response.status, await codeOf(response)];
    },
  };
}

const post = (json: unknown): CallOptions => ({ method: "POST", json });

async function linkFor(site: PeopleConsole, user: string): Promise<string> {
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const { url } = await ask<{ url: string }>(`/console/api/users/${user}/me-link`, post({}));
  assertEquals(new URL(url).pathname, "/me");
  return new URL(url).hash.slice(1);
}

async function enteredByLink(site: PeopleConsole, user: string) {
  const browser = visitor(site);
  await browser.ask("/session", post({ link: await linkFor(site, user) }));
  return browser;
}

/** The fake phone is paired for ada, here and at its service. */
async function pairPhone(site: PeopleConsole): Promise<void> {
  site.phone.startWithPhrase("192.0.2.1");
  site.phone.typePhrase();
  await site.phone.decidePairing(FAKE_TOKEN, "p1", { approve: true });
  await site.pairings.addDevice({ id: "p1", userName: "ada", totpLength: 6 });
}

Deno.test("me link: it opens one visit, for its user, and looking at it uses nothing up", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada", { displayName: "Ada Lovelace" });
  const link = await linkFor(site, "ada");
  const browser = visitor(site);
  const before = await browser.ask<MeSessionAnswer>("/session");
  assertEquals([before.available, before.me, before.phoneUsers], [true, null, []]);
  for (let count = 0; count < 2; count += 1) {
    const look = await browser.ask<MeLinkLook>("/link/look", post({ link }));
    assertEquals(look.userName, "ada");
    assert(look.deadlineMs - look.nowMs > 23 * 3600_000);
  }
  const { me, nowMs } = await browser.ask<MeSessionAnswer>("/session", post({ link }));
  assertEquals([me?.userName, me?.displayName, me?.via], ["ada", "Ada Lovelace", "link"]);
  assertEquals(Math.round(((me?.endsMs ?? 0) - nowMs) / 60_000), 15);
  assertEquals(await visitor(site).refused("/session", post({ link })), [410, "bad_me_link"]);
  assertEquals(await visitor(site).refused("/link/look", post({ link })), [410, "bad_me_link"]);
  assertEquals((await browser.ask<MeSessionAnswer>("/session")).me?.userName, "ada");
  await browser.ask("/session", { method: "DELETE" });
  assertEquals(await browser.refused("/factors"), [401, "me_over"]);
});

Deno.test("me link: of two who press at once one gets in", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const link = await linkFor(site, "ada");
  const answers = await Promise.all([1, 2, 3].map(() => visitor(site).send("/session", post({ link }))));
  assertEquals(answers.map(({ status }) => status).sort(), [200, 410, 410]);
  await Promise.all(answers.map(({ body }) => body?.cancel()));
});

Deno.test("me link: a new one voids the one before, and a deleted user's is void for a later one of the name", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const first = await linkFor(site, "ada");
  const second = await linkFor(site, "ada");
  assertEquals(await visitor(site).refused("/link/look", post({ link: first })), [410, "bad_me_link"]);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await ask("/console/api/users/ada", { method: "DELETE", json: {} });
  await site.put("ada");
  assertEquals(await visitor(site).refused("/session", post({ link: second })), [410, "bad_me_link"]);
});

Deno.test("me link: only a user manager makes one; it is recorded, and kept as a digest", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  for (const role of ["viewer", "operator"]) {
    const cookie = await site.signIn(role);
    const response = await site.call("/console/api/users/ada/me-link", { ...post({}), cookie });
    assertEquals([response.status, await codeOf(response)], [403, "role"], role);
  }
  const link = await linkFor(site, "ada");
  const audits = await site.audits();
  const { actor, object } = audits.find(({ action }) => action === "user.me_link") ?? {};
  assertEquals([actor, object], ["user_manager", "user:ada"]);
  const kept: string[] = [JSON.stringify(audits), site.lines.join("\n")];
  for await (const { key, value } of site.store.list([])) kept.push(JSON.stringify([key, value]));
  assert(!kept.join("\n").includes(link));
});

Deno.test("me link: guesses are slowed down", async () => {
  await using site = await startPeopleConsole();
  const codes: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const [, code] = await visitor(site).refused("/session", post({ link: `guess ${count}` }));
    codes.push(code);
  }
  assertEquals(codes, [...Array(5).fill("bad_me_link"), "too_many_attempts"]);
});

Deno.test("me phone: a paired phone opens only its user's page, until the pairing is revoked", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.put("bert");
  await pairPhone(site);
  const browser = visitor(site, PHONE_COOKIE);
  assertEquals((await browser.ask<MeSessionAnswer>("/session")).phoneUsers, ["ada"]);
  assertEquals(await browser.refused("/session", post({ phone: true, userName: "bert" })), [
    403,
    "not_this_phone",
  ]);
  assertEquals(await visitor(site).refused("/session", post({ phone: true })), [403, "not_this_phone"]);
  const { me } = await browser.ask<MeSessionAnswer>("/session", post({ phone: true, userName: "Ada" }));
  assertEquals([me?.userName, me?.via], ["ada", "phone"]);
  const { devices } = await browser.ask<MeFactors>("/factors");
  assertEquals(devices.map(({ pairingId, isThisPhone }) => [pairingId, isThisPhone]), [["p1", true]]);
  assertEquals(await browser.refused("/devices/p1", { method: "DELETE" }), [409, "last_own_factor"]);
  await site.pairings.revoke("p1");
  assertEquals((await browser.ask<MeSessionAnswer>("/session")).me, null);
  assertEquals((await browser.ask<MeSessionAnswer>("/session")).phoneUsers, []);
});

Deno.test("me: the visit is over when its user is deactivated, and no visit is an administrator's session", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const browser = await enteredByLink(site, "ada");
  const value = browser.cookie().split("=")[1] ?? "";
  for (const cookie of [browser.cookie(), `countersign=${value}`]) {
    const response = await site.call("/console/api/users", { cookie });
    assertEquals([response.status, await codeOf(response)], [401, "not_signed_in"]);
  }
  const admin = await site.signIn("owner");
  const asMe = await site.call(`${ME}/factors`, {
    cookie: `${admin}; countersign-me=${admin.split("=")[1]}`,
  });
  assertEquals([asMe.status, await codeOf(asMe)], [401, "me_over"]);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await ask("/console/api/users/ada/active", { method: "PUT", json: { active: false } });
  assertEquals(await browser.refused("/factors"), [401, "me_over"]);
  const refused = await site.call("/console/api/users/ada/me-link", {
    ...post({}),
    cookie: await site.signIn("owner"),
  });
  assertEquals(await codeOf(refused), "me_inactive");
});

Deno.test("me: the cookie is HttpOnly, strict and short, and every change comes from our own page", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const link = await linkFor(site, "ada");
  const response = await site.call(`${ME}/session`, post({ link }));
  await response.body?.cancel();
  assertMatch(
    response.headers.getSetCookie().join("\n"),
    /^countersign-me=[\w-]{22}; Path=\/; HttpOnly; SameSite=Strict$/m,
  );
  const foreign = { ...post({}), headers: { origin: "https://elsewhere.example" } };
  assertEquals(await visitor(site).refused("/recovery-codes", foreign), [403, "not_same_origin"]);
  assertEquals(await visitor(site).refused("/not-me", { ...foreign, json: { conversationId: null } }), [
    403,
    "not_same_origin",
  ]);
});

Deno.test("me factors: an authenticator app is set up with a code of it, counts at once, and is taken away again", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
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
  // RFC 6238 §5.2: the code that proved the secret opens no login.
  const lastStep = app?.kind === "totp" ? app.lastStep : -1;
  const open = { seed, code, nowMs: Date.now(), digits: 6, lastStep, toleranceSteps: 1 };
  assertEquals(matchTotp(open), null);
  await browser.ask("/preference", { method: "PUT", json: { factor: "totp" } });
  const factors = await browser.ask<MeFactors>("/factors");
  assertEquals([factors.totp.length, factors.preference, factors.locked], [1, "totp", null]);
  // The visit is by a link, so the last one may go.
  await browser.ask(`/totp/${pairingId}`, { method: "DELETE" });
  assertEquals(site.pairings.of("ada"), []);
  const done = (await site.audits()).filter(({ actor }) => actor === "user:ada").map(({ action }) => action);
  assertEquals(done, ["user.me_entered", "pairing.add", "preference.set", "pairing.revoke"]);
});

Deno.test("me factors: a phone is named by its person, and the record says which", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await pairPhone(site);
  const browser = await enteredByLink(site, "ada");
  assertEquals((await browser.ask<MeFactors>("/factors")).devices[0]?.name, undefined);
  const put = (name: string) => ({ method: "PUT", json: { name } });
  assertEquals(await browser.refused("/devices/p1", put("\u202e")), [400, "bad_phone_name"]);
  await browser.ask("/devices/p1", put("Pixel of Ada"));
  assertEquals((await browser.ask<MeFactors>("/factors")).devices[0]?.name, "Pixel of Ada");
  const record = (await site.audits()).findLast(({ action }) => action === "pairing.rename");
  assertEquals(
    [record?.actor, record?.before, record?.after],
    ["user:ada", undefined, "Pixel of Ada"],
  );
});

Deno.test("me factors: a user cannot change another user's, and an invitation belongs to its user", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
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

Deno.test("me recovery codes: ten, shown once, recorded without themselves; new ones void them", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const browser = await enteredByLink(site, "ada");
  assertEquals((await browser.ask<MeFactors>("/factors")).recovery, { left: 0, createdMs: null });
  const { codes } = await browser.ask<{ codes: string[] }>("/recovery-codes", post({}));
  assertEquals([codes.length, new Set(codes).size], [10, 10]);
  assertEquals((await browser.ask<MeFactors>("/factors")).recovery.left, 10);
  assert(site.recoveryCodes.find("ada", codes[0] ?? "") !== null);
  await browser.ask("/recovery-codes", post({}));
  assertEquals(site.recoveryCodes.find("ada", codes[0] ?? ""), null);
  const records = JSON.stringify(
    (await site.audits()).filter(({ action }) => action === "recovery_codes.make"),
  );
  assertMatch(records, /0 left.*10 left/);
  for (const code of codes) assertNotMatch(records, new RegExp(code));
});

Deno.test("me logins: one's own alone, those under way and what waits for the phone", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  site.watch.put(conversation(1, { user: "ADA" }));
  site.watch.put(conversation(2, { user: "adalbert" }));
  site.desk.wait(approval("r1"));
  site.desk.wait(approval("r2", { userName: "adalbert" }));
  const browser = await enteredByLink(site, "ada");
  const logins = await browser.ask<MeLogins>("/logins");
  assertEquals(logins.open.map(({ conversationId, waitsForPhone }) => [conversationId, waitsForPhone]), [
    [conversation(1).id, true],
  ]);
  assertEquals(logins.approvals.map(({ requestId }) => requestId), ["r1"]);
  assertEquals(logins.recent, []);
});

Deno.test("not me: denies what waits, locks for an hour, ends other visits and tells the administrators, in one commit", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  const other = await enteredByLink(site, "ada");
  const browser = await enteredByLink(site, "ada");
  site.watch.put(conversation(1, { user: "ada", client: "vpn-1", place: "198.51.100.7" }));
  site.watch.put(conversation(2, { user: "bert" }));
  site.desk.wait(approval("r1"));
  site.desk.wait(approval("r2", { userName: "bert" }));
  const ofBert = { conversationId: conversation(2).id };
  assertEquals(await browser.refused("/not-me", post(ofBert)), [404, "login_gone"]);
  assertEquals(site.limits.isLocked("ada"), false);
  const done = await browser.ask<{ lockedUntilMs: number; denied: number }>(
    "/not-me",
    post({ conversationId: conversation(1).id }),
  );
  assertEquals([done.denied, Math.round((done.lockedUntilMs - Date.now()) / 60_000)], [1, 60]);
  assertEquals(site.desk.decided, [{ id: "r1", verb: "deny" }]);
  assertEquals([site.limits.isLocked("ada"), site.limits.isLocked("bert")], [true, false]);
  assertEquals((await browser.ask<MeFactors>("/factors")).locked, { untilMs: done.lockedUntilMs });
  assertEquals(await other.refused("/factors"), [401, "me_over"]);
  const record = (await site.audits()).find(({ action }) => action === "user.not_me");
  assertEquals([record?.actor, record?.object], ["user:ada", "user:ada"]);
  await site.log.flush();
  assertMatch(site.lines.join(""), /a user says that a login was not theirs.*not_me/);
  const entries = await Promise.all([
    site.store.get(["limit", "failures", "ada"]),
    site.store.get(["console_notice", "ada"]),
  ]);
  assertEquals(new Set(entries.map(({ versionstamp }) => versionstamp)).size, 1, "one commit");
});

Deno.test("notices: all roles read them, an operator dismisses one, a viewer does not, and it is recorded", async () => {
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
