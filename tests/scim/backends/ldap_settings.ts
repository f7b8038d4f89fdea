// The settings of an LDAP backend with a slapd of the tests.

import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import type { Slapd } from "../../support/slapd.ts";

export function ldapSettings(slapd: Slapd, more: Partial<LdapBackendSettings> = {}): LdapBackendSettings {
  return {
    kind: "ldap",
    name: "directory",
    mode: "sync",
    url: [slapd.url],
    startTls: false,
    caPem: "",
    bindDn: slapd.bindDn,
    bindPassword: slapd.bindPassword,
    usersDn: slapd.usersDn,
    groupsDn: slapd.groupsDn,
    schema: "openldap",
    userFilter: "",
    userDomains: [],
    passwordChange: false,
    attributes: {},
    connections: 4,
    // A busy machine answers many requests slowly; tests of the deadline set their own.
    timeoutMs: 300_000,
    ...more,
  };
}
