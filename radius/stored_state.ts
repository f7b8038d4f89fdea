// What the gateway reads from the store before it serves, and then from memory.

import { ConversationStore } from "./conversation/conversation_store.ts";
import { type Conversation, createOrderedIds, createStateTokens } from "./conversation/conversation.ts";
import { followConversations } from "./conversation/follow_conversations.ts";
import { placeOfTuple } from "./conversation/tuple.ts";
import { SharedTuples } from "./conversation/shared_tuples.ts";
import { LIMIT_ALARMS } from "./factors/hourly_limits.ts";
import { Limits } from "./factors/limits.ts";
import { recordIdIn } from "./factors/factor_marks.ts";
import { SentPasscodes } from "./factors/sent_passcodes.ts";
import { LoginDirectoryStores } from "./login_directory_stores.ts";
import { PolicyRegistry } from "./policy/policy_registry.ts";
import type { LoginDirectory, SecondFactorService } from "./ports.ts";
import type { PeerNodes } from "./conversation/peers.ts";
import type { Config } from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { NO_CHANGE } from "../platform/write_batch.ts";
import { SessionTable } from "./accounting/session_table.ts";
import { SigningClients } from "./server/signing_clients.ts";

/** Conversations in memory, alive and ended together. */
const MAX_CONVERSATIONS = 100_000;

/** Tells the known tuples of a login at another node. */
function noteTuple(
  sharedTuples: SharedTuples,
  { hasToken, tuple, user, outcome, signed, moments }: Conversation,
  isNew: boolean,
): void {
  if (hasToken) return;
  const place = placeOfTuple(tuple, user);
  // Without a signature, a packet without a password proves nothing: the menu was its answer, or it was rejected.
  const proven = signed || (outcome !== "rejected" && moments[0]?.row !== "empty_password");
  if (isNew) sharedTuples.distinguishes({ place, user, busy: false, proven });
  if (outcome !== null) sharedTuples.concluded(place, user);
}

interface LoadStateDeps {
  readonly config: Config;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly peers: PeerNodes;
  readonly directory: Pick<LoginDirectory, "lookUp">;
  readonly secondFactor: Pick<SecondFactorService, "prepareInvitationEnds">;
}

export type StoredState = Awaited<ReturnType<typeof loadState>>;

/** Loads everything that logins read from memory. */
export async function loadState(
  { config, store, vault, clock, random, log, peers, directory, secondFactor }: LoadStateDeps,
) {
  const tokenOf = createStateTokens(vault);
  const orderedId = createOrderedIds(clock, random);
  const hashSeed = random.bytes(4).reduce((seed, octet) => (seed << 8) | octet, 0);
  const conversations = new ConversationStore({
    ...{ store, clock, tokenOf, node: peers.node },
    clockOffsetMs: (node) => peers.clockOffsetMs(node),
    maxConversations: MAX_CONVERSATIONS,
    hashSeed,
  });
  const sharedTuples = new SharedTuples({ store, clock, log, vault, hashSeed });
  const listeners: ((conversation: Conversation) => void)[] = [];
  followConversations({
    ...{ store, conversations, peers },
    onFollowed(conversation, { isNew }) {
      noteTuple(sharedTuples, conversation, isNew);
      for (const listener of listeners) listener(conversation);
    },
  });
  const registry = new PolicyRegistry({ store });
  const stores = new LoginDirectoryStores({
    ...{ store, vault, clock, random },
    remembersDevices: () => registry.current.remembersDevices,
    recordIdOf: (user) => recordIdIn(directory, user),
    endInvitations: (user) => secondFactor.prepareInvitationEnds?.(user) ?? NO_CHANGE,
  }, config.radius.directory);
  const { pairings, recoveryCodes, hardwareTokens, remembered, enrolment, bypassCodes, factorMarks } = stores;
  const limits = new Limits({
    store,
    clock,
    settings: config.factors,
    onAlarm: (alarm) => log.warn(LIMIT_ALARMS[alarm.kind], { ...alarm }),
  });
  const sentPasscodes = new SentPasscodes({ store, clock, vault });
  const signingClients = new SigningClients({ store, log, clock });
  const policies = { registry, remembered };
  const sessions = new SessionTable({ store, nowMs: clock.nowMs, orderedId });
  const [loaded, loadedSessions] = await Promise.all([
    conversations.load(),
    sessions.load(),
    sharedTuples.load(),
    stores.load(),
    limits.load(),
    sentPasscodes.load(),
    signingClients.load(),
    registry.load(),
  ]);
  if (loaded.unreadable > 0) {
    log.warn("records of conversations could not be read and were skipped", { records: loaded.unreadable });
  }
  if (loadedSessions.unreadable > 0) {
    log.warn("accounting sessions could not be read and were skipped", {
      records: loadedSessions.unreadable,
    });
  }
  if (loaded.alive > 0) log.info("conversations of an earlier run continue", { conversations: loaded.alive });
  return {
    ...{ tokenOf, orderedId, conversations, sharedTuples, pairings, limits, signingClients },
    ...{ recoveryCodes, bypassCodes, sentPasscodes },
    ...{ sessions, hashSeed, policies, stores, hardwareTokens, enrolment, factorMarks },
    /** Adds a listener for conversations that other nodes changed. */
    onFollowed: (listener: (conversation: Conversation) => void) => void listeners.push(listener),
  };
}
