// Opens the UDP sockets: dual stack where the host has IPv6. If an address cannot be bound, the error says what to do.

import type { Config, SocketAddress } from "./config/config.ts";
import { socketAddressText } from "./socket_address.ts";
import type { Log } from "./log.ts";

/** An address that cannot be listened on; `message` says what to do. */
export class ListenFault extends Error {}

export interface UdpSocket {
  readonly socket: Deno.DatagramConn;
  readonly address: SocketAddress;
}

/**
 * Opens one socket an address. `[::]` falls back to `0.0.0.0` on a host without IPv6.
 *
 * @throws ListenFault
 */
export function listenUdp(
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

/** The sockets of the gateway, by what they serve. */
export interface RadiusSockets {
  readonly authentication: readonly UdpSocket[];
  /** Empty if another program holds the default port. */
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
 * Opens the accounting sockets. If the settings do not name an address and the default port is in use (another accounting server on this
 * host), the program starts without them: logins matter more, and the authentication port answers accounting, too.
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
  /** The setting that a fault names. */
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
      `Cannot listen on UDP ${where}: another program holds it. Stop that one (\`ss -lunp\` names it), or set ${setting} to another port.`,
    );
  }
  if (fault instanceof Deno.errors.PermissionDenied) {
    return new ListenFault(
      `Cannot listen on UDP ${where}: this user may not. Choose a port above 1023 in ${setting}, or let the service manager grant it.`,
    );
  }
  return new ListenFault(
    `Cannot listen on UDP ${where}: ${
      fault instanceof Error ? fault.message : String(fault)
    }. Check ${setting}.`,
  );
}
