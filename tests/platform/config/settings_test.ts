// Every row of the table of settings: accepted and refused values.

import { assert, assertEquals } from "@std/assert";
import { ADMIN_SETTINGS, GENERAL_ROWS } from "../../../platform/config/settings.ts";
import { CLIENT_TABLE, RADIUS_ROWS } from "../../../platform/config/list_settings.ts";
import { rowsByKey, type SettingRows } from "../../../platform/config/setting_rows.ts";
import {
  BACKEND_ROWS,
  CREDENTIAL_SETTINGS,
  TARGET_SETTINGS,
} from "../../../platform/config/target_settings.ts";
import { presetOf } from "../../../platform/config/parse_settings.ts";
import { configOf, faultsOf } from "./samples.ts";
import {
  ADMIN_SAMPLES,
  CLIENT_SAMPLES,
  CREDENTIAL_SAMPLES,
  GENERAL_SAMPLES,
  LDAP_BACKEND_SAMPLES,
  POLICY_SAMPLES,
  type Samples,
  SCIM_BACKEND_SAMPLES,
  STORE_BACKEND_SAMPLES,
  TARGET_SAMPLES,
} from "./settings_samples.ts";

const FILES = {
  "/srv/ca.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  "/srv/badge.json": "[]",
};
const ENV = { DENO_KV_ACCESS_TOKEN: "t" };
const LDAP_BASE = { kind: '"ldap"', url: '"ldap://127.0.0.1"', users_dn: '"ou=p"', start_tls: "true" };
const LDAP_BOUND = { ...LDAP_BASE, bind_dn: '"cn=a"', bind_password: '"b"' };
const SCIM_BASE = { kind: '"scim"', url: '"https://a"', token: '"t"' };
const CREDENTIAL_BASE = { name: '"provisioner"', password: '"twelve chars"' };
const CLIENT_BASE = { name: '"vpn"', address: '["192.0.2.1"]', secret: '"0123456789abcdef"' };
const ADMIN_BASE = { name: '"ann"', password: '"twelve chars"' };

const entry = (header: string, keys: Readonly<Record<string, string>>) =>
  `${header}\n${Object.entries(keys).map(([key, value]) => `${key} = ${value}\n`).join("")}`;

const backendGroup = (kind: string, base: Readonly<Record<string, string>>) => ({
  keyOf: (key: string) => `targets.corp.backends.${kind}.${key}`,
  tomlOf: (key: string, value: string) =>
    entry(`[targets.corp.backends.${kind}]`, {
      ...base,
      // An ldaps: url excludes start_tls.
      ...(key === "url" && kind === "ldap" ? { start_tls: "false" } : {}),
      [key]: value,
    }),
});

const GROUPS: readonly {
  name: string;
  rows: SettingRows;
  samples: Samples;
  keyOf: (key: string) => string;
  tomlOf: (key: string, value: string) => string;
}[] = [
  {
    name: "a setting",
    rows: GENERAL_ROWS,
    samples: GENERAL_SAMPLES,
    keyOf: (key) => key,
    tomlOf: (key, value) => `${key} = ${value}`,
  },
  {
    name: "a key of any client",
    rows: RADIUS_ROWS,
    samples: POLICY_SAMPLES,
    keyOf: (key) => `radius.${key}`,
    tomlOf: (key, value) => `radius.${key} = ${value}`,
  },
  {
    name: "a key of a client",
    rows: rowsByKey(CLIENT_TABLE),
    samples: CLIENT_SAMPLES,
    keyOf: (key) => `radius.client[0].${key}`,
    tomlOf: (key, value) => entry("[[radius.client]]", { ...CLIENT_BASE, [key]: value }),
  },
  {
    name: "a key of an administrator",
    rows: rowsByKey(ADMIN_SETTINGS),
    samples: ADMIN_SAMPLES,
    keyOf: (key) => `console.admin[0].${key}`,
    tomlOf: (key, value) => entry("[[console.admin]]", { ...ADMIN_BASE, [key]: value }),
  },
  {
    name: "a key of a target",
    rows: rowsByKey(TARGET_SETTINGS),
    samples: TARGET_SAMPLES,
    keyOf: (key) => `targets.corp.${key}`,
    tomlOf: (key, value) => entry("[targets.corp]", { [key]: value }),
  },
  {
    name: "a key of a store backend",
    rows: BACKEND_ROWS.store,
    samples: STORE_BACKEND_SAMPLES,
    ...backendGroup("store", { kind: '"store"' }),
  },
  {
    name: "a key of an LDAP backend",
    rows: BACKEND_ROWS.ldap,
    samples: LDAP_BACKEND_SAMPLES,
    ...backendGroup("ldap", LDAP_BOUND),
  },
  {
    name: "a key of a SCIM backend",
    rows: BACKEND_ROWS.scim,
    samples: SCIM_BACKEND_SAMPLES,
    ...backendGroup("scim", SCIM_BASE),
  },
  {
    name: "a key of a credential",
    rows: rowsByKey(CREDENTIAL_SETTINGS),
    samples: CREDENTIAL_SAMPLES,
    keyOf: (key) => `scim.credential[0].${key}`,
    tomlOf: (key, value) => entry("[[scim.credential]]", { ...CREDENTIAL_BASE, [key]: value }),
  },
];

for (const { name, rows, samples, keyOf, tomlOf } of GROUPS) {
  Deno.test(`loadConfig() accepts the right values of ${name} and refuses the wrong ones by key`, () => {
    assertEquals(Object.keys(samples).sort(), Object.keys(rows).sort(), "every row has samples");
    for (const [key, [good, bad]] of Object.entries(samples)) {
      const keysOf = (value: string) =>
        faultsOf(tomlOf(key, value), { files: FILES, env: ENV }).map((fault) => fault.key);
      for (const value of good) assert(!keysOf(value).includes(keyOf(key)), `${key} = ${value} is refused`);
      for (const value of bad) assert(keysOf(value).includes(keyOf(key)), `${key} = ${value} is taken`);
    }
  });
}

Deno.test("presetOf() finds every default among the values that its row accepts", () => {
  for (const { rows } of GROUPS) for (const row of Object.values(rows)) presetOf(row);
});

Deno.test("every row has a sentence for the page, without a full stop", () => {
  for (const { rows } of GROUPS) {
    for (const [key, row] of Object.entries(rows)) assert(row.doc !== "" && !row.doc.endsWith("."), key);
  }
});

Deno.test("loadConfig() accepts radius.listen as one text, and 0.0.0.0 beside an IPv6 address", () => {
  assertEquals(configOf('radius.listen = "127.0.0.1:1812"').radius.listen, [
    { hostname: "127.0.0.1", port: 1812 },
  ]);
  assertEquals(faultsOf('radius.listen = ["0.0.0.0:1812", "[::1]:1812"]'), []);
});
