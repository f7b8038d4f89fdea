// A minimal RADIUS server in the process of the test, for tests of clients, proxies and the reply checker: it
// challenges once, then accepts one code. It uses the packets of the tests.

import { Buffer } from "node:buffer";
import { createHash, createHmac } from "node:crypto";
import { hidePassword } from "./radius_packets.ts";

/** Its behaviour. */
export interface ChallengeServerOptions {
  readonly secret: string;
  /** The answer to the challenge that is accepted. */
  readonly code: string;
  /** `false`: no challenge; the code is the password of the first request, as for a server that checks PAP. */
  readonly challenges?: boolean;
  readonly prompt?: string;
  /** The number of requests without an answer before the first one is answered. */
  readonly deafFor?: number;
}

/** A running server. */
export interface ChallengeServer extends Disposable {
  readonly port: number;
  /** Every datagram that arrived. */
  readonly received: readonly Uint8Array[];
}

const STATE = new TextEncoder().encode("AWAIT_CODE");

/** Starts it on a free port of the loopback interface. */
export function startChallengeServer(options: ChallengeServerOptions): ChallengeServer {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const received: Uint8Array[] = [];
  const loop = async () => {
    for (;;) {
      try {
        const [bytes, from] = await socket.receive(new Uint8Array(4200));
        received.push(bytes.slice());
        if (received.length > (options.deafFor ?? 0)) await socket.send(answer(bytes, options), from);
      } catch (fault) {
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void loop();
  return {
    port: (socket.addr as Deno.NetAddr).port,
    received,
    [Symbol.dispose]: () => socket.close(),
  };
}

function answer(request: Uint8Array, options: ChallengeServerOptions): Uint8Array {
  const attributes = split(request);
  if (request[0] === 12) return reply(request, 2, [], options.secret);
  const state = attributes.find(([type]) => type === 24);
  if (state === undefined && options.challenges !== false) {
    const prompt = new TextEncoder().encode(options.prompt ?? "Enter the code: ");
    return reply(request, 11, [[18, prompt], [24, STATE]], options.secret);
  }
  const expected = hidePassword(new TextEncoder().encode(options.code), {
    secret: options.secret,
    authenticator: request.slice(4, 20),
  });
  const given = attributes.find(([type]) => type === 2)?.[1] ?? new Uint8Array(0);
  const right = Buffer.from(expected).equals(Buffer.from(given));
  const words = new TextEncoder().encode(right ? "Welcome." : "That code does not match.");
  return reply(request, right ? 2 : 3, [[18, words]], options.secret);
}

function split(packet: Uint8Array): [type: number, value: Uint8Array][] {
  const list: [number, Uint8Array][] = [];
  const end = Math.min(packet.length, (packet[2] ?? 0) * 256 + (packet[3] ?? 0));
  for (let at = 20; at + 2 <= end;) {
    const length = packet[at + 1] ?? 0;
    if (length < 2) break;
    list.push([packet[at] ?? 0, packet.slice(at + 2, at + length)]);
    at += length;
  }
  return list;
}

function reply(
  request: Uint8Array,
  code: number,
  attributes: [type: number, value: Uint8Array][],
  secret: string,
): Uint8Array {
  const copies = split(request).filter(([type]) => type === 33);
  const all: [number, Uint8Array][] = [[80, new Uint8Array(16)], ...attributes, ...copies];
  const length = all.reduce((sum, [, value]) => sum + 2 + value.length, 20);
  const bytes = new Uint8Array(length);
  bytes.set([code, request[1] ?? 0, length >> 8, length & 0xff]);
  bytes.set(request.slice(4, 20), 4);
  let at = 20;
  for (const [type, value] of all) {
    bytes.set([type, value.length + 2, ...value], at);
    at += value.length + 2;
  }
  bytes.set(createHmac("md5", secret).update(bytes).digest(), 22);
  bytes.set(createHash("md5").update(bytes).update(secret).digest(), 4);
  return bytes;
}
