// How the last logins of one person ended. A person's page asks again and again, so what was found is kept for a while, and only
// what is newer is looked for.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";

export interface OwnHistory {
  /** Of a user (canonical name), newest first; at most 50, at most 90 days back. */
  of(canonical: string): Promise<readonly HistoryItem[]>;
}

interface Known {
  readonly untilMs: number;
  readonly items: readonly HistoryItem[];
}

const BACK_MS = 90 * 24 * 3600_000;
/** The history is in the order in which logins began; one that began so long ago may have ended only now. */
const OVERLAP_MS = 15 * 60_000;
const MOST_SHOWN = 50;
/** Pages of the history that one search looks through; each looks at a bounded number of records. */
const MOST_PAGES = 3;
const PAGE = 200;
const MOST_KNOWN = 500;

export function createOwnHistory({ store, clock }: { store: Store; clock: Clock }): OwnHistory {
  const reader = createHistoryReader({ store });
  const known = new Map<string, Known>();

  const search = async (canonical: string, fromMs: number): Promise<HistoryItem[]> => {
    const filter = { outcome: "", user: canonical, client: "", target: "", fromMs, toMs: null };
    const found: HistoryItem[] = [];
    let before: string | null = null;
    for (let page = 0; page < MOST_PAGES && found.length < MOST_SHOWN; page += 1) {
      const options: { before: string | null; limit: number } = { before, limit: PAGE };
      const { items, next } = await reader.page(filter, options);
      // The filter finds names that contain this one, too.
      found.push(...items.filter(({ user }) => canonicalName(user) === canonical));
      if (next === null) break;
      before = next;
    }
    return found;
  };
  const keep = (canonical: string, value: Known): void => {
    known.delete(canonical);
    known.set(canonical, value);
    for (const oldest of known.keys()) {
      if (known.size <= MOST_KNOWN) return;
      known.delete(oldest);
    }
  };

  return {
    async of(canonical) {
      const nowMs = clock.nowMs();
      const before = known.get(canonical);
      const fromMs = before === undefined ? nowMs - BACK_MS : before.untilMs - OVERLAP_MS;
      const fresh = await search(canonical, fromMs);
      const ids = new Set(fresh.map(({ id }) => id));
      const older = (before?.items ?? []).filter(({ id, startedMs }) =>
        !ids.has(id) && startedMs > nowMs - BACK_MS
      );
      const items = [...fresh, ...older].slice(0, MOST_SHOWN);
      keep(canonical, { untilMs: nowMs, items });
      return items;
    },
  };
}
