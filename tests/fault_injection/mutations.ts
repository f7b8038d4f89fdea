// Altered datagrams, made from valid requests by a seeded generator, so that a run can be repeated. An independent
// function decides which of them are still valid.

import { createHmac } from "node:crypto";
import { buildRequest, type BuiltRequest, CODES, type RequestParts } from "../support/radius_packets.ts";
import { asBuilt } from "../radius/packet_vectors.ts";

/** One datagram, and the request for which its reply is checked. */
export interface Mutated {
  readonly title: string;
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly request: BuiltRequest;
}

export interface Mutator {
  next(): Mutated;
  /** Valid and signed. */
  statusServer(): Mutated;
}

type Below = (limit: number) => number;
type Octets = Uint8Array<ArrayBuffer>;

/** mulberry32: 32 bits of state, enough to alter packets with. */
function createGenerator(seed: number): Below {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/**
 * Noise is a part of one precomputed page: fifty thousand random octets for each datagram would take most of the time.
 */
const NOISE_OCTETS = 128 * 1024;
const drawn = createGenerator(1);
const NOISE = Uint8Array.from({ length: NOISE_OCTETS }, () => drawn(256));

function octets(below: Below, length: number): Octets {
  const from = below(NOISE_OCTETS - length);
  return NOISE.slice(from, from + length);
}
const withLength = (packet: Octets, length: number): Octets => {
  const copy = Uint8Array.from(packet);
  if (copy.length >= 4) copy.set([(length >> 8) & 0xff, length & 0xff], 2);
  return copy;
};

/** The parts of a request, before a mutation. */
const SOUND: readonly ((below: Below) => RequestParts)[] = [
  (below) => ({ userName: `user${below(50)}`, password: "x".repeat(below(128)), nasPort: 1 + below(1000) }),
  (below) => ({ userName: octets(below, below(253)), password: octets(below, below(128)) }),
  (below) => ({
    userName: `user${below(50)}`,
    password: "s",
    nasPort: 1 + below(1000),
    state: new TextEncoder().encode(
      ["CHOOSE_WHICH_MULTIFACTOR", "GET_SMS_PHONE_NUMBER", "A.B", ""][below(4)],
    ),
  }),
  () => ({ code: CODES.statusServer }),
  (below) => ({ userName: "eap", more: [{ type: 79, value: octets(below, 1 + below(60)) }] }),
  (below) => ({
    userName: "proxied",
    password: "x",
    more: Array.from({ length: below(16) }, () => ({ type: 33, value: octets(below, below(200)) })),
  }),
  (below) => ({
    userName: "many",
    password: "x",
    more: Array.from(
      { length: below(40) },
      () => ({ type: 81 + below(174), value: octets(below, below(60)) }),
    ),
  }),
];

/** The mutations. Each may leave a request valid by chance; {@link isValid} decides. */
const ALTERATIONS: Readonly<Record<string, (packet: Octets, below: Below) => Octets>> = {
  nothing: (packet) => packet,
  "one bit": (packet, below) => {
    const copy = Uint8Array.from(packet);
    const at = below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
    return copy;
  },
  "some octets": (packet, below) => {
    const copy = Uint8Array.from(packet);
    for (let i = 0; i <= below(8); i++) copy[below(copy.length)] = below(256);
    return copy;
  },
  cut: (packet, below) => packet.slice(0, below(packet.length)),
  "cut, with its Length": (packet, below) => {
    const length = 20 + below(Math.max(1, packet.length - 20));
    return withLength(packet.slice(0, length), length);
  },
  padded: (packet, below) => Uint8Array.from([...packet, ...octets(below, below(100))]),
  "another Length": (packet, below) => withLength(packet, below(65_536)),
  "a length of an attribute": (packet, below) => {
    const copy = Uint8Array.from(packet);
    if (copy.length > 22) copy[21] = [0, 1, 2, 255, below(256)][below(5)] ?? 0;
    return copy;
  },
  "an attribute more": (packet, below) => {
    const more = Uint8Array.from([...packet, 1 + below(255), 6, ...octets(below, 4)]);
    return withLength(more, more.length);
  },
  "its end doubled": (packet) => {
    const more = Uint8Array.from([...packet, ...packet.subarray(20)]);
    return withLength(more, more.length);
  },
  "another code": (packet, below) => Uint8Array.from([below(256), ...packet.subarray(1)]),
  noise: (_packet, below) => octets(below, below(600)),
  "noise behind a header": (_packet, below) => {
    const noise = Uint8Array.from([1, below(256), 0, 0, ...octets(below, 16 + below(300))]);
    return withLength(noise, noise.length);
  },
  "as long as it may be": (packet, below) => {
    const long = Uint8Array.from([...packet, ...octets(below, 4096 - packet.length)]);
    return withLength(long, 4096);
  },
  "longer than it may be": (packet, below) =>
    Uint8Array.from([...packet, ...octets(below, 5000 + below(50_000))]),
};

/** Altered requests with one secret, the same ones for the same seed. */
export function createMutator({ secret, seed }: { secret: string; seed: number }): Mutator {
  const below = createGenerator(seed);
  const names = Object.keys(ALTERATIONS);
  let identifier = 0;
  const sound = (parts: RequestParts): Octets => {
    identifier = (identifier + 1) % 256;
    const unsigned = parts.code !== CODES.statusServer && below(5) === 0;
    return buildRequest(secret, {
      ...parts,
      identifier,
      authenticator: octets(below, 16),
      messageAuthenticator: unsigned ? "none" : "first",
    }).bytes;
  };
  return {
    next() {
      const make = SOUND[below(SOUND.length)] ?? (() => ({}));
      const title = names[below(names.length)] ?? "nothing";
      const altered = ALTERATIONS[title]?.(sound(make(below)), below) ?? new Uint8Array(0);
      return { title, octets: altered, request: asBuilt(altered) };
    },
    statusServer() {
      const packet = sound({ code: CODES.statusServer });
      return { title: "Status-Server", octets: packet, request: asBuilt(packet) };
    },
  };
}

/** Whether a server that requires Message-Authenticator may answer; independent of the gateway's code. */
export function isValid(datagram: Uint8Array, secret: string): boolean {
  const length = (datagram[2] ?? 0) * 256 + (datagram[3] ?? 0);
  if (datagram.length < 20 || length < 20 || length > 4096 || length > datagram.length) return false;
  if (datagram[0] !== CODES.accessRequest && datagram[0] !== CODES.statusServer) return false;
  const packet = Uint8Array.from(datagram.subarray(0, length));
  const signatures: number[] = [];
  let at = 20;
  while (at < length) {
    const size = packet[at + 1] ?? 0;
    if (at + 2 > length || packet[at] === 0 || size < 2 || at + size > length) return false;
    if (packet[at] === 80) signatures.push(at);
    at += size;
  }
  const [place] = signatures;
  if (place === undefined || signatures.length > 1 || packet[place + 1] !== 18) return false;
  const given = packet.slice(place + 2, place + 18).toHex();
  packet.fill(0, place + 2, place + 18);
  return createHmac("md5", secret).update(packet).digest("hex") === given;
}
