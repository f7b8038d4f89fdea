// The tables of SCIM settings: targets, their backends by kind, and credentials.

import { choice, flag, number, secret, text } from "../fields.ts";
import {
  listAs,
  MAX_SECRET_CHARACTERS,
  rowsByKey,
  setting,
  type SettingTable,
  textAs,
} from "./setting_rows.ts";

/** Each [targets.<name>], besides its mapping and its backends. */
export const TARGET_SETTINGS = {
  pageSize: setting(number({ min: 1, max: 1000, default: 100 }), {
    doc: "entries of a page where the identity interface lists users or groups",
  }),
  maxDropPercent: setting(number({ min: 1, max: 100, default: 20 }), {
    doc:
      "a refresh removes none if more of a backend's users or groups are missing, and more than 10; it stops if it would add more, and over 1,000",
  }),
  extensions: textAs("extensions", "", {
    doc:
      "path of a JSON file with the schema extensions that /scim/v2 has for users and groups, or the content of such a file",
  }),
} satisfies SettingTable;

const MODE = setting(choice(["sync", "async"], { default: "sync" }), {
  doc: "sync | async: whether a write waits for the backend, or is delivered as soon as that can be done",
});
const ACCESS = setting(choice(["read", "write"], { default: "write" }), {
  doc:
    "read | write: with read, users and groups come from there and nothing is ever written there; connectors that the console adds have read unless you choose write",
});
const CONNECTIONS = setting(number({ min: 1, max: 50, default: 4 }), { doc: "at the same time" });
const TIMEOUT = setting(number({ min: 100, max: 30_000, default: 5000, unit: "ms" }), {
  doc: "deadline of one operation",
});

const READ_ONLY = listAs("attribute_lists", [], {
  doc: "SCIM attributes of users that this backend keeps for itself: read here, never written",
});

function kindRow<const K extends string>(kind: K, doc: string) {
  return setting(choice([kind], { default: kind }), { doc, mustBeGiven: true });
}

/** [targets.<name>.backends.<backend>] with `kind = "store"`. */
export const STORE_BACKEND_SETTINGS = {
  kind: kindRow("store", "users and groups live in the store of this program"),
  mode: setting(choice(["sync"], { default: "sync" }), {
    doc: "sync: the store has every write before it is answered",
  }),
} satisfies SettingTable;

/** The same with `kind = "ldap"`. */
export const LDAP_BACKEND_SETTINGS = {
  kind: kindRow("ldap", "users and groups live in an LDAP directory as well"),
  access: ACCESS,
  mode: MODE,
  url: listAs("ldap_urls", [], {
    doc:
      "the server, or a list of up to 8 servers in order of preference: if one does not answer, the next one is asked; without a port 389, for ldaps 636",
    maxItems: 8,
    mustBeGiven: true,
    example: "ldap://127.0.0.1:389",
  }),
  startTls: setting(flag(), {
    doc: "goes over to TLS before anything is said; for ldap:// only",
  }),
  caCert: textAs("certificates", "", {
    doc:
      "path of a PEM file with the authorities to trust instead of the host's, or the content of such a file",
  }),
  bindDn: textAs("dn", "", {
    doc: "the account that writes there; empty: anonymous",
    example: "cn=countersign,dc=example,dc=org",
  }),
  bindPassword: setting(secret({ max: MAX_SECRET_CHARACTERS }), {
    doc: "the password of bind_dn",
    example: "env:LDAP_PASSWORD",
  }),
  usersDn: textAs("dn", "", {
    doc: "where users stand",
    mustBeGiven: true,
    example: "ou=people,dc=example,dc=org",
  }),
  groupsDn: textAs("dn", "", {
    doc: "where groups stand; empty: this backend holds no groups",
    example: "ou=groups,dc=example,dc=org",
  }),
  schema: setting(choice(["openldap", "active_directory"], { default: "openldap" }), {
    doc: "openldap | active_directory: which attributes and object classes the server has",
  }),
  userFilter: textAs("user_filter", "", {
    doc:
      "how a name that a user types finds the user (RFC 4515): {name} is that name, {account} the name without a domain of user_domains; empty: by the name alone",
    example: "(|(uid={account})(mail={name}))",
  }),
  userDomains: listAs("domains", [], {
    doc: "the names of the directory's domain, in DOMAIN\\name and name@domain",
    example: ["CORP", "corp.example"],
  }),
  passwordChange: setting(flag(), {
    doc:
      'with first_factor = "ldap", a user whose password has expired may change it during the login, after the second factor; needs ldaps: or start_tls',
  }),
  connections: CONNECTIONS,
  timeoutMs: TIMEOUT,
  readOnly: READ_ONLY,
} satisfies SettingTable;

/** The same with `kind = "scim"`. */
export const SCIM_BACKEND_SETTINGS = {
  kind: kindRow("scim", "users and groups live on another SCIM 2.0 server as well"),
  access: ACCESS,
  mode: MODE,
  url: textAs("url", "", {
    doc: "the base address of that service; /Users and /Groups are below it",
    mustBeGiven: true,
    example: "https://saas.example.com/scim/v2",
  }),
  token: setting(secret({ max: MAX_SECRET_CHARACTERS }), {
    doc: "a Bearer token; else user_name and password",
    example: "env:SAAS_TOKEN",
  }),
  userName: setting(text({ max: 256 }), { doc: "for HTTP Basic" }),
  password: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "for HTTP Basic" }),
  connections: CONNECTIONS,
  timeoutMs: TIMEOUT,
  readOnly: READ_ONLY,
} satisfies SettingTable;

/** The rows of each kind of backend, by key. */
export const BACKEND_ROWS = {
  store: rowsByKey(STORE_BACKEND_SETTINGS),
  ldap: rowsByKey(LDAP_BACKEND_SETTINGS),
  scim: rowsByKey(SCIM_BACKEND_SETTINGS),
} as const;

/** Each [[scim.credential]]. */
export const CREDENTIAL_SETTINGS = {
  name: textAs("user_id", "provisioner", {
    doc: "besides those made by command; unique; the user name of HTTP Basic",
    mustBeGiven: true,
    example: "provisioner",
  }),
  password: setting(secret({ min: 12, max: MAX_SECRET_CHARACTERS }), {
    doc: "at least 12 characters",
    mustBeGiven: true,
    example: "env:SCIM_PASSWORD",
  }),
  targets: listAs("names", ["default"], { doc: "the targets that it may use" }),
  access: setting(choice(["read", "write"], { default: "write" }), {
    doc: "read | write; write may read as well",
  }),
} satisfies SettingTable;
