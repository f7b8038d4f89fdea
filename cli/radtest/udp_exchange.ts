// The UDP socket of a login, and the exchange of one packet with retransmission (RFC 5080 §2.2.1).

import type { RadtestReply, RadtestRequest, ReadReply, ReplyFault } from "./packets.ts";

export interface RadiusSocket {
  /** Rejects on network errors, such as an unknown host name. */
  send(octets: Uint8Array): Promise<void>;
  /** The next datagram from any sender, or `null` after `timeoutMs`. */
  receive(timeoutMs: number): Promise<Uint8Array | null>;
  close(): void;
}

/** The result of an exchange. `fault`: the problem with the last reply that did not verify. */
export type Exchanged =
  | {
    readonly kind: "reply";
    readonly reply: RadtestReply;
    readonly elapsedMs: number;
    readonly sends: number;
  }
  | { readonly kind: "silence"; readonly fault: ReplyFault | null };

export interface RetryLimits {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly nowMs: () => number;
}

/** Sends a request until it is answered. Ignores replies that do not verify, because they may be forged. */
export async function exchange(
  socket: RadiusSocket,
  { request, read, limits }: {
    request: RadtestRequest;
    read: (octets: Uint8Array, request: RadtestRequest) => ReadReply;
    limits: RetryLimits;
  },
): Promise<Exchanged> {
  const startedMs = limits.nowMs();
  let fault: ReplyFault | null = null;
  for (let sends = 1; sends <= limits.tries; sends++) {
    await socket.send(request.octets);
    const deadlineMs = limits.nowMs() + limits.timeoutMs;
    for (let leftMs = limits.timeoutMs; leftMs > 0; leftMs = deadlineMs - limits.nowMs()) {
      const octets = await socket.receive(leftMs);
      if (octets === null) break;
      if (octets[1] !== request.identifier) continue;
      const answer = read(octets, request);
      if (answer.ok) {
        return { kind: "reply", reply: answer.reply, elapsedMs: limits.nowMs() - startedMs, sends };
      }
      fault = answer.reason;
    }
  }
  return { kind: "silence", fault };
}

const MAX_QUEUED = 64;

/** Opens a socket for both IP versions, or only for IPv4 on a host without IPv6. */
export function openRadiusSocket(server: { hostname: string; port: number }): RadiusSocket {
  const socket = openSocket();
  const arrived: Uint8Array[] = [];
  let wake: (() => void) | null = null;
  const pump = async () => {
    for (;;) {
      try {
        const [octets] = await socket.receive(new Uint8Array(4096));
        if (arrived.length < MAX_QUEUED) arrived.push(octets);
        wake?.();
      } catch (fault) {
        // The socket is closed.
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
