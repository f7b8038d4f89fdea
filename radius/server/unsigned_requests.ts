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
import { COMMAND } from "../../platform/command_name.ts";
import { usesTls } from "../../platform/client_settings.ts";
import type { ClientSettings } from "../../platform/config/config.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Client } from "./clients.ts";

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
    this.#free = new Uint16Array(maxSources).map((_, at) => at + 1);
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

// The source addresses that must sign under `message_authenticator = "auto"`, per client. An address that sent a signed Access-Request must sign
// from then on, even after a restart. An address whose unsigned logins succeeded recently is never required to sign.

/** The client and the source address of a request. */
interface SigningSource {
  readonly client: Pick<Client, "name">;
  readonly source: string;
}

/** Beyond this number, further addresses are not required to sign. */
const MAX_ADDRESSES = 10_000;
/** After a successful unsigned login, unsigned requests of its address stay accepted for this time. */
const UNSIGNED_RECENT_MS = 7 * DAY_MS;
/** The stored time may be older than the last such login by this much. */
const UNSIGNED_STALE_MS = DAY_MS / 2;

const keyOf = (name: string, source: string): Deno.KvKey => ["learnt", name, source];

interface SigningClientsDeps {
  readonly store: Store;
  readonly log: Log;
  readonly clock: Pick<Clock, "nowMs">;
}

export class SigningClients {
  readonly #deps: SigningClientsDeps;
  readonly #addresses = new AddressTable<true>();
  readonly #unsigned = new AddressTable<{ atMs: number; storedMs: number }>();
  /** Warnings that were written. */
  readonly #warned = new Set<string>();

  constructor(deps: SigningClientsDeps) {
    this.#deps = deps;
    deps.store.follow(["learnt"], (entry) => this.#applyLearnt(entry));
    deps.store.follow(["unsigned_login"], (entry) => this.#applyUnsigned(entry));
  }

  /** Clients with a learnt address. */
  get names(): ReadonlySet<string> {
    return new Set(this.#addresses.names());
  }

  /** Whether requests of this address must be signed. */
  requires({ client, source }: SigningSource): boolean {
    return this.#addresses.get(client.name, source) !== undefined;
  }

  /** Call this for a signed Access-Request without EAP-Message. */
  learn({ client: { name }, source }: SigningSource): void {
    if (this.#isUnsignedRecent(name, source)) {
      return this.#warnOnce(
        "this address sends signed and unsigned requests: unsigned requests stay accepted, because unsigned logins succeeded recently",
        { client: name, source },
      );
    }
    if (this.#addresses.size >= MAX_ADDRESSES) {
      return this.#warnOnce(
        'too many addresses sign their requests: Message-Authenticator is not required from further addresses; set message_authenticator = "require"',
        { client: name },
      );
    }
    this.#addresses.set(name, source, true);
    this.#deps.log.warn(
      "this address signs its requests: Message-Authenticator is required from it from now on",
      { client: name, source, forget: `${COMMAND} client forget ${name}` },
    );
    this.#record(name, [{ type: "set", key: keyOf(name, source), value: true }]);
  }

  /** Call this for an Access-Accept that answers an unsigned request. */
  noteUnsignedAccept({ client: { name }, source }: SigningSource): void {
    const atMs = this.#deps.clock.nowMs();
    const last = this.#unsigned.get(name, source);
    if (last !== undefined && atMs - last.storedMs < UNSIGNED_STALE_MS) {
      last.atMs = atMs;
      return;
    }
    if (last === undefined && this.#unsigned.size >= MAX_ADDRESSES) {
      this.#unsigned.removeWhere(({ atMs: then }) => atMs - then >= UNSIGNED_RECENT_MS);
      if (this.#unsigned.size >= MAX_ADDRESSES) return;
    }
    this.#unsigned.set(name, source, { atMs, storedMs: atMs });
    const key = ["unsigned_login", name, source];
    this.#record(name, [{ type: "set", key, value: atMs, expireInMs: UNSIGNED_RECENT_MS }]);
  }

  /** The addresses that must sign, sorted. */
  addressesOf(name: string): readonly string[] {
    return this.#addresses.sourcesOf(name).sort();
  }

  /** Removes all addresses of a client from the store. */
  forgetMutations(name: string): Mutation[] {
    return this.#addresses.sourcesOf(name).map((source) => ({ type: "delete", key: keyOf(name, source) }));
  }

  /** `false` if the client has no learnt address. */
  async forget(name: string): Promise<boolean> {
    const mutations = this.forgetMutations(name);
    const isKnown = this.#addresses.removeName(name);
    await this.#deps.store.commit({ mutations });
    return isKnown;
  }

  async load(): Promise<void> {
    const { store } = this.#deps;
    for await (const entry of store.list(["learnt"])) this.#applyLearnt(entry);
    for await (const entry of store.list(["unsigned_login"])) this.#applyUnsigned(entry);
  }

  /** Takes over a stored address: at the start, or after a change of another node. */
  #applyLearnt({ key: [, name, source], value }: StoreEntry<unknown>): void {
    if (typeof name !== "string" || typeof source !== "string") return;
    if (value === null) this.#addresses.remove(name, source);
    else this.#addresses.set(name, source, true);
  }

  #applyUnsigned({ key: [, name, source], value }: StoreEntry<unknown>): void {
    if (typeof name !== "string" || typeof source !== "string") return;
    if (typeof value === "number") this.#unsigned.set(name, source, { atMs: value, storedMs: value });
    else this.#unsigned.remove(name, source);
  }

  #record(client: string, mutations: Mutation[]): void {
    this.#deps.store.commit({ mutations }).catch((fault: unknown) =>
      this.#deps.log.error("the addresses of a client that sign could not be stored", {
        client,
        fault: String(fault),
      })
    );
  }

  #warnOnce(message: string, fields: Record<string, string>): void {
    const key = JSON.stringify([message, fields]);
    if (this.#warned.size >= MAX_ADDRESSES || this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#deps.log.warn(message, fields);
  }

  #isUnsignedRecent(name: string, source: string): boolean {
    const last = this.#unsigned.get(name, source);
    return last !== undefined && this.#deps.clock.nowMs() - last.atMs < UNSIGNED_RECENT_MS;
  }
}

/** Which requests of a client must be signed, by its settings and by the learnt addresses. */
export interface ClientSigning {
  /** `learnt`: requests from `addresses` must be signed; others are accepted unsigned. */
  readonly required: "always" | "learnt" | "never";
  /** At most 100. */
  readonly addresses: readonly string[];
  readonly count: number;
  /** Whether unsigned requests of the client are accepted from some of its addresses. */
  readonly acceptsUnsigned: boolean;
}

const MAX_SHOWN_ADDRESSES = 100;

export function clientSigning(
  client: Pick<
    ClientSettings,
    "name" | "address" | "messageAuthenticator" | "tlsSan" | "tlsFingerprint"
  >,
  signing: Pick<SigningClients, "addressesOf">,
): ClientSigning {
  const { name, address, messageAuthenticator } = client;
  // TLS protects each packet.
  const mode = usesTls(client) ? "require" : messageAuthenticator;
  if (mode === "require") return { required: "always", addresses: [], count: 0, acceptsUnsigned: false };
  if (mode === "off") return { required: "never", addresses: [], count: 0, acceptsUnsigned: true };
  const [only] = address;
  const isAlone = address.length === 1 && only !== undefined && !only.includes("/");
  const addresses = signing.addressesOf(name);
  return {
    required: "learnt",
    addresses: addresses.slice(0, MAX_SHOWN_ADDRESSES),
    count: addresses.length,
    acceptsUnsigned: !(isAlone && addresses.includes(only)),
  };
}

/** Values by client and source address. */
class AddressTable<V> {
  readonly #byName = new Map<string, Map<string, V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }
  names(): Iterable<string> {
    return this.#byName.keys();
  }
  sourcesOf(name: string): string[] {
    return [...this.#byName.get(name)?.keys() ?? []];
  }
  get(name: string, source: string): V | undefined {
    return this.#byName.get(name)?.get(source);
  }
  set(name: string, source: string, value: V): void {
    const values = this.#byName.get(name) ?? new Map<string, V>();
    if (!values.has(source)) this.#size++;
    values.set(source, value);
    this.#byName.set(name, values);
  }
  remove(name: string, source: string): void {
    const values = this.#byName.get(name);
    if (values?.delete(source)) this.#size--;
    if (values?.size === 0) this.#byName.delete(name);
  }
  removeName(name: string): boolean {
    this.#size -= this.#byName.get(name)?.size ?? 0;
    return this.#byName.delete(name);
  }
  removeWhere(isOver: (value: V) => boolean): void {
    for (const [name, values] of this.#byName) {
      for (const [source, value] of values) if (isOver(value) && values.delete(source)) this.#size--;
      if (values.size === 0) this.#byName.delete(name);
    }
  }
}
