// The other end of a TLS connection in memory, and clients that are known by their certificates.

import type { TlsPeer, TlsStream, TlsStreamEvents } from "../../platform/tls_listener.ts";
import { CODES, TYPES } from "../support/radius_packets.ts";
import { PacketSplitter, type TokenPacket } from "../support/radius_tls.ts";
import { until, type WholeGateway } from "./whole_gateway.ts";

export const FINGERPRINT = "ab".repeat(32);
export const CLIENTS = `
[[radius.client]]
name = "nas"
tls = { san = "nas.example.org" }
[[radius.client]]
name = "aps"
tls = { san = "*.aps.example.org" }
address = ["192.0.2.0/24"]
[[radius.client]]
name = "pinned"
tls = { fingerprint = "${FINGERPRINT}", disconnect = true }
[[radius.client]]
name = "udp"
address = ["192.0.2.7"]
secret = "the secret of a client of UDP"
`;
/** RFC 6614 §2.3. */
export const SECRET = "radsec";
export const PROTOCOL_ERROR = 52;

/** The other end of a connection in memory. */
export class Peer implements TlsStream {
  readonly peer: TlsPeer;
  /** Packets of the gateway, in order. */
  readonly received: Uint8Array[] = [];
  readonly #splitter = new PacketSplitter();
  #events: TlsStreamEvents | null = null;
  unsentOctets = 0;
  isReading = true;
  end_: "open" | "ended" | "destroyed" = "open";

  constructor(peer: Partial<TlsPeer>) {
    this.peer = {
      ...{ source: "192.0.2.9", port: 40_000, protocol: "", isTls13: true, names: ["DNS:nas.example.org"] },
      ...{ fingerprint: "00".repeat(32), subject: "CN=nas", validToMs: Number.MAX_SAFE_INTEGER },
      ...peer,
    };
  }

  start(events: TlsStreamEvents): void {
    this.#events = events;
  }

  write(octets: Uint8Array): boolean {
    if (this.isReading) this.received.push(...this.#splitter.add(octets));
    else this.unsentOctets += octets.length;
    return this.isReading;
  }

  end(): void {
    this.end_ = "ended";
  }

  destroy(): void {
    this.end_ = "destroyed";
  }

  send(octets: Uint8Array): void {
    this.#events?.data(octets);
  }

  /** Reads what waits. */
  drain(): void {
    this.isReading = true;
    this.unsentOctets = 0;
    this.#events?.drained();
  }

  hangUp(): void {
    this.#events?.closed();
  }

  get isOpen(): boolean {
    return this.end_ === "open" && this.#events !== null;
  }

  async next(): Promise<Uint8Array> {
    await until(() => this.received.length > 0);
    return this.received.shift() as Uint8Array;
  }
}

export function connect(gateway: Pick<WholeGateway, "radius">, peer: Partial<TlsPeer> = {}): Peer {
  const stream = new Peer(peer);
  gateway.radius.radsec.accept(stream);
  return stream;
}

export const text = (value: string) => new TextEncoder().encode(value);
export const login = (token: number, more: Partial<TokenPacket> = {}): TokenPacket => ({
  ...{ code: CODES.accessRequest, token },
  attributes: [
    { type: TYPES.userName, value: text("ada") },
    { type: TYPES.userPassword, value: text("first") },
    { type: TYPES.nasPort, value: Uint8Array.of(0, 0, 0, token & 0xff) },
  ],
  ...more,
});
export const oneDotOne = { protocol: "radius/1.1" };

/** A value that must be there. */
export function given<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("There is no value");
  return value;
}
