// A key for each pair of running nodes, so that two nodes can compare secrets without storing anything that the store or the master key alone
// could reveal. Each run has a new X25519 key pair (RFC 7748). Only the public keys are in the store. The master key authenticates them.

import { toBase64Url } from "../runtime.ts";

const KEY_OCTETS = 32;
/** More nodes than any cluster has. */
const MAX_PEERS = 64;
/** Longer than any login_join_window_s. */
const KEEP_MS = 600_000;

export interface PeerKey {
  readonly node: string;
  readonly key: Uint8Array;
}

export class PeerKeys {
  readonly #pair: CryptoKeyPair;
  readonly #secret: Uint8Array;
  readonly #keys = new Map<string, { readonly publicKey: string; key: Uint8Array | null; seenMs: number }>();
  #list: readonly PeerKey[] = [];
  /** The public key of this run, base64url. */
  readonly publicKey: string;

  private constructor(pair: CryptoKeyPair, publicKey: string, secret: Uint8Array) {
    this.#pair = pair;
    this.publicKey = publicKey;
    this.#secret = secret;
  }

  /** @param secret a key that every node derives from the master key */
  static async create(secret: Uint8Array): Promise<PeerKeys> {
    const pair = await crypto.subtle.generateKey("X25519", false, ["deriveBits"]) as CryptoKeyPair;
    const octets = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return new PeerKeys(pair, toBase64Url(octets), secret);
  }

  /** The keys that are shared with the other nodes. */
  get list(): readonly PeerKey[] {
    return this.#list;
  }

  /**
   * Takes over the nodes that are alive, with their public keys. New keys are available a moment later. The key of a node that ended stays
   * for a while, because the logins that it handled continue on other nodes.
   */
  update(peers: readonly { readonly node: string; readonly publicKey: string }[], nowMs: number): void {
    for (const { node, publicKey } of peers.slice(0, MAX_PEERS)) {
      const known = this.#keys.get(node);
      if (publicKey === "") continue;
      if (known?.publicKey === publicKey) {
        known.seenMs = nowMs;
        continue;
      }
      this.#keys.set(node, { publicKey, key: null, seenMs: nowMs });
      void this.#derive(publicKey).then((key) => this.#set(node, publicKey, key));
    }
    const byAge = [...this.#keys].toSorted(([, a], [, b]) => b.seenMs - a.seenMs);
    for (const [at, [node, { seenMs }]] of byAge.entries()) {
      if (at >= MAX_PEERS || seenMs < nowMs - KEEP_MS) this.#keys.delete(node);
    }
    this.#collect();
  }

  #set(node: string, publicKey: string, key: Uint8Array | null): void {
    const known = this.#keys.get(node);
    if (known?.publicKey !== publicKey) return;
    known.key = key;
    this.#collect();
  }

  #collect(): void {
    this.#list = [...this.#keys].flatMap(([node, { key }]) => key === null ? [] : [{ node, key }]);
  }

  /** `null` if the public key is malformed, because the store is untrusted input. */
  async #derive(publicKey: string): Promise<Uint8Array | null> {
    try {
      const raw = Uint8Array.fromBase64(publicKey, { alphabet: "base64url" });
      const other = await crypto.subtle.importKey("raw", raw, "X25519", false, []);
      const shared = await crypto.subtle.deriveBits(
        { name: "X25519", public: other },
        this.#pair.privateKey,
        256,
      );
      const material = await crypto.subtle.importKey("raw", shared, "HKDF", false, ["deriveBits"]);
      const options = { name: "HKDF", hash: "SHA-256", salt: this.#secret.slice(), info: INFO };
      return new Uint8Array(await crypto.subtle.deriveBits(options, material, KEY_OCTETS * 8));
    } catch (_malformed) {
      return null;
    }
  }
}

const INFO = new TextEncoder().encode("countersign digests between two nodes");
