// Lets commits of a running gateway fail or wait, chosen by the test.

import type { Transaction } from "../../../platform/store.ts";
import type { InProcess } from "../rows/in_process.ts";

export interface Commits {
  /** How many failed so far. */
  failed(): number;
  /** From now on those fail of which `test` says so; it is told how many came before. */
  failWhen(test: (transaction: Transaction, before: number) => boolean): void;
  /** From now on they wait, in order, until the function that is returned is called. */
  hold(): () => void;
  heal(): void;
}

/** Stands between a gateway and its store. */
export function interceptCommits(world: InProcess): Commits {
  const store = world.store as { commit: InProcess["store"]["commit"] };
  const real = store.commit;
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
