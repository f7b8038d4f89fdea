// The stored form of a conversation, as octets: a line of the journal, and the value of its own key. A waiting conversation has the same form in
// memory. Secrets are stored as keyed hashes only.

import {
  decodeUtf8,
  FieldReader,
  FieldsEndError,
  FieldWriter,
  isTextAt,
} from "../../platform/octet_fields.ts";
import { type JournalLine, LINE_KINDS } from "../../platform/journal.ts";
import type { Check, Mutation } from "../../platform/store.ts";
import type { Prompt } from "../flow/prompts.ts";
import { isStep, PASSAGES } from "../protocol/steps.ts";
import {
  type Conversation,
  type ConversationRecord,
  type LastAnswer,
  newConversation,
  type PeerDigest,
  type RelayedLogin,
  type SentPasscode,
} from "./conversation.ts";
import type { ConversationMoment } from "../ports.ts";

/** The first octet of a record, also of one that is not in the journal. */
const FORM = LINE_KINDS.conversation;
/** Form, flags, three times, and round. The ordered id, the tuple and the user follow, so that a search finds them without decoding. */
const HEADER_OCTETS = 2 + 3 * 6 + 2;
const HAS_TOKEN = 1;
const SIGNED = 2;
const FIRST_FACTOR_RIGHT = 4;
/** `shownUser` equals `user` and is not repeated. */
const SAME_USER = 8;
/** The forms of the last answer. */
const NO_ANSWER = 0;
const ANSWER = 1;
const EAP_ANSWER = 2;
/** Beyond it, the stored number of rounds does not grow. Nothing depends on it. */
const MAX_ROUND = 0xffff;

/** A text that a search compares, by its position after the header. */
const SEARCHED = { orderedId: 0, tuple: 1, user: 2 } as const;

const writer = new FieldWriter();

/** How a record is written: as a line of the journal, or under its own key with compare-and-set. */
export type RecordWrite =
  | { readonly journal: JournalLine }
  | { readonly check: Check; readonly mutation: Mutation };

/** The store's key of a conversation. */
export function conversationKey(orderedId: string): Deno.KvKey {
  return ["conversation", orderedId];
}

/**
 * Writes the record of a conversation.
 *
 * @returns a view that is valid until the next call
 */
export function encodeConversation(record: ConversationRecord): Uint8Array<ArrayBuffer> {
  writer.begin();
  writeFields(writer, record);
  return writer.view();
}

function writeFields(to: FieldWriter, record: ConversationRecord): void {
  const isSame = record.shownUser === record.user;
  to.small(FORM);
  to.small(
    (record.hasToken ? HAS_TOKEN : 0) | (record.signed ? SIGNED : 0) |
      (record.firstFactorRight ? FIRST_FACTOR_RIGHT : 0) | (isSame ? SAME_USER : 0),
  );
  to.timeMs(record.startedMs);
  to.timeMs(record.deadlineMs);
  to.timeMs(record.updatedMs);
  to.count(Math.min(record.round, MAX_ROUND));
  to.text(record.orderedId);
  to.text(record.tuple);
  to.text(record.user);
  if (!isSame) to.text(record.shownUser);
  to.text(record.client);
  to.text(record.source);
  to.text(record.place);
  to.text(record.secretId);
  to.text(record.at);
  to.textOrNull(record.factor);
  to.textOrNull(record.requestId);
  to.textOrNull(record.pairingId);
  to.textOrNull(record.phone);
  to.textOrNull(record.newPairingId);
  to.textOrNull(record.numberToMatch);
  to.textOrNull(record.prompt);
  to.textOrNull(record.outcome);
  writePasscode(to, record.passcode);
  writeLastAnswer(to, record.lastAnswer);
  to.count(record.numbers.length);
  for (const number of record.numbers) to.text(number);
  to.count(record.moments.length);
  for (const { atMs, step, row } of record.moments) {
    to.timeMs(atMs);
    to.text(step);
    to.text(row);
  }
  writeNodes(to, record);
  to.text(record.policy);
  to.textOrNull(record.token);
  to.octetText(record.firstFactorReply);
  to.text(record.firstFactorServer);
  to.text(record.passwordChange);
  writeRelay(to, record.relay);
}

function writeNodes(to: FieldWriter, { node, peerDigests }: ConversationRecord): void {
  to.text(node);
  to.count(peerDigests.length);
  for (const { node: peer, digest } of peerDigests) {
    to.text(peer);
    to.text(digest);
  }
}

function writePasscode(to: FieldWriter, passcode: SentPasscode | null): void {
  to.textOrNull(passcode === null ? null : passcode.factor);
  if (passcode === null) return;
  to.text(passcode.digest);
  to.text(passcode.number);
  to.timeMs(passcode.expiresMs);
}

function writeLastAnswer(to: FieldWriter, answer: LastAnswer | null): void {
  to.small(answer === null ? NO_ANSWER : answer.eapIdentifier === null ? ANSWER : EAP_ANSWER);
  if (answer === null) return;
  to.octetText(answer.authenticator);
  to.textOrNull(answer.state);
  to.count(answer.identifier);
  to.timeMs(answer.atMs);
  if (answer.eapIdentifier !== null) to.small(answer.eapIdentifier);
}

function writeRelay(to: FieldWriter, relay: RelayedLogin | null): void {
  to.textOrNull(relay === null ? null : relay.key);
  if (relay === null) return;
  to.text(relay.method);
  to.text(relay.outer);
}

function readRelay(from: FieldReader): RelayedLogin | null {
  const key = from.textOrNull();
  return key === null ? null : { key, method: from.text(), outer: from.text() };
}

/** Begins with a new conversation, so that all conversations have one hidden class in V8. */
function readFields(from: FieldReader): Conversation {
  const flags = from.small();
  const nowMs = from.timeMs();
  const ttlMs = from.timeMs() - nowMs;
  const updatedMs = from.timeMs();
  const round = from.count();
  const orderedId = from.text();
  const tuple = from.text();
  const user = from.text();
  const read = newConversation(
    {
      tuple,
      user,
      shownUser: (flags & SAME_USER) === 0 ? from.text() : user,
      client: from.text(),
      source: from.text(),
      place: from.text(),
      hasToken: (flags & HAS_TOKEN) !== 0,
      signed: (flags & SIGNED) !== 0,
      firstFactorRight: (flags & FIRST_FACTOR_RIGHT) !== 0,
    },
    { orderedId, nowMs, ttlMs },
  );
  read.updatedMs = updatedMs;
  read.round = round;
  read.secretId = from.text();
  read.at = from.text() as ConversationRecord["at"];
  read.factor = from.textOrNull() as ConversationRecord["factor"];
  read.requestId = from.textOrNull();
  read.pairingId = from.textOrNull();
  read.phone = from.textOrNull();
  read.newPairingId = from.textOrNull();
  read.numberToMatch = from.textOrNull();
  read.prompt = from.textOrNull() as Prompt | null;
  read.outcome = from.textOrNull() as ConversationRecord["outcome"];
  read.passcode = readPasscode(from);
  read.lastAnswer = readLastAnswer(from);
  read.numbers = readList(from, () => from.text());
  read.moments = readList(from, () => ({ atMs: from.timeMs(), step: from.text(), row: from.text() }));
  read.node = from.text();
  read.peerDigests = readList(from, () => ({ node: from.text(), digest: from.text() }));
  read.policy = from.text();
  read.token = from.textOrNull();
  // A record of version 0.2 ends here.
  if (from.isAtEnd) return read;
  read.firstFactorReply = from.octetText();
  read.firstFactorServer = from.text();
  read.passwordChange = from.text();
  read.relay = readRelay(from);
  return read;
}

function readList<T extends string | ConversationMoment | PeerDigest>(from: FieldReader, read: () => T): T[] {
  const count = from.count();
  if (count === 0) return [];
  const list = [read()];
  while (list.length < count) list.push(read());
  return list;
}

function readPasscode(from: FieldReader): SentPasscode | null {
  const factor = from.textOrNull() as SentPasscode["factor"] | null;
  if (factor === null) return null;
  return { factor, digest: from.text(), number: from.text(), expiresMs: from.timeMs() };
}

function readLastAnswer(from: FieldReader): LastAnswer | null {
  const form = from.small();
  if (form === NO_ANSWER) return null;
  const authenticator = from.octetText();
  const state = from.textOrNull() as LastAnswer["state"];
  return {
    state,
    identifier: from.count(),
    authenticator,
    atMs: from.timeMs(),
    eapIdentifier: form === EAP_ANSWER ? from.small() : null,
  };
}

/**
 * Whether the ordered id, the tuple or the user of a record equals a text.
 *
 * @param block the record, which {@link encodeConversation} wrote, from `at`
 */
export function isRecordField(
  { octets, at }: { readonly octets: Uint8Array; readonly at: number },
  name: keyof typeof SEARCHED,
  text: string,
): boolean {
  let from = at + HEADER_OCTETS;
  for (let skip = SEARCHED[name]; skip > 0; skip--) from += 2 + lengthAt(octets, from);
  return isTextAt(octets, { at: from + 2, lengthOctets: lengthAt(octets, from) }, text);
}

/** The ordered id of a record, without decoding the rest. */
export function decodeOrderedId(
  { octets, at }: { readonly octets: Uint8Array; readonly at: number },
): string {
  const from = at + HEADER_OCTETS;
  return decodeUtf8(octets, from + 2, lengthAt(octets, from));
}

function lengthAt(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

/**
 * Reads a record. A conversation that was in a passage when the server stopped continues at the next step. The effect of the passage was
 * claimed, so it is not made again.
 *
 * @param record the value of a key, or a line of the journal
 * @returns `null` if it is not a record, because the store file is untrusted input
 */
export function decodeRecord(
  record: unknown,
  { stored, answerDigest = null }: { stored: Conversation["stored"]; answerDigest?: string | null },
): Conversation | null {
  const read = decodeFields(record);
  if (read === null) return null;
  read.stored = stored;
  read.answerDigest = answerDigest;
  read.interrupted = read.outcome === null && !isStep(read.at);
  return resumeInterrupted(read) ? read : null;
}

/**
 * Reads a record that another node wrote, with its times by the clock of this node.
 *
 * @returns the record's octets, as a view that is valid until the next call, or `null` if it is not a record
 */
export function localizeRecord(
  record: unknown,
  offsetOf: (node: string) => number,
): { octets: Uint8Array<ArrayBuffer>; orderedId: string } | null {
  const fields = decodeFields(record);
  if (fields === null) return null;
  return {
    octets: encodeConversation(toLocalTimes(fields, offsetOf(fields.node))),
    orderedId: fields.orderedId,
  };
}

function decodeFields(record: unknown): Conversation | null {
  if (!(record instanceof Uint8Array) || record[0] !== FORM) return null;
  try {
    return readFields(new FieldReader(record, 1));
  } catch (fault) {
    if (fault instanceof FieldsEndError) return null;
    throw fault;
  }
}

const AFTER_CRASH: Readonly<
  Record<NonNullable<(typeof PASSAGES)[keyof typeof PASSAGES]["afterCrash"]>, Prompt>
> = {
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "approve_on_device",
  GET_DEVICE_GENERATED_PASSCODE: "ask_device_code",
  AWAIT_SMS_DELIVERED_PASSCODE: "enter_texted_code",
  AWAIT_VOICE_DELIVERED_PASSCODE: "enter_spoken_code",
  VERIFY_SMS_PHONE_NUMBER: "enter_texted_code",
  VERIFY_VOICE_PHONE_NUMBER: "enter_spoken_code",
  SECONDFACTOR_GET_PAIRING_PHRASE: "ask_phrase",
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: "confirm_pairing",
  FIRSTFACTOR_GET_NEW_PASSWORD: "ask_new_password",
};

/** Moves a conversation that was interrupted in a passage to the next step; `false` if it cannot continue. */
export function resumeInterrupted(conversation: Conversation): boolean {
  if (conversation.outcome !== null || isStep(conversation.at)) return true;
  if (!Object.hasOwn(PASSAGES, conversation.at)) return false;
  const passage = PASSAGES[conversation.at];
  if (passage.afterCrash === null) return false;
  conversation.at = passage.afterCrash;
  conversation.prompt = AFTER_CRASH[passage.afterCrash];
  return true;
}

/**
 * The same record with its times by the clock of this node.
 *
 * @param offsetMs the clock that wrote the times minus the clock of this node
 */
export function toLocalTimes<T extends ConversationRecord>(record: T, offsetMs: number): T {
  if (offsetMs === 0) return record;
  const { startedMs, deadlineMs, updatedMs, passcode, lastAnswer } = record;
  return {
    ...record,
    startedMs: startedMs - offsetMs,
    deadlineMs: deadlineMs - offsetMs,
    updatedMs: updatedMs - offsetMs,
    passcode: passcode && { ...passcode, expiresMs: passcode.expiresMs - offsetMs },
    lastAnswer: lastAnswer && { ...lastAnswer, atMs: lastAnswer.atMs - offsetMs },
  };
}
