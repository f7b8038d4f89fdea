// Opens the UDP sockets: dual stack where the host has IPv6, with a clear word where an address cannot be had.

import type { SocketAddress } from "../config.ts";
import type { Log } from "../log.ts";

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
export function listenUdp(addresses: readonly SocketAddress[], log: Log): UdpSocket[] {
  const opened: UdpSocket[] = [];
  try {
    for (const address of addresses) opened.push(openOne(address, log));
    return opened;
  } catch (fault) {
    for (const { socket } of opened) socket.close();
    throw fault;
  }
}

function openOne(address: SocketAddress, log: Log): UdpSocket {
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
        throw faultOf({ hostname: "0.0.0.0", port: address.port }, second);
      }
    }
    throw faultOf(address, fault);
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

function faultOf({ hostname, port }: SocketAddress, fault: unknown): ListenFault {
  const where = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
  if (fault instanceof Deno.errors.AddrInUse) {
    return new ListenFault(
      `Cannot listen on UDP ${where}: another program holds it. Stop that one (\`ss -lunp\` names it), or set radius.listen to another port.`,
    );
  }
  if (fault instanceof Deno.errors.PermissionDenied) {
    return new ListenFault(
      `Cannot listen on UDP ${where}: this user may not. Choose a port above 1023 in radius.listen, or let the service manager grant it.`,
    );
  }
  return new ListenFault(
    `Cannot listen on UDP ${where}: ${
      fault instanceof Error ? fault.message : String(fault)
    }. Check radius.listen.`,
  );
}
