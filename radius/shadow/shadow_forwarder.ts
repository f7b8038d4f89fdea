// Shadow mode: every Access-Request of a client goes to its present server, and the client gets the answer of that server. No second factor, no
// conversation, and no effect on users. Without an answer of the server there is none: this code never accepts a login by itself.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { bucketOf, TIME_BUCKETS } from "../conversation/login_record.ts";
import { tupleOf } from "../conversation/tuple.ts";
import type { FirstFactorReply } from "../ports.ts";
import { decodeText } from "../protocol/attributes.ts";
import { type ClearAttribute, readClearAttributes } from "../protocol/clear_attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { authMethodOf } from "../protocol/eap.ts";
import { isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import { authenticatorOf, HEADER_OCTETS, type PacketView } from "../protocol/packet.ts";
import type { Client, Clients } from "../server/clients.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import { isNoLogin, type Request } from "../server/request.ts";
import type { Responder } from "../server/responder.ts";
import {
  gapKey,
  NO_LOGIN,
  type ShadowDay,
  shadowKind,
  type ShadowLearner,
  type ShadowTraits,
} from "./shadow_learner.ts";

/** For `FirstFactorServers.exchange()`. */
interface ForwardedRequest {
  readonly client: string;
  readonly attributes: readonly ClearAttribute[];
  readonly server: string | undefined;
  readonly wait: { readonly waitMs: number; readonly onSent: (repeat: () => void) => void };
}

type ForwardOutcome = FirstFactorReply & { readonly kind: "answer" } | {
  readonly kind: "unavailable" | "busy";
};

export interface ShadowForwarderDeps {
  readonly clients: Pick<Clients, "all">;
  readonly exchange: (request: ForwardedRequest) => Promise<ForwardOutcome>;
  readonly learner: Pick<ShadowLearner, "addDay" | "addUser">;
  readonly responder: Pick<Responder, "forward" | "drop" | "refuse">;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request that waits for the present server. */
interface Pending {
  /** The newest copy of the packet, which gets the answer. */
  request: Request;
  /** The source, Identifier and Request Authenticator: what copies have in common. */
  readonly packet: string;
  /** Sends the request to the present server again. */
  repeat: () => void;
  /** The same for all tries of one request. */
  readonly key: string;
  readonly traits: Omit<ShadowTraits, "isNamed">;
}

/** The present server may wait for a person, as this gateway does. No client waits longer. */
const MAX_WAIT_MS = 120_000;
const MAX_IN_PROGRESS = 10_000;
/** Logins that began at one of several servers stay there for as long. Their number is bounded, too. */
const PIN_MS = 10 * 60_000;
const MAX_PINS = 20_000;

const USER_NAME = typeOf("User-Name");
const CHAP_CHALLENGE = typeOf("CHAP-Challenge");
const STATE = typeOf("State");
/** Each hop has its own. */
const OF_HOP: ReadonlySet<number> = new Set([typeOf("Message-Authenticator"), typeOf("Proxy-State")]);

export class ShadowForwarder {
  readonly #deps: ShadowForwarderDeps;
  /** By the serial number of the duplicate slot. */
  readonly #pending = new Map<number, Pending>();
  readonly #packets = new Map<string, Pending>();
  readonly #tries = new RequestTries();
  /** The server that sent a State, by client and State; oldest first. */
  readonly #pins = new Map<string, { readonly server: string; readonly untilMs: number }>();

  constructor(deps: ShadowForwarderDeps) {
    this.#deps = deps;
  }

  /** Requests in progress. */
  get working(): number {
    return this.#pending.size;
  }

  /** Forwards an Access-Request of a client in shadow mode. `view` is only read before the first wait. */
  forward(request: Request, view: PacketView): void {
    const { responder, counters, clock } = this.#deps;
    counters.count("requests");
    counters.count("shadow_requests");
    const packet = packetOf(request);
    const waiting = this.#packets.get(packet);
    if (waiting !== undefined) return this.#takeCopy(waiting, request);
    if (this.#pending.size >= MAX_IN_PROGRESS) return responder.drop(request, "too_busy");
    const attributes = upstreamAttributes(request, view);
    if (attributes === null) return responder.refuse(request, "bad_password_length");
    const state = view.value("state");
    const stateHex = state === null ? "" : state.toHex();
    const pending: Pending = {
      ...{ request, packet, repeat: () => {} },
      key: `${stateHex} ${tupleOf(view, request.client.name, request.user).key}`,
      traits: {
        method: isNoLogin(view, request.name) ? NO_LOGIN : authMethodOf(view),
        isPrompted: state !== null,
        isSigned: request.signed,
      },
    };
    this.#pending.set(request.slot.serial, pending);
    this.#packets.set(packet, pending);
    this.#tries.begin(pending.key, clock.nowMs());
    void this.#exchange(pending, { attributes, stateHex });
  }

  /** A packet arrived again while it waits for the present server. */
  noteCopy({ serial }: Pick<Request["slot"], "serial">): void {
    const pending = this.#pending.get(serial);
    if (pending === undefined) return;
    this.#tries.again(pending.key, this.#deps.clock.nowMs());
    pending.repeat();
  }

  /** A copy came after the duplicate cache forgot its packet. For the present server, it is the same login. */
  #takeCopy(pending: Pending, request: Request): void {
    const { slot } = pending.request;
    this.#deps.responder.drop(pending.request, "overtaken", { keepSlot: true });
    this.#pending.delete(slot.serial);
    this.#pending.set(request.slot.serial, pending);
    pending.request = request;
    this.noteCopy(request.slot);
  }

  async #exchange(
    pending: Pending,
    { attributes, stateHex }: { attributes: readonly ClearAttribute[]; stateHex: string },
  ): Promise<void> {
    const { exchange, clock, log } = this.#deps;
    const client = pending.request.client.name;
    const server = stateHex === "" ? undefined : this.#pinnedServer(`${client} ${stateHex}`);
    const onSent = (repeat: () => void) => void (pending.repeat = repeat);
    const asked = { client, attributes, server, wait: { waitMs: MAX_WAIT_MS, onSent } };
    const outcome = await exchange(asked).catch((fault: unknown): ForwardOutcome => {
      log.error("a request could not be forwarded", { client, fault: String(fault) });
      return { kind: "unavailable" };
    });
    const { request } = pending;
    this.#pending.delete(request.slot.serial);
    this.#packets.delete(pending.packet);
    const isAnswered = outcome.kind === "answer";
    const figures = this.#tries.end(pending.key, { nowMs: clock.nowMs(), isAnswered });
    if (outcome.kind === "answer") this.#answer(request, { pending, outcome });
    else this.#leave(request, outcome.kind);
    if (figures !== null) this.#deps.learner.addDay(client, figures);
  }

  #answer(
    request: Request,
    { pending, outcome }: { pending: Pending; outcome: FirstFactorReply },
  ): void {
    const { responder } = this.#deps;
    const clear = outcome.attributes.filter(({ type }) => !OF_HOP.has(type));
    this.#learn(request, { pending, outcome });
    // The client was moved over meanwhile: its next packet is a login with a second factor. A Reject is right in both modes.
    if (outcome.code !== "Access-Reject" && !this.#isShadow(request.client.name)) {
      return responder.drop(request, "overtaken");
    }
    if (outcome.code === "Access-Challenge") this.#pin(request.client, outcome);
    responder.forward(request, { name: outcome.code, clear });
  }

  #leave(request: Request, kind: "unavailable" | "busy"): void {
    const { responder, counters, learner } = this.#deps;
    counters.count("shadow_unanswered");
    learner.addDay(request.client.name, { unanswered: 1 });
    responder.drop(request, kind === "busy" ? "first_factor_busy" : "first_factor_silent");
  }

  #isShadow(name: string): boolean {
    return this.#deps.clients.all.find((client) => client.name === name)?.settings.mode === "shadow";
  }

  #learn(
    request: Request,
    { pending, outcome }: { pending: Pending; outcome: FirstFactorReply },
  ): void {
    const { learner, clock } = this.#deps;
    const { client: { name: client, settings }, receivedMs } = request;
    const nowMs = clock.nowMs();
    if (outcome.code === "Access-Challenge") return learner.addDay(client, { challenged: 1 });
    const tookMs = Math.max(0, nowMs - receivedMs);
    const times = new Array<number>(TIME_BUCKETS).fill(0);
    times[bucketOf(tookMs)] = 1;
    if (outcome.code === "Access-Reject") {
      return learner.addDay(client, { rejected: 1, times, maxMs: tookMs });
    }
    const named = outcome.attributes.find(({ type, value }) => type === USER_NAME && value.length > 0);
    const kind = shadowKind({ ...pending.traits, isNamed: named !== undefined });
    learner.addDay(client, { accepted: 1, times, maxMs: tookMs, kinds: { [kind]: 1 } });
    if (pending.traits.method === NO_LOGIN) return;
    const shown = named === undefined ? request.userName : stripUserName(decodeText(named.value), settings);
    if (shown === "" || isRefusedUserName(shown)) return learner.addDay(client, { unrecorded: 1 });
    const user = canonicalName(shown);
    learner.addUser({ client, user, shown, firstMs: nowMs, lastMs: nowMs, kinds: { [kind]: 1 } });
  }

  #pinnedServer(key: string): string | undefined {
    const pin = this.#pins.get(key);
    return pin !== undefined && pin.untilMs > this.#deps.clock.nowMs() ? pin.server : undefined;
  }

  /** With one server, there is nothing to remember. */
  #pin(
    { name, settings: { firstFactorServer } }: Pick<Client, "name" | "settings">,
    { attributes, server }: FirstFactorReply,
  ): void {
    const state = attributes.find(({ type }) => type === STATE);
    if (state === undefined || (firstFactorServer?.address.length ?? 0) < 2) return;
    const nowMs = this.#deps.clock.nowMs();
    for (const [key, { untilMs }] of this.#pins) {
      if (untilMs > nowMs && this.#pins.size < MAX_PINS) break;
      this.#pins.delete(key);
    }
    this.#pins.set(`${name} ${state.value.toHex()}`, { server, untilMs: nowMs + PIN_MS });
  }
}

function packetOf({ sender: { socket, hostname, port }, octets }: Request): string {
  return `${socket} ${hostname} ${port} ${octets.subarray(1, HEADER_OCTETS).toHex()}`;
}

/** The attributes for the present server; `null` if a hidden value is malformed. */
function upstreamAttributes({ client, octets }: Request, view: PacketView): ClearAttribute[] | null {
  const authenticator = authenticatorOf(octets);
  const read = readClearAttributes(octets, { secret: client.secret, authenticator });
  if (!read.ok) return null;
  const own = read.value.filter(({ type }) => !OF_HOP.has(type));
  const hasChallenge = own.some(({ type }) => type === CHAP_CHALLENGE);
  // RFC 2865 §5.40: without the attribute, the Request Authenticator is the challenge, and the forwarded request has another one.
  return view.slots.chapPassword.count === 0 || hasChallenge
    ? own
    : [...own, { type: CHAP_CHALLENGE, value: authenticator.slice() }];
}

// How a client repeats a request while the present server has not answered: retransmissions, and the same login in a new packet (RFC 5080 §2.2.1).
// From the times follows how long the client waits.

/** The tries of one request. */
interface Series {
  /** Packets that wait for an answer. */
  open: number;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  readonly gapsMs: number[];
}

/** The part of a day that the tries of a request add. */
export type TryFigures = Pick<ShadowDay, "gaps" | "tries" | "gaveUp" | "patienceMs" | "quietMs">;

/** Tries of one request whose times are counted. */
const MAX_GAPS = 32;
/** A client that is this much later than its usual gap does not try again. */
const LATE_FACTOR = 1.5;
const LATE_MS = 500;

export class RequestTries {
  readonly #series = new Map<string, Series>();

  /** A packet arrived. @param key the same for all packets of one request */
  begin(key: string, nowMs: number): void {
    const known = this.#series.get(key);
    if (known === undefined) {
      this.#series.set(key, { open: 1, count: 1, firstMs: nowMs, lastMs: nowMs, gapsMs: [] });
      return;
    }
    known.open++;
    repeat(known, nowMs);
  }

  /** A packet arrived again. */
  again(key: string, nowMs: number): void {
    const known = this.#series.get(key);
    if (known !== undefined) repeat(known, nowMs);
  }

  /**
   * A packet was answered, or its time is over. Call it once for each packet.
   *
   * @returns what is learnt; `null` while another packet of the request waits
   */
  end(key: string, { nowMs, isAnswered }: { nowMs: number; isAnswered: boolean }): TryFigures | null {
    const series = this.#series.get(key);
    if (series === undefined || --series.open > 0) return null;
    this.#series.delete(key);
    return figuresOf(series, { nowMs, isAnswered });
  }

  get size(): number {
    return this.#series.size;
  }
}

function repeat(series: Series, nowMs: number): void {
  if (series.gapsMs.length < MAX_GAPS) series.gapsMs.push(Math.max(0, nowMs - series.lastMs));
  series.count++;
  series.lastMs = nowMs;
}

function figuresOf(
  { count, firstMs, lastMs, gapsMs }: Series,
  { nowMs, isAnswered }: { nowMs: number; isAnswered: boolean },
): TryFigures {
  const gaps: Record<string, number> = {};
  for (const gapMs of gapsMs) {
    const key = gapKey(gapMs);
    if (key !== null) gaps[key] = (gaps[key] ?? 0) + 1;
  }
  const lastGapMs = gapsMs.at(-1) ?? 0;
  const hasStopped = count > 1 && nowMs - lastMs > lastGapMs * LATE_FACTOR + LATE_MS;
  return {
    ...{ gaps, tries: count },
    ...hasStopped ? { gaveUp: 1, patienceMs: lastMs - firstMs + lastGapMs } : { gaveUp: 0, patienceMs: 0 },
    quietMs: isAnswered && count === 1 ? Math.max(0, nowMs - firstMs) : 0,
  };
}
