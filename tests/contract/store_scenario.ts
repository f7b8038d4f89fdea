// A scenario of actions by users, administrators and services, which creates store entries of every kind.

import { BrowserKeys } from "../fakes/push_decryption.ts";
import { assertEquals } from "@std/assert";
import { createAuthenticator } from "../fakes/authenticator.ts";
import { buildAccountingRequest } from "../support/radius_packets.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { logInWithToken } from "./token_scenario.ts";
import { becomes, pass, whileTimePasses } from "../radius/rows/passing_time.ts";
import { type ContractGateway, ORIGIN, SECRET } from "./gateway_client.ts";
import { MANY_MEMBERS, type ScenarioStep } from "./scenario.ts";
import { ALERT_STEP } from "./alert_step.ts";
import { PROVIDER_STEPS } from "./provider_steps.ts";

const SCIM = "/idm/scim/default";
const DAY_MS = 24 * 3_600_000;
const NUMBERS = { sms: "+4915112345678", voice: "+4915112345679", typed: "+4915112345680" };
const CLIENT = {
  ...{ name: "wifi", address: ["198.51.100.9"], nasIdentifier: "", disabled: false },
  ...{
    messageAuthenticator: "auto",
    firstFactor: "settings",
    firstFactorBackend: "",
    firstFactorServer: null,
  },
  ...{ device: "challenge", appendMode: false, unknownUsers: "allow" },
};

const user = (userName: string, more: object = {}) => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  userName,
  name: { givenName: "Given", familyName: "Family" },
  ...more,
});

/** In the order in which they run. */
export const SCENARIO: Readonly<Record<string, ScenarioStep>> = {
  async "users and groups by SCIM"({ scim }) {
    for (const name of ["anna", "bert", "carl", "dora", "emil", "fred", "gerd", "hans"]) {
      await scim.send("POST", `${SCIM}/Users`, user(name));
    }
    await scim.send("POST", `${SCIM}/Users`, user("ines", { password: "a long password" }));
    const emails = Array.from({ length: 2500 }, (_, at) => ({ value: `address-${at}@example.org` }));
    await scim.send("POST", `${SCIM}/Users`, user("lars", { emails }));
    await scim.send("POST", `${SCIM}/Groups`, {
      displayName: "staff",
      members: [{ display: "anna" }, { display: "hans" }],
    });
    await scim.send("POST", `${SCIM}/Groups`, {
      displayName: "crew",
      members: MANY_MEMBERS.map((display) => ({ display })),
    });
    await scim.send("PUT", `${SCIM}/Users/emil`, user("emil", { displayName: "Emil" }));
    await scim.send("DELETE", `${SCIM}/Groups/crew`);
  },
  async "so many users that their index is merged"({ scim }) {
    for (const name of MANY_MEMBERS.slice(0, 240)) await scim.send("POST", `${SCIM}/Users`, user(name));
  },
  async "writes to two backends"({ scim, gateway: { clock, store } }) {
    for (const name of ["walt", "rosa"]) {
      await scim.send("POST", "/idm/scim/crm/Users", user(name));
    }
    await scim.send("POST", "/idm/scim/crm/Groups", { displayName: "team", members: [] });
    await scim.send("POST", "/idm/scim/partner/Users", user("olga"));
    const changed = user("olga", { displayName: "Olga" });
    await scim.send("PUT", "/idm/scim/partner/Users/olga?backends=archive", changed);
    await whileTimePasses(clock, becomes("a dead letter", () => hasEntries(store, "dead_letter")));
  },
  async "an administrator, by invitation"({ gateway }) {
    const { operator, clock } = gateway;
    const { url } = await operator.send<{ url: string }>("POST", "/administrators", {
      name: "owner",
      role: "owner",
    });
    const browser = gateway.browser();
    const api = <T>(method: string, path: string, json: unknown = {}) =>
      browser.send<T>(method, `/console/api${path}`, json);
    const token = fragmentOf(url);
    await api("POST", "/setup", { token, name: "owner", password: "a long password" });
    const { secret } = await api<{ secret: string }>("POST", "/factors/totp");
    const codeAt = (atMs: number) => totpCode(fromBase32(secret), atMs);
    await api("POST", "/factors/totp/confirm", { code: codeAt(clock.nowMs()) });
    clock.advance(60_000);
    await api("DELETE", "/session");
    const signIn = { name: "owner", password: "a long password", code: codeAt(clock.nowMs()) };
    await api("POST", "/session", signIn);
    await api("POST", "/tokens", { name: "backup", role: "viewer", days: 90 });
    const passkey = await createAuthenticator(ORIGIN);
    const options = await api<{ challenge: string }>("POST", "/factors/passkeys/options");
    await api("POST", "/factors/passkeys", { label: "laptop", response: await passkey.register(options) });
    await operator.send("POST", "/administrators", { name: "invited", role: "viewer" });
    await operator.send("PUT", "/first-steps/client", { skipped: true });
  },
  async "clients and replies"({ gateway: { operator } }) {
    await operator.send("POST", "/clients", CLIENT);
    await operator.send("POST", "/clients/wifi/secret", { overlapMs: DAY_MS });
    const attributes = [{ name: "Filter-Id", value: "staff" }];
    await operator.send("PUT", "/groups/staff/replies", { attributes, version: 0 });
  },
  async "a setting and a directory of the console"({ gateway: { operator } }) {
    await operator.send("PUT", "/settings", { version: "99", changes: { "factors.pushes.per_user": 6 } });
    await operator.send("PUT", "/target-settings/corp", { version: "99", table: { page_size: 7 } });
  },
  async "factors of users"({ gateway: { operator, clock }, phone, app }) {
    const { link } = await operator.send<{ link: string }>("POST", "/users/anna/invitation", {});
    await operator.send("POST", "/users/bert/pairings", { kind: "sms", number: NUMBERS.sms });
    await operator.send("POST", "/users/carl/pairings", { kind: "voice", number: NUMBERS.voice });
    await operator.send("PUT", "/users/carl/preference", { factor: "voice" });
    const invitation = fragmentOf(link).replace("invite=", "");
    await phone.send("POST", "/device/api/invitation/accept", { invitation, name: "Pixel" });
    const keys = new BrowserKeys().json;
    await phone.send("POST", "/device/api/push", { endpoint: "https://fcm.googleapis.com/fcm/send/x", keys });
    const { id, secret } = await operator.send<{ id: string; secret: string }>(
      "POST",
      "/users/dora/totp",
      {},
    );
    const code = totpCode(fromBase32(secret), clock.nowMs());
    await operator.send("POST", "/users/dora/totp/confirm", { id, code });
    clock.advance(60_000);
    app.secret = secret;
  },
  async "a login without a signature"({ gateway }) {
    const login = gateway.login("bert", { unsigned: true });
    await login.start();
    assertEquals((await login.answer(await deliveredPasscode(gateway))).kind, "accept");
  },
  async "a passcode for the next login, in append mode"({ gateway }) {
    assertEquals((await gateway.login("bert", { unsigned: true }).start("pw,sms")).kind, "reject");
  },
  async "a login with a device"({ gateway, phone }) {
    const login = gateway.login("anna");
    const { message } = await login.start();
    const number = /number (\d\d)/.exec(message)?.[1] ?? "";
    const { view } = await phone.send<PhoneView>("GET", "/device/api/view");
    const { requestId } = first(view.requests);
    await phone.send("POST", `/device/api/requests/${requestId}`, { approve: true, number });
    assertEquals((await login.answer("")).kind, "accept");
  },
  async "the help desk"({ gateway: { operator }, phone }) {
    await operator.send("POST", "/users/anna/bypass", { uses: 2, minutes: 60, reason: "Ticket 1" });
    const { view: { pairings } } = await phone.send<PhoneView>("GET", "/device/api/view");
    const { pairingId } = first(pairings);
    await operator.send("POST", "/users/anna/verification", { phone: pairingId });
    const { view: { requests } } = await phone.send<PhoneView>("GET", "/device/api/view");
    const answer = { approve: false, number: null, notMe: true };
    await phone.send("POST", `/device/api/requests/${first(requests).requestId}`, answer);
  },
  async "logins with a text, a call and a passcode of an app"({ gateway, app }) {
    for (const name of ["bert", "carl"]) {
      const login = gateway.login(name);
      await login.start();
      assertEquals((await login.answer(await deliveredPasscode(gateway))).kind, "accept");
    }
    const login = gateway.login("dora");
    await login.start();
    const code = totpCode(fromBase32(app.secret), gateway.clock.nowMs());
    assertEquals((await login.answer(code)).kind, "accept");
  },
  "a login with a hardware token": logInWithToken,
  async "a login that enrols a typed number"({ gateway }) {
    const login = gateway.login("emil");
    await login.start();
    await login.answer("T");
    await login.answer(NUMBERS.typed);
    assertEquals((await login.answer(await deliveredPasscode(gateway))).kind, "accept");
  },
  async "a login that enrols a phone by its phrase"({ gateway }) {
    const phone = gateway.browser();
    const { phrase } = await phone.send<{ phrase: string }>("POST", "/device/api/phrase", {});
    const login = gateway.login("fred");
    await login.start();
    await login.answer("S");
    await login.answer(phrase);
    const { view } = await phone.send<PhoneView>("GET", "/device/api/view");
    const { pairingId } = first(view.pairings);
    await phone.send("POST", `/device/api/pairings/${pairingId}`, { approve: true });
    await login.answer("");
  },
  async "failures that lock a user"({ gateway }) {
    await gateway.operator.send("POST", "/users/gerd/pairings", { kind: "sms", number: NUMBERS.sms });
    for (let failure = 0; failure < 2; failure++) {
      const login = gateway.login("gerd");
      await login.start();
      assertEquals((await login.answer("000")).kind, "reject");
    }
  },
  async "the account page of a user"({ gateway, app }) {
    const { url } = await gateway.operator.send<{ url: string }>("POST", "/users/dora/me-link", {});
    const browser = gateway.browser();
    const api = (method: string, path: string, json?: unknown) =>
      browser.send(method, `/me/api${path}`, json);
    await api("POST", "/session", { link: fragmentOf(url) });
    gateway.clock.advance(60_000);
    await api("POST", "/session/step-up", {
      code: totpCode(fromBase32(app.secret), gateway.clock.nowMs()),
    });
    await api("POST", "/recovery-codes", {});
    await api("POST", "/totp", {});
    await api("POST", "/not-me", { conversationId: null });
  },
  async "mails that wait, and one that fails"({ gateway: { mail, operator, store, clock } }) {
    for (const name of ["bert", "carl", "gerd", "lars"]) {
      const { mutations } = mail.prepare({
        ...{ template: "invitation", language: "en", to: `${name}@example.org`, about: `user:${name}` },
        values: { userName: name, link: "https://login.example.com/" },
      });
      await store.commit({ mutations });
    }
    mail.wake();
    const isSent = () => mail.status().waiting === 2 && mail.status().failed === 1;
    await whileTimePasses(clock, becomes("two mails that wait and one that failed", isSent));
    await operator.send("PUT", "/mail/templates/test/de", { subject: "Test", body: "Test {{time}}" });
  },
  async "a campaign"({ scim, gateway: { operator, store, clock } }) {
    await scim.send("PUT", `${SCIM}/Users/hans`, user("hans", { emails: [{ value: "hans@example.org" }] }));
    const choice = { names: ["hans", "bert"] };
    const options = { deadlineDays: 7 };
    await operator.send("POST", "/enrolment/campaigns", { name: "Rollout", choice, options });
    await whileTimePasses(clock, becomes("an invited user", () => hasEntries(store, "enrolment")));
    const change = { choice: { names: ["hans"] }, deadlineMs: null };
    await operator.send("POST", "/enrolment/deadline", change);
  },
  async "a VPN session by accounting, and the order to end it"({ gateway: { radiusClient, operator } }) {
    const utf8 = new TextEncoder();
    const start = buildAccountingRequest(SECRET, {
      userName: "anna",
      more: [{ type: 40, value: Uint8Array.of(0, 0, 0, 1) }, { type: 44, value: utf8.encode("session-1") }],
    });
    await radiusClient.exchange(start);
    await operator.send("POST", "/users/anna/sessions/disconnect", {});
  },
  ...PROVIDER_STEPS,
  async "a destination of the log export"({ gateway: { operator } }) {
    await operator.send("POST", "/log-export", {
      name: "siem",
      kind: "syslog_tls",
      host: "logs.example.com",
    });
  },
  ...ALERT_STEP,
  async "a login in shadow mode"({ gateway: { learner, clock } }) {
    const atMs = clock.nowMs();
    learner.addDay("vpn", { accepted: 1, kinds: { PAP: 1 }, gaps: { 5: 1 } });
    const login = { client: "vpn", user: "bert", shown: "bert", firstMs: atMs, lastMs: atMs };
    learner.addUser({ ...login, kinds: { PAP: 1 } });
    await learner.flush();
  },
  async "a user who leaves"({ scim, gateway: { operator, clock } }) {
    await operator.send("POST", "/users/hans/pairings", { kind: "sms", number: NUMBERS.sms });
    await scim.send("DELETE", `${SCIM}/Users/hans`);
    await scim.send("DELETE", `${SCIM}/Users/anna`);
    await pass(clock, 2000);
  },
  async "an hour later"({ gateway: { clock, store } }) {
    clock.advance(3_600_000);
    while (await store.indexAudit({ all: true }));
    await becomes("a point of the charts", () => hasEntries(store, "chart"));
  },
};

async function hasEntries(store: ContractGateway["store"], root: string): Promise<boolean> {
  const [entry] = await Array.fromAsync(store.list([root], { limit: 1 }));
  return entry !== undefined;
}

/** The content of a phone's page. */
interface PhoneView {
  readonly view: {
    readonly requests: readonly { readonly requestId: string }[];
    readonly pairings: readonly { readonly pairingId: string }[];
  };
}

function first<T>([item]: readonly T[]): T {
  if (item === undefined) throw new Error("The list is empty");
  return item;
}

/** The passcode in the newest text or call. */
async function deliveredPasscode({ operator }: ContractGateway): Promise<string> {
  const { items } = await operator.send<{ items: { id: string }[] }>("GET", "/outbox");
  const { body } = await operator.send<{ body: string }>("POST", `/outbox/${first(items).id}/reveal`, {});
  return /\d{6}/.exec(body)?.[0] ?? body.replaceAll(/\D/g, "").slice(-4);
}

function fragmentOf(url: string): string {
  return url.slice(url.indexOf("#") + 1);
}
