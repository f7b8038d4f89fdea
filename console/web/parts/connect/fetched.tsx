// What a page fetched, or its other states: on its way, not to be had, old because the newest fetch failed.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Resource } from "../../models/resource.ts";
import { t } from "../../words/translate.ts";
import { ErrorState, Skeleton } from "../states.tsx";

interface FetchedProps<T> {
  readonly resource: Resource<T>;
  readonly children: (value: T) => ComponentChildren;
}

export function Fetched<T>({ resource, children }: FetchedProps<T>) {
  const state = resource.state.value;
  const problem = resource.problem.value;
  return (
    <>
      {problem !== null && (
        <ErrorState title={t("connect.unread")} onRetry={() => void resource.reload()}>
          {problem} {state.kind === "ready" && t("connect.old")}
        </ErrorState>
      )}
      {(state.kind === "idle" || state.kind === "loading") && <Skeleton rows={5} />}
      {state.kind === "ready" && children(state.value)}
    </>
  );
}

/** Does something again and again while the page is seen. */
export function useEvery(everyMs: number, task: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") task();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
