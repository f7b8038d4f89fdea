// Sends many RADIUS datagrams at the speed of the gateway: bursts that fit into the kernel's receive buffer, and after
// each burst a signed Status-Server as a barrier, so that the gateway has processed every datagram.

import { buildRequest, type BuiltRequest, CODES } from "../support/radius_packets.ts";

/** The default receive buffer of Linux holds about 256 small datagrams. */
const BURST = 100;
const BARRIER_WAIT_MS = 2000;
const MAX_BARRIER_TRIES = 15;

/** The destination of the datagrams. `hostname` is the source address on this host. */
export interface LoadTarget {
  readonly port: number;
  readonly secret: string;
  readonly hostname?: string;
}

/**
 * Sends `count` datagrams, each made by `datagram`. Resolves when the gateway has processed all; throws when it stops
 * answering.
 */
export async function sendLoad(
  target: LoadTarget,
  { count, datagram }: { count: number; datagram: (index: number) => Uint8Array },
): Promise<void> {
  const hostname = target.hostname ?? "127.0.0.1";
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: target.port };
  /** The barrier in progress. */
  const barrier = { identifier: -1, passed: (_answered: boolean): void => undefined };
  const received = (async () => {
    for await (const [octets] of socket) {
      if (octets[0] === CODES.accessAccept && octets[1] === barrier.identifier) barrier.passed(true);
    }
  })();
  const ask = async (status: BuiltRequest): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    Object.assign(barrier, { identifier: status.identifier, passed: resolve });
    const timer = setTimeout(() => resolve(false), BARRIER_WAIT_MS);
    await socket.send(status.bytes, to);
    const answered = await promise;
    clearTimeout(timer);
    return answered;
  };
  const passBarrier = async (): Promise<void> => {
    for (let tries = 0; tries < MAX_BARRIER_TRIES; tries++) {
      if (await ask(buildRequest(target.secret, { code: CODES.statusServer }))) return;
    }
    throw new Error(`The gateway answered no Status-Server in ${MAX_BARRIER_TRIES} tries`);
  };
  try {
    for (let index = 0; index < count; index++) {
      await socket.send(datagram(index), to);
      if ((index + 1) % BURST === 0) await passBarrier();
    }
    await passBarrier();
  } finally {
    socket.close();
    await received.catch(() => undefined);
  }
}
