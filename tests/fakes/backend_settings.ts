// Settings of backends that a test replaces, by name and kind.

import type { BackendSettings } from "../../platform/config/config.ts";

/** The embedded store, or an LDAP server that is never asked. */
export function backendSettingsOf(
  name: string,
  kind: "store" | "sync" | "async",
  { isReadOnly = false }: { isReadOnly?: boolean } = {},
): BackendSettings {
  if (kind === "store") return { name, kind, mode: "sync" };
  return {
    ...{ name, kind: "ldap", mode: kind, url: ["ldap://127.0.0.1:1"], startTls: false, caPem: "" },
    ...{ bindDn: "", bindPassword: "", usersDn: "", groupsDn: "", schema: "openldap", attributes: {} },
    ...{ userFilter: "", userDomains: [], passwordChange: false, connections: 4, timeoutMs: 5000 },
    ...(isReadOnly ? { access: "read" } : {}),
  };
}
