// Finding 21: the cookie of a phone alone added factors on the user's own page, and these stayed when the phone was
// revoked.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { AccountFactors } from "../../console/api/account/account_types.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type ApiCaller, CONSOLE, createCaller, startSecured } from "./console_caller.ts";
import { openSession } from "./gateway_sessions.ts";

const ADDITIONS = ["/me/api/totp", "/me/api/devices/invitation", "/me/api/recovery-codes"] as const;

Deno.test("a session that a phone opened adds no factor without a code, and a code counts once", async () => {
  await using site = await startSecured();
  await site.createUser("bob");
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
  const phone = createCaller(site.gateway);
  const { pairingId } = await phone.take<{ pairingId: string }>("/device/api/invitation/accept", {
    json: { invitation: link.split("invite=")[1] },
  });
  await phone.take("/me/api/session", { json: { phone: true } });
  const stepUp = (code: string) => phone.call("/me/api/session/step-up", { json: { code } });
  const add = () => Promise.all(ADDITIONS.map(async (path) => (await phone.call(path, { json: {} })).code));
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
  assertEquals((await phone.call("/me/api/totp/confirm", { json: { code: "123456" } })).code, "me_step_up");

  const { code } = await phone.take<{ code: string }>(`/device/api/pairings/${pairingId}/passcode`, {
    json: {},
  });
  const wrong = code === "000000" ? "000001" : "000000";
  assertEquals((await stepUp(wrong)).code, "wrong_me_code");
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
  assertEquals((await stepUp(code)).status, 200);
  assertEquals(await add(), ["", "", ""]);

  // Another session of the same phone begins without a code, and the used code is not valid any more.
  await phone.take("/me/api/session", { json: { phone: true } });
  assertEquals((await stepUp(code)).code, "wrong_me_code");
  assertEquals(await add(), ADDITIONS.map(() => "me_step_up"));
});

Deno.test("the phone page and /me show that a factor was added, until it is confirmed", async () => {
  await using site = await startSecured();
  await site.createUser("bob");
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
  const phone = createCaller(site.gateway);
  await phone.take("/device/api/invitation/accept", { json: { invitation: link.split("invite=")[1] } });
  await site.owner.take(`${CONSOLE}/users/bob/pairings`, { json: { kind: "sms", number: "+14155550123" } });
  const told = async () => {
    const { notices } = await phone.take<Told>("/device/api/view");
    return notices.map(({ what, by, userName }) => `${what} ${by} ${userName}`);
  };
  assertEquals(await told(), ["sms administrator bob", "device phone bob"]);
  await phone.take("/me/api/session", { json: { phone: true } });
  assertEquals((await phone.take<Told>("/me/api/factors")).notices.length, 2);
  // The phone alone cannot hide it.
  assertEquals((await phone.call("/me/api/notices", { method: "DELETE" })).code, "me_step_up");
  const { url } = await site.owner.take<{ url: string }>(`${CONSOLE}/users/bob/me-link`, { json: {} });
  const visitor = createCaller(site.gateway);
  await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
  await visitor.take("/me/api/notices", { method: "DELETE" });
  assertEquals(await told(), []);
});

interface Told {
  readonly notices: readonly { readonly what: string; readonly by: string; readonly userName: string }[];
}

/** A gateway with bob, whose phone added an authenticator app, recovery codes and a second phone on /me. */
async function startWithAddedFactors() {
  const site = await startSecured("[radius]\nappend_mode = true\n");
  await site.createUser("bob");
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/bob/invitation`, { json: {} });
  const first = createCaller(site.gateway);
  const second = createCaller(site.gateway);
  const pair = async (phone: ApiCaller, { url, name }: { url: string; name: string }) => {
    const json = { invitation: url.split("invite=")[1], name };
    return (await phone.take<{ pairingId: string }>("/device/api/invitation/accept", { json })).pairingId;
  };
  /** The user types the phone's passcode into the session. */
  const stepUp = async (phone: ApiCaller, id: string) => {
    const { code } = await phone.take<{ code: string }>(`/device/api/pairings/${id}/passcode`, { json: {} });
    await phone.take("/me/api/session/step-up", { json: { code } });
  };
  const oldPhone = await pair(first, { url: link, name: "Old phone" });
  await first.take("/me/api/session", { json: { phone: true } });
  await stepUp(first, oldPhone);
  const { secret } = await first.take<{ secret: string }>("/me/api/totp", { json: {} });
  const seed = fromBase32(secret);
  const proof = { code: totpCode(seed, Date.now()) };
  const { pairingId: app } = await first.take<{ pairingId: string }>("/me/api/totp/confirm", { json: proof });
  // The code that proved the seed counts once. The next one is already accepted.
  const code = totpCode(seed, Date.now() + 30_000);
  const { codes } = await first.take<{ codes: string[] }>("/me/api/recovery-codes", { json: {} });
  const { url } = await first.take<{ url: string }>("/me/api/devices/invitation", { json: {} });
  const newPhone = await pair(second, { url, name: "New phone" });
  return {
    ...{ site, first, second, stepUp },
    ids: { oldPhone, newPhone, app },
    /** The results of a login with the app's code, and of one with a recovery code. */
    async logIn() {
      using byApp = openSession(site.gateway, { userName: "bob", nasPort: 1 });
      const { kind: withApp } = await byApp.login(`pw,${code}`);
      using byRecoveryCode = openSession(site.gateway, { userName: "bob", nasPort: 2 });
      // The menu offers codes under D. A login at a prompt for a device or a code also accepts a recovery code.
      let reply = await byRecoveryCode.login();
      if (reply.step === MENU) reply = await byRecoveryCode.answer("D");
      if (reply.step !== MENU) reply = await byRecoveryCode.answer(codes.shift() ?? "");
      const { kind: withRecoveryCode } = reply;
      return { app: withApp === "accept", recoveryCode: withRecoveryCode === "accept" };
    },
    async unconfirmed() {
      const { login } = await site.owner.take<{ login: { unconfirmed: Unconfirmed[] } }>(
        `${CONSOLE}/users/bob`,
      );
      return login.unconfirmed.map(({ kind, addedBy }) => `${kind} by ${addedBy}`).sort();
    },
    async audited(action: string, detail: "addedBy" | "confirmed" | "unconfirmed") {
      const query = `object=user:bob&action=${action}`;
      const { items } = await site.owner.take<{ items: Audited[] }>(`${CONSOLE}/audit?${query}`);
      return items.map(({ details }) => String(details[detail]));
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

interface Unconfirmed {
  readonly kind: string;
  readonly addedBy: string;
}

interface Audited {
  readonly details: Readonly<Record<string, unknown>>;
}

/** The secret of an app that no phone added. */
const OTHER_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const ALL_THREE = ["device by Old phone", "recovery_codes by Old phone", "totp by Old phone"];

Deno.test("factors that a phone added work for no login after an administrator revoked the phone, until they are confirmed", async () => {
  await using world = await startWithAddedFactors();
  const { site: { owner }, second, ids } = world;
  const user = `${CONSOLE}/users/bob`;
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${user}/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals(await world.logIn(), { app: false, recoveryCode: false });
  assertEquals((await second.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");

  // An administrator keeps the app; the user, by a link, keeps the codes and removes the phone.
  await owner.take(`${user}/unconfirmed/${ids.app}/keep`, { json: {} });
  const { url } = await owner.take<{ url: string }>(`${user}/me-link`, { json: {} });
  const visitor = createCaller(world.site.gateway);
  await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
  await visitor.take("/me/api/unconfirmed/recovery-codes/keep", { json: {} });
  await visitor.take(`/me/api/unconfirmed/${ids.newPhone}`, { method: "DELETE" });
  assertEquals(
    (await visitor.call(`/me/api/unconfirmed/${ids.app}`, { method: "DELETE" })).code,
    "unknown_pairing",
  );
  assertEquals(await world.unconfirmed(), []);
  assertEquals(await world.logIn(), { app: true, recoveryCode: true });
  assertStringIncludes((await world.audited("pairing.revoke", "unconfirmed")).join(), `totp ${ids.app}`);
  assertEquals(await world.audited("factor.confirm", "addedBy"), ["Old phone", "Old phone"]);
});

Deno.test("factors that a phone added work for no login after the phone unpaired itself with only its cookie", async () => {
  await using world = await startWithAddedFactors();
  const { first, ids } = world;
  await first.take(`/device/api/pairings/${ids.oldPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals(await world.logIn(), { app: false, recoveryCode: false });
  assertStringIncludes((await world.audited("pairing.revoke", "unconfirmed")).join(), `totp ${ids.app}`);
});

Deno.test("a code of the phone, or of a factor that it added, confirms nothing when the phone is removed on /me", async () => {
  await using world = await startWithAddedFactors();
  const { site: { owner }, first, second, ids } = world;
  const remove = async (phone: ApiCaller) =>
    (await phone.call(`/me/api/devices/${ids.oldPhone}`, { method: "DELETE" })).code;
  const isLast = async (phone: ApiCaller): Promise<unknown> => {
    const { devices } = await phone.take<AccountFactors>("/me/api/factors");
    return devices.find(({ pairingId }) => pairingId === ids.oldPhone)?.isLast;
  };
  await second.take("/me/api/session", { json: { phone: true } });
  await world.stepUp(second, ids.newPhone);
  // All other factors depend on the old phone, so the user would be locked out. The page offers no Remove.
  assertEquals([await isLast(first), await isLast(second)], [true, true]);
  assertEquals([await remove(first), await remove(second)], ["last_own_factor", "last_own_factor"]);
  await owner.take(`${CONSOLE}/users/bob/pairings`, { json: { kind: "sms", number: "+14155550123" } });
  assertEquals(await isLast(second), false);
  assertEquals(await remove(second), "");
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals((await second.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");
});

Deno.test("a phone that removes or confirms factors that depend on it makes none of them independent of itself", async () => {
  await using world = await startWithAddedFactors();
  const { site: { owner }, first, second, ids } = world;
  await second.take("/me/api/session", { json: { phone: true } });
  await world.stepUp(second, ids.newPhone);
  const codesOf = (phone: ApiCaller) => phone.take("/me/api/recovery-codes", { json: {} });
  const { secret } = await second.take<{ secret: string }>("/me/api/totp", { json: {} });
  const proof = { code: totpCode(fromBase32(secret), Date.now()) };
  const { pairingId: app } = await second.take<{ pairingId: string }>("/me/api/totp/confirm", {
    json: proof,
  });
  await codesOf(second);
  // The old phone's code is of a factor that the new phone did not add, so it confirms the factors that the new phone
  // added.
  await first.take(`/me/api/devices/${ids.newPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${CONSOLE}/users/bob/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), [
    "recovery_codes by Old phone",
    "totp by Old phone",
    "totp by Old phone",
  ]);
  const { login } = await owner.take<{ login: { unconfirmed: { id: string }[] } }>(`${CONSOLE}/users/bob`);
  assertEquals(login.unconfirmed.map(({ id }) => id).includes(app), true);
});

Deno.test("a session of a phone that keeps an unconfirmed factor makes the factor depend on that phone", async () => {
  await using world = await startWithAddedFactors();
  const { site: { owner }, first, second, ids } = world;
  await second.take("/me/api/session", { json: { phone: true } });
  await world.stepUp(second, ids.newPhone);
  await second.take("/me/api/recovery-codes", { json: {} });
  await second.take(`/device/api/pairings/${ids.newPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), ["recovery_codes by New phone"]);
  await first.take("/me/api/unconfirmed/recovery-codes/keep", { json: {} });
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${CONSOLE}/users/bob/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), ["recovery_codes by Old phone", "totp by Old phone"]);
});

Deno.test("a user who removes the old phone on the new one, with a code of another factor, keeps the factors of the old one", async () => {
  await using world = await startWithAddedFactors();
  const { site, second, ids } = world;
  await site.gateway.pair("bob", "--totp", OTHER_SECRET);
  const remove = () => second.call(`/me/api/devices/${ids.oldPhone}`, { method: "DELETE" });
  await second.take("/me/api/session", { json: { phone: true } });
  assertEquals((await remove()).code, "me_step_up");
  const code = totpCode(fromBase32(OTHER_SECRET), Date.now());
  await second.take("/me/api/session/step-up", { json: { code } });
  assertEquals((await remove()).status, 200);
  assertEquals(await world.unconfirmed(), []);
  assertEquals(await world.logIn(), { app: true, recoveryCode: true });
  assertStringIncludes((await world.audited("pairing.revoke", "confirmed")).join(), `totp ${ids.app}`);
});

Deno.test("an invitation by a phone pairs a phone that works for no login after the first phone was revoked", async () => {
  await using world = await startWithAddedFactors();
  const { site, first, ids } = world;
  const { url } = await first.take<{ url: string }>("/me/api/devices/invitation", { json: {} });
  await site.owner.take(`${CONSOLE}/users/bob/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  const third = createCaller(site.gateway);
  await third.take("/device/api/invitation/accept", {
    json: { invitation: url.split("invite=")[1], name: "Third" },
  });
  assertEquals(await world.unconfirmed(), ["device by Old phone", ...ALL_THREE]);
  assertEquals((await third.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");
});
