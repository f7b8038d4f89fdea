// A conversation: the record of one login, its start, its view for the console, and the keys by which a packet finds it: the tuple of
// request attributes, and the token in State.

import type { Prompt } from "../flow/prompts.ts";
import type { FlowPlace, Step } from "../protocol/steps.ts";
import type {
  ConversationMoment,
  ConversationOutcome,
  ConversationView,
  FirstFactorReply,
  PeerNodes,
} from "../ports.ts";
import type { UsedFactor } from "../flow/context.ts";
import { type Clock, type Random, toBase64Url } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Denial, RelayedSignIn } from "./login_record.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import type { ClearAttribute } from "../protocol/clear_attributes.ts";
import type { ReplyName } from "../protocol/packet.ts";

/** A passcode that was sent. Only its keyed hash is stored. */
export interface SentPasscode {
  readonly factor: "sms" | "voice";
  readonly digest: string;
  readonly expiresMs: number;
  readonly number: string;
}

/** Identifies the last packet of the conversation, so that its retransmission is recognized, even after a restart. */
export interface LastAnswer {
  readonly state: Step | null;
  /** The packet's Identifier. */
  readonly identifier: number;
  /** The Request Authenticator, one character for each octet. */
  readonly authenticator: string;
  /** The Identifier of its EAP-Response; `null` without EAP. */
  readonly eapIdentifier: number | null;
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
  /** The last answer of the first-factor server, sealed by `sealReply()`; "" for none. */
  firstFactorReply: string;
  /** The first-factor server that answered, by its address and port; "" for none. */
  firstFactorServer: string;
  /** The passwords of a change in this login, sealed (sealed_fields.ts); "": none is to be changed. */
  passwordChange: string;
  factor: UsedFactor | null;
  requestId: string | null;
  pairingId: string | null;
  /** The name of the phone of that pairing, if it has one. */
  phone: string | null;
  /** The serial number of the hardware token whose code was right. */
  token: string | null;
  /** The pairing that a typed phrase created, and that the phone must confirm. */
  newPairingId: string | null;
  numberToMatch: string | null;
  passcode: SentPasscode | null;
  numbers: readonly string[];
  prompt: Prompt | null;
  lastAnswer: LastAnswer | null;
  outcome: ConversationOutcome | null;
  moments: ConversationMoment[];
  /** The node that handled the last packet; "" if no other node can use the store. */
  node: string;
  /** The policy that applied to the last packet, by name; "" if none did. */
  policy: string;
  /** The password of the last packet, for the other nodes. */
  peerDigests: readonly PeerDigest[];
  /** How the first-factor server checked the login, if its first packet was relayed. */
  relay: RelayedLogin | null;
}

/** A record, and the fields that exist only in this process. */
export interface Conversation extends ConversationRecord {
  /** Where the record is stored: not yet, in the journal (the only commit of most logins), or under its own key. */
  stored: "not" | "journal" | { readonly versionstamp: string };
  /** The User-Password of the last packet, under a key of this process; `null` after a restart. Never stored. */
  answerDigest: string | null;
  /** Whether the record was written while its packet was in progress, so that it has no answer yet. */
  interrupted: boolean;
  /** Another node changed the record, so this packet cannot be recorded any more. */
  overtaken: boolean;
}

/** Whether a conversation waits for its next packet or handles one. */
export function isLive({ outcome, deadlineMs }: Conversation, clock: Pick<Clock, "nowMs">): boolean {
  return outcome === null && deadlineMs > clock.nowMs();
}

export const NO_NUMBERS: readonly string[] = [];
/** The maximum length of the history. Beyond it, an entry in the middle is removed. */
const MAX_MOMENTS = 40;

/** The fields that a new conversation takes from its first packet. */
export interface NewLogin extends
  Pick<
    ConversationRecord,
    "client" | "user" | "shownUser" | "source" | "place" | "tuple" | "hasToken" | "signed"
  > {
  readonly firstFactorRight?: boolean;
  readonly firstFactorReply?: string;
  readonly firstFactorServer?: string;
  readonly passwordChange?: string;
  readonly relay?: RelayedLogin | null;
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
    firstFactorReply: login.firstFactorReply ?? "",
    firstFactorServer: login.firstFactorServer ?? "",
    passwordChange: login.passwordChange ?? "",
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    token: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: NO_NUMBERS,
    prompt: null,
    lastAnswer: null,
    outcome: null,
    moments: [],
    node: "",
    policy: "",
    peerDigests: NO_DIGESTS,
    relay: login.relay ?? null,
    stored: "not",
    answerDigest: null,
    interrupted: false,
    overtaken: false,
  };
}

/** Adds an entry to the history of the conversation. */
export function addMoment(conversation: Conversation, moment: ConversationMoment): void {
  const { moments } = conversation;
  // A list with one entry takes a tenth of the memory of an empty list to which one is added.
  if (moments.length === 0) conversation.moments = [moment];
  else {
    if (moments.length >= MAX_MOMENTS) moments.splice(MAX_MOMENTS / 2, 1);
    moments.push(moment);
  }
}

/** The row that ends a login whose request was denied while it waited for the next packet of its client. */
export const DENIED_ROW = "denied_while_waiting";
/** The same for a login that waited until the phone confirms its pairing. */
export const PAIRING_DENIED_ROW = "pairing_denied_while_waiting";

/** Whether the login ended by a decision, and not by a packet of its client. The next packet of the client gets the Access-Reject. */
export function isDeniedWhileWaiting(
  { outcome, moments }: Pick<ConversationRecord, "outcome" | "moments">,
): boolean {
  const row = outcome === "rejected" ? moments.at(-1)?.row : undefined;
  return row === DENIED_ROW || row === PAIRING_DENIED_ROW;
}

/** The place in the history of a conversation where the phone or an administrator decided. */
const DECISION_PLACE = "decided";

/** Adds the decision to the history of the conversation, between its last row and now. */
export function addDecision(
  conversation: Conversation,
  { decidedMs, denial, nowMs }: { decidedMs: number; denial?: Denial | undefined; nowMs: number },
): void {
  const lastMs = conversation.moments.at(-1)?.atMs ?? conversation.startedMs;
  const atMs = Math.min(nowMs, Math.max(lastMs, decidedMs));
  addMoment(conversation, { atMs, step: DECISION_PLACE, row: `decided_${denial?.cause ?? "approved"}` });
}

/** The field of views and login records that names the first-factor server. */
export function serverFields(
  { firstFactorServer }: ConversationRecord,
): Pick<ConversationView, "firstFactorServer"> {
  return firstFactorServer === "" ? {} : { firstFactorServer };
}

/** The fields of login records that say which factor it was: the phone that received the push, if it has a name, or the hardware token. */
export function factorFields(
  { factor, phone, token }: ConversationRecord,
): { readonly phone?: string; readonly token?: string } {
  if (factor === "totp") return token === null ? {} : { token };
  return factor === "device" && phone !== null ? { phone } : {};
}

/** The field of login records that says how the user proved the password, if not with PAP: relayed, or with EAP-GTC here. */
export function relayField(
  { relay, lastAnswer, shownUser }: Pick<ConversationRecord, "relay" | "lastAnswer" | "shownUser">,
): { readonly relay?: RelayedSignIn } {
  if (relay === null) {
    const hasEap = lastAnswer !== null && lastAnswer.eapIdentifier !== null;
    return hasEap ? { relay: { method: "EAP-GTC", outer: shownUser } } : {};
  }
  const { method, outer } = relay;
  return { relay: { method, outer } };
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
    ...factorFields(conversation),
    ...serverFields(conversation),
    ...(conversation.node === "" ? {} : { node: conversation.node }),
    ...(conversation.policy === "" ? {} : { policy: conversation.policy }),
    ...relayField(conversation),
  };
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

/**
 * Ids that grow with time: 11 characters for time and count, 6 for the process. Random keys would cost the store three to six times as much.
 *
 * @returns a function that makes an id. With `after`, the id of any process, the new id follows it, although the clock of that process was ahead
 */
export function createOrderedIds(clock: Clock, random: Random): (after?: string) => string {
  const node = random.bytes(PROCESS_CHARACTERS / 2).toHex();
  let last = 0;
  let high = -1;
  let highText = "";
  return (after) => {
    // Each millisecond has room for a thousand ids. If the clock is set back, ids continue from the last one.
    last = Math.max(last + 1, clock.nowMs() * IDS_PER_MS);
    const number = after === undefined ? last : Math.max(last, orderedIdMs(after) * IDS_PER_MS + 1);
    // The runtime converts large numbers slowly. The first characters change only once in a minute.
    const nextHigh = Math.floor(number / LOW_IDS);
    if (nextHigh !== high) {
      high = nextHigh;
      highText = high.toString(36).padStart(6, "0");
    }
    return highText + fiveDigits(number - high * LOW_IDS) + node;
  };
}

/** The moment of an ordered id by the clock of its process; 0 if the text is not an id. */
export function orderedIdMs(id: string): number {
  const text = id.slice(0, TIME_CHARACTERS);
  return /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) / IDS_PER_MS : 0;
}

/** Whether two ids are of one {@link createOrderedIds}, so that their order is the one in which they were made. */
export function isOfOneProcess(a: string, b: string): boolean {
  return a.endsWith(b.slice(-PROCESS_CHARACTERS));
}

const TIME_CHARACTERS = 11;
const PROCESS_CHARACTERS = 6;
/** The clock has milliseconds; many ids begin in one. */
const IDS_PER_MS = 1024;

/** The number of ids with the same first characters: five digits in base 36. */
const LOW_IDS = 36 ** 5;
const DIGITS = Array.from({ length: 36 }, (_, digit) => digit.toString(36).charCodeAt(0));

/** A number below {@link LOW_IDS} in base 36, with zeros in front. */
function fiveDigits(number: number): string {
  const first = Math.floor(number / 36 ** 3);
  const rest = number - first * 36 ** 3;
  return String.fromCharCode(
    DIGITS[Math.floor(first / 36)] as number,
    DIGITS[first % 36] as number,
    DIGITS[Math.floor(rest / 36 ** 2)] as number,
    DIGITS[Math.floor(rest / 36) % 36] as number,
    DIGITS[rest % 36] as number,
  );
}

/** The keyed hash of a passcode, bound to its conversation. */
export function passcodeDigest(vault: Vault, secretId: string, passcode: string): string {
  return vault.digest("passcode", `${secretId} ${passcode}`);
}

// The verdict of the first-factor server about a relayed request, as the input of a login, and what the login stores of it.

/** An answer of the server that is passed on. `clear` includes the State of the next round. */
export interface RelayedReply {
  readonly name: ReplyName;
  readonly clear: readonly ClearAttribute[];
  /** Joins the packets of one conversation for the packet view. */
  readonly trace: string;
}

/** What a login stores: by it, a packet finds its login, and a page says how the user signed in. */
export interface RelayedLogin extends RelayedSignIn {
  /** The keyed hash of the packet that the server accepted; "" if no other packet can be the same. */
  readonly key: string;
}

export interface RelayedVerdict extends RelayedLogin {
  /** `unavailable`: the server was not asked, because the user is locked. */
  readonly firstFactor: "right" | "wrong" | "unavailable";
  /** Whether the server compared a password of this user, so that a wrong one is a failure of the user. */
  readonly passwordChecked: boolean;
  /** Which server answered: `host:port`. */
  readonly server: string;
  /** The Access-Accept; `null` after a wrong password. */
  readonly answer: FirstFactorReply | null;
  /** The answer to a wrong password, which is passed on. */
  readonly reply: RelayedReply | null;
  readonly trace: string;
}

// Whether two packets have the same password, also when another node received the first one.

/** The digest of a password under the key of two running nodes. After their end, it reveals nothing. */
export interface PeerDigest {
  readonly node: string;
  readonly digest: string;
}

const NO_DIGESTS: readonly PeerDigest[] = [];

const encoder = new TextEncoder();

/** Signs passwords with the keys of the other nodes. */
export class PeerDigests {
  readonly #peers: PeerNodes;
  readonly #hmacs = new Map<string, { readonly key: Uint8Array; readonly hmac: HmacMd5 }>();
  readonly #digest = new Uint8Array(MD5_OCTETS);

  constructor(peers: PeerNodes) {
    this.#peers = peers;
  }

  /** One digest for each other node. @param context differs for each user, so that equal passwords have different digests */
  of(password: Uint8Array, context: string): readonly PeerDigest[] {
    const keys = this.#peers.keys();
    if (keys.length === 0) return NO_DIGESTS;
    const head = encoder.encode(`${context.length} ${context}`);
    const octets = new Uint8Array(head.length + password.length);
    octets.set(head);
    octets.set(password, head.length);
    return keys.map(({ node, key }) => {
      this.#hmacOf(node, key).signInto(octets, 0, octets.length, this.#digest, 0);
      return { node, digest: toBase64Url(this.#digest) };
    });
  }

  #hmacOf(node: string, key: Uint8Array): HmacMd5 {
    const known = this.#hmacs.get(node);
    if (known?.key === key) return known.hmac;
    if (this.#hmacs.size > 2 * this.#peers.keys().length) this.#hmacs.clear();
    const hmac = createHmacMd5(key);
    this.#hmacs.set(node, { key, hmac });
    return hmac;
  }
}

/** The password of a packet, as digests: under the key of this process, and under those that it shares with other nodes. */
export interface PasswordDigests {
  readonly digest: string;
  readonly peerDigests: readonly PeerDigest[];
}

/** The fields of a conversation that identify the password of its last packet. */
interface AnsweredPassword {
  readonly node: string;
  readonly answerDigest: string | null;
  readonly peerDigests: readonly PeerDigest[];
}

/**
 * Whether this node cannot compare the password of the last packet of a conversation yet: for a moment after its own start, it does not have the key
 * of the node that received that packet.
 */
export function awaitsPeerKey(
  { node, answerDigest, peerDigests }: AnsweredPassword,
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  return answerDigest === null && peerDigests.some((one) => one.node === ownNode) &&
    !typed.peerDigests.some((one) => one.node === node);
}

/**
 * Whether the last packet of a conversation may have had the same password: it had, or this node cannot tell. It cannot tell after a restart
 * of the node that received the packet, and while it {@link awaitsPeerKey}. Then, an Access-Accept is not given again, because the password may be
 * wrong.
 */
export function maybeSamePassword(
  answered: AnsweredPassword & { readonly outcome: string | null },
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  const { answerDigest, peerDigests, outcome } = answered;
  if (answerDigest === null && !peerDigests.some((one) => one.node === ownNode)) return true;
  if (awaitsPeerKey(answered, typed, ownNode)) return outcome !== "accepted";
  return isSamePassword(answered, typed, ownNode);
}

/** Whether the last packet of a conversation surely had the same password. `false` after a restart of the node that received it. */
export function isSamePassword(
  { node, answerDigest, peerDigests }: AnsweredPassword,
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  if (answerDigest !== null) return answerDigest === typed.digest;
  // Both nodes have the same key, so the digest that the other node made for this one equals the digest that this node makes for it.
  const made = peerDigests.find((one) => one.node === ownNode);
  return made !== undefined &&
    typed.peerDigests.some((one) => one.node === node && one.digest === made.digest);
}
