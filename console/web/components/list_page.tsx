// A page with one list: heading, filters, rows in each state, and pages.

import type { ComponentChildren } from "preact";
import { clearFilters, type ListFilter } from "../app/filters.ts";
import type { Models } from "../app/app_context.ts";
import { type HasOlderPages, type Resource, useOlderPages } from "../app/resource.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Button } from "./button.tsx";
import { DataTable, type DataTableProps } from "./data_table.tsx";
import { EmptyState, ErrorState, Fetched, type FetchTexts } from "./alert.tsx";
import { FilterChips, FilterFields } from "./list_filters.tsx";
import { PageBar } from "./page_layout.tsx";
import { scrollPage } from "../app/router.ts";
import { Icon } from "./icons.tsx";

/** Why the list is empty, and the next step. */
type EmptyTexts = readonly [title: MessageKey, next?: MessageKey];

interface ListTexts extends FetchTexts {
  /** The label of the filters, for screen readers. */
  readonly filters?: MessageKey;
  readonly empty: EmptyTexts;
  /** No row matches the filters. */
  readonly noMatch?: EmptyTexts;
}

/** A page of a list with a total. */
interface Counted extends HasOlderPages {
  readonly page?: number;
  readonly size?: number;
  readonly total?: number;
}

/** Reads older rows of a list. */
interface OlderRows<P> {
  read(before: string): Promise<P>;
  /** The label of the button. */
  label(last: P): string;
  /** How far back the search went. */
  note?(last: P): string | null;
}

interface ListProps<T, P> extends Omit<DataTableProps<T>, "label" | "rows" | "busy"> {
  readonly models: Models;
  readonly title: string;
  /** The label of the table. Default: the title. */
  readonly label?: string;
  readonly texts: ListTexts;
  readonly filters?: readonly ListFilter[];
  readonly resource: Resource<P>;
  /** The rows of the shown pages: the first one, and older ones that were read. */
  readonly rows: (page: P, pages: readonly P[]) => readonly T[];
  /** A note above the rows, also above an empty list. */
  readonly note?: (page: P) => ComponentChildren;
  readonly older?: OlderRows<P>;
  /** The action of an empty list. */
  readonly emptyAction?: ComponentChildren;
  /** Classes of the element around the rows, and around the message of an empty list. */
  readonly frames?: { readonly rows: string; readonly none: string };
}

interface ListPageProps<T, P> extends ListProps<T, P> {
  /** At the right of the heading. */
  readonly actions?: ComponentChildren;
  /** The class of the filter bar. */
  readonly bar?: string;
  /** Content after the list, such as dialogs. */
  readonly children?: ComponentChildren;
}

export function ListPage<T, P extends object>(props: ListPageProps<T, P>) {
  const { models, title, texts, filters = [], resource, actions, bar, children } = props;
  return (
    <main class="page" id="page">
      <PageBar title={title}>{actions}</PageBar>
      {texts.filters !== undefined && (
        <FilterFields
          models={models}
          label={t(texts.filters)}
          filters={filters}
          classes={bar}
        />
      )}
      <FilterChips models={models} filters={filters} />
      <Fetched resource={resource} {...texts}>{(first) => <Rows {...props} first={first} />}</Fetched>
      {children}
    </main>
  );
}

const FRAMES = { rows: "panel", none: "" };
function Rows<T, P extends object>(props: ListProps<T, P> & { readonly first: P }) {
  const { models, title, texts, resource, first, older, frames = FRAMES, label = title } = props;
  const behind = useOlderPages<P>(models);
  const { pages, problem } = behind.olderPages(first);
  const last = pages.at(-1) ?? first;
  const rows = props.rows(last, [first, ...pages]);
  const isBusy = resource.busy.value;
  const { next, page, size, total }: Counted = last;
  const isEmpty = rows.length === 0 && !next;
  return (
    <>
      {props.note?.(last)}
      <section class={isEmpty ? frames.none : frames.rows}>
        {isEmpty ? <NoRows {...props} /> : <DataTable {...props} label={label} rows={rows} busy={isBusy} />}
      </section>
      {problem !== null && <ErrorState title={t(texts.failed)}>{problem}</ErrorState>}
      {next && older !== undefined && (
        <div class="pager">
          <span>{older.note?.(last)}</span>
          <Button disabled={behind.isBusy() || isBusy} onClick={() => behind.loadMore(first, older.read)}>
            {older.label(last)}
          </Button>
        </div>
      )}
      {!isEmpty && page !== undefined && size !== undefined && total !== undefined && (
        <Pager models={models} page={page} pageSize={size} shown={rows.length} total={total} />
      )}
    </>
  );
}

type NothingProps = Pick<ListProps<never, never>, "models" | "texts" | "filters" | "emptyAction">;

function NoRows({ models, texts, filters = [], emptyAction }: NothingProps) {
  const narrowing = filters.filter(({ isNarrowing }) => isNarrowing !== false);
  const isNarrowed = narrowing.some(({ name }) => models.router.param(name) !== "");
  const [title, next] = isNarrowed ? texts.noMatch ?? texts.empty : texts.empty;
  return (
    <EmptyState
      title={t(title)}
      next={next === undefined ? "" : t(next)}
      onClear={isNarrowed ? () => clearFilters(models, narrowing) : undefined}
    >
      {!isNarrowed && emptyAction}
    </EmptyState>
  );
}

interface PagesProps {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** The number of rows of this page. */
  readonly shown: number;
  readonly total: number;
}

export function Pager({ models: { router }, ...pages }: PagesProps & { models: Pick<Models, "router"> }) {
  return (
    <PageTurner
      {...pages}
      onPage={(page) => {
        router.setParams({ page: page === 1 ? "" : String(page) });
        scrollPage(0);
      }}
    />
  );
}

/** For a list whose page number is not in the address. */
export function PageTurner(
  { page, pageSize, shown, total, onPage }: PagesProps & { onPage: (page: number) => void },
) {
  const before = (page - 1) * pageSize;
  const to = before + shown;
  return (
    <nav class="pager" aria-label={t("common.page_of_list")}>
      <span class="quiet" role="status">
        {t("common.range", { from: before + Math.min(1, shown), to, count: total })}
      </span>
      <Button small icon="chevron-left" disabled={page === 1} onClick={() => onPage(page - 1)}>
        {t("common.previous")}
      </Button>
      <Button small disabled={to >= total} onClick={() => onPage(page + 1)}>
        {t("common.next")}
        <Icon name="chevron-right" size={14} />
      </Button>
    </nav>
  );
}
