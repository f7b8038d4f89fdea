// The TLS connection of `deno task try --tls`: RADIUS/TLS (RFC 6614) or RADIUS/1.1 (RFC 9765), whichever the server selects.

import tls, { type TLSSocket } from "node:tls";
import type { SharedSecret } from "../radius/protocol/authenticity.ts";
import {
  PacketStreamReader,
  protectionOf,
  RADIUS_PROTOCOLS,
  type RadiusProtocol,
} from "../radius/protocol/radius_tls.ts";
import { createInbox, type RadiusSocket } from "./radtest_packets.ts";

/** Paths of PEM files, and what is expected of the server. */
export interface RadtestTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** The name in the server's certificate; `null`: the host of the address. */
  readonly name: string | null;
  readonly protocols: readonly RadiusProtocol[];
}

interface RadtestTlsSocket extends RadiusSocket {
  readonly protocol: RadiusProtocol;
  readonly secret: SharedSecret;
}

const CONNECT_MS = 10_000;

/** Connects and verifies the server. Rejects with the reason. */
export async function openTlsSocket(
  { hostname, port }: { readonly hostname: string; readonly port: number },
  { cert, key, ca, name, protocols }: RadtestTls,
): Promise<RadtestTlsSocket> {
  const [certPem, keyPem, caPem] = await Promise.all([cert, key, ca].map(readPem));
  const socket = tls.connect({
    ...{ host: hostname, port, servername: name ?? (isAddress(hostname) ? "" : hostname) },
    ...{ cert: certPem, key: keyPem, ca: caPem, minVersion: "TLSv1.2" },
    ALPNProtocols: RADIUS_PROTOCOLS.filter((one) => protocols.includes(one)),
    checkServerIdentity: (host, peer) => tls.checkServerIdentity(name ?? host, peer),
  });
  await whenConnected(socket);
  const protocol: RadiusProtocol = socket.alpnProtocol === "radius/1.1" ? "radius/1.1" : "radius/1.0";
  if (!protocols.includes(protocol)) {
    socket.destroy();
    throw new Error(`the server speaks ${protocol} only`);
  }
  const inbox = createInbox();
  const reader = new PacketStreamReader();
  socket.on("data", (octets: Uint8Array) => {
    const fault = reader.read(octets, (packet) => {
      inbox.add(packet.slice());
      return true;
    });
    if (fault !== null) socket.destroy();
  });
  let isClosed = false;
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    isClosed = true;
    inbox.end();
  });
  return {
    protocol,
    secret: protectionOf(protocol),
    send(octets) {
      if (isClosed) return Promise.reject(new Error(CLOSED));
      socket.write(octets);
      return Promise.resolve();
    },
    async receive(timeoutMs) {
      const octets = await inbox.next(timeoutMs);
      if (octets === null && isClosed) throw new Error(CLOSED);
      return octets;
    },
    close: () => socket.destroy(),
  };
}

/** A file that cannot be read says nothing about the server. */
export class UnreadableFile extends Error {}

async function readPem(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (fault) {
    const why = fault instanceof Deno.errors.NotFound ? "it does not exist" : String(fault);
    throw new UnreadableFile(`Cannot read ${path}: ${why}`, { cause: fault });
  }
}

const CLOSED =
  "the server closed the connection; its log has the reason, such as a certificate that no client has, or a packet with a fault";

function isAddress(hostname: string): boolean {
  return /^[0-9.]+$/.test(hostname) || hostname.includes(":");
}

function whenConnected(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no TLS handshake within ${CONNECT_MS / 1000} s`));
    }, CONNECT_MS);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once("error", (fault: Error) => {
      clearTimeout(timer);
      reject(fault);
    });
  });
}
