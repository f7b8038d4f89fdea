// What a conversation stores sealed: the last answer of the first-factor server, and the passwords of a change. The attributes of the answer are in
// clear form and can contain keys and passwords. A login that waits for its second factor keeps it over a restart, on another node, and in a backup.

import type { Vault } from "../../platform/vault.ts";
import type { FirstFactorReply, Passwords } from "../ports.ts";
import { type ClearAttribute, clearIdentity, clearOctets } from "../protocol/clear_attributes.ts";
import { joinOctets } from "../protocol/eap.ts";
import { decodeText, readInteger } from "../protocol/attributes.ts";
import { typeOf } from "../protocol/dictionary.ts";
import type { ReplySource } from "../protocol/dissect_packet.ts";
import { MAX_VALUE_OCTETS, PACKET_CODES } from "../protocol/packet.ts";
import type { AcceptAttributes } from "../factors/reply_attributes.ts";
import type { Conversation, ConversationRecord } from "./conversation.ts";
import type { Log } from "../../platform/log.ts";
import type { LoginAttempt } from "../server/request.ts";

type AnsweredLogin = Pick<ConversationRecord, "client" | "user" | "firstFactorReply">;

const EAP_MESSAGE = typeOf("EAP-Message");
const CODES = [
  "Access-Accept",
  "Access-Reject",
  "Access-Challenge",
] as const satisfies FirstFactorReply["code"][];
const NO_ATTRIBUTES: readonly ClearAttribute[] = [];
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A login that started over keeps the answer, so the key has no id of the conversation. */
function recordKeyOf({ client, user }: Pick<AnsweredLogin, "client" | "user">): Deno.KvKey {
  return ["first_factor_reply", client, user];
}

/** The text that `firstFactorReply` of a conversation stores; "" for an answer that says no more than its code. @param login its client and user */
export function sealReply(
  vault: Pick<Vault, "seal">,
  login: Pick<AnsweredLogin, "client" | "user">,
  { code, server, attributes }: FirstFactorReply,
): string {
  if (attributes.length === 0 && code !== "Access-Challenge") return "";
  const name = encoder.encode(server).subarray(0, 0xff);
  const plain = new Uint8Array(2 + name.length + clearOctets(attributes));
  plain[0] = PACKET_CODES[code].code;
  plain[1] = name.length;
  plain.set(name, 2);
  let at = 2 + name.length;
  for (const { type, value } of attributes) {
    plain[at] = type;
    plain[at + 1] = value.length;
    plain.set(value, at + 2);
    at += 2 + value.length;
  }
  return textOf(vault.seal(recordKeyOf(login), plain));
}

/** The answer of a conversation; `null` if there is none, or if it was sealed for another login. */
export function openReply(vault: Pick<Vault, "open">, login: AnsweredLogin): FirstFactorReply | null {
  if (login.firstFactorReply === "") return null;
  const plain = vault.open(recordKeyOf(login), octetsOf(login.firstFactorReply));
  const code = CODES.find((name) => PACKET_CODES[name].code === plain?.[0]);
  if (plain === null || code === undefined) return null;
  const serverEnd = 2 + (plain[1] as number);
  const attributes: ClearAttribute[] = [];
  for (let at = serverEnd; at + 2 <= plain.length;) {
    const end = at + 2 + (plain[at + 1] as number);
    attributes.push({ type: plain[at] as number, value: plain.subarray(at + 2, end) });
    at = end;
  }
  return { code, server: decoder.decode(plain.subarray(2, serverEnd)), attributes };
}

/** One character for each octet. */
function textOf(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) text += String.fromCharCode(octet);
  return text;
}

function octetsOf(text: string): Uint8Array {
  const octets = new Uint8Array(text.length);
  // Without a callback for each character, this takes a tenth of the time.
  for (let at = 0; at < octets.length; at++) octets[at] = text.charCodeAt(at);
  return octets;
}

/** The attributes of an Access-Accept. */
export interface AcceptReply {
  /** Those of the gateway, encoded. */
  readonly attributes: Uint8Array;
  /** Those of the first-factor server, without types that the gateway has. */
  readonly clear: readonly ClearAttribute[];
  /** Where the attributes of `clear`, without EAP-Message, and then of `attributes` come from. */
  readonly sources: readonly ReplySource[];
}

/**
 * @param options.ofPolicy the attributes of the policy that applies; the directory has prepared the user
 * @returns `null` if the answer of the first-factor server cannot be opened: without its attributes, the user could get into another network, or have no keys
 */
export function acceptReplyOf(
  { acceptAttributes, vault }: {
    readonly acceptAttributes: Pick<AcceptAttributes, "of">;
    readonly vault: Pick<Vault, "open">;
  },
  login: AnsweredLogin,
  { ofPolicy }: { ofPolicy: Parameters<AcceptAttributes["of"]>[1] },
): AcceptReply | null {
  const given = acceptAttributes.of(login.user, ofPolicy);
  if (login.firstFactorReply === "") {
    return { attributes: given.octets, clear: NO_ATTRIBUTES, sources: given.sources };
  }
  const answer = openReply(vault, login);
  if (answer === null) return null;
  const received = answer.code === "Access-Accept" ? answer.attributes : NO_ATTRIBUTES;
  const hasEap = received.some(({ type }) => type === EAP_MESSAGE);
  const { octets: attributes, sources } = hasEap ? withoutReplyMessages(given) : given;
  const clear = withoutTypesOf(received, attributes);
  const ofServer = clear.filter(({ type }) => type !== EAP_MESSAGE).map(() => "first_factor" as const);
  return { attributes, clear, sources: [...ofServer, ...sources] };
}

/** RFC 3579 §2.6.5: an answer with EAP has no Reply-Message. */
function withoutReplyMessages(
  { octets, sources }: ReturnType<AcceptAttributes["of"]>,
): ReturnType<AcceptAttributes["of"]> {
  const kept: Uint8Array[] = [];
  const ofKept: ReplySource[] = [];
  for (let at = 0, nth = 0; at + 2 <= octets.length; nth++) {
    const end = at + (octets[at + 1] as number);
    if (octets[at] !== REPLY_MESSAGE) {
      kept.push(octets.subarray(at, end));
      ofKept.push(sources[nth] as ReplySource);
    }
    at = end;
  }
  return { octets: joinOctets(kept), sources: ofKept };
}

/** The attributes whose type is not among encoded ones. Attributes with different tags have one type. */
function withoutTypesOf(
  attributes: readonly ClearAttribute[],
  encoded: Uint8Array,
): readonly ClearAttribute[] {
  if (encoded.length === 0) return attributes;
  const own = new Set<string>();
  for (let at = 0; at + 2 <= encoded.length; at += encoded[at + 1] as number) {
    const value = encoded.subarray(at + 2, at + (encoded[at + 1] as number));
    own.add(clearIdentity({ type: encoded[at] as number, value }));
  }
  return attributes.filter((attribute) => !own.has(clearIdentity(attribute)));
}

/** The Reply-Messages of the first-factor server that refused the password of a login, in order. */
export function rejectMessages(
  vault: Pick<Vault, "open">,
  login: AnsweredLogin | null,
): readonly ClearAttribute[] {
  const answer = login === null ? null : openReply(vault, login);
  return answer?.code === "Access-Reject" ? answer.attributes : NO_ATTRIBUTES;
}

const REPLY_MESSAGE = typeOf("Reply-Message");
const PROMPT = typeOf("Prompt");
const STATE = typeOf("State");
const LINE_FEED = 0x0a;
/** Each has up to three octets, and a challenge needs room for other attributes. */
const MAX_QUESTION_CHARACTERS = 1000;

/** What the first-factor server asks the user of a login. */
interface ServerQuestion {
  readonly text: string;
  /** Whether the client may show what the user types (RFC 2869 §5.10). Without Prompt it may not, because most answers are secret. */
  readonly isEchoed: boolean;
  /** The other attributes of the challenge, such as Session-Timeout. */
  readonly attributes: readonly ClearAttribute[];
}

export function questionOf(vault: Pick<Vault, "open">, login: AnsweredLogin): ServerQuestion {
  const attributes = openReply(vault, login)?.attributes ?? NO_ATTRIBUTES;
  // A text that fills its attribute continues in the next one (RFC 2865 §5.18).
  const octets = attributes.flatMap(({ type, value }) =>
    type !== REPLY_MESSAGE ? [] : value.length < MAX_VALUE_OCTETS ? [...value, LINE_FEED] : [...value]
  );
  const text = decodeText(Uint8Array.from(octets)).trim().slice(0, MAX_QUESTION_CHARACTERS);
  const prompt = attributes.find(({ type }) => type === PROMPT)?.value;
  return {
    text: text === "" ? "Enter the answer." : text,
    isEchoed: prompt !== undefined && prompt.length === 4 && readInteger(prompt) === 1,
    attributes: attributes.filter(({ type }) => type !== REPLY_MESSAGE && type !== PROMPT && type !== STATE),
  };
}

// The change of a password that is over, during its login: the old and the new password, sealed in the conversation from the first to the last
// prompt. Nothing else stores them. The change is made after the second factor.

interface ChangedPasswords {
  /** The password that is over, as the user typed it. */
  readonly old: string;
  /** `null`: not typed yet, or refused. */
  readonly next: string | null;
  /** Whether the second factor of this login was right. */
  readonly hasFactor: boolean;
}

type Owner = Pick<Conversation, "client" | "user">;
type Holder = Owner & Pick<Conversation, "passwordChange">;

function recordKey({ client, user }: Owner): Deno.KvKey {
  return ["password_change", client, user];
}

/** What the conversation has of the change; `null`: no password is to be changed, or the record was altered. */
export function openPasswordChange(vault: Pick<Vault, "open">, holder: Holder): ChangedPasswords | null {
  if (holder.passwordChange === "") return null;
  const plain = vault.open(recordKey(holder), Uint8Array.fromBase64(holder.passwordChange));
  return plain === null ? null : JSON.parse(new TextDecoder().decode(plain)) as ChangedPasswords;
}

function seal(vault: Pick<Vault, "seal">, conversation: Conversation, passwords: ChangedPasswords): void {
  const plain = new TextEncoder().encode(JSON.stringify(passwords));
  conversation.passwordChange = vault.seal(recordKey(conversation), plain).toBase64();
}

/** The text of a typed password. Octets that are no UTF-8 are no password that a directory has. */
function passwordText(password: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(password);
}

/** Whether the typed password is the new one again. */
export function repeatsNewPassword(
  vault: Pick<Vault, "open">,
  conversation: Holder,
  { password }: Pick<LoginAttempt, "password">,
): boolean {
  const next = openPasswordChange(vault, conversation)?.next ?? null;
  return next !== null && next === passwordText(password);
}

/** Begins the change with the old password. */
export function keepOldPassword(
  { vault }: { vault: Pick<Vault, "seal"> },
  conversation: Conversation,
  { password }: Pick<LoginAttempt, "password">,
): void {
  seal(vault, conversation, { old: passwordText(password), next: null, hasFactor: false });
}

/** Changes what is kept. `next: null` forgets a new password that is not used. */
export function notePasswordChange(
  { vault }: { vault: Pick<Vault, "seal" | "open"> },
  conversation: Conversation,
  change: { readonly typed?: Uint8Array; readonly next?: null; readonly hasFactor?: boolean },
): void {
  const kept = openPasswordChange(vault, conversation);
  if (kept === null) throw new Error("Cannot change a password: what was typed before cannot be read");
  const { typed, ...more } = change;
  seal(vault, conversation, {
    ...kept,
    ...more,
    ...(typed === undefined ? {} : { next: passwordText(typed) }),
  });
}

/** Changes the password in the directory. A fault is a result, because the directory may have changed it. */
export async function changeInDirectory(
  { vault, passwords, log }: { vault: Vault; passwords?: Pick<Passwords, "changes"> | undefined; log: Log },
  { conversation, attempt }: { conversation: Conversation; attempt: LoginAttempt },
): Promise<void> {
  const kept = openPasswordChange(vault, conversation);
  const { firstFactorBackend: backend } = attempt.client.settings;
  const { shownUser: user, orderedId } = conversation;
  attempt.passwordChange = "failed";
  if (kept === null || kept.next === null || passwords?.changes === undefined) return;
  try {
    const result = await passwords.changes.change(backend, user, { old: kept.old, next: kept.next });
    attempt.passwordChange = result;
    log.info("change of a password in a login", { conversation: orderedId, user, backend, result });
  } catch (fault) {
    log.warn("a password could not be changed", {
      conversation: orderedId,
      user,
      backend,
      fault: String(fault),
    });
  }
}
