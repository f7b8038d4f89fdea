// Builds the requests of a login, and verifies the replies (RFC 2865 §3, RFC 3579 §3.2, RFC 5997).

import type { Random } from "../platform/runtime.ts";
import { describeAttributes, encodeInteger } from "../radius/protocol/attributes.ts";
import { findMessageAuthenticator, SharedSecret } from "../radius/protocol/authenticity.ts";
import {
  type ClearAttribute,
  readClearAttributes,
  writeClearAttributes,
} from "../radius/protocol/clear_attributes.ts";
import { attributeByType, typeOf } from "../radius/protocol/dictionary.ts";
import { joinEapMessages } from "../radius/protocol/eap.ts";
import {
  authenticatorOf,
  forEachAttribute,
  HEADER_OCTETS,
  PACKET_CODES,
  type PacketName,
  packetName,
  PacketWriter,
} from "../radius/protocol/packet.ts";

/** One request. Its reply has the same `identifier` and is verified with `authenticator`. */
export interface RadtestRequest {
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly identifier: number;
  readonly authenticator: Uint8Array;
}

/** The attributes of an Access-Request. `state` is the State of the challenge that it answers. */
interface LoginParts {
  readonly user: string;
  /** The attributes that prove the password, or answer the challenge. */
  readonly proof: readonly ClearAttribute[];
  readonly state: Uint8Array | null;
  readonly nasIdentifier: string;
  readonly nasPort: number | null;
  readonly callingStationId: string | null;
}

/** A verified reply, or the reason why it does not verify. */
type ReadReply =
  | { readonly ok: true; readonly reply: RadtestReply }
  | { readonly ok: false; readonly reason: ReplyFault };

export interface RadtestReply {
  readonly name: PacketName;
  /** The concatenated Reply-Messages. Escape them before you print them. */
  readonly message: string;
  readonly state: Uint8Array | null;
  /** The joined EAP-Messages; `null` without one. */
  readonly eap: Uint8Array | null;
  /** The other attributes, as `Name=value`. */
  readonly attributes: readonly string[];
  /** All attributes, with the hidden values revealed. */
  readonly clear: readonly ClearAttribute[];
  readonly signed: boolean;
}

export type ReplyFault =
  | "malformed"
  | "wrong_response_authenticator"
  | "wrong_message_authenticator"
  | "malformed_hidden_value"
  | "no_reply_code";

const text = new TextEncoder();

/** Builds requests with one secret. @throws RangeError for a secret or a value that RADIUS cannot encode. */
export function createRequests(given: string | SharedSecret, random: Random) {
  const secret = typeof given === "string" ? new SharedSecret(given) : given;
  const writer = new PacketWriter();
  let identifier = random.bytes(1)[0] ?? 0;

  const build = (code: number, fill: (authenticator: Uint8Array) => void): RadtestRequest => {
    identifier = (identifier + 1) % 256;
    const random16 = random.bytes(16);
    secret.beginSigned(writer, code, identifier);
    fill(random16);
    const octets = secret.signRequest(writer, random16);
    // In RADIUS/1.1 the Token takes the place of the two.
    return { octets, identifier: octets[1] ?? 0, authenticator: authenticatorOf(octets).slice() };
  };
  return {
    /** RFC 5997 §3: the only attribute is Message-Authenticator. */
    status: (): RadtestRequest => build(PACKET_CODES["Status-Server"].code, () => {}),
    login: (parts: LoginParts): RadtestRequest =>
      build(PACKET_CODES["Access-Request"].code, (authenticator) => {
        writer.attribute(typeOf("User-Name"), text.encode(parts.user));
        writeClearAttributes(writer, parts.proof, { secret, authenticator, random });
        writer.attribute(typeOf("NAS-Identifier"), text.encode(parts.nasIdentifier));
        if (parts.nasPort !== null) writer.attribute(typeOf("NAS-Port"), encodeInteger(parts.nasPort));
        if (parts.callingStationId !== null) {
          writer.attribute(typeOf("Calling-Station-Id"), text.encode(parts.callingStationId));
        }
        if (parts.state !== null) writer.attribute(typeOf("State"), parts.state);
      }),
    read: (octets: Uint8Array, request: RadtestRequest): ReadReply => readReply(octets, { secret, request }),
  };
}

export type Requests = ReturnType<typeof createRequests>;

function readReply(
  datagram: Uint8Array,
  { secret, request }: { secret: SharedSecret; request: RadtestRequest },
): ReadReply {
  const length = ((datagram[2] ?? 0) << 8) | (datagram[3] ?? 0);
  if (length < HEADER_OCTETS || length > datagram.length || length > 4096) {
    return { ok: false, reason: "malformed" };
  }
  const octets = datagram.subarray(0, length);
  if (!isWellFormed(octets)) return { ok: false, reason: "malformed" };
  if (!secret.isAnswerTo(octets, request.authenticator)) {
    return { ok: false, reason: "wrong_response_authenticator" };
  }
  const signature = findMessageAuthenticator(octets);
  if (signature !== null) {
    const place = { lengthOctets: length, ...signature };
    if (!secret.isAuthentic(octets, place, request.authenticator)) {
      return { ok: false, reason: "wrong_message_authenticator" };
    }
  }
  const name = packetName(octets[0] ?? 0);
  if (name === null) return { ok: false, reason: "no_reply_code" };
  const clear = readClearAttributes(octets, { secret, authenticator: request.authenticator });
  if (!clear.ok) return { ok: false, reason: clear.reason };
  return {
    ok: true,
    reply: { name, ...contentOf(octets), clear: clear.value, signed: signature !== null || secret.isClear },
  };
}

/** Whether the attributes fill the packet exactly. */
function isWellFormed(octets: Uint8Array): boolean {
  let end = HEADER_OCTETS;
  forEachAttribute(octets, octets.length, (_type, at, valueOctets) => {
    end = at + valueOctets;
  });
  return end === octets.length;
}

function contentOf(octets: Uint8Array): Pick<RadtestReply, "message" | "state" | "eap" | "attributes"> {
  const decoder = new TextDecoder();
  const attributes: string[] = [];
  let message = "";
  let state: Uint8Array | null = null;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    const value = octets.slice(at, at + valueOctets);
    if (type === typeOf("Reply-Message")) message += decoder.decode(value);
    else if (type === typeOf("State")) state ??= value;
    else if (!SHOWN_ELSEWHERE.has(type)) attributes.push(describeOne(type, value));
  });
  return { message, state, eap: joinEapMessages(octets), attributes };
}

const SHOWN_ELSEWHERE: ReadonlySet<number> = new Set([
  typeOf("Message-Authenticator"),
  typeOf("EAP-Message"),
]);

/** One attribute in the format of the log. An attribute that the dictionary lacks has its number and hexadecimal octets. */
function describeOne(type: number, value: Uint8Array): string {
  if (attributeByType(type) === null) return `attribute ${type}=0x${value.toHex()}`;
  const alone = new Uint8Array(HEADER_OCTETS + 2 + value.length);
  alone.set([type, value.length + 2], HEADER_OCTETS);
  alone.set(value, HEADER_OCTETS + 2);
  return describeAttributes(alone, alone.length).shown;
}

export interface RadiusSocket {
  /** Rejects on network errors, such as an unknown host name. */
  send(octets: Uint8Array): Promise<void>;
  /** The next datagram from any sender, or `null` after `timeoutMs`. */
  receive(timeoutMs: number): Promise<Uint8Array | null>;
  close(): void;
}

/** The result of an exchange. `fault`: the problem with the last reply that did not verify. */
export type Exchanged =
  | {
    readonly kind: "reply";
    readonly reply: RadtestReply;
    readonly elapsedMs: number;
    readonly sends: number;
  }
  | { readonly kind: "silence"; readonly fault: ReplyFault | null };

interface RetryLimits {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly nowMs: () => number;
}

/** Sends a request until it is answered. Ignores replies that do not verify, because they may be forged. */
export async function exchange(
  socket: RadiusSocket,
  { request, read, limits }: {
    request: RadtestRequest;
    read: (octets: Uint8Array, request: RadtestRequest) => ReadReply;
    limits: RetryLimits;
  },
): Promise<Exchanged> {
  const startedMs = limits.nowMs();
  let fault: ReplyFault | null = null;
  for (let sends = 1; sends <= limits.tries; sends++) {
    await socket.send(request.octets);
    const deadlineMs = limits.nowMs() + limits.timeoutMs;
    for (let leftMs = limits.timeoutMs; leftMs > 0; leftMs = deadlineMs - limits.nowMs()) {
      const octets = await socket.receive(leftMs);
      if (octets === null) break;
      if (octets[1] !== request.identifier) continue;
      const answer = read(octets, request);
      if (answer.ok) {
        return { kind: "reply", reply: answer.reply, elapsedMs: limits.nowMs() - startedMs, sends };
      }
      fault = answer.reason;
    }
  }
  return { kind: "silence", fault };
}

const MAX_QUEUED = 64;

/** Packets that arrived, in order. More than a few that wait are dropped. */
export function createInbox() {
  const arrived: Uint8Array[] = [];
  let wake: (() => void) | null = null;
  let isEnded = false;
  return {
    add(octets: Uint8Array): void {
      if (arrived.length < MAX_QUEUED) arrived.push(octets);
      wake?.();
    },
    /** Nothing arrives any more. */
    end(): void {
      isEnded = true;
      wake?.();
    },
    /** The next packet, or `null` after `timeoutMs`, or if nothing arrives any more. */
    async next(timeoutMs: number): Promise<Uint8Array | null> {
      if (arrived.length === 0 && !isEnded) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = null;
      }
      return arrived.shift() ?? null;
    },
  };
}

/** Opens a socket for both IP versions, or only for IPv4 on a host without IPv6. */
export function openRadiusSocket(server: { hostname: string; port: number }): RadiusSocket {
  const socket = openSocket();
  const inbox = createInbox();
  const pump = async () => {
    for (;;) {
      try {
        const [octets] = await socket.receive(new Uint8Array(4096));
        inbox.add(octets);
      } catch (fault) {
        // The socket is closed.
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void pump();
  return {
    async send(octets) {
      await socket.send(octets, { transport: "udp", ...server });
    },
    receive: (timeoutMs) => inbox.next(timeoutMs),
    close: () => socket.close(),
  };
}

function openSocket(): Deno.DatagramConn {
  try {
    return Deno.listenDatagram({ transport: "udp", hostname: "::", port: 0 });
  } catch (_noIpv6) {
    return Deno.listenDatagram({ transport: "udp", hostname: "0.0.0.0", port: 0 });
  }
}
