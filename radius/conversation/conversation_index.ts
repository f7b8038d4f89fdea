// Finds conversations: by their id, by tuple, by token and by login packet. The rows are those of the conversation table.

import { hashText, TextHash } from "../../platform/octet_fields.ts";
import { HashIndex } from "../../platform/hash_index.ts";
import { isStep } from "../protocol/steps.ts";
import type { Conversation, LastAnswer, TokenOf } from "./conversation.ts";
import type { ConversationTable } from "./conversation_table.ts";

type RowMap = Map<string, number>;

/** The keys of a conversation with a token. The token is that of the current step, and of the step that was answered last: a retransmission has the latter. */
interface TokenKeys {
  readonly tuple: string;
  token: string | null;
  priorToken: string | null;
  /** Identifies the packet that began the conversation; `null` after another packet was handled. */
  loginPacket: string | null;
}

const NONE = -1;

/** Identifies the packet of a login. */
export function loginPacketKey(
  { authenticator, identifier }: Pick<LastAnswer, "authenticator" | "identifier">,
): string {
  return `${authenticator} ${identifier}`;
}

/** Every look-up returns a row, or -1. */
export class ConversationIndex {
  readonly #tokenOf: TokenOf;
  readonly #table: ConversationTable;
  readonly #seed: number;
  readonly #tupleHash: TextHash;
  readonly #ids = new HashIndex();
  /** The newest conversation of each tuple that the bare name of a step selects. */
  readonly #bareTuples = new HashIndex();
  /** The conversations without a token, by their user. */
  readonly #bareUsers = new HashIndex();
  /** The newest conversation with a token of each tuple. */
  readonly #tokenTuples: RowMap = new Map();
  readonly #tokens: RowMap = new Map();
  readonly #loginPackets: RowMap = new Map();
  readonly #tokenKeys = new Map<number, TokenKeys>();
  /** Relayed logins by the packet that the first-factor server judged, and the reverse. */
  readonly #relayed: RowMap = new Map();
  readonly #relayKeys = new Map<number, string>();
  /** The newest conversation of each tuple that waits until the bare name may select it. */
  readonly #behind: RowMap = new Map();
  /** The last result. Each packet looks for the same id several times. */
  #lastId = "";
  #lastIdRow = NONE;

  /** @param deps.seed clients choose tuples; with a random seed, they cannot choose many that share a bucket */
  constructor(deps: { readonly tokenOf: TokenOf; readonly table: ConversationTable; readonly seed: number }) {
    this.#tokenOf = deps.tokenOf;
    this.#table = deps.table;
    this.#seed = deps.seed;
    this.#tupleHash = new TextHash(deps.seed);
  }

  /** @param options.behind the bare name continues to select a live older login of the same tuple */
  add(row: number, conversation: Conversation, { behind }: { behind: boolean }): void {
    const { orderedId, tuple, user, hasToken, relay } = conversation;
    this.#ids.add(row, this.#hash(orderedId));
    if (relay !== null && relay.key !== "") {
      this.#relayed.set(relay.key, row);
      this.#relayKeys.set(row, relay.key);
    }
    this.#lastId = orderedId;
    this.#lastIdRow = row;
    if (hasToken) {
      this.#tokenTuples.set(tuple, row);
      this.#tokenKeys.set(row, { tuple, token: null, priorToken: null, loginPacket: null });
      return;
    }
    this.#bareUsers.add(row, this.#hash(user));
    const older = this.bare(tuple);
    if (!behind || older < 0 || !this.#table.isAlive(older)) this.#select(row, tuple, older);
    else this.#behind.set(tuple, row);
  }

  /** If the bare name selects a conversation that has ended, it selects the live one that waits behind it from now on. */
  selectLive(tuple: string): void {
    const behind = this.#behind.get(tuple);
    const selected = this.bare(tuple);
    if (behind === undefined || (selected >= 0 && this.#table.isAlive(selected))) return;
    this.#behind.delete(tuple);
    if (this.#table.has(behind) && this.#table.matches(behind, "tuple", tuple)) {
      this.#select(behind, tuple, selected);
    }
  }

  remove(row: number): void {
    this.#ids.remove(row);
    if (this.#behind.size > 0) this.#removeBehind(row);
    if (row === this.#lastIdRow) this.#lastIdRow = NONE;
    this.#bareTuples.remove(row);
    this.#bareUsers.remove(row);
    deleteRow(this.#relayed, this.#relayKeys.get(row) ?? null, row);
    this.#relayKeys.delete(row);
    const keys = this.#tokenKeys.get(row);
    if (keys === undefined) return;
    this.#tokenKeys.delete(row);
    deleteRow(this.#tokenTuples, keys.tuple, row);
    deleteRow(this.#tokens, keys.token, row);
    deleteRow(this.#tokens, keys.priorToken, row);
    deleteRow(this.#loginPackets, keys.loginPacket, row);
  }

  /** Updates the keys that depend on the step and on the last packet. */
  update(row: number, { orderedId, at, lastAnswer }: Conversation): void {
    const keys = this.#table.hasToken(row) ? this.#tokenKeys.get(row) : undefined;
    if (keys === undefined) return;
    const token = isStep(at) ? this.#tokenOf(orderedId, at) : null;
    const state = lastAnswer?.state ?? null;
    const prior = state === null || state === at ? null : this.#tokenOf(orderedId, state);
    for (const old of [keys.token, keys.priorToken]) {
      if (old !== token && old !== prior) deleteRow(this.#tokens, old, row);
    }
    keys.token = token;
    keys.priorToken = prior;
    if (token !== null) this.#tokens.set(token, row);
    if (prior !== null) this.#tokens.set(prior, row);
    const packet = lastAnswer !== null && lastAnswer.state === null ? loginPacketKey(lastAnswer) : null;
    if (packet === keys.loginPacket) return;
    deleteRow(this.#loginPackets, keys.loginPacket, row);
    keys.loginPacket = packet;
    if (packet !== null) this.#loginPackets.set(packet, row);
  }

  /** From now on, the bare name of a step selects this conversation of its tuple. */
  claimTuple(row: number, tuple: string): void {
    if (!this.#table.hasToken(row)) this.#select(row, tuple, this.bare(tuple));
  }

  byId(orderedId: string): number {
    if (this.#lastIdRow >= 0 && orderedId === this.#lastId) return this.#lastIdRow;
    let row = this.#ids.first(this.#hash(orderedId));
    while (row >= 0 && !this.#table.matches(row, "orderedId", orderedId)) row = this.#ids.next(row);
    this.#lastId = orderedId;
    this.#lastIdRow = row;
    return row;
  }

  /** The conversation that the bare name of a step selects. */
  bare(tuple: string): number {
    let row = this.#bareTuples.first(this.#tupleHash.of(tuple));
    while (row >= 0 && !this.#table.matches(row, "tuple", tuple)) row = this.#bareTuples.next(row);
    return row;
  }

  /** The conversations of a user without a token, newest first. */
  *bareOf(user: string): Generator<number> {
    for (let row = this.#bareUsers.first(this.#hash(user)); row >= 0; row = this.#bareUsers.next(row)) {
      if (this.#table.matches(row, "user", user)) yield row;
    }
  }

  /** The newest conversation of a tuple with a token. */
  withToken(tuple: string): number {
    return this.#tokenTuples.size === 0 ? NONE : this.#tokenTuples.get(tuple) ?? NONE;
  }

  /** The newest conversation of a tuple, alive or ended. */
  newest(tuple: string): number {
    const bare = this.bare(tuple);
    const withToken = this.withToken(tuple);
    if (bare < 0 || withToken < 0) return Math.max(bare, withToken);
    return this.#table.orderedId(bare) > this.#table.orderedId(withToken) ? bare : withToken;
  }

  byToken(token: string): number {
    return this.#tokens.get(token) ?? NONE;
  }

  byRelayKey(key: string): number {
    return this.#relayed.get(key) ?? NONE;
  }

  byLoginPacket(packet: string): number {
    return this.#loginPackets.get(packet) ?? NONE;
  }

  /** Few conversations wait behind another one, because it must have a first factor that is checked. */
  #removeBehind(row: number): void {
    for (const [tuple, behind] of this.#behind) if (behind === row) this.#behind.delete(tuple);
  }

  #select(row: number, tuple: string, older: number): void {
    if (this.#behind.get(tuple) === row) this.#behind.delete(tuple);
    if (older === row) return;
    if (older >= 0) this.#bareTuples.remove(older);
    this.#bareTuples.add(row, this.#tupleHash.of(tuple));
  }

  #hash(text: string): number {
    return hashText(text, this.#seed);
  }
}

function deleteRow(map: RowMap, key: string | null, row: number): void {
  if (key !== null && map.get(key) === row) map.delete(key);
}
