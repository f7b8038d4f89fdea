// A conversation: the record of one login, its start, its view for the console, and the keys by which a packet finds it: the tuple of
// request attributes, and the token in State.

import type { Prompt } from "../flow/prompts.ts";
import type { FlowPlace, Step } from "../protocol/steps.ts";
import type { ConversationMoment, ConversationOutcome, ConversationView } from "../ports.ts";
import type { UsedFactor } from "../flow/context.ts";
import { type Clock, type Random, toBase64Url } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { createHmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import type { PacketView } from "../protocol/packet.ts";

/** A passcode that was sent. Only its keyed hash is stored. */
export interface SentPasscode {
  readonly factor: "sms" | "voice";
  readonly digest: string;
  readonly expiresMs: number;
  /** The destination number. */
  readonly number: string;
}

/** Identifies the last packet of the conversation, so that its retransmission is recognized, even after a restart. */
export interface LastAnswer {
  readonly state: Step | null;
  /** The packet's Identifier; `null` in a record of version 0.1. */
  readonly identifier: number | null;
  readonly authenticator: string;
  readonly atMs: number;
}

/** The stored fields of a conversation. Secrets are stored as keyed hashes only. */
export interface ConversationRecord {
  /** Grows with time, so that the store writes its keys in order. */
  readonly orderedId: string;
  /** 128 random bits that never leave the server. Passcodes are bound to it. Empty until it is first needed. */
  secretId: string;
  readonly client: string;
  /** Canonical name; the name as typed is `shownUser`. */
  readonly user: string;
  readonly shownUser: string;
  readonly source: string;
  readonly place: string;
  readonly tuple: string;
  /** Whether a token follows the step's name in State. The token is derived from the id and the step, and never stored. */
  readonly hasToken: boolean;
  /** Whether the login began with a packet whose Message-Authenticator was verified. */
  readonly signed: boolean;
  readonly startedMs: number;
  readonly deadlineMs: number;
  at: FlowPlace;
  round: number;
  updatedMs: number;
  firstFactorRight: boolean;
  factor: UsedFactor | null;
  requestId: string | null;
  pairingId: string | null;
  /** The name of the phone of that pairing, if it has one. */
  phone: string | null;
  /** The pairing that a typed phrase created, and that the phone must confirm. */
  newPairingId: string | null;
  numberToMatch: string | null;
  passcode: SentPasscode | null;
  numbers: readonly string[];
  prompt: Prompt | null;
  lastAnswer: LastAnswer | null;
  outcome: ConversationOutcome | null;
  moments: ConversationMoment[];
}

/** A record, and the fields that exist only in this process. */
export interface Conversation extends ConversationRecord {
  /** Where the record is stored: not yet, in the journal (the only commit of most logins), or under its own key. */
  stored: "not" | "journal" | { readonly versionstamp: string };
  /** The User-Password of the last packet, under a key of this process; `null` after a restart. Never stored. */
  answerDigest: string | null;
}

/** The maximum length of the history. Beyond it, an entry in the middle is removed. */
const MAX_MOMENTS = 40;

/** The fields that a new conversation takes from its first packet. */
export interface NewLogin extends
  Pick<
    ConversationRecord,
    "client" | "user" | "shownUser" | "source" | "place" | "tuple" | "hasToken" | "signed"
  > {
  readonly firstFactorRight?: boolean;
}

/** Begins a conversation. Sets all fields in the same order, so that all conversations have one hidden class in V8. */
export function newConversation(
  login: NewLogin,
  { orderedId, nowMs, ttlMs }: { orderedId: string; nowMs: number; ttlMs: number },
): Conversation {
  return {
    orderedId,
    secretId: "",
    client: login.client,
    user: login.user,
    shownUser: login.shownUser,
    source: login.source,
    place: login.place,
    tuple: login.tuple,
    hasToken: login.hasToken,
    signed: login.signed,
    startedMs: nowMs,
    deadlineMs: nowMs + ttlMs,
    at: "start",
    round: 0,
    updatedMs: nowMs,
    firstFactorRight: login.firstFactorRight ?? false,
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: [],
    prompt: null,
    lastAnswer: null,
    outcome: null,
    moments: [],
    stored: "not",
    answerDigest: null,
  };
}

/** Adds an entry to the history of the conversation. */
export function addMoment(conversation: Conversation, moment: ConversationMoment): void {
  if (conversation.moments.length >= MAX_MOMENTS) conversation.moments.splice(MAX_MOMENTS / 2, 1);
  conversation.moments.push(moment);
}

/** The `phone` field of login records: the phone that received the push, if it has a name. */
export function phoneOf({ factor, phone }: ConversationRecord): { readonly phone?: string } {
  return factor === "device" && phone !== null ? { phone } : {};
}

/** The view for the console: no digest, no token, no secret id. */
export function toConversationView(
  conversation: Conversation,
  { target }: { target: string },
): ConversationView {
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

/**
 * The client, User-Name, and each of Calling-Station-Id, NAS-Port-Id and NAS-Port that is neither empty nor 0. Never the source port or
 * Service-Type: real clients change both.
 */
export interface Tuple {
  /** Unambiguous: the base64 octets contain the length of each value, and the length precedes the client's name. */
  readonly key: string;
  /** Whether it has one of the three attributes, so that it distinguishes logins of the same user. */
  readonly distinct: boolean;
  /** The key without the user: the same for all users of one port or address. */
  readonly place: string;
}

const PARTS = ["callingStationId", "nasPortId", "nasPort"] as const;
const scratch = new Uint8Array(PARTS.length * 256);

/** @param user the canonical name. */
export function tupleOf(view: PacketView, client: string, user: string): Tuple {
  const { octets } = view;
  let used = 0;
  let distinct = false;
  for (const part of PARTS) {
    const { at, lengthOctets, count } = view.slots[part];
    let zeros = 0;
    if (count > 0) { while (zeros < lengthOctets && octets[at + zeros] === 0) zeros++; }
    const empty = count === 0 || zeros === lengthOctets;
    scratch[used++] = empty ? 0 : lengthOctets;
    if (empty) continue;
    distinct = true;
    for (let i = 0; i < lengthOctets; i++) scratch[used++] = octets[at + i] as number;
  }
  const attributes = scratch.subarray(0, used).toBase64();
  const place = `${attributes} ${client.length} ${client}`;
  return { key: place + user, distinct, place };
}

/** The {@link Tuple.place} of a tuple's key. */
export function placeOfTuple(key: string, user: string): string {
  return key.slice(0, key.length - user.length);
}

/**
 * The token that follows the step's name in State: 128 bits, base64url, derived from the ordered id and the step with a key of the vault.
 * It is the same after a restart, is not stored, and is valid for one step only.
 */
export type TokenOf = (orderedId: string, step: string) => string;

export function createStateTokens(vault: Vault): TokenOf {
  const key = createHmacMd5(vault.deriveKey("state token", 32));
  const encoder = new TextEncoder();
  const token = new Uint8Array(MD5_OCTETS);
  return (orderedId, step) => {
    const text = encoder.encode(`${orderedId} ${step}`);
    key.signInto(text, 0, text.length, token, 0);
    return toBase64Url(token);
  };
}

/** Ids that grow with time: 11 characters for time and count, 6 for the process. Random keys would cost the store three to six times as much. */
export function createOrderedIds(clock: Clock, random: Random): () => string {
  const node = random.bytes(3).toHex();
  let last = 0;
  return () => {
    // Each millisecond has room for a thousand ids. If the clock is set back, ids continue from the last one.
    last = Math.max(last + 1, clock.nowMs() * 1024);
    return last.toString(36).padStart(11, "0") + node;
  };
}
