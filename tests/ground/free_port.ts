// Ports for programs that cannot choose a free one themselves.

/**
 * A UDP port of the loopback interface that is free now. Another process may take it before it is used, so what is started on
 * it must say when it could not bind.
 */
export function freeUdpPort(): number {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  try {
    return (socket.addr as Deno.NetAddr).port;
  } finally {
    socket.close();
  }
}
