// Changes of a counted index for one commit.

import type { Mutation } from "../../platform/store.ts";
import type { IndexChange } from "./index_bucket.ts";
import { changeOctets } from "./index_log.ts";

/** The index that a draft changes. */
interface DraftedIndex {
  readonly sequence: number;
  append(changes: readonly IndexChange[]): Mutation[];
  apply(changes: readonly IndexChange[], after: number): void;
}

/** `mutations` belong to the commit; call `apply` after it. */
export class IndexDraft {
  readonly #index: DraftedIndex;
  readonly #changes: IndexChange[] = [];
  #octets = 0;
  /** The number of the last entry of the log before the changes. */
  #after = 0;

  constructor(index: DraftedIndex) {
    this.#index = index;
  }

  /** The size of the changes in the log. */
  get sizeOctets(): number {
    return this.#octets;
  }

  add(key: string, depth = 0): void {
    this.#push({ key, depth, isRemoval: false });
  }

  remove(key: string, depth = 0): void {
    this.#push({ key, depth, isRemoval: true });
  }

  mutations(): Mutation[] {
    this.#after = this.#index.sequence;
    return this.#index.append(this.#changes);
  }

  apply(): void {
    this.#index.apply(this.#changes, this.#after);
  }

  #push(change: IndexChange): void {
    this.#changes.push(change);
    this.#octets += changeOctets(change);
  }
}
