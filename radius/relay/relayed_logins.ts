// The logins of relayed requests: their proof, and the login that begins with the verdict of the first-factor server or is found again for a
// repeated packet.

import { type Clock, toBase64Url } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { keptRelayedReply } from "../protocol/relayed_attributes.ts";
import {
  type Conversation,
  isLive,
  type PasswordDigests,
  type RelayedVerdict,
} from "../conversation/conversation.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import {
  callingStation,
  newLoginAttempt,
  readView,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import type { Responder } from "../server/responder.ts";
import type { ConversationStore } from "../conversation/conversation_store.ts";
import type { DirectoryWaitQueue } from "../conversation/waiting_packets.ts";
import { sealReply } from "../conversation/sealed_fields.ts";
import type { ConversationFinder } from "../conversation/find_conversation.ts";
import { loginInput, type RequestRunner } from "../conversation/run.ts";
import { type SharedTuples, tupleOf } from "../conversation/tuple.ts";
import type { LoginSettings } from "../conversation/store_effects.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestSettings } from "../../platform/client_settings.ts";
import { decodeText, readInteger } from "../protocol/attributes.ts";
import {
  decodeEap,
  EAP_CODES,
  EAP_METHODS,
  EAP_MSCHAPV2_OPCODES,
  eapIdentity,
  eapMethodName,
  eapMsChapName,
  eapMsChapOpCode,
  type EapPacket,
  isEapMethod,
  isIdentityBound,
  joinEapMessages,
} from "../protocol/eap.ts";
import { isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import type { RelayRound } from "./relay_state.ts";
import { typeOf } from "../protocol/dictionary.ts";
import { type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import { MICROSOFT_VENDOR, readMsChap } from "../protocol/ms_chap.ts";
import {
  AUTHENTICATOR_AT,
  AUTHENTICATOR_OCTETS,
  forEachAttribute,
  MAX_PACKET_OCTETS,
} from "../protocol/packet.ts";

export interface RelayedLoginDeps {
  readonly conversations: ConversationStore;
  readonly sharedTuples: SharedTuples;
  readonly packets: PacketCapture;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logins: Pick<LoginSettings, "loginJoinWindowMs">;
  readonly responder: Responder;
  readonly runner: RequestRunner;
  readonly waitQueue: DirectoryWaitQueue;
  readonly finder: ConversationFinder;
  readonly passwords: { digests(octets: Uint8Array, context: string): PasswordDigests };
  /** Handles a request whose login was forgotten meanwhile. */
  readonly again: (request: Request) => void;
}

export class RelayedLogins {
  readonly #deps: RelayedLoginDeps;

  constructor(deps: RelayedLoginDeps) {
    this.#deps = deps;
  }

  /**
   * The login that a packet belongs to; `null`: there is none yet. `over`: it was accepted longer ago than a client repeats a packet, so that this one is
   * another login with the same proof.
   *
   * @param key `relayKeyOf()` of the packet
   */
  find(key: string): Conversation | "over" | null {
    const { conversations, clock, logins: { loginJoinWindowMs } } = this.#deps;
    const known = conversations.byRelayKey(key);
    // A clock that was set back must not keep it open. That of another node may be a little ahead.
    const isOver = known?.outcome === "accepted" &&
      Math.abs(clock.nowMs() - known.updatedMs) > loginJoinWindowMs;
    return isOver ? "over" : known;
  }

  /** Handles a packet again whose login is known. @param key `relayKeyOf()` of the packet */
  resume(request: Request, key: string): void {
    const { responder, waitQueue, runner, finder, again } = this.#deps;
    const known = this.find(key);
    if (known === null || known === "over") return again(request);
    const { user, signed } = known;
    if (signed && !request.signed) return responder.drop(request, "overtaken", { keepSlot: true });
    const pending = waitQueue.pendingFor(user);
    if (pending === null) {
      const attempt = newLoginAttempt(request, { answer: null });
      return runner.take(
        request,
        finder.resolveKnown(request, known, { attempt, typed: this.#digestsOf(known) }),
      );
    }
    waitQueue.enqueue({ user, pending }, {
      resume: () => this.resume(request, key),
      fail: (why) => responder.drop(request, why),
    });
  }

  /** Begins the login of a request. Its other copies get the same answer. */
  begin(requests: readonly Request[], user: BoundUser, verdict: RelayedVerdict): void {
    const { conversations, responder, waitQueue } = this.#deps;
    const [request] = requests;
    if (request === undefined) return;
    const found = waitQueue.find(user);
    if (found instanceof Promise) {
      return waitQueue.enqueue({ user: user.canonical, pending: found }, {
        resume: () => this.begin(requests, user, verdict),
        fail: (why) => requests.forEach((one) => responder.drop(one, why)),
      });
    }
    if (found === "several") return requests.forEach((one) => responder.refuse(one, "several_users"));
    if (found.canonical !== user.canonical) return this.begin(requests, found, verdict);
    // Another node may have begun it meanwhile.
    const known = verdict.key === "" ? null : this.find(verdict.key);
    if (known !== null && known !== "over") {
      return requests.forEach((one) => this.resume(one, verdict.key));
    }
    if (conversations.hasRoom(request)) return this.#run(request, { requests, user, verdict });
    for (const one of requests) responder.drop(one, "too_busy");
  }

  #run(
    request: Request,
    { requests, user, verdict }: {
      requests: readonly Request[];
      user: BoundUser;
      verdict: RelayedVerdict;
    },
  ): void {
    const { conversations, packets, runner, finder, vault } = this.#deps;
    const view = readView(request);
    const { name: client, settings } = request.client;
    const tuple = tupleOf(view, client, user.canonical);
    const replaces = this.#replacedBy(request, tuple);
    const { key, method, outer, server, firstFactor, passwordChecked, answer } = verdict;
    const conversation = finder.begin({
      ...{ client, user: user.canonical, shownUser: user.shown, source: request.source },
      ...{ place: callingStation(view), tuple: tuple.key, signed: request.signed },
      // No State of a step selects it.
      hasToken: true,
      firstFactorServer: server,
      relay: { key, method, outer },
    });
    if (answer !== null) {
      const kept = keptRelayedReply(answer, settings.replyFromFirstFactor);
      conversation.firstFactorReply = sealReply(vault, conversation, kept);
    }
    conversations.add(conversation);
    packets.follow(verdict.trace, conversation.orderedId);
    const attempt = newLoginAttempt(request, { answer: null, relayed: verdict });
    Object.assign(attempt, { firstFactor, passwordChecked });
    const input = loginInput(attempt, { typed: this.#digestsOf(conversation), replaces });
    runner.run([...requests], conversation, { ...input, hasPassword: true });
  }

  /** The login of the same place that a new one replaces after its first factor, by its ordered id. */
  #replacedBy({ signed }: Request, { key, distinct, place }: ReturnType<typeof tupleOf>): string | null {
    const { conversations, sharedTuples, clock } = this.#deps;
    const newest = conversations.newestOn(key);
    if (newest === null || !isLive(newest, clock) || !distinct || sharedTuples.isShared(place)) return null;
    return signed || !newest.signed ? newest.orderedId : null;
  }

  /** In place of a password, the packet itself identifies the login. */
  #digestsOf({ relay, tuple }: Conversation): PasswordDigests {
    return this.#deps.passwords.digests(encoder.encode(relay?.key ?? ""), tuple);
  }
}

const encoder = new TextEncoder();

// Who signs in with a relayed request. An attacker who has Alice's password must not be able to name Bob: the second factor is asked of the user
// whose password or certificate the first-factor server checked. Pure functions.

type NameSettings = Pick<RequestSettings, "stripDomains" | "stripRealms">;

/** The name of a user, as typed and without the domain and realm that the client strips, and its canonical form. */
export interface BoundUser {
  readonly shown: string;
  readonly canonical: string;
}

/** The parts of a round that say who the user is. */
type Known = Pick<RelayRound, "method" | "identity" | "isMixed">;

/** What is known after a Response of the peer. `before`: the round that it answers. */
export function noteResponse(
  eap: EapPacket | null,
  before: Known,
  { userName, settings }: { readonly userName: string; readonly settings: NameSettings },
): Known {
  const identity = eap === null ? null : eapIdentity(eap);
  if (identity === null || before.identity === "different") return before;
  const isEqual = nameOf(identity, settings).canonical === canonicalName(userName);
  return { ...before, identity: isEqual ? "equal" : "different" };
}

/** What is known after a Request of the server. A change of the method is only usual after a Nak (RFC 3748 §5.3.1). */
export function noteRequest(request: EapPacket | null, response: EapPacket | null, before: Known): Known {
  if (request === null || !isEapMethod(request.type)) return before;
  const { type } = request;
  const isChanged = isEapMethod(before.method) && before.method !== type && response?.type === before.method;
  return { ...before, method: type, isMixed: before.isMixed || isChanged };
}

/** Why a Response is refused before the server sees it; `null`: it is not. */
export function refusalOfResponse(
  eap: EapPacket | null,
  known: Known,
  { userName, settings }: {
    readonly userName: string;
    readonly settings: NameSettings & Pick<RequestSettings, "eapOuterIdentity">;
  },
): RequestRefusal | null {
  if (eap === null || !isEapMethod(eap.type)) return null;
  const isUnbound = !isIdentityBound(eap.type);
  if (isUnbound && settings.eapOuterIdentity === "refuse") return "eap_outer_identity";
  // RFC 3748 §4.1. A server that checks such a password would check one that is not counted.
  if (eap.type !== known.method) return "malformed_eap";
  if (isUnbound) return null;
  if (known.identity !== "equal") return "eap_names_differ";
  if (eap.type !== EAP_METHODS["EAP-MSCHAPv2"].type) return null;
  if (eapMsChapOpCode(eap) !== EAP_MSCHAPV2_OPCODES.response) return null;
  const name = eapMsChapName(eap);
  if (name === null) return "malformed_eap";
  return nameOf(name, settings).canonical === canonicalName(userName) ? null : "eap_names_differ";
}

/** Whether a Response contains a password or its hash, and not only the end of a conversation. */
export function isNamedProof(eap: EapPacket | null): boolean {
  if (eap === null || !isIdentityBound(eap.type)) return false;
  return eap.type !== EAP_METHODS["EAP-MSCHAPv2"].type ||
    eapMsChapOpCode(eap) === EAP_MSCHAPV2_OPCODES.response;
}

/** Whether the last Response proves the name in User-Name. */
export function isBound(eap: EapPacket | null, { method, identity, isMixed }: Known): boolean {
  return eap !== null && eap.type === method && isIdentityBound(method) && identity === "equal" && !isMixed;
}

/**
 * The user whom an Access-Accept lets in, or why it is refused.
 *
 * @param accept.isBound whether the proof is of `user`, the name of the request
 * @param accept.names the User-Names of the Access-Accept
 */
export function userOfAccept(
  { isBound, user, names, settings }: {
    readonly isBound: boolean;
    readonly user: BoundUser;
    readonly names: readonly Uint8Array[];
    readonly settings: NameSettings & Pick<RequestSettings, "eapOuterIdentity">;
  },
): BoundUser | RequestRefusal {
  if (isBound || settings.eapOuterIdentity === "trust") return user;
  if (settings.eapOuterIdentity === "refuse") return "eap_outer_identity";
  const [name] = names;
  if (name === undefined || names.length > 1) return "eap_user_unnamed";
  const named = nameOf(name, settings);
  return isRefusedUserName(named.shown) ? "eap_user_unnamed" : named;
}

function nameOf(octets: Uint8Array, settings: NameSettings): BoundUser {
  const shown = stripUserName(decodeText(octets), settings);
  return { shown, canonical: canonicalName(shown) };
}

// The proof of a relayed request: CHAP (RFC 2865 §5.3), MS-CHAP (RFC 2548 §2) or EAP (RFC 3579). Only the first-factor server can check it.

const USER_NAME = typeOf("User-Name");
const USER_PASSWORD = typeOf("User-Password");
const CHAP_PASSWORD = typeOf("CHAP-Password");
const CHAP_CHALLENGE = typeOf("CHAP-Challenge");
const STATE = typeOf("State");
const EAP_MESSAGE = typeOf("EAP-Message");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
/** RFC 2865 §5.3: the CHAP Identifier and the response. */
const CHAP_OCTETS = 17;

/** `eap`: the Response of the peer; `null` for EAP-Start (RFC 3579 §2.1). */
export type RelayedProof =
  | { readonly kind: "chap" | "ms_chap"; readonly name: string }
  | { readonly kind: "eap"; readonly name: string; readonly eap: EapPacket | null };

/** The proof of a valid packet, or why it is refused. `null`: the request has a password, or nothing. */
export function readRelayedProof(octets: Uint8Array): RelayedProof | RequestRefusal | null {
  const counts = countProofs(octets);
  const msChap = readMsChap(octets);
  const kinds = Math.min(1, counts.eap) + counts.chap + counts.password + (msChap === null ? 0 : 1);
  if (counts.eap === 0 && counts.password > 0 && counts.chap === 0) return null;
  if (kinds > 1) return "two_passwords";
  // The server could read another name than the gateway.
  if (counts.names !== 1) return "no_user_name";
  if (counts.eap > 0) return readEap(octets);
  if (counts.chap > 0) return counts.isChapMalformed ? "malformed_chap" : { kind: "chap", name: "CHAP" };
  if (msChap === null) return null;
  if (msChap.isChange) return "ms_chap_change";
  if (msChap.responses > 1) return "two_passwords";
  return msChap.isMalformed ? "malformed_chap" : { kind: "ms_chap", name: `MS-CHAPv${msChap.version}` };
}

function countProofs(octets: Uint8Array) {
  const counts = { names: 0, eap: 0, chap: 0, password: 0, isChapMalformed: false };
  forEachAttribute(octets, octets.length, (type, _at, valueOctets) => {
    if (type === USER_NAME) counts.names++;
    if (type === EAP_MESSAGE) counts.eap++;
    if (valueOctets === 0) return;
    if (type === USER_PASSWORD) counts.password++;
    if (type !== CHAP_PASSWORD) return;
    counts.chap++;
    if (valueOctets !== CHAP_OCTETS) counts.isChapMalformed = true;
  });
  return counts;
}

function readEap(octets: Uint8Array): RelayedProof | RequestRefusal {
  const joined = joinEapMessages(octets);
  if (joined === null) return "malformed_eap";
  if (joined.length === 0) return { kind: "eap", name: "EAP", eap: null };
  const eap = decodeEap(joined);
  if (eap === null || eap.code !== EAP_CODES.response) return "malformed_eap";
  const isChange = eap.type === EAP_METHODS["EAP-MSCHAPv2"].type &&
    eapMsChapOpCode(eap) === EAP_MSCHAPV2_OPCODES.change;
  if (isChange) return "ms_chap_change";
  return { kind: "eap", name: isEapMethod(eap.type) ? eapMethodName(eap.type) : "EAP", eap };
}

const scratch = new Uint8Array(MAX_PACKET_OCTETS + 512);
const digest = new Uint8Array(MD5_OCTETS);
const utf8 = new TextEncoder();

/**
 * Identifies the login of a relayed request: a keyed hash of the client, the NAS, the place, User-Name, State and the proof. A packet that is re-issued
 * with another Identifier and Request Authenticator has the same. A proof alone does not suffice: some NAS send a constant challenge, and then anyone
 * can repeat the response elsewhere. Without a place, only a retransmission is the same, which has the same Request Authenticator (RFC 5080 §2.2.1).
 *
 * @returns `null` for the first packet of an EAP conversation, which contains nothing random
 */
export function relayKeyOf(hmac: HmacMd5, octets: Uint8Array, client: string): string | null {
  let used = utf8.encodeInto(`${client.length} ${client}`, scratch).written;
  let hasEap = false;
  let hasState = false;
  let hasChapChallenge = false;
  let isChap = false;
  let hasPlace = false;
  forEachAttribute(octets, octets.length, (type, at, valueOctets) => {
    if (type === CHAP_CHALLENGE) hasChapChallenge = true;
    if (type === CHAP_PASSWORD) isChap = true;
    if (type === EAP_MESSAGE) hasEap = true;
    if (type === STATE && valueOctets > 0) hasState = true;
    if (PLACE.has(type)) hasPlace ||= octets.subarray(at, at + valueOctets).some((octet) => octet !== 0);
    const isMicrosoft = type === VENDOR_SPECIFIC && valueOctets >= 4 &&
      readInteger(octets, at) === MICROSOFT_VENDOR;
    if (!IDENTIFYING.has(type) && !isMicrosoft) return;
    scratch.set(octets.subarray(at - 2, at + valueOctets), used);
    used += valueOctets + 2;
  });
  // RFC 2865 §5.3: without CHAP-Challenge, the Request Authenticator is the challenge. A State of EAP belongs to one conversation.
  if ((isChap && !hasChapChallenge) || (!hasEap && !hasPlace)) {
    scratch.set(octets.subarray(AUTHENTICATOR_AT, AUTHENTICATOR_AT + AUTHENTICATOR_OCTETS), used);
    used += AUTHENTICATOR_OCTETS;
  }
  // Attributes of Microsoft beside EAP describe the client (RFC 2548 §2.6), and are the same in each conversation.
  if (hasEap && !hasState) return null;
  hmac.signInto(scratch, 0, used, digest, 0);
  return toBase64Url(digest);
}

/** As in tuple.ts, and RFC 2866 §5.5: a NAS gives each session another one. */
const PLACE: ReadonlySet<number> = new Set(
  (["Calling-Station-Id", "NAS-Port", "NAS-Port-Id", "Acct-Session-Id"] as const).map(typeOf),
);
const IDENTIFYING: ReadonlySet<number> = new Set([
  ...PLACE,
  ...(["NAS-IP-Address", "NAS-Identifier", "NAS-IPv6-Address"] as const).map(typeOf),
  USER_NAME,
  CHAP_PASSWORD,
  CHAP_CHALLENGE,
  STATE,
  EAP_MESSAGE,
]);
