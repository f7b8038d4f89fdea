// Finds the client of a datagram: by the most specific network that contains the source address, then by NAS-Identifier or
// NAS-IP-Address if several clients share the network.

import { type CertificateIdentity, hasSubjectAltName } from "../../platform/certificate_names.ts";
import { usesTls } from "../../platform/client_settings.ts";
import type { ClientSettings, RequestSettings } from "../../platform/config/config.ts";
import { decodeText, parseIpv4, parseIpv6 } from "../protocol/attributes.ts";
import { SharedSecret } from "../protocol/authenticity.ts";
import type { PacketView } from "../protocol/packet.ts";
import { type RadiusProtocol, RADSEC_SECRET, TLS_PROTECTION } from "../protocol/radius_tls.ts";

/** A client for the packet gate. */
export interface Client {
  readonly name: string;
  readonly settings: RequestSettings;
  readonly secret: SharedSecret;
  /** Whether every source address is accepted. Each request then logs a warning. */
  readonly anyAddress: boolean;
  /** Whether a packet with a forged address makes it answer an address that is not listed by itself: the client has a network. */
  readonly hasNetwork: boolean;
  /** Whether `message_authenticator = "auto"` learns which source addresses sign. */
  readonly learns: boolean;
  /** Whether the settings require Message-Authenticator; unsigned_requests.ts has what `auto` learned. */
  readonly requiresSignature: boolean;
  readonly nasIdentifier: string;
  readonly nasIpAddress: Uint8Array | null;
  /** Where the client accepts Disconnect-Requests (RFC 5176); `null`: nowhere. */
  readonly disconnect: { readonly port: number; readonly secret: string } | null;
  /** Whether it accepts a Disconnect-Request on its TLS connection. */
  readonly tlsDisconnect: boolean;
  /** The same client with its previous secret, while that is still accepted. */
  readonly previous: { readonly client: Client; readonly untilMs: number } | null;
  /** Whether this is the client with its previous secret. */
  readonly isPrevious: boolean;
  /** Its packets since the start. A change of the client does not reset it. */
  readonly use: ClientUse;
}

/** When packets of a client passed the gate; 0 is never. `previousMs`: with the previous secret. */
export interface ClientUse {
  packets: number;
  lastMs: number;
  previousMs: number;
  /** When an Access-Request without Message-Authenticator passed the gate. */
  unsignedMs: number;
}

/** A client, with its previous secret if that is still accepted. */
export interface KnownClient extends ClientSettings {
  readonly previousSecret?: { readonly secret: string; readonly untilMs: number };
}

interface Network {
  readonly octets: Uint8Array;
  readonly prefixBits: number;
  readonly client: Client;
}

/** Finds clients by source address. */
export interface Clients {
  /** The clients of the most specific network that contains the address; `null` if there is none. */
  findByAddress(hostname: string): readonly Client[] | null;
  /**
   * The client of a TLS connection: the first one, in the order of the names, whose certificate it is, and whose addresses have the source.
   * Its secret is that of the protocol. `null`: there is none.
   */
  findByCertificate(of: TlsPeerIdentity): Client | null;
  /** The client that has this certificate at some address; `null`: there is none. */
  nameByCertificate(of: CertificateIdentity): string | null;
  mayUseTls(hostname: string): boolean;
  /** Whether the address of a TLS client is set, and this is one. */
  isTlsAddress(hostname: string): boolean;
  /** Changes whenever the clients were replaced. */
  readonly revision: number;
  /** Of several clients, the one whose NAS attributes match, otherwise the one without NAS attributes. */
  choose(clients: readonly Client[], view: PacketView): Client | null;
  readonly all: readonly Client[];
  /** Replaces the clients from the next packet on. Without clients, every address is served. */
  replace(settings: readonly KnownClient[]): void;
  /** Replaces the settings and the secret for any client address. */
  replaceAny(settings: RequestSettings, secret: string): void;
}

/** What a client of a TLS connection is known by. */
interface TlsPeerIdentity extends CertificateIdentity {
  readonly source: string;
  readonly protocol: RadiusProtocol;
}

/** Cached look-ups, by source address. */
const MAX_CACHED_ADDRESSES = 10_000;

const COLON = 0x3a;

/** IPv4 inside IPv6 (`::ffff:a.b.c.d`), which a dual-stack socket reports, as plain IPv4. */
export function normalAddress(hostname: string): string {
  // Most addresses do not begin with a colon, and this runs for every datagram.
  if (hostname.charCodeAt(0) !== COLON) return hostname;
  return hostname.startsWith("::ffff:") && hostname.includes(".") ? hostname.slice(7) : hostname;
}

/** @param settings the clients; if there are none, `anyClient` and `anySecret` serve every address. */
export function createClients(
  { settings, anyClient, anySecret }: {
    settings: readonly KnownClient[];
    anyClient: RequestSettings;
    anySecret: string;
  },
): Clients {
  const uses = new Map<string, ClientUse>();
  const known = new Map<string, readonly Client[] | null>();
  let any = anyAddressClient(anyClient, { secret: anySecret, use: unused() });
  let networks: Network[] = [];
  let all: readonly Client[] = any;
  let tlsClients: readonly TlsClient[] = [];
  let revision = 0;

  const useOf = (name: string): ClientUse => {
    const use = uses.get(name) ?? unused();
    uses.set(name, use);
    return use;
  };
  const replace = (next: readonly KnownClient[]): void => {
    const found: Network[] = [];
    const ofTls: TlsClient[] = [];
    const clients = next.map((setting) => {
      const client = createClient(setting, useOf(setting.name));
      const own = setting.address.map((address) => parseNetwork(address, client));
      if (usesTls(setting)) ofTls.push(tlsClientOf(setting, client, own));
      else found.push(...own);
      return client;
    });
    tlsClients = ofTls.sort((a, b) => a.setting.name < b.setting.name ? -1 : 1);
    revision++;
    networks = found.sort((a, b) => relativeBits(b) - relativeBits(a));
    all = clients.length === 0 ? any : clients;
    known.clear();
    const names = new Set(next.map(({ name }) => name));
    for (const name of uses.keys()) if (!names.has(name)) uses.delete(name);
  };
  replace(settings);

  return {
    get all() {
      return all;
    },
    get revision() {
      return revision;
    },
    replace,
    replaceAny(settings, secret) {
      const isInUse = all === any;
      any = anyAddressClient(settings, { secret, use: any[0]?.use ?? unused() });
      if (isInUse) all = any;
    },
    findByAddress(hostname) {
      if (all === any) return any;
      const remembered = known.get(hostname);
      if (remembered !== undefined) return remembered;
      const found = matching(networks, hostname);
      if (known.size >= MAX_CACHED_ADDRESSES) known.clear();
      known.set(hostname, found);
      return found;
    },
    findByCertificate({ source, protocol, names, fingerprint }) {
      const found = tlsClients.find(({ setting, networks: own }) =>
        isCertificateOf(setting, { names, fingerprint }) && isAmong(own, source)
      );
      return found?.byProtocol[protocol] ?? null;
    },
    nameByCertificate: (identity) =>
      tlsClients.find(({ setting }) => isCertificateOf(setting, identity))?.setting.name ?? null,
    mayUseTls: (hostname) => tlsClients.some(({ networks: own }) => isAmong(own, hostname)),
    isTlsAddress: (hostname) => tlsClients.some(({ networks: own }) => matching(own, hostname) !== null),
    choose,
  };
}

interface TlsClient {
  readonly setting: KnownClient;
  /** Empty: every address. */
  readonly networks: readonly Network[];
  readonly byProtocol: Readonly<Record<RadiusProtocol, Client>>;
}

function tlsClientOf(setting: KnownClient, client: Client, networks: readonly Network[]): TlsClient {
  return {
    setting,
    networks,
    byProtocol: { "radius/1.0": client, "radius/1.1": { ...client, secret: TLS_PROTECTION } },
  };
}

/** Whether a client is known by this certificate. */
export function isCertificateOf(
  { tlsSan, tlsFingerprint }: Pick<ClientSettings, "tlsSan" | "tlsFingerprint">,
  { names, fingerprint }: CertificateIdentity,
): boolean {
  return usesTls({ tlsSan, tlsFingerprint }) && (tlsFingerprint === "" || tlsFingerprint === fingerprint) &&
    (tlsSan === "" || hasSubjectAltName(names, tlsSan));
}

function isAmong(networks: readonly Network[], hostname: string): boolean {
  return networks.length === 0 || matching(networks, hostname) !== null;
}

const unused = (): ClientUse => ({ packets: 0, lastMs: 0, previousMs: 0, unsignedMs: 0 });

/** The name of all senders while no client is configured. */
export const ANY_ADDRESS_CLIENT = "any";

function anyAddressClient(
  settings: RequestSettings,
  { secret, use }: { secret: string; use: ClientUse },
): readonly Client[] {
  return [{
    name: ANY_ADDRESS_CLIENT,
    settings,
    secret: new SharedSecret(secret),
    anyAddress: true,
    hasNetwork: true,
    // Its source addresses belong to no client that could sign.
    learns: false,
    requiresSignature: settings.messageAuthenticator === "require",
    nasIdentifier: "",
    nasIpAddress: null,
    disconnect: null,
    tlsDisconnect: false,
    previous: null,
    isPrevious: false,
    use,
  }];
}

function createClient(setting: KnownClient, use: ClientUse): Client {
  const isTls = usesTls(setting);
  const client: Client = {
    name: setting.name,
    settings: setting,
    secret: isTls ? RADSEC_SECRET : new SharedSecret(setting.secret),
    anyAddress: false,
    hasNetwork: !isTls && !setting.address.every(isSingle),
    learns: !isTls && setting.messageAuthenticator === "auto",
    requiresSignature: !isTls && setting.messageAuthenticator === "require",
    nasIdentifier: setting.nasIdentifier,
    nasIpAddress: setting.nasIpAddress === "" ? null : parseIpv4(setting.nasIpAddress),
    disconnect: isTls ? null : disconnectOf(setting),
    tlsDisconnect: isTls && setting.tlsDisconnect,
    previous: null,
    isPrevious: false,
    use,
  };
  const { previousSecret } = setting;
  return isTls || previousSecret === undefined ? client : withPrevious(client, previousSecret);
}

function disconnectOf({ disconnectPort: port, disconnectSecret, secret }: KnownClient): Client["disconnect"] {
  return port === 0 ? null : { port, secret: disconnectSecret || secret };
}

function withPrevious(
  client: Client,
  { secret, untilMs }: { readonly secret: string; readonly untilMs: number },
): Client {
  const before: Client = { ...client, secret: new SharedSecret(secret), isPrevious: true };
  return { ...client, previous: { client: before, untilMs } };
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

/** The prefix length on one scale for IPv4 and IPv6. */
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
      (identifier !== null && decodeText(identifier) === client.nasIdentifier)) &&
    (client.nasIpAddress === null || (address !== null && sameOctets(address, client.nasIpAddress)))
  );
  return named ?? clients.find((client) => client.nasIdentifier === "" && client.nasIpAddress === null) ??
    null;
}

function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, i) => octet === b[i]);
}

/** What a client requires besides its address, and what a packet has: `NAS-Identifier vpn-hq`. "–": the packet does not have it. */
export interface NasRule {
  readonly requires: string;
  readonly given: string;
}

/** Why none of several clients of an address was chosen, by the first of them. */
export function nasRuleOf({ nasIdentifier, nasIpAddress }: Client, view: PacketView): NasRule {
  if (nasIdentifier !== "") {
    const given = view.value("nasIdentifier");
    return {
      requires: `NAS-Identifier ${nasIdentifier}`,
      given: `NAS-Identifier ${given === null ? "–" : decodeText(given)}`,
    };
  }
  const given = view.value("nasIpAddress");
  return {
    requires: `NAS-IP-Address ${[...nasIpAddress ?? []].join(".")}`,
    given: `NAS-IP-Address ${given === null ? "–" : [...given].join(".")}`,
  };
}
