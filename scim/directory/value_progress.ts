// Which resources have their values in the value index, while a task adds those of an earlier version.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import { compareText, type DirectoryKeys } from "./keys.ts";

/** The value under ["value_task", target, "progress"]. Absent: nothing is done. */
export interface ValueTaskRecord {
  readonly isComplete: boolean;
  /** All users come before all groups. */
  readonly kind: ResourceKind;
  /** The canonical name of the last resource whose values are in the index; "": none of this kind. */
  readonly after: string;
  /** How many resources the task has read. */
  readonly count: number;
}

const NOTHING_INDEXED: ValueTaskRecord = { isComplete: false, kind: "user", after: "", count: 0 };

/** Which resources have their values in the index. */
export class ValueProgress {
  #record: ValueTaskRecord = NOTHING_INDEXED;

  get record(): ValueTaskRecord {
    return this.#record;
  }

  get isComplete(): boolean {
    return this.#record.isComplete;
  }

  /** Whether a write of the resource must keep its values current. */
  covers(kind: ResourceKind, canonical: string): boolean {
    const { isComplete, kind: current, after } = this.#record;
    if (isComplete || kind !== current) return isComplete || current === "group";
    return after !== "" && compareText(canonical, after) <= 0;
  }

  /** Memory is as the store. */
  update(record: ValueTaskRecord | null): void {
    this.#record = record ?? NOTHING_INDEXED;
  }
}

/** The progress as other nodes report it, too. */
export function followValueProgress(
  { store, keys }: { store: Pick<Store, "follow">; keys: DirectoryKeys },
): ValueProgress {
  const progress = new ValueProgress();
  store.follow(keys.valueTasks, ({ value }) => progress.update(value as ValueTaskRecord | null));
  return progress;
}
