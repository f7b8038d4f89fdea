// What others change while a backend is listed: a listing may be older than that, and must not take it back.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Directory } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";

export interface Meanwhile {
  /** Whether a resource was changed or deleted since the watch began, so that what was listed of it may be older. */
  isNewer(name: string, stored: Stored | null): boolean;
  stop(): void;
}

/** Beyond it, everything that is not there counts as deleted meanwhile. */
const MOST_NAMES = 100_000;

export function watchMeanwhile(
  { directory, clock }: { directory: Directory; clock: Clock },
  kind: ResourceKind,
): Meanwhile {
  const startedMs = clock.nowMs();
  const deleted = new Set<string>();
  /** A leaver's groups are changed with it, and do not tell. */
  let isUserChanged = false;
  const stop = directory.observe((change) => {
    if (change.kind === "user") isUserChanged = true;
    if (change.kind === kind && change.deleted && deleted.size < MOST_NAMES) {
      deleted.add(canonicalName(change.name));
    }
  });
  return {
    isNewer(name, stored) {
      if (stored === null) return deleted.size >= MOST_NAMES || deleted.has(canonicalName(name));
      return stored.modifiedMs >= startedMs || (kind === "group" && isUserChanged);
    },
    stop,
  };
}
