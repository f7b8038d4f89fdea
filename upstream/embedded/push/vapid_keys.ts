// The key pair that identifies this installation to push services (RFC 8292, ES256). The first start creates it, and all nodes use
// it. A browser binds its subscription to it, so it never changes.

import { toBase64Url } from "../../../platform/runtime.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";

export interface VapidKeys {
  /** The uncompressed point (65 octets) in base64url: `applicationServerKey` of a browser, and `k` of the header. */
  readonly publicKey: string;
  readonly privateKey: CryptoKey;
  /** The time of the first start that had push. */
  readonly createdMs: number;
}

interface StoredKeys {
  readonly publicKey: string;
  /** The private key as a JWK, sealed. */
  readonly sealedPrivateKey: Uint8Array;
  readonly createdMs: number;
}

const KEY: Deno.KvKey = ["embedded", "push_keys", "vapid"];
/** ES256. */
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Reads the key pair, or creates it. Of several nodes that start at the same time, one creates it. */
export async function openVapidKeys(
  { store, vault, clock }: { store: Store; vault: Vault; clock: Clock },
): Promise<VapidKeys> {
  const known = await store.get<StoredKeys>(KEY);
  if (known.value !== null) return await openStored(known.value, vault);
  const created = await createKeys(vault, clock.nowMs());
  const outcome = await store.commit({
    checks: [{ key: KEY, versionstamp: known.versionstamp }],
    mutations: [{ type: "set", key: KEY, value: created }],
  });
  const winner = outcome.ok ? created : (await store.get<StoredKeys>(KEY)).value;
  if (winner === null) throw new Error("Cannot create the push keys: another node removed them");
  return await openStored(winner, vault);
}

async function createKeys(vault: Vault, createdMs: number): Promise<StoredKeys> {
  const { privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const jwk = await crypto.subtle.exportKey("jwk", privateKey);
  const sealedPrivateKey = vault.seal(KEY, new TextEncoder().encode(JSON.stringify(jwk)));
  return { publicKey: publicPoint(jwk), sealedPrivateKey, createdMs };
}

async function openStored(
  { publicKey, sealedPrivateKey, createdMs }: StoredKeys,
  vault: Vault,
): Promise<VapidKeys> {
  const plain = vault.open(KEY, sealedPrivateKey);
  if (plain === null) throw new Error("Cannot open the push keys: the stored record was altered");
  const jwk: JsonWebKey = JSON.parse(new TextDecoder().decode(plain));
  const privateKey = await crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]);
  return { publicKey, privateKey, createdMs };
}

/** SEC 1 §2.3.3: 4, then both coordinates. */
function publicPoint({ x = "", y = "" }: { x?: string; y?: string }): string {
  const octets = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
  return toBase64Url(Uint8Array.from([4, ...octets(x), ...octets(y)]));
}
