// Writes replies: Message-Authenticator first, Proxy-State copied in order, and the Identifier of the request (RFC 2865 §4 and §5.33, RFC 3579
// §3.2).

import {
  forEachAttribute,
  HEADER_OCTETS,
  PACKET_CODES,
  PacketWriter,
  type ReplyName,
} from "../protocol/packet.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { stepByName } from "../protocol/steps.ts";
import { splitReplyMessage } from "../flow/prompts.ts";
import { encodeRepeated } from "../protocol/attributes.ts";
import type { Request } from "./request.ts";

export interface Reply {
  readonly name: ReplyName;
  /** Text shown to the user; "" for none. */
  readonly message: string;
  /** Present on challenges only. */
  readonly state?: string;
  /** With `state`: whether the client may show what the user types (RFC 2869 §5.10). Absent: the client decides. */
  readonly isEchoed?: boolean;
  /** Encoded attributes of an Access-Accept. */
  readonly attributes?: Uint8Array;
  /** RFC 3579 §2.2: the Reject of an EAP conversation contains EAP-Failure. */
  readonly eapIdentifier?: number;
}

const STATE = typeOf("State");
const REPLY_MESSAGE = typeOf("Reply-Message");
const PROXY_STATE = typeOf("Proxy-State");
const EAP_MESSAGE = typeOf("EAP-Message");
const EAP_FAILURE = 4;
const PROMPT = typeOf("Prompt");
const NO_ECHO = Uint8Array.of(PROMPT, 6, 0, 0, 0, 0);
const ECHO = Uint8Array.of(PROMPT, 6, 0, 0, 0, 1);

/** With its head (RFC 3579 §3.2). */
const MESSAGE_AUTHENTICATOR_OCTETS = 18;

const writer = new PacketWriter();
const utf8 = new TextEncoder();
const messages = new Map<string, Uint8Array<ArrayBuffer>[]>();

/**
 * The octets of a reply.
 *
 * @throws RangeError if the request's Proxy-States leave no room for the text of a challenge.
 */
export function writeReply(request: Request, reply: Reply): Uint8Array<ArrayBuffer> {
  const { secret } = request.client;
  secret.beginSigned(writer, PACKET_CODES[reply.name].code, request.octets[1] as number);
  if (reply.state !== undefined) {
    writeState(reply.state);
    if (reply.isEchoed !== undefined) writer.raw(reply.isEchoed ? ECHO : NO_ECHO);
  }
  if (reply.eapIdentifier !== undefined) {
    writer.attribute(EAP_MESSAGE, Uint8Array.of(EAP_FAILURE, reply.eapIdentifier, 0, 4));
  }
  if (reply.attributes !== undefined) writer.raw(reply.attributes);
  const proxyOctets = request.hasProxyState ? proxyStateOctets(request.octets) : 0;
  for (const part of messageParts(reply.message)) {
    if (part.length + 2 + proxyOctets <= writer.roomOctets) writer.attribute(REPLY_MESSAGE, part);
    // Clients refuse a challenge without a text, and a user cannot answer an incomplete text.
    else if (reply.state !== undefined) {
      throw new RangeError("Cannot write the text of a challenge: Proxy-State fills the packet");
    }
  }
  if (request.hasProxyState) copyProxyStates(request.octets);
  return secret.signReply(writer, request.octets);
}

/** The octets of a challenge or a Reject, without writing it: header, Message-Authenticator, and the attributes. */
export function replyOctets(request: Request, { message, state, isEchoed, eapIdentifier }: Reply): number {
  const text = messageParts(message).reduce((sum, part) => sum + part.length + 2, 0);
  return HEADER_OCTETS + MESSAGE_AUTHENTICATOR_OCTETS + text + (state === undefined ? 0 : state.length + 2) +
    (isEchoed === undefined ? 0 : ECHO.length) + (eapIdentifier === undefined ? 0 : 6) +
    (request.hasProxyState ? proxyStateOctets(request.octets) : 0);
}

/** A State that is only the name of a step is sent very often. */
function writeState(state: string): void {
  writer.attribute(STATE, stepByName(state) === null ? utf8.encode(state) : encodeRepeated(state));
}

/** The octets of an Accounting-Response (RFC 2866 §4.2): Proxy-State in order, and nothing else. */
export function writeAccountingResponse({ client, octets }: Request): Uint8Array<ArrayBuffer> {
  writer.begin(PACKET_CODES["Accounting-Response"].code, octets[1] as number);
  copyProxyStates(octets);
  return client.secret.finishAccountingResponse(writer, octets);
}

/** The octets of a text. Cached, with a bound, because few texts are sent very often. */
function messageParts(message: string): Uint8Array<ArrayBuffer>[] {
  let parts = messages.get(message);
  if (parts === undefined) {
    parts = splitReplyMessage(message);
    if (messages.size >= 256) messages.clear();
    messages.set(message, parts);
  }
  return parts;
}

function proxyStateOctets(request: Uint8Array): number {
  let octets = 0;
  forEachAttribute(request, request.length, (type, _at, valueOctets) => {
    if (type === PROXY_STATE) octets += valueOctets + 2;
  });
  return octets;
}

function copyProxyStates(request: Uint8Array): void {
  forEachAttribute(request, request.length, (type, at, valueOctets) => {
    if (type === PROXY_STATE) writer.attribute(PROXY_STATE, request.subarray(at, at + valueOctets));
  });
}
