// Connectors to begin with: usual values of OpenLDAP and Active Directory.

import type { TargetPreset } from "./target_setting_types.ts";

export const TARGET_PRESETS: readonly Omit<TargetPreset, "attributes">[] = [
  {
    id: "openldap",
    table: {
      kind: "ldap",
      schema: "openldap",
      url: "ldap://ldap.example.org:389",
      start_tls: true,
      bind_dn: "cn=countersign,dc=example,dc=org",
      users_dn: "ou=people,dc=example,dc=org",
      groups_dn: "ou=groups,dc=example,dc=org",
    },
  },
  {
    id: "active_directory",
    table: {
      kind: "ldap",
      schema: "active_directory",
      url: "ldaps://dc1.example.org:636",
      bind_dn: "CN=Countersign,CN=Users,DC=example,DC=org",
      users_dn: "CN=Users,DC=example,DC=org",
      groups_dn: "CN=Users,DC=example,DC=org",
    },
  },
];
