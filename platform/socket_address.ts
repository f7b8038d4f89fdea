// An address to listen on or to send to, and its text.

/** `hostname` has no brackets; port 0 lets the host choose. */
export interface SocketAddress {
  readonly hostname: string;
  readonly port: number;
}

/** `host:port`, or `[IPv6]:port`. */
export function socketAddressText({ hostname, port }: SocketAddress): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
