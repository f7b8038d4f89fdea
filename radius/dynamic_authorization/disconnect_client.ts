// Sends Disconnect-Requests (RFC 5176 §2.1): one socket for each call, retransmissions (RFC 5080 §2.2.1), and a limit of calls for each client.

import type { Log } from "../../platform/log.ts";
import { type CancelTimer, type Clock, pauseFor, type Random } from "../../platform/runtime.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { encodeInteger, readInteger } from "../protocol/attributes.ts";
import { findMessageAuthenticator, SharedSecret } from "../protocol/authenticity.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { errorCause } from "../protocol/error_causes.ts";
import {
  authenticatorOf,
  forEachAttribute,
  HEADER_OCTETS,
  MAX_PACKET_OCTETS,
  PACKET_CODES,
  PacketWriter,
} from "../protocol/packet.ts";
import { type Identification, selectIdentification } from "../accounting/session.ts";
import { normalAddress } from "../server/clients.ts";
import type { DisconnectStream } from "../server/radsec.ts";
import type { DatagramSocket } from "../server/server.ts";

export interface DisconnectClientDeps {
  /** Opens a datagram socket on a free port. */
  readonly open: (hostname: string) => DatagramSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A session to end, and the address that ends it. */
export interface DisconnectCall {
  /** The name of the client entry. */
  readonly client: string;
  readonly hostname: string;
  readonly port: number;
  readonly secret: string;
  /** The attributes that identify the session, encoded. */
  readonly attributes: Uint8Array;
  /** The TLS connection of the client, in place of the address, the port and the secret. */
  readonly stream?: DisconnectStream;
}

/** `busy`: too many calls wait; nothing was sent. */
type DisconnectOutcome = DisconnectAnswer | { readonly kind: "no_answer" } | { readonly kind: "busy" };

/** RFC 5080 §2.2.1. */
const RETRANSMISSION = {
  irtMs: 2000,
  mrtMs: 16_000,
  /** Maximum retransmission count: copies after the first one. */
  mrc: 5,
  /** Maximum retransmission duration. */
  mrdMs: 30_000,
  /** RT is changed by at most this part of it. */
  rand: 0.1,
} as const;

/** The waits after each copy, in order. Their sum is at most MRD. @param random a number from -1 to 1 */
export function* retransmissionTimes(random: () => number): Generator<number> {
  const { irtMs, mrtMs, mrc, mrdMs, rand } = RETRANSMISSION;
  let leftMs: number = mrdMs;
  let rtMs = irtMs + rand * random() * irtMs;
  for (let copy = 0; copy <= mrc && leftMs > 0; copy++) {
    if (rtMs > mrtMs) rtMs = mrtMs + rand * random() * mrtMs;
    yield Math.min(rtMs, leftMs);
    leftMs -= rtMs;
    rtMs = 2 * rtMs + rand * random() * rtMs;
  }
}

/** Calls of one client at the same time, and those that wait. A call ends within two MRDs. */
const MAX_CALLS_PER_CLIENT = 4;
const MAX_WAITING_PER_CLIENT = 200;
/** Calls of all clients at the same time; each has a socket. */
const MAX_CALLS = 32;
const MAX_WAITING = 1000;

export class DisconnectClient {
  readonly #deps: DisconnectClientDeps;
  readonly #all: Semaphore;
  readonly #ofClient = new Map<string, Semaphore>();
  readonly #stops = new Set<() => void>();
  #isOpen = true;

  constructor(deps: DisconnectClientDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#all = new Semaphore({ clock, limits: { concurrent: MAX_CALLS, waiting: MAX_WAITING } });
  }

  /** Asks the client to end a session. Asks once more, with more or fewer attributes, if its answer wants that. Never rejects. */
  async disconnect(call: DisconnectCall): Promise<DisconnectOutcome> {
    const own = this.#limitOf(call.client);
    const done = await own.run(() => this.#all.run(() => this.#ask(call)));
    if (own.running + own.waiting === 0) this.#ofClient.delete(call.client);
    return done.ran && done.value.ran ? done.value.value : { kind: "busy" };
  }

  /** Ends the calls in progress without an answer. */
  close(): void {
    this.#isOpen = false;
    for (const stop of this.#stops) stop();
  }

  #limitOf(client: string): Semaphore {
    const known = this.#ofClient.get(client);
    if (known !== undefined) return known;
    const limits = { concurrent: MAX_CALLS_PER_CLIENT, waiting: MAX_WAITING_PER_CLIENT };
    const limit = new Semaphore({ clock: this.#deps.clock, limits });
    this.#ofClient.set(client, limit);
    return limit;
  }

  async #ask(call: DisconnectCall): Promise<DisconnectOutcome> {
    const first = await this.#exchange(call, "always");
    const cause = first.kind === "refused" ? errorCause(first.errorCause) : null;
    if (cause?.wantsMore !== true && cause?.wantsLess !== true) return first;
    const second = await this.#exchange(call, cause.wantsLess === true ? "least" : "asked");
    // The first refusal says more than a missing answer.
    return second.kind === "no_answer" ? first : second;
  }

  async #exchange(call: DisconnectCall, use: Identification): Promise<DisconnectOutcome> {
    const { clock, random, log } = this.#deps;
    if (!this.#isOpen) return { kind: "no_answer" };
    if (call.stream !== undefined) return await exchangeOver(call.stream, { call, use, atMs: clock.nowMs() });
    const secret = new SharedSecret(call.secret);
    const [identifier = 0] = random.bytes(1);
    const { attributes } = call;
    const request = writeDisconnectRequest({ identifier, attributes, use, atMs: clock.nowMs(), secret });
    try {
      return await new Exchange(this.#deps, { call, request, secret, stops: this.#stops }).run();
    } catch (fault) {
      log.warn("a Disconnect-Request could not be sent", { ...placeOf(call), fault: String(fault) });
      return { kind: "no_answer" };
    }
  }
}

/** RFC 6614 §2.5. TCP repeats what is lost, so there is one copy. */
async function exchangeOver(
  stream: DisconnectStream,
  { call: { attributes }, use, atMs }: { call: DisconnectCall; use: Identification; atMs: number },
): Promise<DisconnectOutcome> {
  const { secret } = stream;
  const done = await stream.exchange((identifier) =>
    writeDisconnectRequest({ identifier, attributes, use, atMs, secret })
  );
  const answer = done === null ? null : readDisconnectAnswer(done.answer, { request: done.request, secret });
  return answer ?? { kind: "no_answer" };
}

const placeOf = ({ client, hostname, port }: DisconnectCall) => ({ client, address: hostname, port });

interface ExchangeParts {
  readonly call: DisconnectCall;
  readonly request: Uint8Array;
  readonly secret: SharedSecret;
  /** Where the exchange registers the function that stops it. */
  readonly stops: Set<() => void>;
}

/** Datagrams of other senders that one exchange reads. After that, it hears no answer. */
const MAX_DATAGRAMS = 1000;

/** One request with its copies, until an answer or the end of the last wait. */
class Exchange {
  readonly #deps: DisconnectClientDeps;
  readonly #parts: ExchangeParts;
  readonly #socket: DatagramSocket;
  readonly #done = Promise.withResolvers<DisconnectOutcome>();
  #isOpen = true;
  #cancel: CancelTimer = () => {};

  constructor(deps: DisconnectClientDeps, parts: ExchangeParts) {
    this.#deps = deps;
    this.#parts = parts;
    this.#socket = deps.open(parts.call.hostname.includes(":") ? "::" : "0.0.0.0");
  }

  async run(): Promise<DisconnectOutcome> {
    const { stops } = this.#parts;
    const stop = (): void => this.#done.resolve({ kind: "no_answer" });
    stops.add(stop);
    void this.#receiveAll();
    this.#send(retransmissionTimes(() => this.#fraction()));
    try {
      return await this.#done.promise;
    } finally {
      stops.delete(stop);
      this.#isOpen = false;
      this.#cancel();
      this.#socket.close();
    }
  }

  /** RFC 5080 §2.2.1: RAND, from -1 to 1 here. */
  #fraction(): number {
    const [high = 0, low = 0] = this.#deps.random.bytes(2);
    return (high * 256 + low) / 32_767.5 - 1;
  }

  #send(waits: Iterator<number>): void {
    const { call, request } = this.#parts;
    const next = waits.next();
    if (next.done === true) return this.#done.resolve({ kind: "no_answer" });
    const { hostname, port } = call;
    this.#socket.send(request, { transport: "udp", hostname, port }).catch((fault: unknown) => {
      if (this.#isOpen) {
        this.#deps.log.debug("a Disconnect-Request could not be sent", {
          ...placeOf(call),
          fault: String(fault),
        });
      }
    });
    this.#cancel = this.#deps.clock.after(next.value, () => this.#send(waits));
  }

  async #receiveAll(): Promise<void> {
    const buffer = new Uint8Array(MAX_PACKET_OCTETS);
    for (let count = 0; count < MAX_DATAGRAMS && this.#isOpen; count++) {
      try {
        const [octets, from] = await this.#socket.receive(buffer);
        const answer = this.#read(octets, from);
        if (answer !== null) return this.#done.resolve(answer);
      } catch (_closedOrRefused) {
        if (!this.#isOpen) return;
        // Some hosts report "Connection refused" here. The request continues until its deadline.
        await pauseFor(this.#deps.clock, 100);
      }
    }
  }

  #read(octets: Uint8Array, from: Deno.Addr): DisconnectAnswer | null {
    const { call } = this.#parts;
    if (from.transport !== "udp") return null;
    const source = normalAddress(from.hostname);
    if (source !== normalAddress(call.hostname) || from.port !== call.port) return null;
    return readDisconnectAnswer(octets, this.#parts);
  }
}

// Disconnect-Requests and their answers as octets (RFC 5176): the attributes that identify a session, the signed request, and the check of an
// answer. Pure.

const writer = new PacketWriter();

/**
 * A signed Disconnect-Request without Proxy-State.
 *
 * @param attributes the identification attributes of the session, encoded
 * @param use `least`: those that every NAS knows, without a time; `always`: more, `asked`: all
 */
export function writeDisconnectRequest(
  { identifier, attributes, use, atMs, secret }: {
    identifier: number;
    attributes: Uint8Array;
    use: Identification;
    atMs: number;
    secret: SharedSecret;
  },
): Uint8Array<ArrayBuffer> {
  secret.beginSigned(writer, PACKET_CODES["Disconnect-Request"].code, identifier);
  writer.raw(selectIdentification(attributes, use));
  // RFC 5176 §6.3: the NAS refuses an old copy of the request by this time.
  if (use !== "least") writer.attribute(typeOf("Event-Timestamp"), encodeInteger(Math.floor(atMs / 1000)));
  return secret.signDisconnectRequest(writer);
}

/** The result of one request. `errorCause`: RFC 5176 §3.5; `null`: the NAS sent none. */
type DisconnectAnswer =
  | { readonly kind: "acked" }
  | { readonly kind: "refused"; readonly errorCause: number | null };

/**
 * Reads the answer to a Disconnect-Request (RFC 5176 §2.3). The caller compares the source address.
 *
 * @param octets a datagram of any content
 * @returns `null`: it is no valid answer to this request, and must be ignored
 */
export function readDisconnectAnswer(
  octets: Uint8Array,
  { request, secret }: { request: Uint8Array; secret: SharedSecret },
): DisconnectAnswer | null {
  if (octets.length < HEADER_OCTETS || octets[1] !== request[1]) return null;
  const length = ((octets[2] as number) << 8) | (octets[3] as number);
  if (length < HEADER_OCTETS || length > octets.length) return null;
  const code = octets[0];
  if (code !== PACKET_CODES["Disconnect-ACK"].code && code !== PACKET_CODES["Disconnect-NAK"].code) {
    return null;
  }
  const answer = octets.slice(0, length);
  const authenticator = authenticatorOf(request);
  if (!isWellFormed(answer) || !secret.isAnswerTo(answer, authenticator)) return null;
  const signature = findMessageAuthenticator(answer);
  if (
    signature !== null && !secret.isAuthentic(answer, { ...signature, lengthOctets: length }, authenticator)
  ) {
    return null;
  }
  if (code === PACKET_CODES["Disconnect-ACK"].code) return { kind: "acked" };
  return { kind: "refused", errorCause: errorCauseOf(answer) };
}

/** Whether the attributes fill the packet exactly. */
function isWellFormed(packet: Uint8Array): boolean {
  let end = HEADER_OCTETS;
  forEachAttribute(packet, packet.length, (_type, at, valueOctets) => end = at + valueOctets);
  return end === packet.length;
}

function errorCauseOf(packet: Uint8Array): number | null {
  let found: number | null = null;
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    if (type === typeOf("Error-Cause") && valueOctets === 4) {
      found ??= readInteger(packet, at);
    }
  });
  return found;
}
