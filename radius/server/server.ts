// The RADIUS server: one loop and one receive buffer per UDP socket, and the packets of TLS connections, with the packet gate, the duplicate
// cache and Status-Server.

import type { Log } from "../../platform/log.ts";
import { type Clock, pauseFor } from "../../platform/runtime.ts";
import { STORE_SILENT_MS } from "../../platform/store.ts";
import {
  AUTHENTICATOR_AT,
  BufferArena,
  MAX_PASSWORD_OCTETS,
  PACKET_CODES,
  PacketView,
} from "../protocol/packet.ts";
import { looksGarbled } from "../protocol/login_input.ts";
import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";
import { findMessageAuthenticator } from "../protocol/authenticity.ts";
import { writeUnsupported } from "../protocol/radius_tls.ts";
import type { AccountingHandler } from "../accounting/accounting_handler.ts";
import { type Client, type Clients, nasRuleOf, normalAddress } from "./clients.ts";
import { type Counters, type FoldedLog, LogLimit } from "./gateway_monitor.ts";
import { DuplicateCache, type DuplicateSlot, type PacketPlace } from "./duplicate_cache.ts";
import type { ClientDiscovery } from "./client_discovery.ts";
import type { SigningClients, SourceRateLimit } from "./unsigned_requests.ts";
import type { RequestHandler } from "../conversation/receive.ts";
import type { GatewayEvent } from "../ports.ts";
import type { PacketCapture } from "./packet_capture.ts";
import { writeAccountingResponse, writeReply } from "./reply_encoder.ts";
import type { CatchUpQueue } from "../conversation/waiting_packets.ts";
import { type PacketStream, readView, type Request, type RequestServer, UserNames } from "./request.ts";

/** The used part of a Deno datagram socket. */
export interface DatagramSocket {
  receive(buffer: Uint8Array): Promise<[Uint8Array, Deno.Addr]>;
  send(octets: Uint8Array, to: Deno.NetAddr): Promise<number>;
  close(): void;
}

interface RadiusServerDeps {
  readonly clients: Clients;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly emit: (event: GatewayEvent) => void;
  readonly packets: PacketCapture;
  readonly folded: FoldedLog;
  /** Limits packets that do not prove that their sender knows the secret, if any client address is accepted. */
  readonly unproven: SourceRateLimit;
  readonly discovery?: ClientDiscovery;
  /** When the store last answered, for Status-Server. */
  readonly storeAnsweredMs: () => number;
  readonly signingClients: Pick<SigningClients, "requires" | "learn" | "noteUnsignedAccept">;
  /** Packets wait here until this node knows what other nodes recorded; `null` if no other node can use the store. */
  readonly catchUp: CatchUpQueue | null;
  readonly handler: RequestHandler;
  readonly accounting: AccountingHandler;
}

const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCESS_ACCEPT = PACKET_CODES["Access-Accept"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
const STATUS_SERVER = PACKET_CODES["Status-Server"].code;
/** Accounting has its own duplicate cache, so that a flood of accounting never removes the answers of logins. */
const ACCOUNTING_DUPLICATES = { slots: 16_384, octets: 8 * 1024 * 1024 };
const RECEIVE_OCTETS = 65_535;
/** With a millisecond of pause after each: a socket that fails for seconds. */
const MAX_FAILURES = 2000;
/** A place of the duplicate cache is a port and an Identifier in 31 bits. */
const PLACE_MASK = 0x7fffff;
/** RFC 6613 §2.6.4: a connection with such a packet is out of step, or its client has another idea of the protocol. */
const CLOSING_REASONS: ReadonlySet<DropReason> = new Set([
  "malformed_attribute",
  "wrong_message_authenticator",
  "wrong_request_authenticator",
]);

export class RadiusServer implements RequestServer {
  readonly #deps: RadiusServerDeps;
  readonly #gate: PacketGate;
  readonly #duplicates = new DuplicateCache();
  readonly #accountingDuplicates = new DuplicateCache(ACCOUNTING_DUPLICATES);
  readonly #arena = new BufferArena();
  readonly #userNames = new UserNames();
  readonly #sockets: DatagramSocket[] = [];
  /** Of each socket, how many calls of receive() failed in a row; `Infinity`: it is not read any more. */
  readonly #failures: number[] = [];
  readonly #dropLog: LogLimit;
  #isStopping = false;
  #nextPlace = 0;

  constructor(deps: RadiusServerDeps) {
    this.#deps = deps;
    this.#dropLog = new LogLimit(deps.clock);
    this.#gate = new PacketGate(deps);
  }

  /** Requests in progress, including accounting. */
  get working(): number {
    const { handler, accounting, catchUp } = this.#deps;
    return handler.working + accounting.working + (catchUp?.waiting ?? 0);
  }

  /** Whether every socket is read. */
  isReceiving(): boolean {
    return this.#isStopping || this.#failures.every((count) => count < MAX_FAILURES);
  }

  /** Serves a socket until it is closed; never rejects. The authentication port also answers accounting. */
  async serve(socket: DatagramSocket, service: ListenerService = "authentication"): Promise<void> {
    const { log, clock } = this.#deps;
    const listener = { socket: this.#sockets.push(socket) - 1, service };
    const buffer = new Uint8Array(RECEIVE_OCTETS);
    while (!this.#isStopping) {
      try {
        const [octets, from] = await socket.receive(buffer);
        this.#failures[listener.socket] = 0;
        if (from.transport === "udp") this.#receive(listener, octets, from);
      } catch (fault) {
        if (
          this.#isStopping || fault instanceof Deno.errors.BadResource ||
          fault instanceof Deno.errors.Interrupted
        ) {
          this.#failures[listener.socket] = Infinity;
          return;
        }
        this.#failures[listener.socket] = (this.#failures[listener.socket] ?? 0) + 1;
        // A fault of one datagram does not stop the server.
        log.error("a datagram could not be handled", { fault: String(fault) });
        await pauseFor(clock, 1);
      }
    }
  }

  /** Accepts no more requests, waits at most `deadlineMs` for those in progress, and closes the sockets. */
  async stop(deadlineMs: number): Promise<void> {
    const { clock, handler, accounting } = this.#deps;
    this.#isStopping = true;
    const end = clock.nowMs() + deadlineMs;
    await handler.drain(deadlineMs);
    while (accounting.working > 0 && clock.nowMs() < end) {
      await pauseFor(clock, 20);
    }
    for (const socket of this.#sockets) socket.close();
  }

  #receive(
    listener: { socket: number; service: ListenerService },
    octets: Uint8Array,
    from: Deno.NetAddr,
  ): void {
    const { clock, discovery, unproven, log } = this.#deps;
    // A high-resolution time costs as much as the check of a packet that is dropped.
    const startedAt = log.enabled("info") ? performance.now() : 0;
    const source = normalAddress(from.hostname);
    const reason = this.#gate.check(octets, source, from.port, listener.service);
    const { client, view } = this.#gate;
    if (reason !== null || client === null) return this.#drop(reason ?? "unknown_client", source, octets);
    client.use.packets++;
    client.use.lastMs = clock.nowMs();
    if (client.isPrevious) client.use.previousMs = client.use.lastMs;
    if (client.anyAddress) discovery?.record({ octets, source, reason: "any_address", client: null });
    if (view.code === ACCESS_REQUEST) this.#noteSignature(client, source);
    const isAccounting = view.code === ACCOUNTING_REQUEST;
    // The gate verified the Request Authenticator of an Accounting-Request.
    const { userPassword } = view.slots;
    const hasPassword = userPassword.count > 0 && userPassword.lengthOctets > 0;
    const hasProof = this.#gate.signed || isAccounting || hasPassword;
    // The source address may be forged, and its owner gets the reply, also to copies of the packet.
    if (client.anyAddress && !hasProof && !unproven.take(source)) {
      return this.#drop("rate_limited", source, octets);
    }
    const place = { socket: listener.socket, hostname: from.hostname, port: from.port, octets };
    const cache = isAccounting ? this.#accountingDuplicates : this.#duplicates;
    const known = cache.find(place, client.use.lastMs);
    if (known !== null) {
      if (client.settings.mode === "shadow") this.#deps.handler.noteCopy({ slot: known });
      const reply = this.#repeat(known, source);
      return reply === null ? undefined : this.#send(place, reply);
    }
    if (this.#isStopping) return;
    const request = this.#createRequest(client, { place, cache, hasProof, source, startedAt, stream: null });
    if (view.code !== ACCESS_REQUEST && !isAccounting) this.#answerStatus(request, listener.service);
    else if (this.#deps.catchUp === null) this.#dispatch(request, view);
    else this.#dispatchLater(this.#deps.catchUp, request);
  }

  /**
   * Handles a packet of a TLS connection (RFC 6614, RFC 9765), whose client is known. The packet is copied.
   *
   * @returns why the connection must be closed, or `null`.
   */
  receiveFrom(stream: PacketStream, octets: Uint8Array): DropReason | null {
    const { clock, log, catchUp } = this.#deps;
    const startedAt = log.enabled("info") ? performance.now() : 0;
    const { client, source } = stream;
    const { isClear } = client.secret;
    const reason = this.#gate.checkStream(octets, client);
    if (reason !== null) return this.#refuseFrom(stream, reason, octets);
    const { view } = this.#gate;
    client.use.packets++;
    client.use.lastMs = clock.nowMs();
    const isAccounting = view.code === ACCOUNTING_REQUEST;
    const cache = isAccounting ? this.#accountingDuplicates : this.#duplicates;
    // RFC 9765 §4.2.2: the packets of RADIUS/1.1 over TLS are not compared with earlier ones, so each has its own place.
    const port = isClear ? this.#nextPlace++ & PLACE_MASK : 0;
    const place = { socket: stream.number, hostname: source, port, octets };
    const known = isClear ? null : cache.find(place, client.use.lastMs);
    if (known !== null) {
      const reply = this.#repeat(known, source);
      if (reply !== null) stream.send(reply);
      return null;
    }
    if (this.#isStopping) return null;
    const request = this.#createRequest(client, { place, cache, hasProof: true, source, startedAt, stream });
    if (!stream.begin(request)) {
      this.release(request);
      this.#drop("too_busy", source, request.octets);
    } else if (view.code !== ACCESS_REQUEST && !isAccounting) this.#answerStatus(request, "authentication");
    else if (catchUp === null) this.#dispatch(request, view);
    else this.#dispatchLater(catchUp, request);
    return null;
  }

  #refuseFrom(stream: PacketStream, reason: DropReason, octets: Uint8Array): DropReason | null {
    this.#drop(reason, stream.source, octets);
    const reply = reason === "code_not_served" ? writeUnsupported(octets, stream.client.secret) : null;
    if (reply !== null) stream.send(reply);
    return CLOSING_REASONS.has(reason) ? reason : null;
  }

  /** Counts a copy of a packet. Returns the reply to send again; `null` while there is none. */
  #repeat(known: DuplicateSlot, source: string): Uint8Array | null {
    this.#deps.counters.count("duplicates");
    if (known.recorded !== null) known.recorded.copies++;
    const { reply } = known;
    if (reply === null) this.#drop("duplicate_in_progress", source);
    return reply;
  }

  #dispatch(request: Request, view: PacketView): void {
    if (view.code === ACCESS_REQUEST) this.#deps.handler.accept(request, view);
    else this.#account(request);
  }

  /** Handles a request when this node knows what the other nodes recorded before. */
  #dispatchLater(catchUp: CatchUpQueue, request: Request): void {
    catchUp.enqueue({
      resume: () => this.#isStopping ? this.release(request) : this.#dispatch(request, readView(request)),
      fail: (why) => {
        this.release(request);
        this.#drop(why, request.source, request.octets);
      },
    });
  }

  /** Copies a new packet out of the receive buffer. */
  #createRequest(
    client: Client,
    { place, cache, hasProof, source, startedAt, stream }:
      & Pick<Request, "hasProof" | "source" | "startedAt">
      & Pick<Request["sender"], "stream">
      & { place: PacketPlace; cache: DuplicateCache },
  ): Request {
    const { view, signed } = this.#gate;
    const receivedMs = this.#deps.clock.nowMs();
    const octets = this.#arena.copy(view.octets, view.lengthOctets);
    const name = this.#userNames.read(view, client.settings);
    return {
      server: this,
      octets,
      client,
      sender: { socket: place.socket, hostname: place.hostname, port: place.port, stream },
      source,
      receivedMs,
      startedAt,
      slot: cache.add(place, receivedMs),
      name,
      userName: name.shown,
      user: name.canonical,
      hasProxyState: view.slots.proxyState.count > 0,
      hasEap: view.slots.eapMessage.count > 0,
      signed,
      hasProof,
    };
  }

  /** Status-Server and EAP are always signed, so they do not show whether an address signs its logins. */
  #noteSignature(client: Client, source: string): void {
    const { clock, signingClients } = this.#deps;
    const { signed, view } = this.#gate;
    if (!signed) client.use.unsignedMs = clock.nowMs();
    else if (
      client.learns && view.slots.eapMessage.count === 0 && !signingClients.requires({ client, source })
    ) {
      signingClients.learn({ client, source });
    }
  }

  #noteAccept({ client, source, octets }: Request, reply: Uint8Array): void {
    if (reply[0] !== ACCESS_ACCEPT || !client.learns || findMessageAuthenticator(octets) !== null) return;
    this.#deps.signingClients.noteUnsignedAccept({ client, source });
  }

  #account(request: Request): void {
    const reason = this.#deps.accounting.accept(request);
    if (reason === null) return;
    this.release(request);
    this.#drop(reason, request.source, request.octets);
  }

  /** RFC 5997 §4.2: the code of the answer depends on the port. */
  #answerStatus(request: Request, service: ListenerService): void {
    const { clock, storeAnsweredMs, counters } = this.#deps;
    if (clock.nowMs() - storeAnsweredMs() > STORE_SILENT_MS) {
      this.release(request);
      return this.#drop("store_not_answering", request.source, request.octets);
    }
    const reply = service === "accounting"
      ? writeAccountingResponse(request)
      : writeReply(request, { name: "Access-Accept", message: "" });
    request.slot.reply = reply;
    counters.count("status_answers");
    this.#reply(request, reply);
  }

  answer(request: Request, reply: Uint8Array): void {
    this.#noteAccept(request, reply);
    this.#reply(request, reply);
  }

  release(request: Request, { keepSlot } = { keepSlot: false }): void {
    if (!keepSlot) request.slot.forget();
    request.sender.stream?.end(request, null);
  }

  #reply(request: Request, reply: Uint8Array): void {
    const { sender } = request;
    if (sender.stream === null) this.#send(sender, reply);
    else sender.stream.end(request, reply);
  }

  #send({ socket, hostname, port }: Omit<PacketPlace, "octets">, octets: Uint8Array): void {
    const { counters, log } = this.#deps;
    // A send fails if a route or a permission is missing. That affects one client, not the server.
    this.#sockets[socket]?.send(octets, { transport: "udp", hostname, port }).catch((fault: unknown) => {
      counters.count("send_failures");
      if (!this.#dropLog.mayLog("send failed", hostname)) return;
      log.warn("a reply could not be sent", { to: hostname, fault: String(fault) });
    });
  }

  #drop(reason: DropReason, source: string, octets: Uint8Array | null = null): void {
    const { counters, discovery, packets, log, folded, emit, clock } = this.#deps;
    const near = reason === "other_nas" ? this.#gate.candidates?.[0] ?? null : this.#gate.client;
    const client = near?.name ?? null;
    const rule = reason === "other_nas" && near !== null ? nasRuleOf(near, this.#gate.view) : null;
    counters.drop(reason);
    if (octets !== null) {
      // Without configured clients, every sender is a new one.
      discovery?.record({ octets, source, reason, client: near?.anyAddress === true ? null : client });
      packets.dropped({ octets, reason, source, client, ...(rule === null ? {} : { rule }) });
    }
    const { level, sentence } = DROP_REASONS[reason];
    if (level === "debug" && !log.enabled("debug")) return;
    if (!this.#dropLog.mayLog(reason, source)) return;
    const fields = { reason, client: client ?? undefined, source, ...rule };
    folded.write(`drop ${reason}`, { level, message: `dropped: ${sentence}`, fields });
    emit({ kind: "drop", atMs: clock.nowMs(), reason, source, client });
  }
}

/** The service of a listening socket. The authentication port also answers accounting (RFC 2866 §3). */
type ListenerService = "authentication" | "accounting";

/** Reasons that can mean a wrong secret. */
const WRONG_SECRET: ReadonlySet<DropReason> = new Set([
  "wrong_message_authenticator",
  "wrong_request_authenticator",
]);
const plain = new Uint8Array(MAX_PASSWORD_OCTETS);

/**
 * The cheapest checks of a packet first, without allocations for one that is dropped (RFC 2865 §3, RFC 3579 §3.2), and the result for the last packet.
 * Each check returns why the packet must be dropped; `null` if it is valid.
 */
class PacketGate {
  readonly #deps: Pick<RadiusServerDeps, "clients" | "clock" | "signingClients">;
  readonly view = new PacketView();
  /** The client of the last packet, if it was found. */
  client: Client | null = null;
  /** The clients of its source address; `null`: none. */
  candidates: readonly Client[] | null = null;
  /** Whether its Message-Authenticator was present and verified. */
  signed = false;

  constructor(deps: Pick<RadiusServerDeps, "clients" | "clock" | "signingClients">) {
    this.#deps = deps;
  }

  check(octets: Uint8Array, hostname: string, port: number, service: ListenerService): DropReason | null {
    const { clients, clock, signingClients } = this.#deps;
    const { view } = this;
    this.client = null;
    this.candidates = null;
    this.signed = false;
    if (port === 0) return "source_port_zero";
    const candidates = this.candidates = clients.findByAddress(hostname);
    if (candidates === null) return "unknown_client";
    const fault = view.read(octets, octets.length);
    if (fault !== null) return fault;
    const client = clients.choose(candidates, view);
    if (client === null) return "other_nas";
    this.client = client;
    if (service === "accounting" && view.code === ACCESS_REQUEST) return "wrong_port";
    const { previous } = client;
    const mustSign = client.requiresSignature ||
      (client.learns && signingClients.requires({ client, source: hostname }));
    if (previous === null || previous.untilMs <= clock.nowMs()) return this.#checkSignature(client, mustSign);
    return this.#checkEither(client, { before: previous.client, mustSign });
  }

  /** The same for a packet of a TLS connection, whose client is known by its certificate. TLS proves the sender: `signed` is `true`. */
  checkStream(packet: Uint8Array, client: Client): DropReason | null {
    this.client = client;
    this.candidates = null;
    const fault = this.view.read(packet, packet.length) ??
      (client.secret.isClear ? null : this.#checkSignature(client, false));
    // TLS protects a Proxy-State from changes on the way, so it needs no signature.
    this.signed = fault === null || fault === "unsigned_proxy_state";
    return this.signed ? null : fault;
  }

  /** During a change of the secret, both secrets are valid. The new one is tried first. */
  #checkEither(
    client: Client,
    { before, mustSign }: { before: Client; mustSign: boolean },
  ): DropReason | null {
    const reason = this.#checkSignature(client, mustSign);
    if (reason === null && (this.signed || !this.#isGarbled(client) || this.#isGarbled(before))) return null;
    if (reason !== null && !WRONG_SECRET.has(reason)) return reason;
    const other = this.#checkSignature(before, mustSign);
    // If both secrets are wrong, the log names the client with the current one.
    if (other === null) this.client = before;
    return other;
  }

  /** Whether the password is garbled, which shows that an unsigned packet was made with another secret. */
  #isGarbled({ secret }: Client): boolean {
    const hidden = this.view.value("userPassword");
    if (hidden === null) return false;
    const place = { authenticator: this.view.octets, at: AUTHENTICATOR_AT };
    const length = secret.revealPasswordInto(plain, hidden, place);
    const garbled = length >= 0 && looksGarbled(plain.subarray(0, length));
    plain.fill(0);
    return garbled;
  }

  /** RFC 3579 §3.2, RFC 5997 §3, and the client's settings. */
  #checkSignature(client: Client, mustSign: boolean): DropReason | null {
    const { view } = this;
    if (view.code === ACCOUNTING_REQUEST) return this.#checkAccounting(client);
    const { messageAuthenticator, proxyState, eapMessage } = view.slots;
    // Status-Server and EAP always need a valid Message-Authenticator.
    const mustBeSigned = view.code === STATUS_SERVER || eapMessage.count > 0;
    if (messageAuthenticator.count > 0 && (mustBeSigned || client.settings.messageAuthenticator !== "off")) {
      // Message-Authenticator is computed over a packet in which it is zero, so two of them cannot be valid.
      const isRight = messageAuthenticator.count === 1 &&
        client.secret.isAuthentic(view.octets, this.#signature());
      this.signed = isRight;
      return isRight ? null : "wrong_message_authenticator";
    }
    if (view.code === STATUS_SERVER) return "unsigned_status_server";
    if (eapMessage.count > 0) return "unsigned_eap";
    if (mustSign) return "missing_message_authenticator";
    if (proxyState.count > 0 && client.settings.limitProxyState) return "unsigned_proxy_state";
    return null;
  }

  /**
   * RFC 2866 §3. An Accounting-Request is authenticated by its Request Authenticator, so the Message-Authenticator settings of Access-Requests
   * do not apply. A Message-Authenticator is checked if it is present. `signed` stays false, because it is only about logins.
   */
  #checkAccounting({ secret, settings }: Client): DropReason | null {
    const { octets, lengthOctets, slots: { messageAuthenticator: { count } } } = this.view;
    if (!secret.isAccountingRequest(octets, lengthOctets)) return "wrong_request_authenticator";
    if (count === 0 || settings.messageAuthenticator === "off") return null;
    const isRight = count === 1 && secret.isSignedAccountingRequest(octets, this.#signature());
    return isRight ? null : "wrong_message_authenticator";
  }

  /** The place of the Message-Authenticator in the packet. */
  #signature(): Parameters<Client["secret"]["isAuthentic"]>[1] {
    const { lengthOctets, slots: { messageAuthenticator } } = this.view;
    return {
      lengthOctets,
      valueAt: messageAuthenticator.at,
      valueOctets: messageAuthenticator.lengthOctets,
    };
  }
}
