// The conversations in memory, by tuple, by token and by login packet, and in the order in which they began.

import { isStep } from "../protocol/steps.ts";
import type { Conversation, LastAnswer, TokenOf } from "./conversation.ts";
import { decodeRecord } from "./conversation_codec.ts";

/** A conversation in memory: in use (`conversation`), or parked as the text of its record (`text`). */
export interface ConversationEntry
  extends
    Pick<Conversation, "orderedId" | "user" | "tuple" | "hasToken" | "signed" | "startedMs" | "deadlineMs"> {
  conversation: Conversation | null;
  text: string;
  /** The place of the conversation in `text`. */
  at: string;
  /** Whether the conversation in `text` has ended. Only then may an ended one be parked. */
  textEnded: boolean;
  stored: Conversation["stored"];
  answerDigest: string | null;
  /** `null` while it is alive. */
  endedMs: number | null;
  gone: boolean;
  /** The token of the current step, and of the step that was answered last. A retransmission has the latter. */
  token: string | null;
  priorToken: string | null;
  /** Identifies the packet that began a conversation with a token; `null` after another packet was handled. */
  loginPacket: string | null;
  older: ConversationEntry | null;
  newer: ConversationEntry | null;
}

type EntryMap = Map<string, ConversationEntry>;

/** Identifies the packet of a login. */
export function loginPacketKey({ authenticator, identifier }: Omit<LastAnswer, "state" | "atMs">): string {
  return `${authenticator} ${identifier}`;
}

export class ConversationIndex {
  readonly #tokenOf: TokenOf;
  readonly #ids: EntryMap = new Map();
  /** The newest conversation of each tuple. First map: selected by the bare name of a step. Second map: with a token. */
  readonly #bareTuples: EntryMap = new Map();
  readonly #tokenTuples: EntryMap = new Map();
  readonly #tokens: EntryMap = new Map();
  readonly #loginPackets: EntryMap = new Map();
  #oldest: ConversationEntry | null = null;
  #newest: ConversationEntry | null = null;

  constructor(tokenOf: TokenOf) {
    this.#tokenOf = tokenOf;
  }

  get size(): number {
    return this.#ids.size;
  }

  /** @param options.behind the bare name continues to select a live older login of the same tuple */
  add(entry: ConversationEntry, { behind }: { behind: boolean }): void {
    this.#ids.set(entry.orderedId, entry);
    if (entry.hasToken) this.#tokenTuples.set(entry.tuple, entry);
    else if (!behind || this.#bareTuples.get(entry.tuple)?.endedMs !== null) this.claimTuple(entry);
    entry.older = this.#newest;
    if (this.#newest !== null) this.#newest.newer = entry;
    this.#newest = entry;
    this.#oldest ??= entry;
  }

  remove(entry: ConversationEntry): void {
    this.#ids.delete(entry.orderedId);
    deleteEntry(entry.hasToken ? this.#tokenTuples : this.#bareTuples, entry.tuple, entry);
    deleteEntry(this.#tokens, entry.token, entry);
    deleteEntry(this.#tokens, entry.priorToken, entry);
    deleteEntry(this.#loginPackets, entry.loginPacket, entry);
    // The links of the entry itself stay, so that an iteration that is at this entry can continue.
    if (entry.older === null) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === null) this.#newest = entry.older;
    else entry.newer.older = entry.older;
  }

  /** Updates the keys that depend on the step and on the last packet. */
  update(entry: ConversationEntry, { at, lastAnswer }: Conversation): void {
    if (!entry.hasToken) return;
    const token = isStep(at) ? this.#tokenOf(entry.orderedId, at) : null;
    const state = lastAnswer?.state ?? null;
    const prior = state === null || state === at ? null : this.#tokenOf(entry.orderedId, state);
    for (const old of [entry.token, entry.priorToken]) {
      if (old !== token && old !== prior) deleteEntry(this.#tokens, old, entry);
    }
    entry.token = token;
    entry.priorToken = prior;
    if (token !== null) this.#tokens.set(token, entry);
    if (prior !== null) this.#tokens.set(prior, entry);
    const packet = lastAnswer !== null && lastAnswer.state === null ? loginPacketKey(lastAnswer) : null;
    if (packet === entry.loginPacket) return;
    deleteEntry(this.#loginPackets, entry.loginPacket, entry);
    entry.loginPacket = packet;
    if (packet !== null) this.#loginPackets.set(packet, entry);
  }

  /** From now on, the bare name of a step selects this conversation of its tuple. */
  claimTuple(entry: ConversationEntry): void {
    if (!entry.hasToken) this.#bareTuples.set(entry.tuple, entry);
  }

  byId(orderedId: string): ConversationEntry | undefined {
    return this.#ids.get(orderedId);
  }

  /** The conversation that the bare name of a step selects. */
  bare(tuple: string): ConversationEntry | undefined {
    return this.#bareTuples.get(tuple);
  }

  newest(tuple: string): ConversationEntry | undefined {
    const bare = this.#bareTuples.get(tuple);
    const token = this.#tokenTuples.size === 0 ? undefined : this.#tokenTuples.get(tuple);
    if (bare === undefined || token === undefined) return bare ?? token;
    return bare.orderedId > token.orderedId ? bare : token;
  }

  byToken(token: string): ConversationEntry | undefined {
    return this.#tokens.get(token);
  }

  byLoginPacket(packet: string): ConversationEntry | undefined {
    return this.#loginPackets.get(packet);
  }

  *fromOldest(): Generator<ConversationEntry> {
    for (let entry = this.#oldest; entry !== null; entry = entry.newer) yield entry;
  }

  *fromNewest(): Generator<ConversationEntry> {
    for (let entry = this.#newest; entry !== null; entry = entry.older) yield entry;
  }
}

function deleteEntry(map: EntryMap, key: string | null, entry: ConversationEntry): void {
  if (key !== null && map.get(key) === entry) map.delete(key);
}

/** A plain object literal, because this runs for each login. */
export function newConversationEntry(conversation: Conversation): ConversationEntry {
  const { orderedId, user, tuple, hasToken, signed, startedMs, deadlineMs, stored, answerDigest, at } =
    conversation;
  return {
    orderedId,
    user,
    tuple,
    hasToken,
    signed,
    startedMs,
    deadlineMs,
    conversation,
    text: "",
    at,
    textEnded: false,
    stored,
    answerDigest,
    endedMs: conversation.outcome === null ? null : conversation.updatedMs,
    gone: false,
    token: null,
    priorToken: null,
    loginPacket: null,
    older: null,
    newer: null,
  };
}

export function readConversationEntry(
  { conversation, text, stored, answerDigest }: ConversationEntry,
): Conversation | null {
  return conversation ?? decodeRecord(text, { stored, answerDigest });
}

export function unparkEntry(entry: ConversationEntry | undefined): Conversation | null {
  if (entry === undefined) return null;
  entry.conversation = readConversationEntry(entry);
  return entry.conversation;
}

/** Conversations in the order in which they ended. Forgotten ones are skipped. */
export class EndedQueue {
  #entries: ConversationEntry[] = [];
  #first = 0;

  push(entry: ConversationEntry): void {
    this.#entries.push(entry);
  }

  take(): ConversationEntry | null {
    this.trim();
    return this.#entries[this.#first] ?? null;
  }

  trim(): void {
    while (this.#entries[this.#first]?.gone) this.#first++;
    if (this.#first < 1024 || this.#first * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}
