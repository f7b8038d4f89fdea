// What a page fetched: the old value stays while a new one is on its way, the newest asked wins, a lost session waits.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { failureText } from "../api_client.ts";
import { IDLE, LOADING, type Remote } from "../remote.ts";
import type { Models } from "./models.ts";
import type { SessionModel } from "./session_model.ts";

export interface Resource<T> {
  readonly state: ReadonlySignal<Remote<T>>;
  /** A newer value is being fetched while the old one is shown. */
  readonly busy: ReadonlySignal<boolean>;
  /** Why the newest fetch failed although an older value is shown; `null` otherwise. */
  readonly problem: ReadonlySignal<string | null>;
  /** Fetches; never rejects. */
  load(fetch: () => Promise<T>): Promise<void>;
  /** Fetches again what was fetched last. */
  reload(): Promise<void>;
  /** Puts a value that a write returned. */
  put(value: T): void;
}

/** @param deps.session waits while a session is over, and calls again when there is one. */
export function createResource<T>(
  { session }: { readonly session: Pick<SessionModel, "whileSignedIn"> },
): Resource<T> {
  const state = signal<Remote<T>>(IDLE);
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
    put(value) {
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
  models: Pick<Models, "session">,
  { fetch, inputs, key = "" }: { fetch: () => Promise<T>; inputs: readonly unknown[]; key?: string },
): Resource<T> {
  const resource = useMemo(() => createResource<T>(models), [key]);
  useEffect(() => void resource.load(fetch), [resource, ...inputs]);
  return resource;
}
