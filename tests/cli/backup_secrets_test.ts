// A backup contains no secret in clear text: neither as it was entered, nor in base64, hex or base32, compressed or not.

import { assert, assertEquals } from "@std/assert";
import { OctetWriter, writeRecord } from "../../platform/backup/records.ts";
import { readBackupFile } from "../../platform/backup/backup_file.ts";
import { askOperator } from "../fakes/composition.ts";
import { CLIENT } from "../fakes/connect_calls.ts";
import { openOperator, openStandIn } from "./operator.ts";

const encoder = new TextEncoder();

/** A seed of an authenticator app, in base32 and as octets. */
const SEED = "JBSWY3DPEHPK3PXPGEZDGNBVGY3TQOJQ";
const SEED_OCTETS = Uint8Array.fromHex("48656c6c6f21deadbeef31323334353637383930");

/** What an administrator enters. */
const SECRETS = {
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
const VISIBLE = "ldap.visible.example.org";

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

const latin1 = (octets: Uint8Array) => new TextDecoder("latin1").decode(octets);

const SEARCHED: readonly (readonly [name: string, form: string])[] = [
  ...Object.entries(SECRETS).map(([name, text]) => [name, encoder.encode(text)] as const),
  ["seed in base32", encoder.encode(SEED)] as const,
  ["seed in lower case", encoder.encode(SEED.toLowerCase())] as const,
  ["seed", SEED_OCTETS] as const,
].flatMap(([name, octets]) => formsOf(octets).map((form) => [name, form] as const));

const secretsIn = (text: string) => SEARCHED.filter(([, form]) => text.includes(form)).map(([name]) => name);

/** The records of a backup without compression, and whether one of each kind that was set up is there. */
async function recordsOf(path: string): Promise<{ text: string; tables: ReadonlySet<unknown> }> {
  const writer = new OctetWriter();
  const tables = new Set<unknown>();
  await readBackupFile(path, {
    onRecord(record) {
      tables.add(record.key[0]);
      writeRecord(writer, record);
    },
  });
  return { text: latin1(writer.take()), tables };
}

Deno.test("the search finds a secret in each of its forms, at each position", () => {
  const octets = encoder.encode(SECRETS.ldap);
  for (const before of ["", "a", "ab"]) {
    const text = `${before}${SECRETS.ldap}!`;
    assertEquals(new Set(secretsIn(text)), new Set(["ldap"]));
    assertEquals(new Set(secretsIn(encoder.encode(text).toBase64())), new Set(["ldap"]));
    assertEquals(new Set(secretsIn(encoder.encode(text).toHex())), new Set(["ldap"]));
  }
  assertEquals(new Set(secretsIn(latin1(octets))), new Set(["ldap"]));
  assertEquals(secretsIn(VISIBLE), []);
});

Deno.test("a backup has no secret of settings, directories, clients and authenticator apps in clear text", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  {
    await using server = await openStandIn(operator);
    const send = async (method: string, path: string, json?: unknown) => {
      const { status, text } = await askOperator(await server.openApp(), { method, path, json });
      assert(status < 300, `${method} ${path}: ${text}`);
      return JSON.parse(text);
    };
    const { version } = await send("GET", "/settings");
    await send("PUT", "/settings", { version, changes: CHANGES });
    // The record that undoes the change has the secrets too.
    const second = await send("GET", "/settings");
    await send("PUT", "/settings", { version: second.version, changes: { "radius.secret": null } });
    await send("PUT", "/target-settings/corp", { version: "99", table: DIRECTORY });
    await send("POST", "/clients", { ...CLIENT, secret: SECRETS.client });
    await send("POST", `/clients/${CLIENT.name}/secret`, { secret: SECRETS.rotated, overlapMs: 3_600_000 });
    await send("POST", "/users/ada/pairings", { kind: "totp", seed: SEED });
    const done = await operator.run("backup", file);
    assertEquals([done.code, done.stderr], [0, ""]);
  }
  const { text, tables } = await recordsOf(file);
  assert(text.includes(VISIBLE), "the search finds what is in clear text");
  for (const table of ["setting", "setting_target", "setting_undo", "pairing"]) {
    assert(tables.has(table), `${table}: ${[...tables].join(", ")}`);
  }
  assertEquals(secretsIn(text), []);
  assertEquals(secretsIn(latin1(await Deno.readFile(file))), []);
  const store = latin1(await Deno.readFile(`${operator.dataDir}/countersign.kv`));
  assert(store.includes(VISIBLE));
  assertEquals(secretsIn(store), []);
});
