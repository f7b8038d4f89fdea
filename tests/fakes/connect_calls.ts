// Calls of the client and target API in tests, and the settings that they use.

import type { ClientImpact } from "../../console/api/clients/client_types.ts";
import type {
  HealthPart,
  MappingPreview,
  OneTarget,
  RefreshState,
} from "../../console/api/targets/target_types.ts";
import type { ShownClient } from "../../radius/server/client_record.ts";
import { CLIENT_RULES } from "./client_rules.ts";
import { type ConnectConsole } from "./console_connect.ts";

export const FILE_CLIENT = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;
export const LDAP = `[targets.default.backends.ldap]
kind = "ldap"
url = "ldap://127.0.0.1:389"
bind_dn = "cn=admin"
bind_password = "pw"
users_dn = "ou=people"
groups_dn = "ou=groups"
`;
export const SECRET = "a-secret-of-16-octets";
export const CLIENT = { ...CLIENT_RULES, name: "vpn-1", address: ["198.51.100.0/24"], secret: SECRET };

/** All fields that any of the calls may return; a test reads those of its own call. */
export interface Told {
  readonly backends: OneTarget["backends"];
  readonly error: { readonly code: string };
  readonly secret: string | null;
  readonly client: ShownClient;
  readonly blast: ClientImpact;
  readonly items: readonly { readonly name: string; readonly source: string; readonly fits: string }[];
  readonly settings: OneTarget["settings"];
  readonly refresh: RefreshState;
  readonly rows: MappingPreview["rows"];
  readonly password: string;
  readonly url: string;
  readonly part: HealthPart;
  readonly parts: readonly HealthPart[];
}

export interface Answer {
  readonly status: number;
  readonly body: Told;
  readonly text: string;
}

export async function ask(
  site: ConnectConsole,
  path: string,
  { role = "owner", method = "GET", json }: { role?: string; method?: string; json?: unknown } = {},
): Promise<Answer> {
  const cookie = await site.signIn(role);
  const response = await site.call(`/console/api${path}`, { method, cookie, json });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text), text };
}
