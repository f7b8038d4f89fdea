// A scenario of actions by users, administrators and services, which creates store entries of every kind.

import { assertEquals } from "@std/assert";
import { createAuthenticator } from "../fakes/authenticator.ts";
import { buildAccountingRequest } from "../support/radius_packets.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { becomes, pass, whileTimePasses } from "../radius/rows/passing_time.ts";
import { type ContractGateway, ORIGIN, SECRET } from "./gateway_client.ts";
import { MANY_MEMBERS, type Scenario } from "./scenario.ts";

/** A step of the scenario. The steps run in order, and later ones use what earlier ones made. */
export type ScenarioStep = (scenario: Scenario) => Promise<void>;

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
  async "factors of users"({ gateway: { operator, clock }, phone, app }) {
    const { link } = await operator.send<{ link: string }>("POST", "/users/anna/invitation", {});
    await operator.send("POST", "/users/bert/pairings", { kind: "sms", number: NUMBERS.sms });
    await operator.send("POST", "/users/carl/pairings", { kind: "voice", number: NUMBERS.voice });
    await operator.send("PUT", "/users/carl/preference", { factor: "voice" });
    const invitation = fragmentOf(link).replace("invite=", "");
    await phone.send("POST", "/device/api/invitation/accept", { invitation, name: "Pixel" });
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
  async "a login with a device"({ gateway, phone }) {
    const login = gateway.login("anna");
    const { message } = await login.start();
    const number = /number (\d\d)/.exec(message)?.[1] ?? "";
    const { view } = await phone.send<PhoneView>("GET", "/device/api/view");
    const { requestId } = first(view.requests);
    await phone.send("POST", `/device/api/requests/${requestId}`, { approve: true, number });
    assertEquals((await login.answer("")).kind, "accept");
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
  async "a VPN session by accounting"({ gateway: { radiusClient } }) {
    const utf8 = new TextEncoder();
    const start = buildAccountingRequest(SECRET, {
      userName: "anna",
      more: [{ type: 40, value: Uint8Array.of(0, 0, 0, 1) }, { type: 44, value: utf8.encode("session-1") }],
    });
    await radiusClient.exchange(start);
  },
  async "a connection that is used, and one that is removed"({ gateway: { operator, connections } }) {
    const body = { kind: "okta", target: "default", secret: { kind: "token", days: 90 } };
    const { secret: { text } } = await operator.send<{ secret: { text: string } }>(
      "POST",
      "/connections",
      { ...body, name: "okta" },
    );
    await operator.send("POST", "/connections", { ...body, name: "entra" });
    await operator.send("DELETE", "/connections/entra");
    const okta = await connections.authenticate(`Bearer ${text}`, "192.0.2.60");
    if (okta === null) throw new Error("the token was refused");
    await connections.countDeletion(okta, 1);
    await connections.proposeAdoption(okta, { kind: "user", id: "1", name: "gerd", externalId: null });
    await operator.send("POST", "/connections/okta/matches", { decision: "accept", ids: "all" });
    connections.record({
      ...{ atMs: 0, connection: "okta", source: "192.0.2.60", method: "POST", operation: "users.create" },
      ...{ resource: null, status: 201, scimType: null, detail: null, attributes: [], durationMs: 1 },
      ...{ dryRun: false, userAgent: "" },
    });
    await operator.send("GET", "/connections/okta/requests");
  },
  async "a user and a group with other names"({ gateway: { targets } }) {
    const target = targets.get("default");
    const [user, group] = [
      await target?.directory.read("user", "lars"),
      await target?.directory.read("group", "staff"),
    ];
    const options = { actor: { name: "scim:hr", source: "192.0.2.50" } };
    if (user?.content.kind !== "user" || group?.content.kind !== "group") throw new Error("They are gone");
    const { attributes } = user.content;
    await target?.rename("user", "lars", { ...user.content, attributes, name: "laurids" }, options);
    const { attributes: values } = group.content;
    await target?.rename(
      "group",
      "staff",
      { ...group.content, attributes: values, name: "workforce" },
      options,
    );
  },
  async "a user who leaves"({ scim, gateway: { operator, clock } }) {
    await operator.send("POST", "/users/hans/pairings", { kind: "sms", number: NUMBERS.sms });
    await scim.send("DELETE", `${SCIM}/Users/hans`);
    await scim.send("DELETE", `${SCIM}/Users/anna`);
    await pass(clock, 2000);
  },
  async "an hour later"({ gateway: { clock, store } }) {
    clock.advance(3_600_000);
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
