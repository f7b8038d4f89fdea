// One RADIUS server that checks logins: its sockets, its requests by Identifier, and whether it answers (RFC 2865 §2, RFC 3579 §3.2, RFC 5997).

import { type SocketAddress, socketAddressText } from "../../platform/addresses.ts";
import type { Log } from "../../platform/log.ts";
import { type CancelTimer, type Clock, pauseFor, type Random } from "../../platform/runtime.ts";
import { SharedSecret } from "../protocol/authenticity.ts";
import {
  type ClearAttribute,
  readClearAttributes,
  writeClearAttributes,
} from "../protocol/clear_attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import {
  forEachAttribute,
  HEADER_OCTETS,
  PACKET_CODES,
  packetName,
  PacketWriter,
  type ReplyName,
} from "../protocol/packet.ts";
import type { DatagramSocket } from "../server/server.ts";

export interface AuthServerDeps {
  /** Opens a datagram socket on a free port. */
  readonly open: (hostname: string) => DatagramSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface AuthServerSettings {
  readonly address: SocketAddress;
  readonly secret: string;
  readonly messageAuthenticator: "require" | "auto";
}

interface AuthAnswer {
  readonly code: ReplyName;
  readonly attributes: readonly ClearAttribute[];
}

interface AuthRequest {
  readonly code: "Access-Request" | "Status-Server";
  readonly attributes: readonly ClearAttribute[];
  /** How long the server has for its answer. A later one counts, too, until the request is released. */
  readonly waitMs: number;
  /** How often the packet is sent within that time. */
  readonly copies: number;
  /** `null`: the signed answer has attributes that cannot be read. */
  readonly answered: (answer: AuthAnswer | null) => void;
  readonly silent: () => void;
}

export interface SentRequest {
  /** Frees the Identifier. An answer does not count any more. */
  release(): void;
  /** Sends the same packet again. */
  repeat(): void;
}

/** No user has this name. Any signed answer for it proves that the server has the right secret. */
const PROBE_NAME = "countersign-test";
/** A server with more requests in a row without an answer is not asked to check logins. */
const MAX_SILENT = 3;
/** Longer than the usual delay of an Access-Reject. */
const PROBE_WAIT_MS = 3000;
/** Status-Server is answered at once. */
const STATUS_WAIT_MS = 1000;
/** RFC 3539 §3.4.1: at least 6 s between two probes, changed at random by up to 2 s. */
const PROBE_PAUSE_MS = 10_000;
const PROBE_JITTER_MS = 2000;
/** A server of a list is probed after so much time without an answer, so that a failed standby is known before it is needed. */
const IDLE_MS = 60_000;
const MAX_SOCKETS = 16;
const IDENTIFIERS = 256;

const MESSAGE_AUTHENTICATOR = typeOf("Message-Authenticator");
const EAP_MESSAGE = typeOf("EAP-Message");
const NAS_IDENTIFIER = typeOf("NAS-Identifier");
const NAS_IP_ADDRESSES = ["NAS-IP-Address", "NAS-IPv6-Address"].map((name) =>
  typeOf(name as "NAS-IP-Address")
);
/** A proxy signs the request itself, and does not forward its own Proxy-State (RFC 3579 §3.2, RFC 2865 §5.33). */
const NEVER_SENT: ReadonlySet<number> = new Set([MESSAGE_AUTHENTICATOR, typeOf("Proxy-State")]);
const OWN_NAME = new TextEncoder().encode("countersign");

interface PendingRequest {
  readonly authenticator: Uint8Array;
  readonly answered: (answer: AuthAnswer | null) => void;
}

interface RequestSocket {
  readonly socket: DatagramSocket;
  readonly pending: (PendingRequest | undefined)[];
  inUse: number;
  next: number;
}

export class AuthServer {
  /** `host:port`. */
  readonly name: string;
  readonly #settings: AuthServerSettings;
  readonly #deps: AuthServerDeps;
  readonly #secret: SharedSecret;
  readonly #sockets: RequestSocket[] = [];
  readonly #writer = new PacketWriter();
  /** Whether answers without Message-Authenticator are ignored, because they can be forged in transit (CVE-2024-3596). */
  #mustSign: boolean;
  #hasWarned = false;
  /** What a socket or the last ignored answer says about requests without an answer, behind a colon; or "". */
  #lastFault = "";
  /** Signed answers since the start. */
  #answers = 0;
  #lastAnswerMs: number | null = null;
  /** Requests in a row without an answer. */
  #silent = 0;
  #isDown = false;
  #probing: Promise<void> | null = null;
  #nextProbeMs: number;
  #probeCode: AuthRequest["code"] = "Status-Server";
  #isOpen = true;

  constructor(settings: AuthServerSettings, deps: AuthServerDeps) {
    this.name = socketAddressText(settings.address);
    this.#settings = settings;
    this.#deps = deps;
    this.#secret = new SharedSecret(settings.secret);
    this.#mustSign = settings.messageAuthenticator === "require";
    this.#nextProbeMs = deps.clock.nowMs() + PROBE_PAUSE_MS;
  }

  /** Whether it is asked to check logins. */
  get isUsable(): boolean {
    return this.#silent < MAX_SILENT;
  }

  /** Whether neither logins nor a probe got an answer. */
  get isDown(): boolean {
    return this.#isDown;
  }

  /** The time of the last signed answer; `null`: none since the start. */
  get lastAnswerMs(): number | null {
    return this.#lastAnswerMs;
  }

  /** Why requests have no answer, as far as that is known, behind a colon; or "". */
  get lastFault(): string {
    return this.#lastFault;
  }

  /**
   * Sends a request until it is answered, or `waitMs` is over.
   *
   * @returns `null` if no Identifier is free
   * @throws RangeError if the attributes do not fit into a packet
   */
  send(request: AuthRequest): SentRequest | null {
    const socket = this.#freeSocket();
    if (socket === null) return null;
    const { clock, random } = this.#deps;
    const { waitMs, copies, answered } = request;
    const identifier = takeIdentifier(socket);
    const authenticator = random.bytes(16);
    const packet = this.#write({ ...request, identifier, authenticator });
    const before = this.#answers;
    let cancel: CancelTimer = () => {};
    const pending: PendingRequest = {
      authenticator,
      answered: (answer) => {
        release();
        answered(answer);
      },
    };
    const release = (): void => {
      cancel();
      if (socket.pending[identifier] !== pending) return;
      socket.pending[identifier] = undefined;
      socket.inUse--;
    };
    const copy = (left: number): void => {
      if (left === 0) {
        // A server that answered others received this request, too, and does not want to answer it. Some answer no Status-Server.
        if (this.#answers === before && request.code === "Access-Request") this.#silent++;
        return request.silent();
      }
      this.#transmit(socket.socket, packet);
      cancel = clock.after(waitMs / copies, () => copy(left - 1));
    };
    socket.pending[identifier] = pending;
    socket.inUse++;
    copy(copies);
    const repeat = (): void => {
      if (socket.pending[identifier] === pending) this.#transmit(socket.socket, packet);
    };
    return { release, repeat };
  }

  /** Probes the server if that is due. @param isOfList whether other servers can replace it, so that it may be idle for long */
  probeIfDue({ isOfList }: { isOfList: boolean }): void {
    const nowMs = this.#deps.clock.nowMs();
    if (nowMs < this.#nextProbeMs) return;
    const isIdle = isOfList && (this.#lastAnswerMs === null || nowMs - this.#lastAnswerMs >= IDLE_MS);
    if (this.#silent > 0 || isIdle) void this.probe();
  }

  /** Asks whether it answers: with Status-Server, or with a login of a name that no user has. At most one probe is in progress. */
  probe(): Promise<void> {
    return this.#probing ??= this.#probe().finally(() => this.#probing = null);
  }

  /** Resolves to whether it has answered anything since a time, or answers a probe. If not, it is not asked to check logins until it answers. */
  async answersSince(sinceMs: number): Promise<boolean> {
    const hasAnswered = () => this.#lastAnswerMs !== null && this.#lastAnswerMs >= sinceMs;
    if (!hasAnswered()) await this.probe();
    if (hasAnswered()) return true;
    this.#silent = Math.max(this.#silent, MAX_SILENT);
    this.#noteDown();
    return false;
  }

  async #probe(): Promise<void> {
    const { clock, random } = this.#deps;
    const jitter = (random.bytes(1)[0] as number) / 127.5 - 1;
    this.#nextProbeMs = clock.nowMs() + PROBE_PAUSE_MS + jitter * PROBE_JITTER_MS;
    const other = this.#probeCode === "Status-Server" ? "Access-Request" : "Status-Server";
    for (const code of [this.#probeCode, other] as const) {
      const waitMs = code === "Status-Server" ? STATUS_WAIT_MS : PROBE_WAIT_MS;
      if (!this.#isOpen || !await this.ask(code, { waitMs, copies: 1 })) continue;
      this.#probeCode = code;
      break;
    }
    this.#noteDown();
  }

  #noteDown(): void {
    if (this.isUsable || this.#isDown || !this.#isOpen) return;
    this.#isDown = true;
    this.#deps.log.warn("a first-factor server does not answer", {
      server: this.name,
      fault: `no answer${this.#lastFault}`,
    });
  }

  /** Resolves to whether it answers a request that is not a user's login. RFC 5997 §4.2: Status-Server is not retransmitted. */
  ask(code: AuthRequest["code"], times: Pick<AuthRequest, "waitMs" | "copies">): Promise<boolean> {
    const octets = (text: string) => new TextEncoder().encode(text);
    const attributes = code === "Status-Server" ? [] : [
      { type: typeOf("User-Name"), value: octets(PROBE_NAME) },
      { type: typeOf("User-Password"), value: octets(this.#deps.random.bytes(8).toHex()) },
    ];
    return new Promise((resolve) => {
      const answered = () => resolve(true);
      const silent = () => {
        sent?.release();
        resolve(false);
      };
      const sent = this.send({ code, attributes, ...times, answered, silent });
      // All Identifiers are in use: the logins show whether it answers.
      if (sent === null) resolve(this.isUsable);
    });
  }

  close(): void {
    this.#isOpen = false;
    for (const { socket } of this.#sockets) socket.close();
  }

  #transmit(socket: DatagramSocket, packet: Uint8Array): void {
    if (!this.#isOpen) return;
    socket.send(packet, { transport: "udp", ...this.#settings.address }).catch((fault: unknown) => {
      this.#lastFault = `: ${fault}`;
    });
  }

  /** A socket with a free Identifier. Another one is opened when all are in use. */
  #freeSocket(): RequestSocket | null {
    const known = this.#sockets.find(({ inUse }) => inUse < IDENTIFIERS);
    if (known !== undefined) return known;
    if (this.#sockets.length >= MAX_SOCKETS || !this.#isOpen) return null;
    try {
      const socket = this.#deps.open(this.#settings.address.hostname.includes(":") ? "::" : "0.0.0.0");
      const opened: RequestSocket = {
        socket,
        pending: new Array(IDENTIFIERS).fill(undefined),
        inUse: 0,
        next: 0,
      };
      this.#sockets.push(opened);
      void this.#receiveAll(opened);
      return opened;
    } catch (fault) {
      // The host has no more sockets. Those that are open continue.
      this.#lastFault = `: ${fault}`;
      return null;
    }
  }

  async #receiveAll(from: RequestSocket): Promise<void> {
    const buffer = new Uint8Array(4096);
    while (this.#isOpen) {
      try {
        const [octets] = await from.socket.receive(buffer);
        this.#take(from, octets);
      } catch (fault) {
        if (!this.#isOpen) return;
        // Some hosts report "Connection refused" here. Each request continues until its own deadline.
        this.#lastFault = `: ${fault}`;
        await pauseFor(this.#deps.clock, 10);
      }
    }
  }

  #take({ pending }: RequestSocket, octets: Uint8Array): void {
    if (octets.length < HEADER_OCTETS) return;
    const request = pending[octets[1] as number];
    const length = ((octets[2] as number) << 8) | (octets[3] as number);
    if (request === undefined || length < HEADER_OCTETS || length > octets.length) return;
    const reply = octets.slice(0, length);
    const code = packetName(reply[0] as number);
    if (code !== "Access-Accept" && code !== "Access-Reject" && code !== "Access-Challenge") return;
    const { authenticator } = request;
    if (!this.#isSigned(reply, authenticator)) return;
    this.#works();
    const attributes = readClearAttributes(reply, { secret: this.#secret, authenticator });
    if (attributes.ok) return request.answered({ code, attributes: attributes.value });
    this.#lastFault = `: its answer has an attribute that cannot be read: ${attributes.reason}`;
    request.answered(null);
  }

  /** Whether both signatures of a reply are valid, or the first one, where a server may leave the other one out. */
  #isSigned(reply: Uint8Array, authenticator: Uint8Array): boolean {
    const lengthOctets = reply.length;
    let place: { lengthOctets: number; valueAt: number; valueOctets: number } | null = null;
    let hasEap = false;
    forEachAttribute(reply, lengthOctets, (type, valueAt, valueOctets) => {
      if (type === MESSAGE_AUTHENTICATOR) place ??= { lengthOctets, valueAt, valueOctets };
      else if (type === EAP_MESSAGE) hasEap = true;
    });
    const isValid = this.#secret.isAnswerTo(reply, authenticator) &&
      (place === null || this.#secret.isAuthentic(reply, place, authenticator));
    if (!isValid) {
      this.#lastFault = ": an answer is not signed with this shared secret";
      return false;
    }
    // RFC 3579 §3.2: EAP without it is discarded, whatever the settings are.
    if (place === null && (this.#mustSign || hasEap)) {
      this.#warnUnsigned();
      return false;
    }
    // In the mode "auto", a server that signed once must sign from then on.
    this.#mustSign ||= place !== null;
    return true;
  }

  #works(): void {
    this.#answers++;
    this.#lastAnswerMs = this.#deps.clock.nowMs();
    this.#lastFault = "";
    this.#silent = 0;
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#deps.log.info("a first-factor server answers again", { server: this.name });
  }

  #warnUnsigned(): void {
    this.#lastFault = ": its answers have no Message-Authenticator";
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#deps.log.warn(
      "an answer of the first-factor server has no Message-Authenticator and is ignored: update that server, or set " +
        'first_factor_server.message_authenticator = "auto"',
      { server: this.#settings.address.hostname },
    );
  }

  #write(
    { code, identifier, authenticator, attributes }: Pick<AuthRequest, "code" | "attributes"> & {
      readonly identifier: number;
      readonly authenticator: Uint8Array;
    },
  ): Uint8Array {
    const sent = attributes.filter(({ type }) => !NEVER_SENT.has(type));
    // RFC 2865 §4.1: a request names its NAS.
    if (!sent.some(({ type }) => type === NAS_IDENTIFIER || NAS_IP_ADDRESSES.includes(type))) {
      sent.push({ type: NAS_IDENTIFIER, value: OWN_NAME });
    }
    const writer = this.#writer;
    this.#secret.beginSigned(writer, PACKET_CODES[code].code, identifier);
    writeClearAttributes(writer, sent, { secret: this.#secret, authenticator, random: this.#deps.random });
    return this.#secret.signRequest(writer, authenticator);
  }
}

/** The next Identifier of a socket that has a free one. */
function takeIdentifier(socket: RequestSocket): number {
  let identifier = socket.next;
  while (socket.pending[identifier] !== undefined) identifier = (identifier + 1) % IDENTIFIERS;
  socket.next = (identifier + 1) % IDENTIFIERS;
  return identifier;
}
