// The history of finished logins: read newest first by key, filtered, a bounded number of records a call.

import type { Store } from "../../../platform/store.ts";
import { type FinishedLogin, historyKey, unpackFinished } from "../../../radius/conversation/login_record.ts";
import { explainLogin, type Explanation } from "../conversations/explain_login.ts";

/** What the history is narrowed to; "" means everything. Times are milliseconds since the epoch. */
export interface HistoryFilter {
  readonly outcome: string;
  readonly user: string;
  readonly client: string;
  /** The target whose users logged in. */
  readonly target?: string;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** One line of the history. */
export interface HistoryItem extends Omit<FinishedLogin, "moments" | "refusedFor" | "denial"> {
  readonly id: string;
  /** `null` for an accepted login. */
  readonly reason: Pick<Explanation, "code" | "values"> | null;
}

export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /** Where the next page begins; `null` at the end. */
  readonly next: string | null;
  /** How far back was looked, when the search was cut off before the page was full. */
  readonly searchedToMs: number | null;
}

export interface HistoryReader {
  page(filter: HistoryFilter, options: { before: string | null; limit: number }): Promise<HistoryPage>;
  one(id: string): Promise<FinishedLogin | null>;
}

/** Records that one call looks at; a search for something rare goes on with the next call. */
const MOST_LOOKED_AT = 20_000;
/** Conversations begin at most this long before they end: the key tells the beginning. */
const FIRST_KEY = "";
const LAST_KEY = "\u{10ffff}";

export function createHistoryReader({ store }: { store: Store }): HistoryReader {
  return {
    async page(filter, { before, limit }) {
      const fits = matcher(filter);
      const end = earlier(
        before ?? LAST_KEY,
        filter.toMs === null ? LAST_KEY : historyKeyAt(filter.toMs + 1),
      );
      const start = filter.fromMs === null ? FIRST_KEY : historyKeyAt(filter.fromMs);
      const items: HistoryItem[] = [];
      let looked = 0;
      let last: { id: string; startedMs: number } | null = null;
      if (start >= end) return { items, next: null, searchedToMs: null };
      const range = { start: historyKey(start), end: historyKey(end) };
      for await (
        const { key, value } of store.range<unknown>(range, { reverse: true, limit: MOST_LOOKED_AT })
      ) {
        const login = unpackFinished(value);
        const id = String(key[1]);
        looked++;
        if (login === null) continue;
        last = { id, startedMs: login.startedMs };
        if (!fits(login)) continue;
        items.push(itemOf(id, login));
        if (items.length >= limit) return { items, next: id, searchedToMs: null };
      }
      const isCut = looked >= MOST_LOOKED_AT && last !== null;
      return {
        items,
        next: isCut ? last?.id ?? null : null,
        searchedToMs: isCut ? last?.startedMs ?? null : null,
      };
    },
    async one(id) {
      const { value } = await store.get<unknown>(historyKey(id));
      return unpackFinished(value);
    },
  };
}

/** Conversations are named by their beginning: a thousandth of a millisecond each, in 11 characters of base 36. */
export function historyKeyAt(atMs: number): string {
  return Math.max(0, Math.floor(atMs * 1024)).toString(36).padStart(11, "0");
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function matcher({ outcome, user, client, target = "" }: HistoryFilter): (login: FinishedLogin) => boolean {
  const name = user.normalize("NFC").toLowerCase();
  return (login) =>
    (outcome === "" || login.outcome === outcome) && (client === "" || login.client === client) &&
    (target === "" || login.target === target) &&
    (name === "" || login.user.normalize("NFC").toLowerCase().includes(name));
}

function itemOf(id: string, finished: FinishedLogin): HistoryItem {
  const { moments: _moments, refusedFor, denial, ...login } = finished;
  const explanation = explainLogin(finished, { refusedFor, denial });
  const reason = explanation === null ? null : { code: explanation.code, values: explanation.values };
  return { id, ...login, reason };
}
