// The record of a RADIUS client that the console made, stored under ["client", name]; its secrets are sealed (client_secrets.ts).

import {
  type ClientContent,
  type ClientPolicy,
  CONTENT_SETTINGS,
  type FirstFactorServer,
  POLICY_SETTINGS,
  settingOf,
  settingsObject,
} from "../../platform/client_values.ts";

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

type StoredServer =
  & Omit<FirstFactorServer, "secret" | "messageAuthenticator">
  & Partial<Pick<FirstFactorServer, "messageAuthenticator">>;

/** Records of earlier versions lack settings that were added later. */
export type StoredClientRecord =
  & Omit<ClientRecord, keyof ClientContent | "serverSealed">
  & Partial<Omit<ClientRecord, "firstFactorServer">>
  & Pick<ClientContent, "name">
  & { readonly firstFactorServer?: StoredServer | null };

const POLICY_CONTENT = CONTENT_SETTINGS.filter((name) => POLICY_SETTINGS.some((policy) => policy === name));

/** The settings of a policy that a record has. */
export function policyContent(of: ClientPolicy | ClientContent): Record<string, unknown> {
  return settingsObject(POLICY_CONTENT, (name) => settingOf(of, name));
}

/** A stored record with every field; those that an earlier version did not store are as the settings have them. */
export function completeRecord(stored: StoredClientRecord, settings: ClientPolicy): ClientRecord {
  const { firstFactorServer: server, ...rest } = stored;
  const later = { ...policyContent(settings), firstFactorBackend: "", serverSealed: null };
  const firstFactorServer = server ? { messageAuthenticator: "require", ...server } : null;
  return { ...later, ...rest, firstFactorServer } as ClientRecord;
}
