// The LDAP backend against a real slapd.

import { systemClock } from "../../../runtime.ts";
import type { LdapBackendSettings } from "../../../config.ts";
import { createLdapBackend } from "../../../scim/backends/ldap.ts";
import { createMapping } from "../../../scim/pure/mapping.ts";
import { testNeeding } from "../../ground/needing.ts";
import { type Slapd, startSlapd } from "../../ground/slapd.ts";
import { silentLog } from "./silent_log.ts";
import { testBackend } from "./suite.ts";

const NEEDS = { peers: ["slapd"] } as const;

export function settingsOf(slapd: Slapd, more: Partial<LdapBackendSettings> = {}): LdapBackendSettings {
  return {
    kind: "ldap",
    name: "directory",
    mode: "sync",
    url: slapd.url,
    startTls: false,
    caPem: "",
    bindDn: slapd.bindDn,
    bindPassword: slapd.bindPassword,
    usersDn: slapd.usersDn,
    groupsDn: slapd.groupsDn,
    schema: "openldap",
    attributes: {},
    connections: 4,
    timeoutMs: 5000,
    ...more,
  };
}

const mapping = createMapping({ user: {}, group: {} });

testBackend("createLdapBackend() on slapd", {
  register: (name, body) => testNeeding(NEEDS, name, body),
  open: async () => {
    const slapd = await startSlapd();
    const backend = createLdapBackend({
      settings: settingsOf(slapd),
      mapping,
      clock: systemClock,
      log: silentLog(),
    });
    return {
      backend,
      async dispose() {
        await backend.close();
        await slapd.dispose();
      },
    };
  },
});
