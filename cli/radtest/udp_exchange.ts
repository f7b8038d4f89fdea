// One UDP socket, and the exchange of one packet over it: the same datagram again on silence (RFC 5080 §2.2.1).

import type { ReadReply, ReplyFault, TryReply, TryRequest } from "./packets.ts";

/** Datagrams to and from one server. */
export interface Wire {
  /** Rejects when the name is not known or the network refuses. */
  send(octets: Uint8Array): Promise<void>;
  /** The next datagram from anybody, or `null` after `timeoutMs`. */
  receive(timeoutMs: number): Promise<Uint8Array | null>;
  close(): void;
}

/** How an exchange ended. `fault`: the last answer that had to be thrown away. */
export type Exchanged =
  | { readonly kind: "reply"; readonly reply: TryReply; readonly elapsedMs: number; readonly sends: number }
  | { readonly kind: "silence"; readonly fault: ReplyFault | null };

/** How long, how often, and how time is read. */
export interface Patience {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly nowMs: () => number;
}

/**
 * Sends a request until it is answered. Answers that do not verify are thrown away and waited through, as a forger's must be.
 */
export async function exchange(
  wire: Wire,
  { request, read, patience }: {
    request: TryRequest;
    read: (octets: Uint8Array, request: TryRequest) => ReadReply;
    patience: Patience;
  },
): Promise<Exchanged> {
  const startedMs = patience.nowMs();
  let fault: ReplyFault | null = null;
  for (let sends = 1; sends <= patience.tries; sends++) {
    await wire.send(request.octets);
    const deadlineMs = patience.nowMs() + patience.timeoutMs;
    for (let leftMs = patience.timeoutMs; leftMs > 0; leftMs = deadlineMs - patience.nowMs()) {
      const octets = await wire.receive(leftMs);
      if (octets === null) break;
      if (octets[1] !== request.identifier) continue;
      const answer = read(octets, request);
      if (answer.ok) {
        return { kind: "reply", reply: answer.reply, elapsedMs: patience.nowMs() - startedMs, sends };
      }
      fault = answer.reason;
    }
  }
  return { kind: "silence", fault };
}

const MAX_WAITING = 64;

/** Opens a socket for both IP versions, or for IPv4 alone on a host without IPv6. */
export function openWire(server: { hostname: string; port: number }): Wire {
  const socket = openSocket();
  const arrived: Uint8Array[] = [];
  let wake: (() => void) | null = null;
  const pump = async () => {
    for (;;) {
      try {
        const [octets] = await socket.receive(new Uint8Array(4096));
        if (arrived.length < MAX_WAITING) arrived.push(octets);
        wake?.();
      } catch (fault) {
        // The socket was closed: the try is over.
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void pump();
  return {
    async send(octets) {
      await socket.send(octets, { transport: "udp", ...server });
    },
    async receive(timeoutMs) {
      if (arrived.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = null;
      }
      return arrived.shift() ?? null;
    },
    close: () => socket.close(),
  };
}

function openSocket(): Deno.DatagramConn {
  try {
    return Deno.listenDatagram({ transport: "udp", hostname: "::", port: 0 });
  } catch (_noIpv6) {
    return Deno.listenDatagram({ transport: "udp", hostname: "0.0.0.0", port: 0 });
  }
}
