// The three states that every list has besides its rows: nothing, not to be had, on its way.

import type { ComponentChildren } from "preact";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Empty, Note } from "./note.tsx";

/** Why there is nothing and the next step; with `onClear` filters are the reason and can be taken off. */
export function EmptyState(
  { title, next, onClear, children }: {
    title: string;
    next: string;
    onClear?: (() => void) | undefined;
    children?: ComponentChildren;
  },
) {
  return (
    <Empty title={title} next={next}>
      {children}
      {onClear !== undefined && <Button small onClick={onClear}>{t("frame.clear_filters")}</Button>}
    </Empty>
  );
}

interface ErrorStateProps {
  /** What failed. */
  readonly title: string;
  /** Why, what is unaffected, what to do. */
  readonly children?: ComponentChildren;
  readonly onRetry?: () => unknown;
}

export function ErrorState({ title, children, onRetry }: ErrorStateProps) {
  return (
    <Note tone="bad" role="alert">
      <strong>{title}</strong> {children}{" "}
      {onRetry !== undefined && <Button small onClick={onRetry}>{t("frame.try_again")}</Button>}
    </Note>
  );
}

/** Grey rows where the first ones will be; they show only after 300 ms (by the styles), so a quick answer shows none. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t("frame.loading")}</span>
      {Array.from({ length: rows }, (_, at) => <i key={at} aria-hidden="true" />)}
    </div>
  );
}
