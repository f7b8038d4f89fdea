// RADIUS clients of the console: the stored record under ["client", name], its sealed secrets, and the view without secrets.

import {
  CLIENT_SETTINGS,
  type ClientContent,
  CONTENT_SETTINGS,
  type FirstFactorServer,
  initialValue,
  REQUEST_SETTINGS,
  type RequestSettings,
  settingOf,
  settingsObject,
} from "../../platform/client_settings.ts";
import { type SocketAddress, socketAddressText } from "../../platform/addresses.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Clients, ClientUse, KnownClient } from "./clients.ts";
import type { ClientSettings } from "../../platform/config/config.ts";
import type { ClientSigning } from "./unsigned_requests.ts";

export interface ClientRecord extends ClientContent {
  readonly sealed: Uint8Array;
  readonly previous: { readonly sealed: Uint8Array; readonly untilMs: number } | null;
  /** The secret of the first-factor server. */
  readonly serverSealed: Uint8Array | null;
  /** The secret of Disconnect-Requests; `null`: they use the shared secret. */
  readonly disconnectSealed: Uint8Array | null;
  readonly secretMs: number;
  readonly createdMs: number;
  /** Grows with each change. A change names the version that it is based on. */
  readonly version: number;
}

/** A record in the store: nodes of version 0.2 know one first-factor server, so the others are beside it. */
export type StoredClient = Omit<ClientRecord, "firstFactorServer"> & {
  readonly firstFactorServer:
    | null
    | Omit<NonNullable<ClientContent["firstFactorServer"]>, "address"> & {
      readonly address: SocketAddress;
      readonly others?: readonly SocketAddress[];
    };
};

export function toStoredClient({ firstFactorServer: server, ...record }: ClientRecord): StoredClient {
  const [address, ...others] = server?.address ?? [];
  return server === null || address === undefined
    ? { ...record, firstFactorServer: null }
    : { ...record, firstFactorServer: { ...server, address, ...others.length === 0 ? {} : { others } } };
}

/** A record of an earlier version lacks the settings that were added since: they have their defaults. */
export function fromStoredClient({ firstFactorServer: server, ...stored }: StoredClient): ClientRecord {
  const added = CONTENT_SETTINGS.filter((name) =>
    !name.includes(".") && settingOf(stored, name) === undefined
  );
  const record = { ...stored, ...settingsObject(added, initialValue) };
  if (server === null || server === undefined) return { ...record, firstFactorServer: null };
  const { address, others = [], ...rest } = server;
  return { ...record, firstFactorServer: { ...rest, address: [address, ...others] } };
}

/** Where the record of a client is stored. */
export const clientKey = (name: string): Deno.KvKey => ["client", name];

const REQUEST_CONTENT = CONTENT_SETTINGS.filter((name) => REQUEST_SETTINGS.some((one) => one === name));

/** The settings of requests that a record contains. */
function requestContent(of: RequestSettings | ClientContent): Record<string, unknown> {
  return settingsObject(REQUEST_CONTENT, (name) => settingOf(of, name));
}

/** `previous`: the secret before a rotation; `server`: that of the first-factor server; `disconnect`: that of Disconnect-Requests. */
type ClientSecretKind = "secret" | "previous" | "server" | "disconnect";

const sealKeyOf = (name: string, kind: ClientSecretKind): Deno.KvKey => ["client", name, kind];

/** Seals and opens secrets with the vault; each is bound to its client and its kind. */
export class ClientSecrets {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** Seals a secret of the client `name`. */
  seal(name: string, kind: ClientSecretKind, secret: string): Uint8Array {
    return this.#vault.seal(sealKeyOf(name, kind), new TextEncoder().encode(secret));
  }

  /** Opens a sealed secret; `null` if it was sealed with another key, or for another client or kind. */
  open(name: string, kind: ClientSecretKind, sealed: Uint8Array): string | null {
    const plain = this.#vault.open(sealKeyOf(name, kind), sealed);
    return plain === null ? null : new TextDecoder().decode(plain);
  }

  /** The first-factor server of a client with its secret; `null` if it has none, or its secret cannot be opened. */
  serverOf({ name, firstFactorServer, serverSealed }: ClientRecord): FirstFactorServer | null {
    const secret = serverSealed === null ? null : this.open(name, "server", serverSealed);
    return firstFactorServer === null || secret === null ? null : { ...firstFactorServer, secret };
  }

  /**
   * The sealed secret of the server in `content`: `given`, otherwise that of `before` if it is for the same server.
   * @returns `null` if `content` has no server, `undefined` if there is no secret for it
   */
  sealServer(
    { name, firstFactorServer: server }: ClientContent,
    { given, before }: { given: string | undefined; before: ClientRecord | null },
  ): Uint8Array | null | undefined {
    if (server === null) return null;
    if (given !== undefined) return this.seal(name, "server", given);
    return (before === null ? null : storedServerSecret(server, before)) ?? undefined;
  }

  /** The sealed secret of Disconnect-Requests: `given`, otherwise that of `before`. Without a port there is none. */
  sealDisconnect(
    { name, disconnectPort }: Pick<ClientContent, "name" | "disconnectPort">,
    { given, before }: { given: string | undefined; before: ClientRecord | null },
  ): Uint8Array | null {
    if (disconnectPort === 0) return null;
    if (given !== undefined) return this.seal(name, "disconnect", given);
    return before?.disconnectSealed ?? null;
  }

  /** The settings of Disconnect-Requests. If the own secret cannot be opened, the port is 0: the shared secret must not replace it. */
  disconnectOf(
    { name, disconnectPort, disconnectSealed }: ClientRecord,
  ): Pick<ClientSettings, "disconnectPort" | "disconnectSecret"> {
    if (disconnectSealed === null) return { disconnectPort, disconnectSecret: "" };
    const disconnectSecret = this.open(name, "disconnect", disconnectSealed);
    return disconnectSecret === null
      ? { disconnectPort: 0, disconnectSecret: "" }
      : { disconnectPort, disconnectSecret };
  }

  /** The client for the packet gate at `nowMs`; `null` if it is disabled, or its secret cannot be opened. */
  toKnownClient(
    record: ClientRecord,
    { settings, nowMs }: { settings: RequestSettings; nowMs: number },
  ): KnownClient | null {
    const { name, previous } = record;
    const secret = this.open(name, "secret", record.sealed);
    if (record.disabled || secret === null) return null;
    const before = previous === null || previous.untilMs <= nowMs
      ? null
      : this.open(name, "previous", previous.sealed);
    return {
      ...policyOf(record, { settings, server: this.serverOf(record) }),
      name,
      address: record.address,
      secret,
      nasIdentifier: record.nasIdentifier,
      nasIpAddress: "",
      tlsSan: record.tlsSan,
      tlsFingerprint: record.tlsFingerprint,
      tlsDisconnect: record.tlsDisconnect,
      ...this.disconnectOf(record),
      ...(before === null || previous === null
        ? {}
        : { previousSecret: { secret: before, untilMs: previous.untilMs } }),
    };
  }
}

/** The stored secret, if it was entered for these servers. */
function storedServerSecret(
  { address }: Pick<FirstFactorServer, "address">,
  { firstFactorServer, serverSealed }: ClientRecord,
): Uint8Array | null {
  const known = firstFactorServer?.address.map(socketAddressText) ?? [];
  return address.every((one) => known.includes(socketAddressText(one))) ? serverSealed : null;
}

function policyOf(
  record: ClientRecord,
  { settings, server }: { settings: RequestSettings; server: FirstFactorServer | null },
): RequestSettings {
  const { firstFactor, firstFactorBackend, replyFromFirstFactor, eapOuterIdentity } =
    record.firstFactor === "settings" ? settings : record;
  const firstFactorServer = record.firstFactor === "settings" ? settings.firstFactorServer : server;
  return {
    ...settings,
    ...requestContent(record),
    firstFactor,
    firstFactorBackend,
    firstFactorServer,
    holdMs: record.holdMs || settings.holdMs,
    // A record of version 0.2 does not have these.
    eap: record.eap ?? CLIENT_SETTINGS.eap.default,
    eapOuterIdentity: eapOuterIdentity ?? CLIENT_SETTINGS.eapOuterIdentity.default,
    replyFromFirstFactor: replyFromFirstFactor ?? CLIENT_SETTINGS.replyFromFirstFactor.default,
  } as RequestSettings;
}

/** A client as the console shows it, without its secrets. */
export interface ShownClient extends ClientContent {
  readonly from: "settings" | "console";
  readonly version: number;
  readonly createdMs: number | null;
  readonly secretMs: number | null;
  /** Until when the previous secret is accepted. */
  readonly overlapUntilMs: number | null;
  /** Whether Disconnect-Requests have a secret of their own. */
  readonly hasDisconnectSecret: boolean;
  readonly use: Readonly<ClientUse>;
  readonly signing: ClientSigning;
}

export type ClientActivity = Pick<ShownClient, "use" | "signing">;

export interface UnsignedClient {
  readonly name: string;
  /** When the last unsigned Access-Request was accepted; 0: none since the start. */
  readonly lastMs: number;
  /** Whether the client's settings accept them from every address. */
  readonly isAlways: boolean;
}

/** Shows a stored client at `nowMs`. */
export function showRecord(
  { sealed: _secret, serverSealed: _of, disconnectSealed, previous, ...rest }: ClientRecord,
  { use, signing, nowMs }: ClientActivity & { nowMs: number },
): ShownClient {
  return {
    ...rest,
    from: "console",
    overlapUntilMs: previous !== null && previous.untilMs > nowMs ? previous.untilMs : null,
    hasDisconnectSecret: disconnectSealed !== null,
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
    hasDisconnectSecret: client.disconnectSecret !== "",
    use,
    signing,
  };
}

/** Clients whose unsigned requests are accepted: of `shown`, or the any-address client if no client is configured. */
export function findUnsigned(clients: Clients, shown: () => readonly ShownClient[]): UnsignedClient[] {
  const [any] = clients.all;
  if (any?.anyAddress) {
    // "auto" is the default of a new installation, so the warning waits for the first accepted unsigned request.
    const isAlways = any.settings.messageAuthenticator === "off";
    return any.requiresSignature ? [] : [{ name: any.name, lastMs: any.use.unsignedMs, isAlways }];
  }
  return shown().filter(({ disabled, signing }) => !disabled && signing.acceptsUnsigned)
    .map(({ name, use, signing }) => ({
      name,
      lastMs: use.unsignedMs,
      isAlways: signing.required === "never",
    }));
}
