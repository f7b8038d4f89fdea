// When a list is fetched again while what it lists keeps coming.

import { effect, type ReadonlySignal, signal } from "@preact/signals";

export interface Follower {
  /** There are newer rows, which wait because the list is in use. */
  readonly waiting: ReadonlySignal<boolean>;
  /** The pointer or the focus is in the list, so it does not move. */
  hold(held: boolean): void;
  /** Fetches what waits although the list is held. */
  showNewer(): void;
  stop(): void;
}

export interface FollowerDeps {
  /** Changes with whatever is newer. */
  readonly newest: ReadonlySignal<unknown>;
  readonly fetch: () => void;
  readonly later: (delayMs: number, task: () => void) => () => void;
}

/** However fast they come, the list is fetched no more often. */
const FETCH_EVERY_MS = 1000;

/** Fetches a list again soon after there is something newer, at most once a second, and not under the pointer. */
export function createFollower({ newest, fetch, later }: FollowerDeps): Follower {
  const waiting = signal(false);
  let held = false;
  let stopTimer: (() => void) | null = null;
  let shown = newest.peek();
  const show = (): void => {
    stopTimer?.();
    stopTimer = null;
    waiting.value = false;
    shown = newest.peek();
    fetch();
  };
  const due = (): void => {
    stopTimer = null;
    if (held) waiting.value = true;
    else show();
  };
  const stopWatching = effect(() => {
    if (newest.value === shown) return;
    stopTimer ??= later(FETCH_EVERY_MS, due);
  });
  return {
    waiting,
    hold(next) {
      held = next;
      if (!held && waiting.peek()) show();
    },
    showNewer: show,
    stop() {
      stopWatching();
      stopTimer?.();
    },
  };
}
