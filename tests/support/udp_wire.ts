// A wire for datagrams between a client and a server: a test acts between two of them, or lays the wire to another server.

export interface Wire extends AsyncDisposable {
  readonly port: number;
  /** Calls `then` before the next Access-Request after that many. */
  cutAfter(requests: number, then: () => Promise<void>): void;
  /** Later datagrams go to this port. */
  leadTo(port: number): void;
}

const MAX_DATAGRAM_OCTETS = 4200;
const ACCESS_REQUEST = 1;

/** Passes datagrams from a free port of the loopback interface to the port of a server, and back. */
export function openWire(target: number): Wire {
  const outside = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const inside = new Map<string, Deno.DatagramConn>();
  const loops: Promise<void>[] = [];
  let cut: { left: number; then: () => Promise<void> } | null = null;
  const pass = async (
    from: Deno.DatagramConn,
    send: (bytes: Uint8Array, sender: Deno.Addr) => Promise<unknown>,
  ) => {
    for (;;) {
      try {
        const [bytes, sender] = await from.receive(new Uint8Array(MAX_DATAGRAM_OCTETS));
        await send(bytes.slice(), sender);
      } catch (fault) {
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        // A dead server refuses datagrams.
        if (!(fault instanceof Deno.errors.ConnectionRefused)) throw fault;
      }
    }
  };
  let server: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: target };
  loops.push(pass(outside, async (bytes, sender) => {
    const key = `${(sender as Deno.NetAddr).port}`;
    let socket = inside.get(key);
    if (socket === undefined) {
      socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
      inside.set(key, socket);
      loops.push(pass(socket, (reply) => outside.send(reply, sender)));
    }
    if (cut !== null && bytes[0] === ACCESS_REQUEST && cut.left-- === 0) {
      const { then } = cut;
      cut = null;
      await then();
    }
    await socket.send(bytes, server);
  }));
  return {
    port: (outside.addr as Deno.NetAddr).port,
    cutAfter: (requests, then) => cut = { left: requests, then },
    leadTo: (port) => server = { ...server, port },
    async [Symbol.asyncDispose]() {
      for (const socket of [outside, ...inside.values()]) socket.close();
      await Promise.all(loops);
    },
  };
}
