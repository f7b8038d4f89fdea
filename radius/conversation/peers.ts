// The other nodes, as far as logins need them: who handles a conversation, and whether two nodes received the same password.

import { toBase64Url } from "../../platform/runtime.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";

/** What the gateway needs to know of the other nodes. */
export interface PeerNodes {
  /** This run of this process; "" if no other node can use the store. */
  readonly node: string;
  /** The clock of a node minus the clock of this node. */
  clockOffsetMs(node: string): number;
  /** Whether a node runs, as far as this node knows. */
  isAlive(node: string): boolean;
  /** Whether this node finishes the work of `node`: its own, or that of a dead node. */
  isResponsibleFor(node: string): boolean;
  /** The keys that this process shares with other running processes, in memory only. */
  keys(): readonly { readonly node: string; readonly key: Uint8Array }[];
}

/** For a store that only this process uses. */
export const NO_PEERS: PeerNodes = {
  node: "",
  clockOffsetMs: () => 0,
  isAlive: () => false,
  isResponsibleFor: () => true,
  keys: () => [],
};

/** The digest of a password under the key of two running nodes. After their end, it reveals nothing. */
export interface PeerDigest {
  readonly node: string;
  readonly digest: string;
}

export const NO_DIGESTS: readonly PeerDigest[] = [];

const encoder = new TextEncoder();

/** Signs passwords with the keys of the other nodes. */
export class PeerDigests {
  readonly #peers: PeerNodes;
  readonly #hmacs = new Map<string, { readonly key: Uint8Array; readonly hmac: HmacMd5 }>();
  readonly #digest = new Uint8Array(MD5_OCTETS);

  constructor(peers: PeerNodes) {
    this.#peers = peers;
  }

  /** One digest for each other node. @param context differs for each user, so that equal passwords have different digests */
  of(password: Uint8Array, context: string): readonly PeerDigest[] {
    const keys = this.#peers.keys();
    if (keys.length === 0) return NO_DIGESTS;
    const head = encoder.encode(`${context.length} ${context}`);
    const octets = new Uint8Array(head.length + password.length);
    octets.set(head);
    octets.set(password, head.length);
    return keys.map(({ node, key }) => {
      this.#hmacOf(node, key).signInto(octets, 0, octets.length, this.#digest, 0);
      return { node, digest: toBase64Url(this.#digest) };
    });
  }

  #hmacOf(node: string, key: Uint8Array): HmacMd5 {
    const known = this.#hmacs.get(node);
    if (known?.key === key) return known.hmac;
    if (this.#hmacs.size > 2 * this.#peers.keys().length) this.#hmacs.clear();
    const hmac = createHmacMd5(key);
    this.#hmacs.set(node, { key, hmac });
    return hmac;
  }
}

/** The password of a packet, as digests: under the key of this process, and under those that it shares with other nodes. */
export interface PasswordDigests {
  readonly digest: string;
  readonly peerDigests: readonly PeerDigest[];
}

/** The fields of a conversation that identify the password of its last packet. */
interface AnsweredPassword {
  readonly node: string;
  readonly answerDigest: string | null;
  readonly peerDigests: readonly PeerDigest[];
}

/**
 * Whether this node cannot compare the password of the last packet of a conversation yet: for a moment after its own start, it does not have the key
 * of the node that received that packet.
 */
export function awaitsPeerKey(
  { node, answerDigest, peerDigests }: AnsweredPassword,
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  return answerDigest === null && peerDigests.some((one) => one.node === ownNode) &&
    !typed.peerDigests.some((one) => one.node === node);
}

/**
 * Whether the last packet of a conversation may have had the same password: it had, or this node cannot tell. It cannot tell after a restart
 * of the node that received the packet, and while it {@link awaitsPeerKey}. Then, an Access-Accept is not given again, because the password may be
 * wrong.
 */
export function maybeSamePassword(
  answered: AnsweredPassword & { readonly outcome: string | null },
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  const { answerDigest, peerDigests, outcome } = answered;
  if (answerDigest === null && !peerDigests.some((one) => one.node === ownNode)) return true;
  if (awaitsPeerKey(answered, typed, ownNode)) return outcome !== "accepted";
  return isSamePassword(answered, typed, ownNode);
}

/** Whether the last packet of a conversation surely had the same password. `false` after a restart of the node that received it. */
export function isSamePassword(
  { node, answerDigest, peerDigests }: AnsweredPassword,
  typed: PasswordDigests,
  ownNode: string,
): boolean {
  if (answerDigest !== null) return answerDigest === typed.digest;
  // Both nodes have the same key, so the digest that the other node made for this one equals the digest that this node makes for it.
  const made = peerDigests.find((one) => one.node === ownNode);
  return made !== undefined &&
    typed.peerDigests.some((one) => one.node === node && one.digest === made.digest);
}
