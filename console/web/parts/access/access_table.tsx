// A list of the access page: its rows, or why there are none.

import type { ComponentChildren } from "preact";
import type { Resource } from "../../models/resource.ts";
import { t } from "../../i18n/translate.ts";
import { type Column, DataTable } from "../data_table.tsx";
import { EmptyState, ErrorState, Skeleton } from "../states.tsx";

interface AccessTableProps<T> {
  readonly label: string;
  readonly resource: Resource<{ readonly items: readonly T[] }>;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  readonly empty: { readonly title: string; readonly next: string };
  /** Above the rows: the action that makes a new one. */
  readonly children?: ComponentChildren;
}

export function AccessTable<T>(props: AccessTableProps<T>) {
  const { resource, columns, label, keyOf, empty, children } = props;
  const state = resource.state.value;
  const problem = resource.problem.value;
  return (
    <section class="access-part" aria-label={label}>
      {children !== undefined && <div class="access-actions">{children}</div>}
      {problem !== null && (
        <ErrorState title={t("access.not_read")} onRetry={() => void resource.reload()}>{problem}</ErrorState>
      )}
      {(state.kind === "idle" || state.kind === "loading") && <Skeleton rows={4} />}
      {state.kind === "ready" &&
        (state.value.items.length === 0 ? <EmptyState title={empty.title} next={empty.next} /> : (
          <DataTable
            label={label}
            columns={columns}
            rows={state.value.items}
            keyOf={keyOf}
            busy={resource.busy.value}
          />
        ))}
    </section>
  );
}
