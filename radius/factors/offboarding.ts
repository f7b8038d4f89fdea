// Removal of a user from the directory: their pairings, recovery codes and live conversations end in the same commit, and no login is accepted
// after it.

import { auditEntry } from "../../platform/audit.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import { RecordVersions } from "../../platform/cluster/record_versions.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import { departureKey, departureMutation } from "../../platform/user_record.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { ConversationStore } from "../conversation/conversation_store.ts";
import { recordEndedLogins } from "../conversation/login_history.ts";
import type { SecondFactorService } from "../ports.ts";
import type { Counters } from "../server/counters.ts";
import { type Pairing, pairingDetails } from "./pairing.ts";
import type { Pairings } from "./pairings.ts";
import type { RecoveryCodeStore } from "./recovery_codes.ts";

/** Called for a device pairing that ended with its user, so that the phone is unpaired at its service. */
export type OnPhoneRevoked = (pairing: { readonly pairingId: string; readonly userName: string }) => void;

export interface OffboardingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The directory of the users. */
  readonly target: string;
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodeStore;
  readonly conversations: ConversationStore;
  readonly counters: Counters;
  readonly secondFactor: SecondFactorService;
  readonly orderedId: () => string;
  readonly changed: (conversation: Conversation) => void;
  readonly conversationTtlMs: number;
}

type UserConversation = Pick<Conversation, "user" | "orderedId">;

/** The row that ends a conversation whose user was removed. */
export const USER_LEFT = "user_left";

/** Logins that end in the commit of the removal. The size of a commit is limited, and an attacker can begin thousands of logins for one name. */
const MAX_ENDS = 20;
const NO_CHECKS: readonly Check[] = [];
/** Removed users whose older conversations are refused. */
const MAX_LEFT = 100_000;

export class Offboarding {
  readonly #deps: OffboardingDeps;
  /** Users whose removal is in progress, with the number of its commits. */
  readonly #leaving = new Map<string, number>();
  /** Conversations of a removed user up to this id are refused. */
  readonly #left = new Map<string, { readonly id: string; readonly untilMs: number }>();
  readonly #listeners = new Set<OnPhoneRevoked>();

  readonly #departures: RecordVersions;

  constructor(deps: OffboardingDeps) {
    this.#deps = deps;
    this.#departures = new RecordVersions(deps.store);
    deps.store.follow(["user_departure", deps.target], ({ key, value, versionstamp }) => {
      this.#departures.apply(key, versionstamp);
      if (typeof value === "string") this.#addLeft(String(key[2]), value);
    });
  }

  /** The check that fails if another node removes the user before an Access-Accept is recorded. */
  departureChecks(user: string): readonly Check[] {
    if (!this.#deps.store.isShared) return NO_CHECKS;
    const key = departureKey(this.#deps.target, user);
    return [{ key, versionstamp: this.#departures.known(key) }];
  }

  /** Whether the user was removed after the conversation began. */
  hasLeft({ user, orderedId }: UserConversation): boolean {
    const known = this.#left.size === 0 ? undefined : this.#left.get(user);
    return known !== undefined && orderedId <= known.id;
  }

  /** Whether a turn of this conversation may be recorded. During the removal of its user and after it, it may not. */
  mayRecord(conversation: UserConversation): boolean {
    return (this.#leaving.size === 0 || !this.#leaving.has(conversation.user)) && !this.hasLeft(conversation);
  }

  /** Prepares the removal of a user (canonical name). From now on, logins do not find their pairings. */
  prepare(user: string): PreparedChange {
    const { pairings, recoveryCodes, conversations, counters, target, orderedId } = this.#deps;
    this.#leaving.set(user, (this.#leaving.get(user) ?? 0) + 1);
    const removed = pairings.removeUser(user);
    const codes = recoveryCodes.removeUser(user);
    const ends = conversations.liveOf(user).slice(0, MAX_ENDS)
      .map((conversation) => conversations.endMutation(conversation, USER_LEFT));
    return {
      mutations: [
        departureMutation({ target, user, id: orderedId() }),
        ...removed.mutations,
        ...codes.mutations,
        ...removed.pairings.map(revokeEntry),
        ...ends,
      ],
      done: () => {
        this.#endLeaving(user);
        this.#addLeft(user, this.#deps.orderedId());
        // The version of the departure is read again when the next login of the user is accepted.
        this.#departures.forget(departureKey(target, user));
        counters.count("users_left");
        this.#endConversations(user);
        this.#notifyRevoked(removed.pairings);
      },
      undo: () => {
        this.#endLeaving(user);
        removed.restore();
        codes.restore();
      },
    };
  }

  /** Returns a function that removes the listener. */
  onRevoked(notify: OnPhoneRevoked): () => void {
    this.#listeners.add(notify);
    return () => this.#listeners.delete(notify);
  }

  #endLeaving(user: string): void {
    const count = (this.#leaving.get(user) ?? 1) - 1;
    if (count > 0) this.#leaving.set(user, count);
    else this.#leaving.delete(user);
  }

  /** @param id conversations up to this id are refused */
  #addLeft(user: string, id: string): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [name, { untilMs }] of this.#left) {
      if (untilMs > nowMs && this.#left.size < MAX_LEFT) break;
      this.#left.delete(name);
    }
    this.#left.delete(user);
    this.#left.set(user, { id, untilMs: nowMs + this.#deps.conversationTtlMs });
  }

  /** Ends the live conversations in memory, including those that began while the commit was in progress. */
  #endConversations(user: string): void {
    const { conversations, counters, secondFactor, changed } = this.#deps;
    const ended = conversations.liveOf(user);
    for (const conversation of ended) {
      conversations.end(conversation, "cancelled", USER_LEFT);
      counters.count("ended_by_leaving");
      if (conversation.requestId !== null) void secondFactor.cancel(conversation.requestId);
      changed(conversation);
    }
    this.#recordEnds(ended.slice(MAX_ENDS));
    recordEndedLogins(this.#deps, ended);
  }

  /** Records the ends that did not fit into the first commit. If this fails, the conversations are still refused. */
  #recordEnds(rest: readonly Conversation[]): void {
    const { store, log, conversations } = this.#deps;
    for (let at = 0; at < rest.length; at += MAX_ENDS) {
      const mutations = rest.slice(at, at + MAX_ENDS).map((one) => conversations.endMutation(one, USER_LEFT));
      store.commit({ mutations }).catch((fault: unknown) =>
        log.error("the end of a removed user's conversations could not be recorded", { fault: String(fault) })
      );
    }
  }

  #notifyRevoked(revoked: readonly Pairing[]): void {
    for (const { kind, id: pairingId, shownUser: userName } of revoked) {
      if (kind !== "device") continue;
      for (const notify of this.#listeners) {
        try {
          notify({ pairingId, userName });
        } catch (fault) {
          this.#deps.log.error("a removed user's phone could not be unpaired", { fault: String(fault) });
        }
      }
    }
  }
}

function revokeEntry(pairing: Pairing): Mutation {
  return auditEntry({
    actor: "radius",
    action: "pairing.revoke",
    because: USER_LEFT,
    object: `user:${pairing.shownUser}`,
    ...pairingDetails(pairing),
  });
}
