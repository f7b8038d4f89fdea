// The conversations in memory, found by tuple, by token and by their login packet, and listed in the order in which they began.

import { isStep, type Step } from "../protocol/steps.ts";
import type { Conversation, LastAnswer } from "./conversation.ts";
import type { TokenOf } from "./state_tokens.ts";

/** A conversation in memory: at work (`conversation`), or parked (`text`). */
export interface Entry {
  readonly orderedId: string;
  readonly user: string;
  readonly tuple: string;
  readonly hasToken: boolean;
  readonly signed: boolean;
  readonly startedMs: number;
  readonly deadlineMs: number;
  conversation: Conversation | null;
  text: string;
  /** Where the conversation of `text` stands. */
  at: string;
  /** Whether `text` says that it ended; only then may an ended one be parked. */
  textEnded: boolean;
  stored: Conversation["stored"];
  answerDigest: string | null;
  /** When it ended; `null` while it is alive. */
  endedMs: number | null;
  gone: boolean;
  /** The token of the current step, and of the step that was answered last: a retransmission carries the latter. */
  token: string | null;
  priorToken: string | null;
  /** What identifies the packet that began a conversation with a token; `null` once another packet was worked on. */
  loginPacket: string | null;
  older: Entry | null;
  newer: Entry | null;
}

export interface ConversationIndex {
  /** @param options.behind leaves the bare name to an older login of the same tuple that is still alive. */
  add(entry: Entry, options: { behind: boolean }): void;
  remove(entry: Entry): void;
  /** Updates what depends on the step and on the last packet. */
  update(entry: Entry, conversation: Conversation): void;
  /** Gives the bare name of the tuple's State to this conversation. */
  claimTuple(entry: Entry): void;
  byId(orderedId: string): Entry | undefined;
  /** The conversation that the bare name selects. */
  bare(tuple: string): Entry | undefined;
  newest(tuple: string): Entry | undefined;
  byToken(token: string): Entry | undefined;
  byLoginPacket(packet: string): Entry | undefined;
  fromOldest(): Iterable<Entry>;
  fromNewest(): Iterable<Entry>;
  readonly size: number;
}

/** What identifies the packet of a login. */
export function loginPacketKey({ authenticator, identifier }: Omit<LastAnswer, "state" | "atMs">): string {
  return `${authenticator} ${identifier}`;
}

export function createConversationIndex(tokenOf: TokenOf): ConversationIndex {
  const ids = new Map<string, Entry>();
  /** The newest of each tuple, apart: those that the bare name selects, and those with a token. */
  const bareTuples = new Map<string, Entry>();
  const tokenTuples = new Map<string, Entry>();
  const tokens = new Map<string, Entry>();
  const loginPackets = new Map<string, Entry>();
  let oldest: Entry | null = null;
  let newest: Entry | null = null;

  const drop = (map: Map<string, Entry>, key: string | null, entry: Entry): void => {
    if (key !== null && map.get(key) === entry) map.delete(key);
  };
  const setTokens = (entry: Entry, { at, lastAnswer }: Conversation): void => {
    const token = isStep(at) ? tokenOf(entry.orderedId, at) : null;
    const state: Step | null = lastAnswer?.state ?? null;
    const prior = state === null || state === at ? null : tokenOf(entry.orderedId, state);
    for (const old of [entry.token, entry.priorToken]) {
      if (old !== token && old !== prior) drop(tokens, old, entry);
    }
    entry.token = token;
    entry.priorToken = prior;
    if (token !== null) tokens.set(token, entry);
    if (prior !== null) tokens.set(prior, entry);
    const packet = lastAnswer !== null && lastAnswer.state === null ? loginPacketKey(lastAnswer) : null;
    if (packet === entry.loginPacket) return;
    drop(loginPackets, entry.loginPacket, entry);
    entry.loginPacket = packet;
    if (packet !== null) loginPackets.set(packet, entry);
  };
  const isAlive = (entry: Entry | undefined): boolean => entry !== undefined && entry.endedMs === null;

  return {
    add(entry, { behind }) {
      ids.set(entry.orderedId, entry);
      if (entry.hasToken) tokenTuples.set(entry.tuple, entry);
      else if (!behind || !isAlive(bareTuples.get(entry.tuple))) bareTuples.set(entry.tuple, entry);
      entry.older = newest;
      if (newest !== null) newest.newer = entry;
      newest = entry;
      oldest ??= entry;
    },
    remove(entry) {
      ids.delete(entry.orderedId);
      drop(entry.hasToken ? tokenTuples : bareTuples, entry.tuple, entry);
      drop(tokens, entry.token, entry);
      drop(tokens, entry.priorToken, entry);
      drop(loginPackets, entry.loginPacket, entry);
      // Its own neighbours stay: a walk that stands on it goes on.
      if (entry.older === null) oldest = entry.newer;
      else entry.older.newer = entry.newer;
      if (entry.newer === null) newest = entry.older;
      else entry.newer.older = entry.older;
    },
    update(entry, conversation) {
      if (entry.hasToken) setTokens(entry, conversation);
    },
    claimTuple(entry) {
      if (!entry.hasToken) bareTuples.set(entry.tuple, entry);
    },
    byId: (orderedId) => ids.get(orderedId),
    bare: (tuple) => bareTuples.get(tuple),
    newest(tuple) {
      const bare = bareTuples.get(tuple);
      const token = tokenTuples.size === 0 ? undefined : tokenTuples.get(tuple);
      if (bare === undefined || token === undefined) return bare ?? token;
      return bare.orderedId > token.orderedId ? bare : token;
    },
    byToken: (token) => tokens.get(token),
    byLoginPacket: (packet) => loginPackets.get(packet),
    *fromOldest() {
      for (let entry = oldest; entry !== null; entry = entry.newer) yield entry;
    },
    *fromNewest() {
      for (let entry = newest; entry !== null; entry = entry.older) yield entry;
    },
    get size() {
      return ids.size;
    },
  };
}
