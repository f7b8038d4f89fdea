// A conversation at the menu, and a conversation store over a store in memory, for tests.

import type { Conversation } from "../../radius/conversation/conversation.ts";
import { ConversationStore } from "../../radius/conversation/conversation_store.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

/** The lifetime of a conversation. */
export const TTL_MS = 300_000;

/** Creates a conversation that began now. */
export function conversation(
  orderedId: string,
  { clock, ...more }: Partial<Conversation> & { clock: ManualClock },
): Conversation {
  const now = clock.nowMs();
  return {
    orderedId,
    secretId: `secret of ${orderedId}`,
    client: "vpn",
    user: "ada",
    shownUser: "Ada",
    source: "192.0.2.1",
    place: "",
    tuple: `tuple of ${orderedId}`,
    hasToken: false,
    signed: true,
    startedMs: now,
    deadlineMs: now + TTL_MS,
    at: "CHOOSE_WHICH_MULTIFACTOR",
    round: 1,
    updatedMs: now,
    firstFactorRight: false,
    firstFactorReply: "",
    firstFactorServer: "",
    passwordChange: "",
    relay: null,
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    token: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: [],
    prompt: "menu",
    lastAnswer: null,
    outcome: null,
    moments: [],
    policy: "",
    node: "",
    peerDigests: [],
    stored: "not",
    answerDigest: null,
    interrupted: false,
    overtaken: false,
    ...more,
  };
}

export const tokenOf = (orderedId: string, step: string) => `token of ${orderedId} at ${step}`;
/** A conversation store over a store in memory. */
export interface OpenConversations extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly conversations: ConversationStore;
  make(orderedId: string, more?: Partial<Conversation>): Conversation;
  /** Records a conversation as the gateway does. */
  keep(conversation: Conversation): Promise<boolean>;
  /** Does what a restart does. */
  again(most?: number): Promise<{ conversations: ConversationStore; alive: number; unreadable: number }>;
}

export async function openConversations(most = 100): Promise<OpenConversations> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const conversations = new ConversationStore({ store, clock, maxConversations: most, tokenOf });
  return {
    store,
    clock,
    conversations,
    make: (orderedId, more) => conversation(orderedId, { clock, ...more }),
    async keep(conversation) {
      const writing = conversations.record(conversation);
      const outcome = await store.commit(
        "journal" in writing
          ? { mutations: [], journal: [writing.journal] }
          : { checks: [writing.check], mutations: [writing.mutation] },
      );
      if (outcome.ok) {
        conversation.stored = "journal" in writing ? "journal" : { versionstamp: outcome.versionstamp };
      }
      return outcome.ok;
    },
    async again(mostAgain = most) {
      const later = new ConversationStore({ store, clock, maxConversations: mostAgain, tokenOf });
      return { conversations: later, ...await later.load() };
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

export const ids = (list: readonly Conversation[]) => list.map(({ orderedId }) => orderedId);
