// The LDAP backend against a real slapd.

import { systemClock } from "../../../platform/runtime.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { silentLog } from "./silent_log.ts";
import { testBackend } from "./suite.ts";

const NEEDS = { peers: ["slapd"] } as const;

const mapping = createMapping({ user: {}, group: {} });

testBackend("createLdapBackend() on slapd", {
  register: (name, body) => testNeeding(NEEDS, name, body),
  open: async () => {
    const slapd = await startSlapd();
    const backend = createLdapBackend({
      settings: ldapSettings(slapd),
      mapping,
      clock: systemClock,
      log: silentLog(),
    });
    return {
      backend,
      storesUnknownMembers: true,
      async dispose() {
        await backend.close();
        await slapd.dispose();
      },
    };
  },
});
