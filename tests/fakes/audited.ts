// The audit records of a console under test, without the sign-ins that every test causes.

import type { Store, StoreEntry } from "../../platform/store.ts";

/** Audit records, oldest first, without sign-ins. */
export async function auditRecordsOf<T = string>(
  store: Pick<Store, "list">,
): Promise<StoreEntry<Record<string, T>>[]> {
  const all = await Array.fromAsync(store.list<Record<string, T>>(["audit"]));
  return all.filter(({ value }) => value?.action !== "administrator.sign_in");
}
