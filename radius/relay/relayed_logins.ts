// The logins of relayed requests: begins one with the verdict of the first-factor server, and finds it again for a repeated packet.

import type { Clock } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { keptRelayedReply } from "../protocol/relayed_attributes.ts";
import type { BoundUser } from "./bound_user.ts";
import type { RelayedVerdict } from "./relayed_verdict.ts";
import type { PacketCapture } from "../server/packet_capture.ts";
import { callingStation, newLoginAttempt, readView, type Request } from "../server/request.ts";
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
