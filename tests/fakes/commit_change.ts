// Commits what a part prepared, as the directory does it.

import type { Store } from "../../platform/store.ts";
import type { PreparedChange } from "../../platform/write_batch.ts";

/** @param between runs after the commit, before memory changes */
export async function commitChange(
  store: Pick<Store, "commit">,
  change: PreparedChange,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const outcome = await store.commit({ mutations: change.mutations });
  if (!outcome.ok) throw new Error("The test could not store a change");
  await between();
  change.done(outcome.versionstamp);
}
