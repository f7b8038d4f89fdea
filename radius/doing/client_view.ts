// A RADIUS client as the console shows it, from its record or from the settings; its secrets are never shown.

import type { ClientSettings } from "../../config.ts";
import type { ClientContent, ClientRecord } from "./client_record.ts";
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
  return {
    name: client.name,
    address: client.address,
    nasIdentifier: client.nasIdentifier,
    disabled: false,
    messageAuthenticator: client.messageAuthenticator,
    firstFactor: client.firstFactor,
    firstFactorBackend: client.firstFactorBackend,
    firstFactorServer: client.firstFactorServer === null ? null : {
      address: client.firstFactorServer.address,
      timeoutMs: client.firstFactorServer.timeoutMs,
      messageAuthenticator: client.firstFactorServer.messageAuthenticator,
    },
    device: client.device,
    appendMode: client.appendMode,
    appendSeparator: client.appendSeparator,
    unknownUsers: client.unknownUsers,
    stripDomains: client.stripDomains,
    stripRealms: client.stripRealms,
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
