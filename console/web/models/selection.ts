// Which rows of a list are chosen: one by one, by range, or everything that matches.

import { type ReadonlySignal, signal } from "@preact/signals";

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
