// The table of SCIM settings: targets, their backends by kind, and credentials.

import { type SettingRow, settingRow, type SettingRows } from "./value_types.ts";
import * as value from "./value_types.ts";
import * as directory from "./directory_value_types.ts";

/** Each [targets.<name>], besides its mapping and its backends. */
export const TARGET_ROWS = {
  "page_size": settingRow(value.integer({ min: 1, max: 1000 }), 100, {
    doc: "entries of a page where the identity interface lists users or groups",
  }),
  "max_drop_percent": settingRow(value.integer({ min: 1, max: 100 }), 20, {
    doc:
      "a refresh that would take away more of the target's users or groups than this changes nothing and says so; one that would add more, and over 1,000, stops",
  }),
  "extensions": settingRow(directory.extensions, "", {
    doc:
      "path of a JSON file with the schema extensions that /scim/v2 has for users and groups, or the content of such a file",
  }),
} satisfies SettingRows;

const MODE = settingRow(value.settingChoice(["sync", "async"]), "sync", {
  doc: "sync | async: whether a write waits for the backend, or is delivered as soon as that can be done",
});
const ACCESS = settingRow(value.settingChoice(["read", "write"]), "write", {
  doc:
    "read | write: with read, users and groups come from there and nothing is ever written there; connectors that the console adds have read unless you choose write",
});
const CONNECTIONS = settingRow(value.integer({ min: 1, max: 50 }), 4, { doc: "at the same time" });
const TIMEOUT = settingRow(value.milliseconds({ min: 100, max: 30_000 }), 5000, {
  doc: "deadline of one operation",
});

const READ_ONLY = settingRow(directory.readOnlyAttributes, [], {
  doc: "SCIM attributes of users that this backend keeps for itself: read here, never written",
});

function kindRow<const K extends string>(kind: K, doc: string): SettingRow<K> {
  return settingRow(value.settingChoice([kind]), kind, { doc, required: true });
}

/** [targets.<name>.backends.<backend>] with `kind = "store"`. */
export const STORE_BACKEND_ROWS = {
  "kind": kindRow("store", "users and groups live in the store of this program"),
  "mode": settingRow(value.settingChoice(["sync"]), "sync", {
    doc: "sync: the store has every write before it is answered",
  }),
} satisfies SettingRows;

/** The same with `kind = "ldap"`. */
export const LDAP_BACKEND_ROWS = {
  "kind": kindRow("ldap", "users and groups live in an LDAP directory as well"),
  "access": ACCESS,
  "mode": MODE,
  "url": settingRow(directory.ldapUrl, "", {
    doc: "the server; without a port 389, for ldaps 636",
    required: true,
    example: "ldap://127.0.0.1:389",
  }),
  "start_tls": settingRow(value.boolean, false, {
    doc: "goes over to TLS before anything is said; for ldap:// only",
  }),
  "ca_cert": settingRow(directory.certificates, "", {
    doc:
      "path of a PEM file with the authorities to trust instead of the host's, or the content of such a file",
  }),
  "bind_dn": settingRow(directory.dn, "", {
    doc: "the account that writes there; empty: anonymous",
    example: "cn=countersign,dc=example,dc=org",
  }),
  "bind_password": settingRow(value.settingSecret(), "", {
    doc: "the password of bind_dn",
    example: "env:LDAP_PASSWORD",
  }),
  "users_dn": settingRow(directory.dn, "", {
    doc: "where users stand",
    required: true,
    example: "ou=people,dc=example,dc=org",
  }),
  "groups_dn": settingRow(directory.dn, "", {
    doc: "where groups stand; empty: this backend holds no groups",
    example: "ou=groups,dc=example,dc=org",
  }),
  "schema": settingRow(value.settingChoice(["openldap", "active_directory"]), "openldap", {
    doc: "openldap | active_directory: which attributes and object classes the server has",
  }),
  "connections": CONNECTIONS,
  "timeout_ms": TIMEOUT,
  "read_only": READ_ONLY,
} satisfies SettingRows;

/** The same with `kind = "scim"`. */
export const SCIM_BACKEND_ROWS = {
  "kind": kindRow("scim", "users and groups live on another SCIM 2.0 server as well"),
  "access": ACCESS,
  "mode": MODE,
  "url": settingRow(value.url, "", {
    doc: "the base address of that service; /Users and /Groups are below it",
    required: true,
    example: "https://saas.example.com/scim/v2",
  }),
  "token": settingRow(value.settingSecret(), "", {
    doc: "a Bearer token; else user_name and password",
    example: "env:SAAS_TOKEN",
  }),
  "user_name": settingRow(value.settingLine({ max: 256 }), "", { doc: "for HTTP Basic" }),
  "password": settingRow(value.settingSecret(), "", { doc: "for HTTP Basic" }),
  "connections": CONNECTIONS,
  "timeout_ms": TIMEOUT,
  "read_only": READ_ONLY,
} satisfies SettingRows;

/** The rows of each kind of backend. */
export const BACKEND_ROWS = {
  store: STORE_BACKEND_ROWS,
  ldap: LDAP_BACKEND_ROWS,
  scim: SCIM_BACKEND_ROWS,
} as const;

/** Each [[scim.credential]]. */
export const CREDENTIAL_ROWS = {
  "name": settingRow(value.userId, "provisioner", {
    doc: "besides those made by command; unique; the user name of HTTP Basic",
    required: true,
    example: "provisioner",
  }),
  "password": settingRow(value.settingSecret({ min: 12 }), "", {
    doc: "at least 12 characters",
    required: true,
    example: "env:SCIM_PASSWORD",
  }),
  "targets": settingRow(directory.plainNames, ["default"], { doc: "the targets that it may use" }),
  "access": settingRow(value.settingChoice(["read", "write"]), "write", {
    doc: "read | write; write may read as well",
  }),
} satisfies SettingRows;
