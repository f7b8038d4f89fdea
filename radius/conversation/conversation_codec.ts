// The stored form of a conversation: a JSON list of fields by position, because field names would be half of every record.

import type { Prompt } from "../flow/prompts.ts";
import { isStep, PASSAGES } from "../protocol/steps.ts";
import type { Conversation, ConversationRecord } from "./conversation.ts";
import type { ConversationMoment } from "../ports.ts";

/**
 * The fields by position. Add a new field at the end, with a value for records that lack it. `null`: version 0.1 stored a digest of the
 * password there. It is no longer written or read.
 */
export const RECORD_FIELDS = [
  "orderedId",
  "secretId",
  "client",
  "user",
  "shownUser",
  "source",
  "place",
  "tuple",
  "hasToken",
  "startedMs",
  "deadlineMs",
  null,
  "at",
  "round",
  "updatedMs",
  "firstFactorRight",
  "factor",
  "requestId",
  "pairingId",
  "newPairingId",
  "numberToMatch",
  "passcode",
  "numbers",
  "prompt",
  "lastAnswer",
  "outcome",
  "moments",
  "phone",
  "signed",
] as const satisfies readonly (keyof ConversationRecord | null)[];

/** The number of fields in the oldest records. */
const FIELDS_AT_FIRST = RECORD_FIELDS.indexOf("phone");

/** Stored instead of a `shownUser` that equals `user`. */
const SAME = 0;

function packRecord(record: ConversationRecord): unknown[] {
  const { lastAnswer, moments } = record;
  return [
    record.orderedId,
    record.secretId,
    record.client,
    record.user,
    record.shownUser === record.user ? SAME : record.shownUser,
    record.source,
    record.place,
    record.tuple,
    record.hasToken ? "" : null,
    record.startedMs,
    record.deadlineMs,
    null,
    record.at,
    record.round,
    record.updatedMs,
    record.firstFactorRight,
    record.factor,
    record.requestId,
    record.pairingId,
    record.newPairingId,
    record.numberToMatch,
    record.passcode,
    record.numbers,
    record.prompt,
    lastAnswer === null ? null : [
      lastAnswer.state,
      null,
      lastAnswer.authenticator,
      lastAnswer.atMs,
      lastAnswer.identifier,
    ],
    record.outcome,
    packMoments(moments),
    record.phone,
    record.signed,
  ];
}

function packMoments(moments: readonly ConversationMoment[]): unknown[] {
  const packed: unknown[] = [];
  for (const { atMs, step, row } of moments) packed.push(atMs, step, row);
  return packed;
}

/** `null` if `list` is not a record. The caller checks the fields. */
function unpackRecord(list: unknown): Record<string, unknown> | null {
  if (!Array.isArray(list) || list.length < FIELDS_AT_FIRST) return null;
  const fields: Record<string, unknown> = {};
  for (const [at, name] of RECORD_FIELDS.entries()) if (name !== null) fields[name] = list[at];
  if (fields.shownUser === SAME) fields.shownUser = fields.user;
  fields.hasToken = fields.hasToken !== null;
  fields.lastAnswer = unpackAnswer(fields.lastAnswer);
  fields.moments = unpackMoments(fields.moments);
  fields.phone ??= null;
  fields.signed ??= false;
  return fields;
}

/** The second position is empty: version 0.1 stored a digest of the password there. */
function unpackAnswer(packed: unknown): unknown {
  if (!Array.isArray(packed)) return null;
  const [state, , authenticator, atMs, identifier = null] = packed;
  return { state, identifier, authenticator, atMs };
}

function unpackMoments(packed: unknown): unknown {
  if (!Array.isArray(packed) || packed.length % 3 !== 0) return null;
  const moments: unknown[] = [];
  for (let i = 0; i < packed.length; i += 3) {
    moments.push({ atMs: packed[i], step: packed[i + 1], row: packed[i + 2] });
  }
  return moments;
}

const decoder = new TextDecoder();

/** The store's key of a conversation. */
export function conversationKey(orderedId: string): Deno.KvKey {
  return ["conversation", orderedId];
}

/** A record as one line of JSON. */
export function recordText(conversation: Conversation): string {
  return JSON.stringify(packRecord(conversation));
}

/** Fields of every record, by type. */
const TEXTS = [
  "orderedId",
  "secretId",
  "client",
  "user",
  "shownUser",
  "source",
  "place",
  "tuple",
  "at",
] as const satisfies readonly (keyof ConversationRecord)[];
const NUMBERS = [
  "startedMs",
  "deadlineMs",
  "round",
  "updatedMs",
] as const satisfies readonly (keyof ConversationRecord)[];

function isRecord(parsed: Record<string, unknown> | null): boolean {
  return parsed !== null && Array.isArray(parsed.moments) && Array.isArray(parsed.numbers) &&
    typeof parsed.firstFactorRight === "boolean" && typeof parsed.hasToken === "boolean" &&
    typeof parsed.signed === "boolean" &&
    TEXTS.every((name) => typeof parsed[name] === "string") &&
    NUMBERS.every((name) => typeof parsed[name] === "number");
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
  const line = record instanceof Uint8Array ? decoder.decode(record) : record;
  if (typeof line !== "string") return null;
  let parsed: Record<string, unknown> | null;
  try {
    parsed = unpackRecord(JSON.parse(line));
  } catch (_notJson) {
    return null;
  }
  if (!isRecord(parsed)) return null;
  const conversation = { ...parsed, stored, answerDigest } as unknown as Conversation;
  return resumeInterrupted(conversation) ? conversation : null;
}

const AFTER_CRASH: Record<string, Prompt> = {
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "approve_on_device",
  GET_DEVICE_GENERATED_PASSCODE: "ask_device_code",
  AWAIT_SMS_DELIVERED_PASSCODE: "enter_texted_code",
  AWAIT_VOICE_DELIVERED_PASSCODE: "enter_spoken_code",
  VERIFY_SMS_PHONE_NUMBER: "enter_texted_code",
  VERIFY_VOICE_PHONE_NUMBER: "enter_spoken_code",
  SECONDFACTOR_GET_PAIRING_PHRASE: "ask_phrase",
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: "confirm_pairing",
};

/** Moves a conversation that was interrupted in a passage to the next step; `false` if it cannot continue. */
export function resumeInterrupted(conversation: Conversation): boolean {
  if (conversation.outcome !== null || isStep(conversation.at)) return true;
  if (!Object.hasOwn(PASSAGES, conversation.at)) return false;
  const passage = PASSAGES[conversation.at];
  if (passage.afterCrash === null) return false;
  conversation.at = passage.afterCrash;
  conversation.prompt = AFTER_CRASH[passage.afterCrash] ?? "menu";
  return true;
}
