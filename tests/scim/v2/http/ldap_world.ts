// A composed gateway whose directory is a slapd, with a client of /scim/v2 and one of the specified interface.

import type { ConnectionChange } from "../../../../scim/v2/connections/connection_settings.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../../support/active_directory_schema.ts";
import { type Slapd, startSlapd } from "../../../support/slapd.ts";
import { basic } from "../../rows/caller.ts";
import { type LdapView, viewOf } from "../../rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../../rows/rows_world.ts";
import { startV2World, type V2World } from "./v2_world.ts";

export interface LdapWorld extends AsyncDisposable {
  readonly v2: V2World;
  readonly slapd: Slapd;
  readonly ldap: LdapView;
  specified: SpecifiedCall;
}

export type SpecifiedCall = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; receipt: string; text: string }>;

/** @param options.shape the connectors in order: `directory`, `local`. */
export async function startLdapWorld(
  { schema = "openldap", mode = "sync", shape = ["directory"], change = {} }: {
    schema?: "openldap" | "active_directory";
    mode?: "sync" | "async";
    shape?: readonly string[];
    /** Settings of the connection. */
    change?: ConnectionChange;
  } = {},
): Promise<LdapWorld> {
  const looks = { schema: ACTIVE_DIRECTORY_SCHEMA, lenientPerson: true };
  const slapd = await startSlapd(schema === "openldap" ? {} : looks);
  const tables: Record<string, string> = {
    directory: `kind = "ldap"
mode = "${mode}"
schema = "${schema}"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"`,
    local: 'kind = "store"',
  };
  const v2 = await startV2World(
    change,
    `${credentialsToml(["default"])}
${shape.map((name) => `[targets.default.backends.${name}]\n${tables[name]}`).join("\n")}
`,
  );
  return {
    ...{ v2, slapd, ldap: viewOf(slapd), specified: specifiedCalls(v2) },
    async [Symbol.asyncDispose]() {
      await v2[Symbol.asyncDispose]();
      await slapd.dispose();
    },
  };
}

/** Calls of `/idm/scim/default` as the writer. */
export function specifiedCalls({ gateway: { app, config } }: V2World): SpecifiedCall {
  const origin = config.http.publicUrl;
  return async (method, path, body) => {
    const response = await app(
      new Request(`${origin}/idm/scim/default${path}`, {
        method,
        headers: {
          host: new URL(origin).host,
          authorization: basic(WRITER),
          "content-type": "application/scim+json",
        },
        ...body === undefined ? {} : { body: JSON.stringify(body) },
      }),
      { remoteAddress: "192.0.2.7" },
    );
    const receipt = response.headers.get("backends-receipt") ?? "";
    return { status: response.status, receipt, text: await response.text() };
  };
}
