// Records that the first start creates, or that every start reads before anything else.

import { isTransient } from "./backup/transient.ts";
import type { Store } from "./store.ts";
import type { Vault } from "./vault.ts";

/** A record that the first start seals with the master key. */
export const MASTER_KEY_CHECK: Deno.KvKey = ["vault", "check"];
const CHECK_OCTETS = 32;

/** Whether a store has content. Records of running nodes are none. */
export async function hasEntries(kv: Deno.Kv): Promise<boolean> {
  for await (const { key } of kv.list({ prefix: [] }, { batchSize: 100 })) if (!isTransient(key)) return true;
  return false;
}

/** New audit ids follow the newest record, even if the clock was set back between two starts. */
export async function newestAuditId(kv: Deno.Kv): Promise<string> {
  for await (const { key } of kv.list({ prefix: ["audit"] }, { reverse: true, limit: 1 })) {
    return String(key[1]);
  }
  return "";
}

/** Checks the master key against the record that the first start of the first node sealed. */
export async function isKeyOfStore(store: Store, vault: Vault): Promise<boolean> {
  const key = MASTER_KEY_CHECK;
  const sealed = await readOrCreate(store, key, () => vault.seal(key, new Uint8Array(CHECK_OCTETS)));
  return vault.open(key, sealed.value) !== null;
}

/** Creates a record once, also if several nodes start at the same moment: all of them return the one that was stored. */
export async function readOrCreate(
  store: Store,
  key: Deno.KvKey,
  create: () => Uint8Array,
): Promise<{ value: Uint8Array; isNew: boolean }> {
  const { value: stored } = await store.get<Uint8Array>(key);
  if (stored !== null) return { value: stored, isNew: false };
  const value = create();
  const { ok } = await store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ type: "set", key, value }],
  });
  return ok ? { value, isNew: true } : await readOrCreate(store, key, create);
}
