// Which rows of a list are chosen: one by one, by range, or everything that matches.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Models } from "./models.ts";

export interface Selection {
  /** Keys of chosen rows; of no meaning while `everything` holds. */
  readonly chosen: ReadonlySignal<ReadonlySet<string>>;
  /** All that match, also what other pages of the list show. */
  readonly everything: ReadonlySignal<boolean>;
  has(key: string): boolean;
  toggle(key: string): void;
  /** Chooses from the row toggled last to `key`, in the order of `keys`. */
  extend(key: string, keys: readonly string[]): void;
  choose(keys: readonly string[]): void;
  chooseEverything(): void;
  clear(): void;
}

export function createSelection(): Selection {
  const chosen = signal<ReadonlySet<string>>(new Set());
  const everything = signal(false);
  let anchor: string | null = null;
  const put = (next: ReadonlySet<string>): void => {
    everything.value = false;
    chosen.value = next;
  };
  return {
    chosen,
    everything,
    has: (key) => everything.value || chosen.value.has(key),
    toggle(key) {
      const next = new Set(chosen.peek());
      if (!next.delete(key)) next.add(key);
      anchor = key;
      put(next);
    },
    extend(key, keys) {
      const from = keys.indexOf(anchor ?? key);
      const to = keys.indexOf(key);
      const range = from < 0 || to < 0 ? [key] : keys.slice(Math.min(from, to), Math.max(from, to) + 1);
      put(new Set([...chosen.peek(), ...range]));
    },
    choose(keys) {
      put(new Set([...chosen.peek(), ...keys]));
    },
    chooseEverything() {
      everything.value = true;
    },
    clear() {
      anchor = null;
      put(new Set());
    },
  };
}

/**
 * The selection of a list. Another query clears it. The way back from the page of one row restores it, for the same
 * query and the same administrator; any other visit of the list starts without a selection.
 */
export function useListSelection(models: Models, query: object): Selection {
  const { selections, router, session } = models;
  const state = session.session.peek();
  const account = state.kind === "ready" ? state.value?.name ?? "" : "";
  const path = router.path.peek();
  const listed = JSON.stringify([account, query]);
  return useMemo(() => {
    const stored = selections.get(path);
    const isBack = router.leftPath.peek().startsWith(`${path}/`);
    const selection = isBack && stored?.listed === listed ? stored.selection : createSelection();
    selections.set(path, { listed, selection });
    return selection;
  }, [listed]);
}
