// Values that are loaded from the server, once, by pages, or again and again. The earlier value stays while a new one loads, and
// the latest load wins.

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { failureText } from "./api_client.ts";
import type { RunLater } from "./clock_model.ts";

export type AsyncValue<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

export const IDLE = { kind: "idle" } as const;
export const LOADING = { kind: "loading" } as const;

/** The value, or `null` while there is none. */
export function readyValue<T>(remote: AsyncValue<T>): T | null {
  return remote.kind === "ready" ? remote.value : null;
}

/** Runs calls that need a session: a call waits for the sign-in and then runs again. */
interface SignedInCalls {
  readonly session: { whileSignedIn<T>(call: () => Promise<T>): Promise<T> };
}

export interface Resource<T> {
  readonly state: ReadonlySignal<AsyncValue<T>>;
  /** A load is running. The old value is shown meanwhile. */
  readonly busy: ReadonlySignal<boolean>;
  /** Why the latest load failed, while an older value is shown; `null` otherwise. */
  readonly problem: ReadonlySignal<string | null>;
  /** Never rejects. */
  load(fetch: () => Promise<T>): Promise<void>;
  /** Repeats the latest load. */
  reload(): Promise<void>;
  /** Shows a value that a write returned. */
  set(value: T): void;
}

export function createResource<T>({ session }: SignedInCalls): Resource<T> {
  const state = signal<AsyncValue<T>>(IDLE);
  const busy = signal(false);
  const problem = signal<string | null>(null);
  let last: (() => Promise<T>) | null = null;
  let turn = 0;
  const load = async (fetch: () => Promise<T>): Promise<void> => {
    last = fetch;
    turn += 1;
    const mine = turn;
    const hadValue = state.peek().kind === "ready";
    busy.value = true;
    if (!hadValue) state.value = LOADING;
    try {
      const value = await session.whileSignedIn(fetch);
      if (mine !== turn) return;
      state.value = { kind: "ready", value };
      problem.value = null;
    } catch (fault) {
      if (mine !== turn) return;
      const message = failureText(fault);
      problem.value = message;
      if (!hadValue) state.value = { kind: "failed", message };
    }
    busy.value = false;
  };
  return {
    state,
    busy,
    problem,
    load,
    reload: async () => {
      if (last !== null) await load(last);
    },
    set(value) {
      turn += 1;
      busy.value = false;
      problem.value = null;
      state.value = { kind: "ready", value };
    },
  };
}

/**
 * A resource of an open page. It is fetched again when one of `inputs` changes, and shows the earlier value until then.
 * When `key` changes, the earlier value is not shown.
 */
export function useResource<T>(
  models: SignedInCalls,
  { fetch, inputs, key = "" }: { fetch: () => Promise<T>; inputs: readonly unknown[]; key?: string },
): Resource<T> {
  const resource = useMemo(() => createResource<T>(models), [key]);
  useEffect(() => void resource.load(fetch), [resource, ...inputs]);
  return resource;
}

/** A page that may have older ones behind it. */
export interface HasOlderPages {
  /** The cursor of the older page; `null` on the last page, absent if the list has no older pages. */
  readonly next?: string | null;
}

/** The older pages that were read after a first page. */
interface LoadedPages<P> {
  readonly first: P | null;
  readonly pages: readonly P[];
  /** Why the latest read failed; `null` when it did not. */
  readonly problem: string | null;
}

interface OlderPages<P> {
  /** The pages that were read after this first page. None, if they were read after another one. */
  olderPages(first: P): Omit<LoadedPages<P>, "first">;
  readonly isBusy: () => boolean;
  /** Reads the page after the last one. Never rejects. */
  loadMore(first: P, read: (before: string) => Promise<P>): Promise<void>;
}

export function createOlderPages<P extends object>({ session }: SignedInCalls): OlderPages<P> {
  const nothing: LoadedPages<P> = { first: null, pages: [], problem: null };
  const behind = signal(nothing);
  const busy = signal(false);
  const olderPages = (first: P) => behind.value.first === first ? behind.value : nothing;
  return {
    olderPages,
    isBusy: () => busy.value,
    async loadMore(first, read) {
      const { pages } = olderPages(first);
      const { next }: HasOlderPages = pages.at(-1) ?? first;
      if (typeof next !== "string" || busy.peek()) return;
      busy.value = true;
      try {
        const page = await session.whileSignedIn(() => read(next));
        behind.value = { first, pages: [...pages, page], problem: null };
      } catch (fault) {
        behind.value = { first, pages, problem: failureText(fault) };
      }
      busy.value = false;
    },
  };
}

export function useOlderPages<P extends object>(models: SignedInCalls): OlderPages<P> {
  return useMemo(() => createOlderPages<P>(models), []);
}

/** Runs a task, but not while an earlier run is pending. Otherwise slow answers pile up, and each replaces the next. */
export function skipWhilePending(task: () => Promise<unknown>): () => void {
  let isPending = false;
  const end = () => {
    isPending = false;
  };
  return () => {
    if (isPending) return;
    isPending = true;
    task().then(end, end);
  };
}

/** Repeats a task while the page is visible. A tick is skipped while the task is still running. */
export function useInterval(everyMs: number, task: () => Promise<unknown>): void {
  const newest = useRef(task);
  newest.current = task;
  useEffect(() => {
    const tick = skipWhilePending(() => newest.current());
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") tick();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

interface AutoRefresh {
  /** Newer rows exist, but the list is in use. */
  readonly waiting: ReadonlySignal<boolean>;
  /** Pauses while the pointer or the focus is in the list. */
  pause(held: boolean): void;
  /** Fetches the newer rows even while paused. */
  showNewer(): void;
  stop(): void;
}

interface AutoRefreshDeps {
  /** Changes when newer rows exist. */
  readonly newest: ReadonlySignal<unknown>;
  readonly fetch: () => Promise<unknown>;
  readonly later: RunLater;
}

const MIN_INTERVAL_MS = 1000;

/** Fetches a list when newer rows exist: at most once a second, and not while the list is in use. */
export function createAutoRefresh({ newest, fetch, later }: AutoRefreshDeps): AutoRefresh {
  const waiting = signal(false);
  let held = false;
  let stopTimer: (() => void) | null = null;
  let shown = newest.peek();
  let pending = 0;
  const end = (): void => {
    pending -= 1;
  };
  const show = (): void => {
    stopTimer?.();
    stopTimer = null;
    waiting.value = false;
    shown = newest.peek();
    pending += 1;
    fetch().then(end, end);
  };
  const due = (): void => {
    stopTimer = pending > 0 ? later(MIN_INTERVAL_MS, due) : null;
    if (pending > 0) return;
    if (held) waiting.value = true;
    else show();
  };
  const stopWatching = effect(() => {
    if (newest.value === shown) return;
    stopTimer ??= later(MIN_INTERVAL_MS, due);
  });
  return {
    waiting,
    pause(next) {
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
