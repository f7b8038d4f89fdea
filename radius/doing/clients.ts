// Which client a datagram comes from: by source address or network, the most specific first, and among several behind one address by
// NAS-Identifier or NAS-IP-Address.

import type { ClientPolicy, ClientSettings } from "../../config.ts";
import { parseIpv4, parseIpv6 } from "../pure/attributes.ts";
import { SharedSecret } from "../pure/authenticity.ts";
import type { PacketView } from "../pure/packet.ts";

/** A client as the gate needs it. */
export interface Client {
  readonly name: string;
  readonly policy: ClientPolicy;
  readonly secret: SharedSecret;
  /** Whether any source address is taken: then every request logs a warning. */
  readonly anyAddress: boolean;
  /** Whether `message_authenticator = "auto"` may learn: only for a single address. */
  readonly learns: boolean;
  /** Whether Message-Authenticator is required now; `auto` sets it when it has learnt. */
  requiresSignature: boolean;
  readonly nasIdentifier: string;
  readonly nasIpAddress: Uint8Array | null;
}

interface Network {
  readonly octets: Uint8Array;
  readonly prefixBits: number;
  readonly client: Client;
}

/** Finds clients by source address. */
export interface Clients {
  /** Clients behind an address, most specific network first; `null` when there is none. */
  behind(hostname: string): readonly Client[] | null;
  /** Of several clients the one that the request's attributes name, else the one that names none. */
  choose(clients: readonly Client[], view: PacketView): Client | null;
  readonly all: readonly Client[];
}

/** Source addresses whose look-up is remembered. */
const REMEMBERED_ADDRESSES = 10_000;

/** IPv4 inside IPv6 (`::ffff:a.b.c.d`), which a dual-stack socket reports, as plain IPv4. */
export function normalAddress(hostname: string): string {
  return hostname.startsWith("::ffff:") && hostname.includes(".") ? hostname.slice(7) : hostname;
}

/**
 * @param settings the configured clients; with none, `anyClient` and `anySecret` serve every address.
 * @param learnt names of clients of which a valid Message-Authenticator was seen before.
 */
export function createClients(
  { settings, anyClient, anySecret, learnt }: {
    settings: readonly ClientSettings[];
    anyClient: ClientPolicy;
    anySecret: string;
    learnt: ReadonlySet<string>;
  },
): Clients {
  if (settings.length === 0) return anyAddressClients(anyClient, anySecret);
  const networks: Network[] = [];
  const all = settings.map((setting) => {
    const client = createClient(setting, learnt.has(setting.name));
    for (const address of setting.address) networks.push(parseNetwork(address, client));
    return client;
  });
  networks.sort((a, b) => relativeBits(b) - relativeBits(a));
  const known = new Map<string, readonly Client[] | null>();
  return {
    all,
    behind(hostname) {
      const remembered = known.get(hostname);
      if (remembered !== undefined) return remembered;
      const found = matching(networks, hostname);
      if (known.size >= REMEMBERED_ADDRESSES) known.clear();
      known.set(hostname, found);
      return found;
    },
    choose,
  };
}

/** What logs call whoever sends, while no client is configured. */
export const ANY_ADDRESS_CLIENT = "any";

function anyAddressClients(policy: ClientPolicy, secret: string): Clients {
  const client: Client = {
    name: ANY_ADDRESS_CLIENT,
    policy,
    secret: new SharedSecret(secret),
    anyAddress: true,
    learns: false,
    requiresSignature: policy.messageAuthenticator === "require",
    nasIdentifier: "",
    nasIpAddress: null,
  };
  const only = [client];
  return { all: only, behind: () => only, choose: () => client };
}

function createClient(setting: ClientSettings, hasLearnt: boolean): Client {
  const [only] = setting.address;
  const single = setting.address.length === 1 && only !== undefined && isSingle(only);
  const learns = setting.messageAuthenticator === "auto" && single;
  return {
    name: setting.name,
    policy: setting,
    secret: new SharedSecret(setting.secret),
    anyAddress: false,
    learns,
    requiresSignature: setting.messageAuthenticator === "require" || (learns && hasLearnt),
    nasIdentifier: setting.nasIdentifier,
    nasIpAddress: setting.nasIpAddress === "" ? null : parseIpv4(setting.nasIpAddress),
  };
}

function isSingle(address: string): boolean {
  const [host = "", bits] = address.split("/");
  return bits === undefined || Number(bits) === (host.includes(":") ? 128 : 32);
}

function parseNetwork(address: string, client: Client): Network {
  const [host = "", bits] = address.split("/");
  const octets = parseIpv4(host) ?? parseIpv6(host);
  if (octets === null) throw new RangeError(`Cannot read the client address "${address}"`);
  return { octets, prefixBits: bits === undefined ? octets.length * 8 : Number(bits), client };
}

/** Prefix lengths of both families on one scale. */
function relativeBits({ octets, prefixBits }: Network): number {
  return prefixBits + (octets.length === 4 ? 96 : 0);
}

function matching(networks: readonly Network[], hostname: string): readonly Client[] | null {
  const withoutZone = hostname.split("%")[0] ?? "";
  const source = parseIpv4(withoutZone) ?? parseIpv6(withoutZone);
  if (source === null) return null;
  let best: Network | null = null;
  const found: Client[] = [];
  for (const network of networks) {
    if (!contains(network, source)) continue;
    if (best !== null && relativeBits(network) < relativeBits(best)) break;
    best = network;
    if (!found.includes(network.client)) found.push(network.client);
  }
  return found.length === 0 ? null : found;
}

function contains({ octets, prefixBits }: Network, source: Uint8Array): boolean {
  if (octets.length !== source.length) return false;
  for (let bit = 0; bit < prefixBits; bit += 8) {
    const mask = prefixBits - bit >= 8 ? 0xff : (0xff << (8 - (prefixBits - bit))) & 0xff;
    const at = bit >> 3;
    if ((((octets[at] as number) ^ (source[at] as number)) & mask) !== 0) return false;
  }
  return true;
}

const text = new TextDecoder();

function choose(clients: readonly Client[], view: PacketView): Client | null {
  const [first] = clients;
  if (
    clients.length === 1 && first !== undefined && first.nasIdentifier === "" && first.nasIpAddress === null
  ) return first;
  const identifier = view.value("nasIdentifier");
  const address = view.value("nasIpAddress");
  const named = clients.find((client) =>
    (client.nasIdentifier !== "" || client.nasIpAddress !== null) &&
    (client.nasIdentifier === "" ||
      (identifier !== null && text.decode(identifier) === client.nasIdentifier)) &&
    (client.nasIpAddress === null || (address !== null && sameOctets(address, client.nasIpAddress)))
  );
  return named ?? clients.find((client) => client.nasIdentifier === "" && client.nasIpAddress === null) ??
    null;
}

function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, i) => octet === b[i]);
}
