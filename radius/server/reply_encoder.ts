// Writes replies: Message-Authenticator first, Proxy-State copied in order, and the Identifier of the request (RFC 2865 §4 and §5.33, RFC 3579
// §3.2).

import {
  authenticatorOf,
  forEachAttribute,
  HEADER_OCTETS,
  MAX_VALUE_OCTETS,
  PACKET_CODES,
  PacketWriter,
  type ReplyName,
} from "../protocol/packet.ts";
import type { Random } from "../../platform/runtime.ts";
import { type ClearAttribute, clearOctets, writeClearAttributes } from "../protocol/clear_attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { splitEapMessage } from "../protocol/eap.ts";
import { stepByName } from "../protocol/steps.ts";
import { splitReplyMessage } from "../flow/prompts.ts";
import { encodeRepeated } from "../protocol/attributes.ts";
import type { Request } from "./request.ts";

export interface Reply {
  readonly name: ReplyName;
  /** Text shown to the user; "" for none. */
  readonly message: string;
  /** Present on challenges only: the text of a step, or a sealed value. */
  readonly state?: string | Uint8Array;
  /** With `state`: whether the client may show what the user types (RFC 2869 §5.10). Absent: the client decides. */
  readonly isEchoed?: boolean;
  /** Encoded attributes. */
  readonly attributes?: Uint8Array;
  /** The EAP packet that it carries. Then it has no Reply-Message (RFC 3579 §2.6.5). */
  readonly eap?: Uint8Array;
  /** Attributes of the first-factor server, in front of `attributes`. Their values are hidden for the packet that is answered. */
  readonly clear?: readonly ClearAttribute[];
}

/** What a reply needs of its request. */
type AnsweredRequest = Pick<Request, "client" | "octets" | "hasProxyState">;

const STATE = typeOf("State");
const REPLY_MESSAGE = typeOf("Reply-Message");
const PROXY_STATE = typeOf("Proxy-State");
const EAP_MESSAGE = typeOf("EAP-Message");
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
 * @param random for the salts of `reply.clear`
 * @throws RangeError if the attributes do not fit, or if the request's Proxy-States leave no room for the text of a challenge.
 */
export function writeReply(request: AnsweredRequest, reply: Reply, random?: Random): Uint8Array<ArrayBuffer> {
  const { secret } = request.client;
  secret.beginSigned(writer, PACKET_CODES[reply.name].code, request.octets[1] as number);
  if (reply.state !== undefined) {
    writeState(reply.state);
    if (reply.isEchoed !== undefined) writer.raw(reply.isEchoed ? ECHO : NO_ECHO);
  }
  if (reply.eap !== undefined) {
    for (const part of splitEapMessage(reply.eap)) writer.attribute(EAP_MESSAGE, part);
  }
  if (reply.clear !== undefined && reply.clear.length > 0) {
    if (random === undefined) throw new TypeError("Cannot hide attributes: there is no randomness");
    writeClearAttributes(writer, reply.clear, {
      ...{ secret, random },
      authenticator: authenticatorOf(request.octets),
    });
  }
  if (reply.attributes !== undefined) writer.raw(reply.attributes);
  const proxyOctets = request.hasProxyState ? proxyStateOctets(request.octets) : 0;
  for (const part of messageParts(reply)) {
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
export function replyOctets(request: Request, reply: Reply): number {
  const { state, isEchoed, eap, clear = [] } = reply;
  const text = messageParts(reply).reduce((sum, part) => sum + part.length + 2, 0);
  return HEADER_OCTETS + MESSAGE_AUTHENTICATOR_OCTETS + text + clearOctets(clear) +
    (state === undefined ? 0 : state.length + 2) +
    (isEchoed === undefined ? 0 : ECHO.length) + attributeOctets(eap) +
    (request.hasProxyState ? proxyStateOctets(request.octets) : 0);
}

function attributeOctets(eap: Uint8Array | undefined): number {
  return eap === undefined ? 0 : eap.length + 2 * Math.ceil(eap.length / MAX_VALUE_OCTETS);
}

/** A State that is only the name of a step is sent very often. */
function writeState(state: string | Uint8Array): void {
  if (typeof state !== "string") writer.attribute(STATE, state);
  else writer.attribute(STATE, stepByName(state) === null ? utf8.encode(state) : encodeRepeated(state));
}

/** The octets of an Accounting-Response (RFC 2866 §4.2): Proxy-State in order, and nothing else. */
export function writeAccountingResponse({ client, octets }: Request): Uint8Array<ArrayBuffer> {
  writer.begin(PACKET_CODES["Accounting-Response"].code, octets[1] as number);
  copyProxyStates(octets);
  return client.secret.finishAccountingResponse(writer, octets);
}

/** The octets of a text. Cached, with a bound, because few texts are sent very often. */
function messageParts({ message: text, eap }: Pick<Reply, "message" | "eap">): Uint8Array<ArrayBuffer>[] {
  const message = eap === undefined ? text : "";
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
