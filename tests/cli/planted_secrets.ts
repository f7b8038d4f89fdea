// Secrets of every kind that an administrator enters, where they are entered, and the search for them in all forms.

import { assert } from "@std/assert";
import type { Composition } from "../../compose.ts";
import { askOperator } from "../fakes/composition.ts";
import { CLIENT } from "../fakes/connect_calls.ts";

const encoder = new TextEncoder();

/** A seed of an authenticator app, in base32 and as octets. */
const SEED = "JBSWY3DPEHPK3PXPGEZDGNBVGY3TQOJQ";
const SEED_OCTETS = Uint8Array.fromHex("48656c6c6f21deadbeef31323334353637383930");

/** What an administrator enters. */
export const SECRETS = {
  radius: "any-client-secret-7f3k",
  radiusServer: "first-factor-server-9w2m",
  consumerKey: "consumer-key-of-push-4r8t",
  consumerSecret: "consumer-secret-of-push-1x5c",
  authToken: "auth-token-of-telephony-6b3n",
  oidc: "client-secret-of-oidc-8v2p",
  ldap: "bind-password-of-ldap-3h7d",
  scimToken: "bearer-token-of-scim-5j9s",
  scimPassword: "basic-password-of-scim-2l6a",
  client: "shared-secret-of-client-7e1g",
  rotated: "next-secret-of-client-4u8i",
} as const;
export const VISIBLE = "ldap.visible.example.org";

const CHANGES = {
  "radius.secret": SECRETS.radius,
  "radius.first_factor": "radius",
  "radius.first_factor_server.address": "192.0.2.9:1812",
  "radius.first_factor_server.secret": SECRETS.radiusServer,
  "second_factor.url": "https://push.example.org",
  "second_factor.consumer_key": SECRETS.consumerKey,
  "second_factor.consumer_secret": SECRETS.consumerSecret,
  "telephony.url": "https://calls.example.org",
  "telephony.account_id": "AC1",
  "telephony.auth_token": SECRETS.authToken,
  "telephony.from": "+15550001111",
  "console.oidc.issuer": "https://id.example.org",
  "console.oidc.client_id": "gate",
  "console.oidc.client_secret": SECRETS.oidc,
};
const USERS = "ou=people,dc=example,dc=org";
const DIRECTORY = {
  backends: {
    ldap: {
      kind: "ldap",
      mode: "async",
      url: `ldap://${VISIBLE}`,
      users_dn: USERS,
      bind_dn: "cn=admin,dc=example,dc=org",
      bind_password: SECRETS.ldap,
    },
    tokened: { kind: "scim", mode: "async", url: "https://a.example.org", token: SECRETS.scimToken },
    basic: {
      kind: "scim",
      mode: "async",
      url: "https://b.example.org",
      user_name: "u",
      password: SECRETS.scimPassword,
    },
  },
};

/** The parts of a secret in base64 that do not depend on what precedes and follows it. */
function base64Parts(octets: Uint8Array): string[] {
  return [0, 1, 2].flatMap((skip) => {
    const whole = octets.subarray(skip, skip + Math.floor((octets.length - skip) / 3) * 3);
    return [whole.toBase64(), whole.toBase64({ alphabet: "base64url" })];
  });
}

/** All forms of a secret to search for, as texts of one character for each octet. */
function formsOf(octets: Uint8Array): string[] {
  const hex = octets.toHex();
  return [latin1(octets), hex, hex.toUpperCase(), ...base64Parts(octets)];
}

export const latin1 = (octets: Uint8Array) => new TextDecoder("latin1").decode(octets);

const SEARCHED: readonly (readonly [name: string, form: string])[] = [
  ...Object.entries(SECRETS).map(([name, text]) => [name, encoder.encode(text)] as const),
  ["seed in base32", encoder.encode(SEED)] as const,
  ["seed in lower case", encoder.encode(SEED.toLowerCase())] as const,
  ["seed", SEED_OCTETS] as const,
].flatMap(([name, octets]) => formsOf(octets).map((form) => [name, form] as const));

export const secretsIn = (text: string) =>
  SEARCHED.filter(([, form]) => text.includes(form)).map(([name]) => name);

/** Calls the administration API as a command. Returns the body. */
export function callerOf(server: Pick<Composition, "openApp">) {
  return async (method: string, path: string, json?: unknown) => {
    const { status, text } = await askOperator(await server.openApp(), { method, path, json });
    assert(status < 300, `${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
}

/** Enters them. */
export async function plantSecrets(server: Pick<Composition, "openApp">): Promise<void> {
  const send = callerOf(server);
  const { version } = await send("GET", "/settings");
  await send("PUT", "/settings", { version, changes: CHANGES });
  // The record that undoes the change has the secrets too.
  const second = await send("GET", "/settings");
  await send("PUT", "/settings", { version: second.version, changes: { "radius.secret": null } });
  await send("PUT", "/target-settings/corp", { version: "99", table: DIRECTORY });
  await send("POST", "/clients", { ...CLIENT, secret: SECRETS.client });
  await send("POST", `/clients/${CLIENT.name}/secret`, { secret: SECRETS.rotated, overlapMs: 3_600_000 });
  await send("POST", "/users/ada/pairings", { kind: "totp", seed: SEED });
}
