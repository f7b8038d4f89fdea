// What the audit of a console under test has besides coming and going, which every call of a test brings about.

import type { Store, StoreEntry } from "../../platform/store.ts";

/** Entries of the audit, oldest first, without sign-ins. */
export async function auditRecordsOf<T = string>(
  store: Pick<Store, "list">,
): Promise<StoreEntry<Record<string, T>>[]> {
  const all = await Array.fromAsync(store.list<Record<string, T>>(["audit"]));
  return all.filter(({ value }) => value?.action !== "administrator.sign_in");
}
