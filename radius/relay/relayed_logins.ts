// The logins of relayed requests: begins one with the verdict of the first-factor server, and finds it again for a repeated packet.

import type { Clock } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { keptRelayedReply } from "../protocol/relayed_attributes.ts";
import type { RelayedVerdict } from "./relayed_verdict.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import {
  callingStation,
  newLoginAttempt,
  readView,
  type Request,
  type RequestRefusal,
} from "../server/request.ts";
import type { Responder } from "../server/responder.ts";
import { type Conversation, isLive } from "../conversation/conversation.ts";
import type { ConversationStore } from "../conversation/conversation_store.ts";
import type { DirectoryWaitQueue } from "../conversation/directory_wait_queue.ts";
import { sealReply } from "../conversation/first_factor_reply.ts";
import type { PasswordDigests } from "../conversation/peers.ts";
import type { ConversationFinder } from "../conversation/find_conversation.ts";
import { loginInput, type RequestRunner } from "../conversation/run.ts";
import { type SharedTuples, tupleOf } from "../conversation/tuple.ts";
import type { LoginSettings } from "../conversation/store_effects.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestSettings } from "../../platform/client_settings.ts";
import { decodeText } from "../protocol/attributes.ts";
import {
  EAP_METHODS,
  EAP_MSCHAPV2_OPCODES,
  eapIdentity,
  eapMsChapName,
  eapMsChapOpCode,
  type EapPacket,
  isEapMethod,
  isIdentityBound,
} from "../protocol/eap.ts";
import { isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import type { RelayRound } from "./relay_state.ts";

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
