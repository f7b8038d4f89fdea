// What a page fetched, or its other states: on its way, not to be had, old because the newest fetch failed.

import type { ComponentChildren } from "preact";
import type { Resource } from "../models/resource.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { ErrorState, Skeleton } from "./states.tsx";

/** What is said when it could not be fetched. */
export interface FailedWords {
  readonly failed: MessageKey;
  /** That what is shown is older. */
  readonly old?: MessageKey;
}

interface FetchedProps<T> extends FailedWords {
  readonly resource: Resource<T>;
  /** Rows of the skeleton. */
  readonly rows?: number;
  readonly children: (value: T) => ComponentChildren;
}

export function Fetched<T>({ resource, failed, old, rows = 8, children }: FetchedProps<T>) {
  const state = resource.state.value;
  const problem = resource.problem.value;
  const isReady = state.kind === "ready";
  return (
    <>
      {problem !== null && (
        <ErrorState title={t(failed)} onRetry={resource.reload}>
          {problem} {isReady && old !== undefined && t(old)}
        </ErrorState>
      )}
      {isReady ? children(state.value) : state.kind !== "failed" && <Skeleton rows={rows} />}
    </>
  );
}
