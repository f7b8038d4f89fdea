// Rules for requests without Message-Authenticator. RFC 2865 §3 does not authenticate an Access-Request, so anyone can send one from any address.
// The limits use a token bucket per source address.

import type { Clock, Random } from "../../platform/runtime.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS, type PacketView } from "../protocol/packet.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { looksGarbled } from "../protocol/login_input.ts";
import type { Step } from "../protocol/steps.ts";
import type { Request } from "./request.ts";
import { parseIpv6 } from "../protocol/attributes.ts";

interface SourceRateOptions {
  /** Packets at once. */
  readonly burst: number;
  readonly perSecond: number;
  readonly maxSources?: number;
}

const MAX_SOURCES = 8192;
/** The interval of the search for buckets that are full again. */
const SWEEP_MS = 1000;
/** An IPv6 host chooses the last 64 bits of its address. */
const NETWORK_OCTETS = 8;

export class SourceRateLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #burst: number;
  readonly #perMs: number;
  readonly #places = new Map<string, number>();
  readonly #free: Uint16Array;
  #freeCount: number;
  /** Sources without their own place share place 0. */
  readonly #tokens: Float64Array;
  readonly #atMs: Float64Array;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(
    clock: Pick<Clock, "nowMs">,
    { burst, perSecond, maxSources = MAX_SOURCES }: SourceRateOptions,
  ) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perMs = perSecond / 1000;
    this.#tokens = new Float64Array(maxSources + 1).fill(burst);
    this.#atMs = new Float64Array(maxSources + 1).fill(clock.nowMs());
    this.#free = Uint16Array.from({ length: maxSources }, (_, at) => at + 1);
    this.#freeCount = maxSources;
  }

  /** Takes one token of the source's bucket; `false` if it is empty. */
  take(source: string): boolean {
    const nowMs = this.#clock.nowMs();
    const place = this.#placeOf(source, nowMs);
    this.#refill(place, nowMs);
    if ((this.#tokens[place] as number) < 1) return false;
    (this.#tokens[place] as number)--;
    return true;
  }

  /** Sources that have a bucket of their own. */
  get sources(): number {
    return this.#places.size;
  }

  #refill(place: number, nowMs: number): void {
    // A clock that was set back adds no tokens.
    const passedMs = Math.max(0, nowMs - (this.#atMs[place] as number));
    this.#tokens[place] = Math.min(this.#burst, (this.#tokens[place] as number) + passedMs * this.#perMs);
    this.#atMs[place] = nowMs;
  }

  #placeOf(source: string, nowMs: number): number {
    const key = networkOf(source);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#freeCount === 0 && nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs);
    if (this.#freeCount === 0) return 0;
    const place = this.#free[--this.#freeCount] as number;
    this.#tokens[place] = this.#burst;
    this.#atMs[place] = nowMs;
    this.#places.set(key, place);
    return place;
  }

  /** Removes full buckets, because they have the same effect as no bucket. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [key, place] of this.#places) {
      this.#refill(place, nowMs);
      if ((this.#tokens[place] as number) < this.#burst) continue;
      this.#places.delete(key);
      this.#free[this.#freeCount++] = place;
    }
  }
}

function networkOf(source: string): string {
  if (!source.includes(":")) return source;
  const octets = parseIpv6(source);
  return octets === null ? source : octets.subarray(0, NETWORK_OCTETS).toHex();
}

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const PAIRING: Step = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";

/**
 * Whether an answer must change nothing, because it does not prove that its sender knows the secret: it has neither a Message-Authenticator
 * nor a password. Exception: some clients continue a push with such an empty answer (docs/radius-clients.md). It is accepted while the login
 * waits for a phone, from the address that began the login.
 */
export function mustChangeNothing(
  request: Request,
  { source, at }: Pick<Conversation, "source" | "at">,
): boolean {
  return !request.hasProof && (request.source !== source || (at !== DEVICE && at !== PAIRING));
}

/** Requests that do not prove that their sender knows the secret, per source. Enough for a small site. */
const UNPROVEN_RATE = { burst: 100, perSecond: 50 };
/** Logins that begin with such a request, of all sources together, so that invented addresses cannot fill the table of conversations. */
const UNPROVEN_LOGIN_RATE = { burst: 2000, perSecond: 80, maxSources: 1 };
/** Logins that begin with an unsigned request whose password is readable, per source. */
const LOGIN_RATE = { burst: 1000, perSecond: 500 };

/** Limits per source address. */
export class UnsignedLimits {
  /** Requests that do not prove that their sender knows the secret. If any address is accepted, the server counts them on arrival. */
  readonly unproven: SourceRateLimit;
  readonly #unprovenLogins: SourceRateLimit;
  readonly #logins: SourceRateLimit;

  constructor(clock: Pick<Clock, "nowMs">) {
    this.unproven = new SourceRateLimit(clock, UNPROVEN_RATE);
    this.#unprovenLogins = new SourceRateLimit(clock, UNPROVEN_LOGIN_RATE);
    this.#logins = new SourceRateLimit(clock, LOGIN_RATE);
  }

  /** Whether a request may begin a login now. */
  mayBegin(request: Request, view: PacketView): boolean {
    if (request.signed || view.slots.state.count > 0) return true;
    if (request.hasProof) return this.#logins.take(request.source);
    if (!wasCounted(request) && !this.unproven.take(request.source)) return false;
    return this.#unprovenLogins.take("all sources");
  }

  /** Whether a Reject without a conversation may be sent now. */
  mayReject(request: Request): boolean {
    return request.signed || wasCounted(request) || this.unproven.take(request.source);
  }
}

function wasCounted({ client, hasProof }: Request): boolean {
  return client.anyAddress && !hasProof;
}

/** One mark per slot. An attacker needs about a million packets with garbled passwords to overwrite a certain mark. */
const SLOTS = 2 ** 20;

/** Finds garbled passwords in unsigned requests: their sender may not know the shared secret (RFC 2865 §5.2). */
export class GarbledPasswordCheck {
  /** The key is secret, so an attacker cannot choose a Request Authenticator that overwrites the mark of another one. */
  readonly #hmac: HmacMd5;
  readonly #digest = new Uint8Array(MD5_OCTETS);
  readonly #view = new DataView(this.#digest.buffer);
  #marks: Uint32Array | null = null;

  constructor({ random }: { random: Random }) {
    this.#hmac = createHmacMd5(random.bytes(32));
  }

  /**
   * Whether an unsigned request does not prove that its sender knows the secret: its password is garbled, or another password under the same
   * Request Authenticator was garbled. RFC 2865 §5.2 hides a password with a key stream that depends only on the secret and the Request
   * Authenticator. An attacker who tries many passwords under one Request Authenticator learns the key stream octet by octet, from which of
   * them were readable.
   *
   * @param password as revealed, not empty
   */
  isRefused(packet: Uint8Array, password: Uint8Array): boolean {
    const isGarbled = looksGarbled(password);
    if (this.#marks === null && !isGarbled) return false;
    this.#hmac.signInto(packet, AUTHENTICATOR_AT, AUTHENTICATOR_OCTETS, this.#digest, 0);
    const slot = this.#view.getUint32(0) % SLOTS;
    // Zero is an empty slot.
    const mark = (this.#view.getUint32(4) | 1) >>> 0;
    if (!isGarbled) return this.#marks?.[slot] === mark;
    this.#marks ??= new Uint32Array(SLOTS);
    this.#marks[slot] = mark;
    return true;
  }
}
