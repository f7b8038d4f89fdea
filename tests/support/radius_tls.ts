// RADIUS/1.1 packets from the text of RFC 9765 §4, and a TLS client for RADIUS. Uses no code of the gateway, so that a mistake there is not
// repeated here.

import net from "node:net";
import tls, { type TLSSocket } from "node:tls";
import type { Attribute } from "./radius_packets.ts";
import type { Certificate } from "./certificates.ts";

/** A packet of RADIUS/1.1. The reserved fields of a request are 0 unless given. */
export interface TokenPacket {
  readonly code: number;
  readonly token: number;
  readonly attributes: readonly Attribute[];
  readonly reserved1?: number;
  /** 12 octets. */
  readonly reserved2?: Uint8Array;
}

/** RFC 9765 §4.1: Code, Reserved-1, Length, Token, Reserved-2, Attributes. */
export function buildTokenPacket(packet: TokenPacket): Uint8Array<ArrayBuffer> {
  const { code, token, attributes, reserved1 = 0, reserved2 = new Uint8Array(12) } = packet;
  const body = attributes.flatMap(({ type, value }) => [type, value.length + 2, ...value]);
  const octets = new Uint8Array(20 + body.length);
  const view = new DataView(octets.buffer);
  view.setUint8(0, code);
  view.setUint8(1, reserved1);
  view.setUint16(2, octets.length);
  view.setUint32(4, token);
  octets.set(reserved2, 8);
  octets.set(body, 20);
  return octets;
}

/** Reads a packet. Throws if it is not well-formed. */
export function readTokenPacket(octets: Uint8Array): Required<TokenPacket> {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  if (view.getUint16(2) !== octets.length) throw new Error("Length is wrong");
  const attributes: Attribute[] = [];
  for (let at = 20; at < octets.length;) {
    const size = octets[at + 1] ?? 0;
    if (size < 2 || at + size > octets.length) throw new Error("the attributes do not fill the packet");
    attributes.push({ type: octets[at] ?? 0, value: octets.slice(at + 2, at + size) });
    at += size;
  }
  return {
    code: view.getUint8(0),
    reserved1: view.getUint8(1),
    token: view.getUint32(4),
    reserved2: octets.slice(8, 20),
    attributes,
  };
}

/** Splits octets into packets by their Length; the rest is kept. */
export class PacketSplitter {
  #rest = new Uint8Array(0);

  add(chunk: Uint8Array): Uint8Array[] {
    this.#rest = new Uint8Array([...this.#rest, ...chunk]);
    const packets: Uint8Array[] = [];
    while (this.#rest.length >= 4) {
      const length = ((this.#rest[2] ?? 0) << 8) | (this.#rest[3] ?? 0);
      if (length < 20 || this.#rest.length < length) break;
      packets.push(this.#rest.slice(0, length));
      this.#rest = this.#rest.slice(length);
    }
    return packets;
  }
}

/** What a client presents and expects. */
export interface TlsClientOptions {
  readonly port: number;
  readonly caPem: string;
  /** Absent: no certificate. */
  readonly certificate?: Certificate;
  readonly protocols?: readonly string[];
  readonly maxVersion?: "TLSv1.2";
}

/** A connected client. */
export interface RadiusTlsClient extends Disposable {
  readonly socket: TLSSocket;
  readonly protocol: string;
  send(octets: Uint8Array): void;
  /** The next packet; rejects if the connection ends, or after 20 s. */
  next(): Promise<Uint8Array>;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  /** Leaves everything that comes from now on in the buffers of the system. */
  stopReading(): void;
}

const WAIT_MS = 20_000;

/** Connects; rejects if the handshake fails. A server may refuse a certificate only after it: see `ended`. */
export async function connectRadiusTls(options: TlsClientOptions): Promise<RadiusTlsClient> {
  const { port, caPem, certificate, protocols, maxVersion } = options;
  const below = net.connect(port, "127.0.0.1") as net.Socket & { readonly _handle: { readStop(): void } };
  const socket = tls.connect({
    ...{ socket: below, host: "127.0.0.1", ca: caPem, servername: "" },
    ...(certificate === undefined ? {} : {
      cert: Deno.readTextFileSync(certificate.certFile),
      key: Deno.readTextFileSync(certificate.keyFile),
    }),
    ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
    ...(maxVersion === undefined ? {} : { maxVersion }),
  });
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", () => resolve());
    socket.once("error", reject);
  });
  socket.on("error", () => socket.destroy());
  const packets: Uint8Array[] = [];
  const splitter = new PacketSplitter();
  let wake = (): void => {};
  void ended.then(() => wake());
  socket.on("data", (octets: Uint8Array) => {
    packets.push(...splitter.add(octets));
    wake();
  });
  return {
    socket,
    ended,
    protocol: socket.alpnProtocol || "",
    send: (octets) => void socket.write(octets),
    stopReading() {
      // A paused connection of node:tls still reads into memory (Deno 2.9.6).
      below._handle.readStop();
    },
    async next() {
      const end = performance.now() + WAIT_MS;
      while (packets.length === 0) {
        if (socket.destroyed || performance.now() > end) throw new Error("no packet came");
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, WAIT_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return packets.shift() as Uint8Array;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
