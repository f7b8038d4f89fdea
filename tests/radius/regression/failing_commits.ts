// Lets a test choose commits of a running gateway that fail or wait.

import type { Transaction } from "../../../platform/store.ts";
import { appendByCommit } from "../../fakes/append_by_commit.ts";
import type { InProcess } from "../rows/in_process.ts";

export interface Commits {
  /** The number of failed commits. */
  failed(): number;
  /** From now on the commits fail for which `test` returns true; its argument is the number of earlier commits. */
  failWhen(test: (transaction: Transaction, before: number) => boolean): void;
  /** From now on commits wait, in order, until the returned function is called. */
  hold(): () => void;
  heal(): void;
}

/** Wraps the store of a gateway. */
export function interceptCommits(world: InProcess): Commits {
  const store = world.store as { -readonly [name in "commit" | "append"]: InProcess["store"][name] };
  const real = store.commit;
  store.append = appendByCommit((transaction) => store.commit(transaction));
  let failed = 0;
  return {
    failed: () => failed,
    failWhen(test) {
      let before = 0;
      store.commit = (transaction) => {
        if (!test(transaction, before++)) return real(transaction);
        failed++;
        return Promise.reject(new Error("the disk is full"));
      };
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      store.commit = async (transaction) => {
        await promise;
        return await real(transaction);
      };
      return () => {
        store.commit = real;
        resolve();
      };
    },
    heal() {
      store.commit = real;
    },
  };
}
