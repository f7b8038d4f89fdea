// Sign-in to the account API: one-time links, paired phones, cookies, and the end of a session.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type {
  AccountFactors,
  AccountLinkInfo,
  AccountSessionAnswer,
} from "../../console/api/account/account_types.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { FAKE_TOKEN } from "../fakes/console_phone.ts";
import {
  ACCOUNT_API,
  enteredByLink,
  linkFor,
  pairPhone,
  PHONE_COOKIE,
  post,
  startWithAda,
  visitor,
} from "./account_visitor.ts";

Deno.test("me link: it opens one session for its user, and viewing it does not use it up", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada", { displayName: "Ada Lovelace" });
  const link = await linkFor(site, "ada");
  const browser = visitor(site);
  const before = await browser.ask<AccountSessionAnswer>("/session");
  assertEquals([before.available, before.me, before.phoneUsers], [true, null, []]);
  for (let count = 0; count < 2; count += 1) {
    const look = await browser.ask<AccountLinkInfo>("/link/look", post({ link }));
    assertEquals(look.userName, "ada");
    assert(look.deadlineMs - look.nowMs > 23 * 3600_000);
  }
  const { me, nowMs } = await browser.ask<AccountSessionAnswer>("/session", post({ link }));
  assertEquals([me?.userName, me?.displayName, me?.via], ["ada", "Ada Lovelace", "link"]);
  assertEquals(Math.round(((me?.endsMs ?? 0) - nowMs) / 60_000), 15);
  assertEquals(await visitor(site).refused("/session", post({ link })), [410, "bad_me_link"]);
  assertEquals(await visitor(site).refused("/link/look", post({ link })), [410, "bad_me_link"]);
  assertEquals((await browser.ask<AccountSessionAnswer>("/session")).me?.userName, "ada");
  await browser.ask("/session", { method: "DELETE" });
  assertEquals(await browser.refused("/factors"), [401, "me_over"]);
});

Deno.test("me link: of two simultaneous uses one succeeds", async () => {
  await using site = await startWithAda();
  const link = await linkFor(site, "ada");
  const answers = await Promise.all([1, 2, 3].map(() => visitor(site).send("/session", post({ link }))));
  assertEquals(answers.map(({ status }) => status).sort(), [200, 410, 410]);
  await Promise.all(answers.map(({ body }) => body?.cancel()));
});

Deno.test("me link: a new link voids the one before, and a deleted user's link is void for a later user of that name", async () => {
  await using site = await startWithAda();
  const first = await linkFor(site, "ada");
  const second = await linkFor(site, "ada");
  assertEquals(await visitor(site).refused("/link/look", post({ link: first })), [410, "bad_me_link"]);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  await ask("/console/api/users/ada", { method: "DELETE", json: {} });
  await site.put("ada");
  assertEquals(await visitor(site).refused("/session", post({ link: second })), [410, "bad_me_link"]);
});

Deno.test("me link: only a user manager creates one; it is recorded, and stored as a digest", async () => {
  await using site = await startWithAda();
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

Deno.test("me link: guesses are rate limited", async () => {
  await using site = await startPeopleConsole();
  const codes: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    const [, code] = await visitor(site).refused("/session", post({ link: `guess ${count}` }));
    codes.push(code);
  }
  assertEquals(codes, [...Array(5).fill("bad_me_link"), "too_many_attempts"]);
});

Deno.test("me phone: a paired phone opens only its user's page, until the pairing is revoked", async () => {
  await using site = await startWithAda();
  await site.put("bert");
  await pairPhone(site);
  const browser = visitor(site, PHONE_COOKIE);
  site.phone.typePhrase();
  assertEquals((await browser.ask<AccountSessionAnswer>("/session")).phoneUsers, [], "not approved yet");
  await site.phone.decidePairing(FAKE_TOKEN, "p1", { approve: true });
  assertEquals((await browser.ask<AccountSessionAnswer>("/session")).phoneUsers, ["ada"]);
  assertEquals(await browser.refused("/session", post({ phone: true, userName: "bert" })), [
    403,
    "not_this_phone",
  ]);
  assertEquals(await visitor(site).refused("/session", post({ phone: true })), [403, "not_this_phone"]);
  const { me } = await browser.ask<AccountSessionAnswer>("/session", post({ phone: true, userName: "Ada" }));
  assertEquals([me?.userName, me?.via], ["ada", "phone"]);
  const { devices } = await browser.ask<AccountFactors>("/factors");
  assertEquals(devices.map(({ pairingId, isThisPhone }) => [pairingId, isThisPhone]), [["p1", true]]);
  assertEquals(await browser.refused("/devices/p1", { method: "DELETE" }), [409, "last_own_factor"]);
  await site.pairings.revoke("p1");
  assertEquals((await browser.ask<AccountSessionAnswer>("/session")).me, null);
  assertEquals((await browser.ask<AccountSessionAnswer>("/session")).phoneUsers, []);
});

Deno.test("me: the session ends when its user is deactivated, and is never an administrator's session", async () => {
  await using site = await startWithAda();
  const browser = await enteredByLink(site, "ada");
  const value = browser.cookie().split("=")[1] ?? "";
  for (const cookie of [browser.cookie(), `countersign=${value}`]) {
    const response = await site.call("/console/api/users", { cookie });
    assertEquals([response.status, await codeOf(response)], [401, "not_signed_in"]);
  }
  const admin = await site.signIn("owner");
  const asMe = await site.call(`${ACCOUNT_API}/factors`, {
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

Deno.test("me: the cookie is HttpOnly and SameSite=Strict, and changes are accepted only from the same origin", async () => {
  await using site = await startWithAda();
  const link = await linkFor(site, "ada");
  const response = await site.call(`${ACCOUNT_API}/session`, post({ link }));
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
