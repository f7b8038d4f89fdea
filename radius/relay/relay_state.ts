// The State of a relayed EAP round (RFC 2865 §5.24): what the next round needs, sealed with a key of the vault. Nothing is stored, and each node can
// continue the conversation.

import type { Clock, Random } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { MAX_VALUE_OCTETS } from "../protocol/packet.ts";

/** What one EAP round leaves for the next one. */
export interface RelayRound {
  /** The State of the first-factor server; `null`: it sent none. */
  readonly upstreamState: Uint8Array | null;
  /** The server that answered. The conversation stays there. */
  readonly server: string;
  readonly expiresMs: number;
  /** The Type of the last Request of the server (RFC 3748 §5); 0 before the first one. */
  readonly method: number;
  /** How the EAP identity relates to User-Name. */
  readonly identity: "unknown" | "equal" | "different";
  /** Whether the server changed the method after a Response of the peer, so that the last method may have proved nothing. */
  readonly isMixed: boolean;
  /** Whether the wrong password of the last Response was counted. */
  readonly isCounted: boolean;
  /** Joins the packets of one conversation for the packet view. */
  readonly trace: string;
}

/** What a State belongs to. It is not part of the State, but a State of another client or user cannot be opened. */
interface StateOwner {
  readonly client: string;
  /** The octets of User-Name, which every round repeats (RFC 3579 §2.1). */
  readonly userName: Uint8Array;
}

interface RelayStatesDeps {
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  /** Called when a State is too long to be sealed, so that the conversation cannot continue on another node. */
  readonly onLong: (round: RelayRound, owner: StateOwner) => void;
}

const IDENTITIES = ["unknown", "equal", "different"] as const;
const IDENTITY_BITS = 3;
const MIXED = 4;
const COUNTED = 8;
const HAS_STATE = 16;
const TRACE_OCTETS = 6;
/** Flags, method, expiry in seconds (4), trace, and the length of the server's name. */
const HEAD_OCTETS = 2 + 4 + TRACE_OCTETS + 1;
/** The State of a round that is in memory. A sealed one is longer. */
const HANDLE_OCTETS = 16;
/** Rounds in memory. Beyond it, the oldest is removed. */
const MAX_LONG = 4096;

const utf8 = new TextEncoder();
const text = new TextDecoder();

export class RelayStates {
  readonly #deps: RelayStatesDeps;
  /** Rounds whose State is too long, by their handle. */
  readonly #long = new Map<string, { readonly round: RelayRound; readonly owner: string }>();

  constructor(deps: RelayStatesDeps) {
    this.#deps = deps;
  }

  newTrace(): string {
    return this.#deps.random.bytes(TRACE_OCTETS).toHex();
  }

  /** The State of an Access-Challenge: at most 253 octets. */
  seal(round: RelayRound, owner: StateOwner): Uint8Array<ArrayBuffer> {
    const sealed = this.#deps.vault.seal(keyOf(owner), encodeRound(round));
    if (sealed.length <= MAX_VALUE_OCTETS) return sealed;
    this.#deps.onLong(round, owner);
    const handle = this.#deps.random.bytes(HANDLE_OCTETS);
    if (this.#long.size >= MAX_LONG) this.#removeOldest();
    this.#long.set(handle.toHex(), { round, owner: ownerText(owner) });
    return handle;
  }

  /** The round of a State; `null` if it has expired, or if this gateway did not make it for this client and User-Name. */
  open(state: Uint8Array, owner: StateOwner): RelayRound | null {
    const round = state.length === HANDLE_OCTETS
      ? this.#openHandle(state, owner)
      : this.#openSealed(state, owner);
    return round === null || round.expiresMs <= this.#deps.clock.nowMs() ? null : round;
  }

  #openSealed(state: Uint8Array, owner: StateOwner): RelayRound | null {
    const plain = this.#deps.vault.open(keyOf(owner), state);
    return plain === null ? null : decodeRound(plain);
  }

  #openHandle(handle: Uint8Array, owner: StateOwner): RelayRound | null {
    const found = this.#long.get(handle.toHex());
    return found === undefined || found.owner !== ownerText(owner) ? null : found.round;
  }

  #removeOldest(): void {
    const [oldest] = this.#long.keys();
    if (oldest !== undefined) this.#long.delete(oldest);
  }
}

function keyOf({ client, userName }: StateOwner): Deno.KvKey {
  return ["relay_state", client, userName];
}

function ownerText({ client, userName }: StateOwner): string {
  return `${userName.toHex()} ${client}`;
}

function encodeRound(round: RelayRound): Uint8Array {
  const { upstreamState, server, expiresMs, method, identity, isMixed, isCounted, trace } = round;
  const name = utf8.encode(server);
  const octets = new Uint8Array(HEAD_OCTETS + name.length + (upstreamState?.length ?? 0));
  octets[0] = IDENTITIES.indexOf(identity) | (isMixed ? MIXED : 0) | (isCounted ? COUNTED : 0) |
    (upstreamState === null ? 0 : HAS_STATE);
  octets[1] = method;
  new DataView(octets.buffer).setUint32(2, Math.floor(expiresMs / 1000));
  octets.set(Uint8Array.fromHex(trace), 6);
  octets[HEAD_OCTETS - 1] = name.length;
  octets.set(name, HEAD_OCTETS);
  if (upstreamState !== null) octets.set(upstreamState, HEAD_OCTETS + name.length);
  return octets;
}

/** The octets are authentic, because they were sealed. An older version may have sealed others. */
function decodeRound(octets: Uint8Array): RelayRound | null {
  const serverEnd = HEAD_OCTETS + (octets[HEAD_OCTETS - 1] ?? 0);
  if (octets.length < serverEnd) return null;
  const flags = octets[0] as number;
  return {
    upstreamState: (flags & HAS_STATE) === 0 ? null : octets.slice(serverEnd),
    server: text.decode(octets.subarray(HEAD_OCTETS, serverEnd)),
    expiresMs: new DataView(octets.buffer, octets.byteOffset).getUint32(2) * 1000,
    method: octets[1] as number,
    identity: IDENTITIES[flags & IDENTITY_BITS] ?? "different",
    isMixed: (flags & MIXED) !== 0,
    isCounted: (flags & COUNTED) !== 0,
    trace: octets.subarray(6, 6 + TRACE_OCTETS).toHex(),
  };
}
