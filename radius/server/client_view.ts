// A RADIUS client as the console shows it, from its record or from the settings; its secrets are never shown.

import type { ClientSettings } from "../../platform/config/config.ts";
import {
  type ClientContent,
  CONTENT_SETTINGS,
  settingOf,
  settingsObject,
} from "../../platform/client_values.ts";
import type { ClientRecord } from "./client_record.ts";
import type { ClientSigning } from "./client_signing.ts";
import type { Clients, ClientUse } from "./clients.ts";

/** A client as the console shows it; its secret cannot be shown. */
export interface ShownClient extends ClientContent {
  readonly from: "settings" | "console";
  readonly version: number;
  readonly createdMs: number | null;
  readonly secretMs: number | null;
  /** Until when the secret before is accepted as well. */
  readonly overlapUntilMs: number | null;
  readonly use: Readonly<ClientUse>;
  readonly signing: ClientSigning;
}

/** What is shown beside the content of a client. */
export type ClientActivity = Pick<ShownClient, "use" | "signing">;

export interface UnsignedClient {
  readonly name: string;
  /** When an unsigned Access-Request was accepted last; 0: not since the start. */
  readonly lastMs: number;
  /** Whether the client's settings accept them from every address, whatever was learnt. */
  readonly isAlways: boolean;
}

/** Shows a stored client; at `nowMs` the secret before may still be accepted. */
export function showRecord(
  { sealed: _secret, serverSealed: _of, previous, ...rest }: ClientRecord,
  { use, signing, nowMs }: ClientActivity & { nowMs: number },
): ShownClient {
  return {
    ...rest,
    from: "console",
    overlapUntilMs: previous !== null && previous.untilMs > nowMs ? previous.untilMs : null,
    use,
    signing,
  };
}

/** Shows a client of the settings. */
export function showSettings(client: ClientSettings, { use, signing }: ClientActivity): ShownClient {
  const shown = { ...client, disabled: false };
  const content = settingsObject(CONTENT_SETTINGS, (name) => settingOf(shown, name)) as Omit<
    ClientContent,
    "name"
  >;
  return {
    name: client.name,
    ...content,
    from: "settings",
    version: 0,
    createdMs: null,
    secretMs: null,
    overlapUntilMs: null,
    use,
    signing,
  };
}

/** Clients whose unsigned requests are accepted: of `shown`, or the any-address client while no client is configured. */
export function findUnsigned(clients: Clients, shown: () => readonly ShownClient[]): UnsignedClient[] {
  const [any] = clients.all;
  if (any?.anyAddress) {
    // "auto" is the default of a new installation: a warning only once an unsigned request was accepted.
    const isAlways = any.policy.messageAuthenticator === "off";
    return any.requiresSignature ? [] : [{ name: any.name, lastMs: any.use.unsignedMs, isAlways }];
  }
  return shown().filter(({ disabled, signing }) => !disabled && signing.acceptsUnsigned)
    .map(({ name, use, signing }) => ({
      name,
      lastMs: use.unsignedMs,
      isAlways: signing.required === "never",
    }));
}
