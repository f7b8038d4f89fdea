// Finding 21: the cookie of a phone alone added factors on the user's own page, and these stayed when the phone was
// revoked.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { AccountFactors } from "../../console/api/account/account_types.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type ApiCaller, CONSOLE, createCaller, startSecured } from "./console_caller.ts";
import { openSession } from "./attack_world.ts";

/** One gateway for all tests; each has a user of its own. */
let site: Awaited<ReturnType<typeof startSecured>>;
let users = 0;
/** The owner signs in again, because changes need a recent sign-in. */
async function newUser(): Promise<string> {
  await site.signIn();
  return `bob${++users}`;
}
Deno.test.beforeAll(async () => void (site = await startSecured("[radius]\nappend_mode = true\n")));
Deno.test.afterAll(() => site[Symbol.asyncDispose]());

const ADDITIONS = ["/me/api/totp", "/me/api/devices/invitation", "/me/api/recovery-codes"] as const;

Deno.test("a session that a phone opened adds no factor without a code, and a code counts once", async () => {
  const user = await newUser();
  await site.createUser(user);
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/${user}/invitation`, {
    json: {},
  });
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
  const user = await newUser();
  await site.createUser(user);
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/${user}/invitation`, {
    json: {},
  });
  const phone = createCaller(site.gateway);
  await phone.take("/device/api/invitation/accept", { json: { invitation: link.split("invite=")[1] } });
  await site.owner.take(`${CONSOLE}/users/${user}/pairings`, {
    json: { kind: "sms", number: "+14155550123" },
  });
  const told = async () => {
    const { notices } = await phone.take<Told>("/device/api/view");
    return notices.map(({ what, by, userName }) => `${what} ${by} ${userName}`);
  };
  // The pairing of this phone is no news for its holder.
  assertEquals(await told(), [`sms administrator ${user}`]);
  await phone.take("/me/api/session", { json: { phone: true } });
  assertEquals((await phone.take<Told>("/me/api/factors")).notices.length, 2);
  // The phone alone cannot hide it.
  assertEquals((await phone.call("/me/api/notices", { method: "DELETE" })).code, "me_step_up");
  const { url } = await site.owner.take<{ url: string }>(`${CONSOLE}/users/${user}/me-link`, { json: {} });
  const visitor = createCaller(site.gateway);
  await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
  await visitor.take("/me/api/notices", { method: "DELETE" });
  assertEquals(await told(), []);
});

interface Told {
  readonly notices: readonly { readonly what: string; readonly by: string; readonly userName: string }[];
}

/** A user whose phone added an authenticator app, recovery codes and a second phone on /me. */
async function createUserWithAddedFactors() {
  const user = await newUser();
  await site.createUser(user);
  const { link } = await site.owner.take<{ link: string }>(`${CONSOLE}/users/${user}/invitation`, {
    json: {},
  });
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
    ...{ user, first, second, stepUp },
    /** The user types a recovery code into the session. */
    stepUpByRecoveryCode: (phone: ApiCaller) =>
      phone.take("/me/api/session/step-up", { json: { code: codes.shift() ?? "" } }),
    ids: { oldPhone, newPhone, app },
    /** The results of a login with the app's code, and of one with a recovery code. */
    async logIn() {
      using byApp = openSession(site.gateway, { userName: user, nasPort: 1 });
      const { kind: withApp } = await byApp.login(`pw,${code}`);
      using byRecoveryCode = openSession(site.gateway, { userName: user, nasPort: 2 });
      // The menu offers codes under D. A login at a prompt for a device or a code also accepts a recovery code.
      let reply = await byRecoveryCode.login();
      if (reply.step === MENU) reply = await byRecoveryCode.answer("D");
      if (reply.step !== MENU) reply = await byRecoveryCode.answer(codes.shift() ?? "");
      const { kind: withRecoveryCode } = reply;
      return { app: withApp === "accept", recoveryCode: withRecoveryCode === "accept" };
    },
    async unconfirmed() {
      const { login } = await site.owner.take<{ login: { unconfirmed: Unconfirmed[] } }>(
        `${CONSOLE}/users/${user}`,
      );
      return login.unconfirmed.map(({ kind, addedBy }) => `${kind} by ${addedBy}`).sort();
    },
    async audited(action: string, detail: "addedBy" | "confirmed" | "unconfirmed") {
      const query = `object=user:${user}&action=${action}`;
      const { items } = await site.owner.take<{ items: Audited[] }>(`${CONSOLE}/audit?${query}`);
      return items.map(({ details }) => String(details[detail]));
    },
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
  const world = await createUserWithAddedFactors();
  const { owner } = site;
  const { second, ids } = world;
  const user = `${CONSOLE}/users/${world.user}`;
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${user}/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals(await world.logIn(), { app: false, recoveryCode: false });
  assertEquals((await second.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");

  // An administrator keeps the app; the user, by a link, keeps the codes and removes the phone.
  await owner.take(`${user}/unconfirmed/${ids.app}/keep`, { json: {} });
  const { url } = await owner.take<{ url: string }>(`${user}/me-link`, { json: {} });
  const visitor = createCaller(site.gateway);
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
  const world = await createUserWithAddedFactors();
  const { first, ids } = world;
  await first.take(`/device/api/pairings/${ids.oldPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals(await world.logIn(), { app: false, recoveryCode: false });
  assertStringIncludes((await world.audited("pairing.revoke", "unconfirmed")).join(), `totp ${ids.app}`);
});

Deno.test("a code of the phone, or of a factor that it added, confirms nothing when the phone is removed on /me", async () => {
  const world = await createUserWithAddedFactors();
  const { owner } = site;
  const { first, second, ids } = world;
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
  await owner.take(`${CONSOLE}/users/${world.user}/pairings`, {
    json: { kind: "sms", number: "+14155550123" },
  });
  assertEquals(await isLast(second), false);
  // The new phone may be a thief's: its own code, and a text message, remove nothing else.
  assertEquals(await remove(second), "me_step_up");
  assertEquals(await remove(first), "");
  assertEquals(await world.unconfirmed(), ALL_THREE);
  assertEquals((await second.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");
});

Deno.test("a phone that removes or confirms factors that depend on it makes none of them independent of itself", async () => {
  const world = await createUserWithAddedFactors();
  const { first, second, ids } = world;
  const { owner } = site;
  await second.take("/me/api/session", { json: { phone: true } });
  await world.stepUp(second, ids.newPhone);
  const codesOf = (phone: ApiCaller) => phone.take("/me/api/recovery-codes", { json: {} });
  const { secret } = await second.take<{ secret: string }>("/me/api/totp", { json: {} });
  const proof = { code: totpCode(fromBase32(secret), Date.now()) };
  const { pairingId: app } = await second.take<{ pairingId: string }>("/me/api/totp/confirm", {
    json: proof,
  });
  await world.stepUpByRecoveryCode(second);
  await codesOf(second);
  // A code of a factor that no phone added confirms the factors that the new phone added.
  await site.gateway.pair(world.user, "--totp", OTHER_SECRET);
  const code = totpCode(fromBase32(OTHER_SECRET), Date.now());
  await first.take("/me/api/session/step-up", { json: { code } });
  await first.take(`/me/api/devices/${ids.newPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${CONSOLE}/users/${world.user}/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), [
    "recovery_codes by Old phone",
    "totp by Old phone",
    "totp by Old phone",
  ]);
  const { login } = await owner.take<{ login: { unconfirmed: { id: string }[] } }>(
    `${CONSOLE}/users/${world.user}`,
  );
  assertEquals(login.unconfirmed.map(({ id }) => id).includes(app), true);
});

Deno.test("a session of a phone that keeps an unconfirmed factor makes the factor depend on that phone", async () => {
  const world = await createUserWithAddedFactors();
  const { owner } = site;
  const { first, second, ids } = world;
  await second.take("/me/api/session", { json: { phone: true } });
  await world.stepUpByRecoveryCode(second);
  await second.take("/me/api/recovery-codes", { json: {} });
  await second.take(`/device/api/pairings/${ids.newPhone}`, { method: "DELETE" });
  assertEquals(await world.unconfirmed(), ["recovery_codes by New phone"]);
  await first.take("/me/api/unconfirmed/recovery-codes/keep", { json: {} });
  assertEquals(await world.unconfirmed(), []);
  await owner.take(`${CONSOLE}/users/${world.user}/pairings/${ids.oldPhone}`, { method: "DELETE", json: {} });
  assertEquals(await world.unconfirmed(), ["recovery_codes by Old phone", "totp by Old phone"]);
});

Deno.test("a user who removes the old phone on the new one, with a code of another factor, keeps the factors of the old one", async () => {
  const world = await createUserWithAddedFactors();
  const { second, ids } = world;
  await site.gateway.pair(world.user, "--totp", OTHER_SECRET);
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
  const world = await createUserWithAddedFactors();
  const { first, ids } = world;
  const { url } = await first.take<{ url: string }>("/me/api/devices/invitation", { json: {} });
  await site.owner.take(`${CONSOLE}/users/${world.user}/pairings/${ids.oldPhone}`, {
    method: "DELETE",
    json: {},
  });
  const third = createCaller(site.gateway);
  await third.take("/device/api/invitation/accept", {
    json: { invitation: url.split("invite=")[1], name: "Third" },
  });
  assertEquals(await world.unconfirmed(), ["device by Old phone", ...ALL_THREE]);
  assertEquals((await third.call("/me/api/session", { json: { phone: true } })).code, "not_this_phone");
});

/** Everything on /me that removes or weakens something other than the phone that opened it. */
const REMOVALS: readonly (readonly [string, string, (ids: OwnerIds) => string, unknown?])[] = [
  ["another phone", "DELETE", ({ tablet }) => `/devices/${tablet}`],
  ["an authenticator app", "DELETE", ({ app }) => `/totp/${app}`],
  ["a factor that waits for a confirmation", "DELETE", ({ waiting }) => `/unconfirmed/${waiting}`],
  ["the notices", "DELETE", () => "/notices"],
  ["the bypass code", "DELETE", () => "/bypass"],
  ["the recovery codes, by new ones", "POST", () => "/recovery-codes", {}],
  ["the preferred factor, by a weaker one", "PUT", () => "/preference", { factor: "sms" }],
];

interface OwnerIds {
  readonly phone: string;
  readonly tablet: string;
  readonly app: string;
  readonly waiting: string;
}

/** A user who has a phone, a tablet, an app, recovery codes, a bypass code and a factor that waits for a confirmation. */
async function createOwner() {
  const name = await newUser();
  await site.createUser(name, { emails: [{ value: `${name}@example.org` }] });
  const user = `${CONSOLE}/users/${name}`;
  const byAdministrator = async (phone: ApiCaller) => {
    const { link } = await site.owner.take<{ link: string }>(`${user}/invitation`, { json: {} });
    return await accept(phone, link);
  };
  const accept = async (phone: ApiCaller, link: string) => {
    const json = { invitation: link.split("invite=")[1] };
    return (await phone.take<{ pairingId: string }>("/device/api/invitation/accept", { json })).pairingId;
  };
  const callers = [1, 2, 3].map(() => createCaller(site.gateway)) as [ApiCaller, ApiCaller, ApiCaller];
  const [phone, tablet, lost] = callers;
  const ids = { phone: await byAdministrator(phone), tablet: await byAdministrator(tablet) };
  const lostId = await byAdministrator(lost);
  await lost.take("/me/api/session", { json: { phone: true } });
  const passcodeOf = async (caller: ApiCaller, id: string) =>
    (await caller.take<{ code: string }>(`/device/api/pairings/${id}/passcode`, { json: {} })).code;
  await lost.take("/me/api/session/step-up", { json: { code: await passcodeOf(lost, lostId) } });
  const { url } = await lost.take<{ url: string }>("/me/api/devices/invitation", { json: {} });
  const waiting = await accept(createCaller(site.gateway), url);
  await site.owner.take(`${user}/pairings/${lostId}`, { method: "DELETE", json: {} });
  await site.gateway.pair(name, "--totp", OTHER_SECRET);
  const link = await site.owner.take<{ url: string }>(`${user}/me-link`, { json: {} });
  const byLink = createCaller(site.gateway);
  await byLink.take("/me/api/session", { json: { link: link.url.split("#")[1] } });
  const { codes } = await byLink.take<{ codes: string[] }>("/me/api/recovery-codes", { json: {} });
  await site.owner.take(`${user}/bypass`, { json: { uses: 2, minutes: 60 } });
  const { totp } = await byLink.take<AccountFactors>("/me/api/factors");
  await phone.take("/me/api/session", { json: { phone: true } });
  return {
    ...{ phone, tablet, codes, passcodeOf },
    ids: { ...ids, app: totp[0]?.pairingId ?? "", waiting },
    stepUp: (code: string) => phone.take("/me/api/session/step-up", { json: { code } }),
    factors: () => byLink.take<AccountFactors>("/me/api/factors"),
    /** The refusals of all removals. */
    async removeAll(by: ApiCaller, removed: OwnerIds) {
      const found: string[] = [];
      for (const [, method, path, json] of REMOVALS) {
        const options = json === undefined ? { method } : { method, json };
        found.push((await by.call(`/me/api${path(removed)}`, options)).code);
      }
      return found;
    },
    accept,
  };
}

Deno.test("a stolen phone removes nothing but itself: not with its cookie, its codes, or codes of what it added", async () => {
  const world = await createOwner();
  const { phone, ids } = world;
  const before = await world.factors();
  const refused = REMOVALS.map(() => "me_step_up");
  assertEquals(await world.removeAll(phone, ids), refused);
  await world.stepUp(await world.passcodeOf(phone, ids.phone));
  assertEquals(await world.removeAll(phone, ids), refused);

  // The thief adds an app and pairs a second browser, and uses the one to confirm removals of the other.
  const { secret } = await phone.take<{ secret: string }>("/me/api/totp", { json: {} });
  const code = totpCode(fromBase32(secret), Date.now());
  const { pairingId: own } = await phone.take<{ pairingId: string }>("/me/api/totp/confirm", {
    json: { code },
  });
  await world.stepUp(totpCode(fromBase32(secret), Date.now() + 30_000));
  assertEquals(await world.removeAll(phone, ids), refused);
  const { url } = await phone.take<{ url: string }>("/me/api/devices/invitation", { json: {} });
  const browser = createCaller(site.gateway);
  const browserId = await world.accept(browser, url);
  await browser.take("/me/api/session", { json: { phone: true } });
  const passcode = await world.passcodeOf(browser, browserId);
  await browser.take("/me/api/session/step-up", { json: { code: passcode } });
  assertEquals(await world.removeAll(browser, ids), refused);

  // A code removes its own factor, and proves nothing afterwards.
  await phone.take("/me/api/session/step-up", {
    json: { code: totpCode(fromBase32(secret), Date.now() + 30_000) },
  }).catch(() => undefined);
  assertEquals((await phone.call(`/me/api/totp/${own}`, { method: "DELETE" })).status, 200);
  assertEquals(await world.removeAll(phone, ids), refused);
  const after = await world.factors();
  const kept = ({ devices, totp, recovery, bypass, unconfirmed, preference }: AccountFactors) => ({
    devices: devices.map(({ pairingId }) => pairingId).filter((id) => id !== browserId),
    ...{ totp, recovery, bypass, unconfirmed, preference },
  });
  assertEquals(kept(after), kept(before));
  assertEquals((await phone.call(`/me/api/devices/${ids.phone}`, { method: "DELETE" })).status, 200);
});

for (const by of ["an app", "a recovery code"] as const) {
  Deno.test(`a phone with a code of ${by} that it did not add removes everything, and the user gets notices`, async () => {
    const world = await createOwner();
    const { phone, ids, codes } = world;
    await world.stepUp(by === "an app" ? totpCode(fromBase32(OTHER_SECRET), Date.now()) : codes[0] ?? "");
    assertEquals(await world.removeAll(phone, ids), REMOVALS.map(() => ""));
    const { notices = [] } = await world.factors();
    assertEquals(
      notices.flatMap(({ what, by, isRemoved }) => isRemoved ? [`${what} ${by}`] : []).sort(),
      ["bypass self", "recovery_codes self"],
    );
  });
}

Deno.test("a phone removes another factor with a code of that factor alone", async () => {
  const world = await createOwner();
  const { phone, tablet, ids } = world;
  await world.stepUp(await world.passcodeOf(tablet, ids.tablet));
  assertEquals((await phone.call(`/me/api/devices/${ids.tablet}`, { method: "DELETE" })).status, 200);
});
