// The selected rows of a list: single rows, a range, or all rows that match.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Router } from "./router.ts";
import type { SessionModel } from "./session_model.ts";

export interface Selection {
  /** The keys of the selected rows. Ignored while `isEverything` is set. */
  readonly selected: ReadonlySignal<ReadonlySet<string>>;
  /** All rows that match are selected, also those of other pages. */
  readonly isEverything: ReadonlySignal<boolean>;
  has(key: string): boolean;
  toggle(key: string): void;
  /** Selects the range from the row that was toggled last to `key`, in the order of `keys`. */
  extend(key: string, keys: readonly string[]): void;
  select(keys: readonly string[]): void;
  selectEverything(): void;
  clear(): void;
}

export function createSelection(): Selection {
  const selected = signal<ReadonlySet<string>>(new Set());
  const isEverything = signal(false);
  let anchor: string | null = null;
  const put = (next: ReadonlySet<string>): void => {
    isEverything.value = false;
    selected.value = next;
  };
  return {
    selected,
    isEverything,
    has: (key) => isEverything.value || selected.value.has(key),
    toggle(key) {
      const next = new Set(selected.peek());
      if (!next.delete(key)) next.add(key);
      anchor = key;
      put(next);
    },
    extend(key, keys) {
      const from = keys.indexOf(anchor ?? key);
      const to = keys.indexOf(key);
      const range = from < 0 || to < 0 ? [key] : keys.slice(Math.min(from, to), Math.max(from, to) + 1);
      put(new Set([...selected.peek(), ...range]));
    },
    select(keys) {
      put(new Set([...selected.peek(), ...keys]));
    },
    selectEverything() {
      isEverything.value = true;
    },
    clear() {
      anchor = null;
      put(new Set());
    },
  };
}

interface SelectionModels {
  readonly router: Router;
  readonly session: SessionModel;
  readonly selections: Map<string, { readonly listed: string; readonly selection: Selection }>;
}

/**
 * The selection of a list. Another query clears it. Back from the page of a row restores it, for the same
 * query and the same administrator; any other visit of the list starts without a selection.
 */
export function useListSelection(models: SelectionModels, query: object): Selection {
  const { selections, router, session } = models;
  const state = session.session.peek();
  const account = state.kind === "ready" ? state.value?.name ?? "" : "";
  const path = router.path.peek();
  const listed = JSON.stringify([account, query]);
  return useMemo(() => {
    const stored = selections.get(path);
    const isBack = router.previousPath.peek().startsWith(`${path}/`);
    const selection = isBack && stored?.listed === listed ? stored.selection : createSelection();
    selections.set(path, { listed, selection });
    return selection;
  }, [listed]);
}
