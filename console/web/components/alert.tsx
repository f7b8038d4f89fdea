// Alerts, and the states of loaded data: loading, failed, empty, out of date.

import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { failureText } from "../app/api_client.ts";
import { Icon, type IconName } from "./icons.tsx";
import type { Tone } from "../app/login_state_labels.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import type { Resource } from "../app/resource.ts";
import type { MessageKey } from "../i18n/catalogue.ts";

interface AlertProps {
  readonly tone: Tone;
  readonly icon?: IconName;
  /** Screen readers announce `alert` at once, and `status` after the current text. */
  readonly role?: "alert" | "status";
  readonly children: ComponentChildren;
}

export function Alert({ tone, icon = tone === "idle" ? "info" : "alert", role, children }: AlertProps) {
  return (
    <div class={`note tone-${tone}`} role={role}>
      <Icon name={`line-${icon}`} size={14} />
      {role !== undefined && <ScrolledIntoView />}
      <div>{children}</div>
    </div>
  );
}

/** Scrolls a dialog to this alert when it appears: the button of a long dialog is far below its alerts. */
function ScrolledIntoView() {
  const mark = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (mark.current?.closest("dialog")) mark.current.parentElement?.scrollIntoView({ block: "nearest" });
  }, []);
  return <span ref={mark} hidden />;
}

interface ErrorAlertProps {
  /** A message or an error; `null` shows nothing. */
  readonly of: ReadonlySignal<unknown>;
  /** What did not work. */
  readonly title?: string | undefined;
  readonly children?: ComponentChildren;
}

/** The error of an action. Screen readers announce it at once. */
export function ErrorAlert({ of: { value }, title, children }: ErrorAlertProps) {
  if (value === null) return null;
  return (
    <Alert tone="bad" role="alert">
      {title && <strong>{title}</strong>} {typeof value === "string" ? value : failureText(value)}
      {children}
    </Alert>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly next: string;
  readonly children?: ComponentChildren;
}

/** An empty list: the reason and the next step. */
export function Empty({ title, next, children }: EmptyProps) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {next !== "" && <p>{next}</p>}
      {children}
    </div>
  );
}

/** Why a list is empty, and the next step. With `onClear`, the filters are the reason. */
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
      {onClear !== undefined && <Button small onClick={onClear}>{t("common.clear_filters")}</Button>}
    </Empty>
  );
}

interface ErrorStateProps {
  /** What failed. */
  readonly title: string;
  /** The reason, what still works, and what to do. */
  readonly children?: ComponentChildren;
  readonly onRetry?: () => unknown;
}

export function ErrorState({ title, children, onRetry }: ErrorStateProps) {
  return (
    <Alert tone="bad" role="alert">
      <strong>{title}</strong> {children}{" "}
      {onRetry !== undefined && <Button small onClick={onRetry}>{t("common.try_again")}</Button>}
    </Alert>
  );
}

/** Placeholder rows. The styles show them after 300 ms, so a quick answer shows none. */
export function Skeleton({ rows = 8 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t("common.loading")}</span>
      {Array.from({ length: rows }, (_, at) => <i key={at} aria-hidden="true" />)}
    </div>
  );
}

/** The messages of a failed load. */
export interface FetchTexts {
  readonly failed: MessageKey;
  /** The shown data is out of date. */
  readonly old?: MessageKey;
}

interface FetchedProps<T> extends Partial<FetchTexts> {
  readonly resource: Resource<T>;
  /** Rows of the skeleton. */
  readonly rows?: number;
  readonly children: (value: T) => ComponentChildren;
}

export function Fetched<T>(props: FetchedProps<T>) {
  const { resource, failed = "common.unread", rows = 8, children } = props;
  const old = props.failed === undefined ? "common.old" : props.old;
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
