// The record of a RADIUS client that the console made, stored under ["client", name]; its secrets are sealed (client_secrets.ts).

import type { ClientPolicy } from "../../config.ts";

/** Another RADIUS server that judges passwords. */
export type FirstFactorServer = NonNullable<ClientPolicy["firstFactorServer"]>;

/** What of the policy may differ from client to client here; the rest is as the settings have it for all. */
export interface ClientChoices {
  readonly messageAuthenticator: ClientPolicy["messageAuthenticator"];
  readonly firstFactor: "settings" | ClientPolicy["firstFactor"];
  /** Name of an LDAP backend; "" unless `firstFactor` is "ldap". */
  readonly firstFactorBackend: string;
  /** `null` unless `firstFactor` is "radius". Its secret is given apart, and never shown. */
  readonly firstFactorServer: Omit<FirstFactorServer, "secret"> | null;
  readonly device: ClientPolicy["device"];
  readonly appendMode: boolean;
  readonly appendSeparator: string;
  readonly unknownUsers: ClientPolicy["unknownUsers"];
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
}

/** The settings of a client, except its secret. */
export interface ClientContent extends ClientChoices {
  readonly name: string;
  /** IP addresses and ranges, canonical. */
  readonly address: readonly string[];
  readonly nasIdentifier: string;
  readonly disabled: boolean;
}

/** A client as it is stored. */
export interface ClientRecord extends ClientContent {
  readonly sealed: Uint8Array;
  readonly previous: { readonly sealed: Uint8Array; readonly untilMs: number } | null;
  /** The secret of the first-factor server. */
  readonly serverSealed: Uint8Array | null;
  readonly secretMs: number;
  readonly createdMs: number;
  /** Grows with each change: who changes says which one they saw. */
  readonly version: number;
}

/** Where the record of a client is stored. */
export const clientKey = (name: string): Deno.KvKey => ["client", name];

type LaterField =
  | "firstFactorBackend"
  | "serverSealed"
  | "appendSeparator"
  | "stripDomains"
  | "stripRealms";
/** Records of earlier versions lack some fields. */
export type StoredClientRecord =
  & Omit<ClientRecord, LaterField | "firstFactorServer">
  & Partial<Pick<ClientRecord, LaterField>>
  & {
    readonly firstFactorServer?:
      | Omit<FirstFactorServer, "secret" | "messageAuthenticator">
        & Partial<Pick<FirstFactorServer, "messageAuthenticator">>
      | null;
  };

/** A stored record with every field; those that an earlier version did not store are as the settings have them. */
export function completeRecord(
  stored: StoredClientRecord,
  { appendSeparator, stripDomains, stripRealms }: ClientPolicy,
): ClientRecord {
  const { firstFactorServer: server, ...rest } = stored;
  const later = { firstFactorBackend: "", serverSealed: null, appendSeparator, stripDomains, stripRealms };
  const firstFactorServer = server ? { messageAuthenticator: "require" as const, ...server } : null;
  return { ...later, ...rest, firstFactorServer };
}
