// Which user has which id on another server: remembered for a while, for the members of groups.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";

const MAX_REMEMBERED = 50_000;
const KEEP_MS = 600_000;

export interface ScimIds {
  idOf(name: string): string | undefined;
  nameOf(id: string): string | undefined;
  remember(name: string, id: string): void;
  forget(name: string): void;
  /** Forgets all. `false` when there was nothing to forget. */
  clear(): boolean;
}

export function createScimIds(clock: Clock): ScimIds {
  const ids = new Map<string, string>();
  const names = new Map<string, string>();
  let sinceMs = clock.nowMs();
  const clear = (): boolean => {
    const had = ids.size > 0 || names.size > 0;
    ids.clear();
    names.clear();
    sinceMs = clock.nowMs();
    return had;
  };
  const age = (): void => {
    if (ids.size >= MAX_REMEMBERED || names.size >= MAX_REMEMBERED) clear();
    else if (clock.nowMs() - sinceMs > KEEP_MS) clear();
  };
  return {
    idOf(name) {
      age();
      return ids.get(canonicalName(name));
    },
    nameOf(id) {
      age();
      return names.get(id);
    },
    remember(name, id) {
      age();
      ids.set(canonicalName(name), id);
      names.set(id, name);
    },
    forget(name) {
      const id = ids.get(canonicalName(name));
      ids.delete(canonicalName(name));
      if (id !== undefined) names.delete(id);
    },
    clear,
  };
}
