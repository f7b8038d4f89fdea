// The secrets of stored RADIUS clients: sealed in their records, and opened for the packet gate and the first-factor server.

import type { ClientContent, ClientPolicy, FirstFactorServer } from "../../platform/client_values.ts";
import type { Vault } from "../../platform/vault.ts";
import { type ClientRecord, policyContent } from "./client_record.ts";
import type { KnownClient } from "./clients.ts";

/** `previous`: the secret before a rotation; `server`: that of the first-factor server. */
export type ClientSecretKind = "secret" | "previous" | "server";

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

  /** Opens what {@link seal} gave; `null` when it was sealed with another key, or for something else. */
  open(name: string, kind: ClientSecretKind, sealed: Uint8Array): string | null {
    const plain = this.#vault.open(sealKeyOf(name, kind), sealed);
    return plain === null ? null : new TextDecoder().decode(plain);
  }

  /** The first-factor server of a client with its secret; `null` when it has none, or its secret cannot be opened. */
  serverOf({ name, firstFactorServer, serverSealed }: ClientRecord): FirstFactorServer | null {
    const secret = serverSealed === null ? null : this.open(name, "server", serverSealed);
    return firstFactorServer === null || secret === null ? null : { ...firstFactorServer, secret };
  }

  /**
   * The sealed secret of the server that `content` names: `given`, else the one of `before` if that is of the same server.
   * @returns `null` when `content` names no server, `undefined` when there is no secret for it
   */
  sealServer(
    { name, firstFactorServer: server }: ClientContent,
    { given, before }: { given: string | undefined; before: ClientRecord | null },
  ): Uint8Array | null | undefined {
    if (server === null) return null;
    if (given !== undefined) return this.seal(name, "server", given);
    return (before === null ? null : storedServerSecret(server, before)) ?? undefined;
  }

  /** The client for the packet gate at `nowMs`; `null` when it is disabled, or its secret cannot be opened. */
  toKnownClient(
    record: ClientRecord,
    { settings, nowMs }: { settings: ClientPolicy; nowMs: number },
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
      ...(before === null || previous === null
        ? {}
        : { previousSecret: { secret: before, untilMs: previous.untilMs } }),
    };
  }
}

/** A stored secret is for the server that it was given for, and for no other. */
function storedServerSecret(
  { address }: Pick<FirstFactorServer, "address">,
  { firstFactorServer, serverSealed }: ClientRecord,
): Uint8Array | null {
  const before = firstFactorServer?.address;
  const isSame = address.hostname === before?.hostname && address.port === before?.port;
  return isSame ? serverSealed : null;
}

function policyOf(
  record: ClientRecord,
  { settings, server }: { settings: ClientPolicy; server: FirstFactorServer | null },
): ClientPolicy {
  const { firstFactor, firstFactorBackend } = record.firstFactor === "settings" ? settings : record;
  const firstFactorServer = record.firstFactor === "settings" ? settings.firstFactorServer : server;
  return {
    ...settings,
    ...policyContent(record),
    firstFactor,
    firstFactorBackend,
    firstFactorServer,
  } as ClientPolicy;
}
