// A conversation: the record of one login, its key in the store, and what of it the console may see.

import type { Prompt } from "../flow/prompts.ts";
import { packRecord, unpackRecord } from "./conversation_codec.ts";
import { isStep, PASSAGES, type Place, type Step } from "../protocol/steps.ts";
import type { ConversationMoment, ConversationOutcome, ConversationView } from "../ports.ts";
import type { UsedFactor } from "../flow/factors.ts";

/** A passcode that was sent: never itself, only its keyed hash. */
export interface SentPasscode {
  readonly factor: "sms" | "voice";
  readonly digest: string;
  readonly expiresMs: number;
  /** The number it went to. */
  readonly number: string;
}

/** The packet that was worked on last, so that its retransmission is recognized, also after a restart. */
export interface LastAnswer {
  readonly state: Step | null;
  /** The packet's Identifier; `null` in a record of version 0.1. */
  readonly identifier: number | null;
  readonly authenticator: string;
  readonly atMs: number;
}

/** What is kept of a conversation. Everything here is written to the store; secrets only as keyed hashes. */
export interface ConversationRecord {
  /** Begins with the time, so that the store's keys are written in order. */
  readonly orderedId: string;
  /** Random, 128 bits; never leaves the server. Passcodes are bound to it. Drawn when it is first needed; until then "". */
  secretId: string;
  readonly client: string;
  /** Canonical name; the name as typed is `shownUser`. */
  readonly user: string;
  readonly shownUser: string;
  readonly source: string;
  readonly place: string;
  readonly tuple: string;
  /** Whether a token follows the step's name in State. The token is derived from the id and the step, and is never written to the store. */
  readonly hasToken: boolean;
  /** Whether the login began with a packet whose Message-Authenticator was verified. */
  readonly signed: boolean;
  readonly startedMs: number;
  readonly deadlineMs: number;
  at: Place;
  round: number;
  updatedMs: number;
  firstFactorRight: boolean;
  factor: UsedFactor | null;
  requestId: string | null;
  pairingId: string | null;
  /** The name of that pairing's phone, where it has one. */
  phone: string | null;
  /** The pairing that a typed phrase made and the phone must confirm. */
  newPairingId: string | null;
  numberToMatch: string | null;
  passcode: SentPasscode | null;
  numbers: readonly string[];
  prompt: Prompt | null;
  lastAnswer: LastAnswer | null;
  outcome: ConversationOutcome | null;
  moments: ConversationMoment[];
}

/** A record with what only this process knows of it. */
export interface Conversation extends ConversationRecord {
  /**
   * Where its record stands: nowhere yet, in the journal (the first commit of most logins, and their last), or under a key of its own with
   * that versionstamp.
   */
  stored: "not" | "journal" | { readonly versionstamp: string };
  /** The User-Password of the last packet, under a key of this process; `null` after a restart. Never stored. */
  answerDigest: string | null;
}

/** Most moments that a conversation keeps; a login that goes round longer keeps the first and the latest. */
const MOST_MOMENTS = 40;

/** The store's key of a conversation. */
export function conversationKey(orderedId: string): Deno.KvKey {
  return ["conversation", orderedId];
}

const decoder = new TextDecoder();

/** A record as one line of JSON. */
export function recordText(conversation: Conversation): string {
  return JSON.stringify(packRecord(conversation));
}

/** What every record has, by type. */
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
 * Reads a record back. One that stood in a passage when the server died goes on at the step behind it: the effect was claimed
 * and is not made again.
 *
 * @param record octets of a key's value, or a line of the journal.
 * @returns `null` when it is no record: the store file is foreign input too.
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
  return settle(conversation) ? conversation : null;
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

/** Puts a conversation that was interrupted inside a passage at the step behind it; `false`: it cannot go on. */
export function settle(conversation: Conversation): boolean {
  if (conversation.outcome !== null || isStep(conversation.at)) return true;
  if (!Object.hasOwn(PASSAGES, conversation.at)) return false;
  const passage = PASSAGES[conversation.at];
  if (passage.afterCrash === null) return false;
  conversation.at = passage.afterCrash;
  conversation.prompt = AFTER_CRASH[passage.afterCrash] ?? "menu";
  return true;
}

/** Notes what happened, for the console and the audit. */
export function addMoment(conversation: Conversation, moment: ConversationMoment): void {
  if (conversation.moments.length >= MOST_MOMENTS) conversation.moments.splice(MOST_MOMENTS / 2, 1);
  conversation.moments.push(moment);
}

/** The phone that a login was decided on, or waits for, where it has a name: what a record of the login says. */
export function phoneOf({ factor, phone }: ConversationRecord): { readonly phone?: string } {
  return factor === "device" && phone !== null ? { phone } : {};
}

/** What the console may see: no digest, no token, no secret id. */
export function viewOf(conversation: Conversation, { target }: { target: string }): ConversationView {
  const {
    orderedId,
    shownUser,
    client,
    source,
    place,
    at,
    factor,
    startedMs,
    updatedMs,
    deadlineMs,
    outcome,
    moments,
    firstFactorRight,
  } = conversation;
  return {
    id: orderedId,
    user: shownUser,
    client,
    source,
    place,
    step: at,
    factor,
    startedMs,
    updatedMs,
    deadlineMs,
    outcome,
    moments: moments.slice(),
    passwordRight: firstFactorRight,
    target,
    ...phoneOf(conversation),
  };
}

/** A conversation's secret id. */
export function newSecretId(octets: Uint8Array): string {
  return octets.toHex();
}
