// Opens the UDP sockets, dual stack if the host has IPv6, and warns about sockets that are bound to every address.

import type { Config, SocketAddress } from "./config/config.ts";
import { isWildcard, socketAddressText } from "./addresses.ts";
import { faultMessage, type Log } from "./log.ts";

/** A socket cannot be opened; `message` contains the remedy. */
export class ListenFault extends Error {}

interface UdpSocket {
  readonly socket: Deno.DatagramConn;
  readonly address: SocketAddress;
}

/**
 * Opens one socket for each address. `[::]` falls back to `0.0.0.0` on a host without IPv6.
 *
 * @throws ListenFault
 */
function listenUdp(
  addresses: readonly SocketAddress[],
  log: Log,
  setting: ListenSetting = "radius.listen",
): UdpSocket[] {
  const opened: UdpSocket[] = [];
  try {
    for (const address of addresses) opened.push(openOne(address, { log, setting }));
    return opened;
  } catch (fault) {
    for (const { socket } of opened) socket.close();
    throw fault;
  }
}

/** The sockets of the gateway, by service. */
export interface RadiusSockets {
  readonly authentication: readonly UdpSocket[];
  /** Empty if another program uses the default port. */
  readonly accounting: readonly UdpSocket[];
}

/**
 * Opens all RADIUS sockets.
 *
 * @throws ListenFault
 */
export function listenRadius(
  { listen, accounting }: Pick<Config["radius"], "listen" | "accounting">,
  log: Log,
): RadiusSockets {
  return { authentication: listenUdp(listen, log), accounting: listenAccounting(accounting, log) };
}

/**
 * Opens the accounting sockets. If the settings have no address and the default port is in use (another accounting server on this
 * host), the program starts without them: logins are more important, and the authentication port also answers accounting.
 *
 * @throws ListenFault for an address that the settings name.
 */
export function listenAccounting(
  { listen, isGiven }: Config["radius"]["accounting"],
  log: Log,
): UdpSocket[] {
  try {
    return listenUdp(listen, log, "radius.accounting_listen");
  } catch (fault) {
    if (isGiven || !(fault instanceof ListenFault)) throw fault;
    log.warn("accounting is answered on the authentication port only", { fault: fault.message });
    return [];
  }
}

type ListenSetting = "radius.listen" | "radius.accounting_listen";

interface Opening {
  readonly log: Log;
  /** The setting in the message of a fault. */
  readonly setting: ListenSetting;
}

function openOne(address: SocketAddress, { log, setting }: Opening): UdpSocket {
  try {
    return bound(address);
  } catch (fault) {
    if (address.hostname === "::" && !isTaken(fault)) {
      try {
        const fallback = bound({ hostname: "0.0.0.0", port: address.port });
        log.warn("this host has no IPv6: listening on IPv4 alone", {
          address: `0.0.0.0:${fallback.address.port}`,
        });
        return fallback;
      } catch (second) {
        throw faultOf({ hostname: "0.0.0.0", port: address.port }, second, setting);
      }
    }
    throw faultOf(address, fault, setting);
  }
}

function bound({ hostname, port }: SocketAddress): UdpSocket {
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port });
  const at = socket.addr as Deno.NetAddr;
  return { socket, address: { hostname: at.hostname, port: at.port } };
}

function isTaken(fault: unknown): boolean {
  return fault instanceof Deno.errors.AddrInUse || fault instanceof Deno.errors.PermissionDenied;
}

function faultOf(address: SocketAddress, fault: unknown, setting: ListenSetting): ListenFault {
  const where = socketAddressText(address);
  if (fault instanceof Deno.errors.AddrInUse) {
    return new ListenFault(
      `Cannot listen on UDP ${where}: another program uses it. Stop that program (\`ss -lunp\` names it), or set ${setting} to another port.`,
    );
  }
  if (fault instanceof Deno.errors.PermissionDenied) {
    return new ListenFault(
      `Cannot listen on UDP ${where}: this user may not. Choose a port above 1023 in ${setting}, or let the service manager grant it.`,
    );
  }
  return new ListenFault(
    `Cannot listen on UDP ${where}: ${faultMessage(fault)}. Check ${setting}.`,
  );
}

/** One address of this host, as `Deno.networkInterfaces` returns it. */
export type InterfaceAddress = Pick<Deno.NetworkInterfaceInfo, "family" | "address">;

interface BoundSockets {
  readonly sockets: {
    readonly authentication: readonly { readonly address: SocketAddress }[];
    readonly accounting: readonly { readonly address: SocketAddress }[];
  };
  /** `null` if the program is not allowed to read them. */
  readonly addresses: readonly InterfaceAddress[] | null;
}

/** The addresses of this host; `null` without `--allow-sys=networkInterfaces`, which the program does not need otherwise. */
export function hostAddresses(): InterfaceAddress[] | null {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "networkInterfaces" });
  return state === "granted" ? Deno.networkInterfaces() : null;
}

/**
 * One warning for each setting that binds every address, unless the host is known to have one address of each family. On a
 * host with several, a reply may leave from another address, and RADIUS clients drop it (RFC 2865 §3).
 */
export function wildcardWarnings({ sockets, addresses }: BoundSockets): string[] {
  const own = addresses?.filter(isGlobal) ?? null;
  if (own !== null && !hasSeveral(own)) return [];
  const bySetting = {
    "radius.listen": sockets.authentication,
    "radius.accounting_listen": sockets.accounting,
  };
  return Object.entries(bySetting).flatMap(([setting, bound]) => {
    const wildcard = bound.find(({ address: { hostname } }) => isWildcard(hostname));
    return wildcard === undefined ? [] : [warningOf(setting, wildcard.address, own)];
  });
}

function warningOf(
  setting: string,
  wildcard: SocketAddress,
  own: readonly InterfaceAddress[] | null,
): string {
  const bound = `${setting}: ${socketAddressText(wildcard)} is every address of this host`;
  if (own === null) {
    return `${bound}; if the host has several, a reply may leave from another address than the one that was asked, and clients drop it: list each address`;
  }
  const { port } = wildcard;
  const listed = own.filter(({ family }) => family === "IPv4" || wildcard.hostname === "::")
    .map(({ address }) => address);
  const line = [...listed, "127.0.0.1"].map((hostname) => `"${socketAddressText({ hostname, port })}"`);
  const key = setting.slice("radius.".length);
  return `${bound}, which has several; a reply may leave from another address than the one that was asked, and clients drop it. Under [radius], set ${key} = [${
    line.join(", ")
  }]`;
}

/** Clients do not send to loopback or link-local addresses of this host. */
function isGlobal({ family, address }: InterfaceAddress): boolean {
  return family === "IPv4" ? !/^(?:127|169\.254)\./.test(address) : !/^(?:::1$|fe[89ab])/i.test(address);
}

function hasSeveral(addresses: readonly InterfaceAddress[]): boolean {
  const ofFamily = (wanted: "IPv4" | "IPv6") => addresses.filter(({ family }) => family === wanted);
  return ofFamily("IPv4").length > 1 || ofFamily("IPv6").length > 1;
}
