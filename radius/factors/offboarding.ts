// What a user who leaves the directory leaves behind: pairings, the preference, live conversations. They go in the commit of the leaving, and no
// Accept is decided after it.

import { auditEntry } from "../../platform/audit.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { departureMutation } from "../../platform/user_record.ts";
import { pairingDetails } from "./pairing_details.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Conversations } from "../conversation/conversation_store.ts";
import type { Counters } from "../server/counters.ts";
import type { Pairings } from "./pairings.ts";
import type { Pairing } from "./pairing.ts";
import type { RecoveryCodes } from "./recovery_codes.ts";
import { recordEnded } from "../conversation/login_history.ts";
import type { SecondFactorService } from "../ports.ts";

/** A device pairing that ended because its user left: the phone is to be unpaired at its service. */
export type OnRevoked = (pairing: { readonly pairingId: string; readonly userName: string }) => void;

export interface Leavings {
  /** What is removed with a leaver. @param user canonical. */
  prepare(user: string): PreparedChange;
  /** Whether a turn of this conversation may be recorded: not while its user leaves, and not after. */
  mayRecord(conversation: Whose): boolean;
  /** Whether its user left since it began. */
  hasLeft(conversation: Whose): boolean;
  onRevoked(notify: OnRevoked): () => void;
}

type Whose = Pick<Conversation, "user" | "orderedId">;

export interface LeavingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The directory that they leave. */
  readonly target: string;
  readonly pairings: Pairings;
  readonly recoveryCodes: RecoveryCodes;
  readonly conversations: Conversations;
  readonly counters: Counters;
  readonly secondFactor: SecondFactorService;
  readonly orderedId: () => string;
  readonly changed: (conversation: Conversation) => void;
  /** The longest that a conversation lives. */
  readonly conversationTtlMs: number;
}

/** The row that ended a conversation whose user left. */
export const USER_LEFT = "user_left";

/** Logins that end in the commit of the leaving: a commit is limited, and an attacker can begin thousands of logins under one name. */
const MOST_ENDS = 20;
/** Leavers whose older conversations are told apart from those begun since. */
const MOST_LEFT = 100_000;

export function createLeavings(deps: LeavingDeps): Leavings {
  const { store, clock, log, pairings, conversations } = deps;
  /** How many commits of a user's leaving are under way. */
  const leaving = new Map<string, number>();
  const left = new Map<string, { readonly id: string; readonly untilMs: number }>();
  const listeners = new Set<OnRevoked>();

  function settle(user: string): void {
    const count = (leaving.get(user) ?? 1) - 1;
    if (count > 0) leaving.set(user, count);
    else leaving.delete(user);
  }

  function noteLeft(user: string): void {
    const nowMs = clock.nowMs();
    for (const [name, { untilMs }] of left) {
      if (untilMs > nowMs && left.size < MOST_LEFT) break;
      left.delete(name);
    }
    left.delete(user);
    left.set(user, { id: deps.orderedId(), untilMs: nowMs + deps.conversationTtlMs });
  }

  /** Ends in memory what is alive now, also what began while the commit was on its way. */
  function endAll(user: string): void {
    const ended = conversations.liveOf(user);
    for (const conversation of ended) {
      conversations.end(conversation, "cancelled", USER_LEFT);
      deps.counters.count("ended_by_leaving");
      if (conversation.requestId !== null) void deps.secondFactor.cancel(conversation.requestId);
      deps.changed(conversation);
    }
    recordRest(ended.slice(MOST_ENDS));
    recordEnded(deps, ended);
  }

  /** Beyond what fitted into one commit. Should this fail, they are refused all the same: the user is gone. */
  function recordRest(rest: readonly Conversation[]): void {
    for (let at = 0; at < rest.length; at += MOST_ENDS) {
      const mutations = rest.slice(at, at + MOST_ENDS).map((one) => conversations.ending(one, USER_LEFT));
      store.commit({ mutations }).catch((fault: unknown) =>
        log.error("the end of a leaver's conversations could not be recorded", { fault: String(fault) })
      );
    }
  }

  function tell(revoked: readonly Pairing[]): void {
    for (const pairing of revoked) {
      if (pairing.kind !== "device") continue;
      for (const notify of listeners) {
        try {
          notify({ pairingId: pairing.id, userName: pairing.shownUser });
        } catch (fault) {
          log.error("a phone of a leaver could not be unpaired", { fault: String(fault) });
        }
      }
    }
  }

  function audit(pairing: Pairing): Mutation {
    return auditEntry({
      actor: "radius",
      action: "pairing.revoke",
      because: USER_LEFT,
      object: `user:${pairing.shownUser}`,
      ...pairingDetails(pairing),
    });
  }

  const hasLeft = ({ user, orderedId }: Whose): boolean => {
    const known = left.size === 0 ? undefined : left.get(user);
    return known !== undefined && orderedId <= known.id;
  };

  return {
    hasLeft,
    mayRecord: (whose) => (leaving.size === 0 || !leaving.has(whose.user)) && !hasLeft(whose),
    prepare(user) {
      leaving.set(user, (leaving.get(user) ?? 0) + 1);
      const taken = pairings.takeAll(user);
      const codes = deps.recoveryCodes.takeAll(user);
      const ends = conversations.liveOf(user).slice(0, MOST_ENDS)
        .map((conversation) => conversations.ending(conversation, USER_LEFT));
      return {
        mutations: [
          departureMutation({ target: deps.target, user, id: deps.orderedId() }),
          ...taken.mutations,
          ...codes.mutations,
          ...taken.pairings.map(audit),
          ...ends,
        ],
        done() {
          settle(user);
          noteLeft(user);
          deps.counters.count("users_left");
          endAll(user);
          tell(taken.pairings);
        },
        undo() {
          settle(user);
          taken.putBack();
          codes.putBack();
        },
      };
    },
    onRevoked(notify) {
      listeners.add(notify);
      return () => listeners.delete(notify);
    },
  };
}
