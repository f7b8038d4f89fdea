// A page with one list: heading, filters, rows in each state, and pages.

import type { ComponentChildren } from "preact";
import type { FilterList } from "../../api/saved_filters/saved_filters.ts";
import { clearFilters, type ListFilter } from "../app/filters.ts";
import type { Models } from "../app/app_context.ts";
import { type HasOlderPages, type Resource, useOlderPages } from "../app/resource.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Button } from "./button.tsx";
import { currentSort, formatSort, sortRows } from "../app/sorting.ts";
import { DataTable, type DataTableProps } from "./data_table.tsx";
import { chosenColumns, ListTools } from "./list_tools.tsx";
import { EmptyState, ErrorState, Fetched, type FetchTexts } from "./alert.tsx";
import { FilterChips } from "./filter_chips.tsx";
import { ListFilterBar } from "./list_filters.tsx";
import { PageBar, type PageBarProps } from "./page_layout.tsx";
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

interface ListProps<T, P> extends Omit<DataTableProps<T>, "label" | "rows" | "busy" | "order" | "onOrder"> {
  readonly models: Models;
  /** The name of the list in the preferences, and of its saved filters. */
  readonly name: string;
  readonly title: string;
  /** The label of the table. Default: the title. */
  readonly label?: string;
  readonly texts: ListTexts;
  readonly filters?: readonly ListFilter[];
  /** The order without one in the address: `name` or `-at`. */
  readonly initialSort?: string;
  readonly resource: Resource<P>;
  /** The rows of the shown pages: the first one, and older ones that were read. */
  readonly rows: (page: P, pages: readonly P[]) => readonly T[];
  /** A note above the rows, also above an empty list. */
  readonly note?: (page: P) => ComponentChildren;
  readonly older?: OlderRows<P>;
  /** The action of an empty list. */
  readonly emptyAction?: ComponentChildren;
}

interface ListPageProps<T, P> extends ListProps<T, P> {
  /** Beside the heading: links to other views of the same page. */
  readonly tabs?: ComponentChildren;
  /** The link to the parent page. */
  readonly back?: PageBarProps["back"];
  /** At the right of the heading. */
  readonly actions?: ComponentChildren;
  /** Administrators can save filters of this list. */
  readonly savedAs?: FilterList;
  /** Content after the list, such as dialogs. */
  readonly children?: ComponentChildren;
}

export function ListPage<T, P extends object>(props: ListPageProps<T, P>) {
  const { models, name, title, texts, columns, filters = [], resource, tabs, actions, children } = props;
  const order = currentSort(models, columns, props.initialSort);
  return (
    <main class="page" id="page">
      <PageBar title={title} back={props.back} chips={tabs}>{actions}</PageBar>
      <ListFilterBar
        models={models}
        label={texts.filters === undefined ? undefined : t(texts.filters)}
        filters={filters}
      >
        <ListTools
          models={models}
          name={name}
          columns={columns}
          order={order}
          onOrder={(next) => models.router.setParams({ sort: formatSort(next), page: "" })}
          filters={filters}
          savedAs={props.savedAs}
        />
      </ListFilterBar>
      <FilterChips models={models} filters={filters} />
      <Fetched resource={resource} {...texts}>{(first) => <Rows {...props} first={first} />}</Fetched>
      {children}
    </main>
  );
}

function Rows<T, P extends object>(props: ListProps<T, P> & { readonly first: P }) {
  const { models, name, title, texts, columns, resource, first, older, label = title } = props;
  const behind = useOlderPages<P>(models);
  const { pages, problem } = behind.olderPages(first);
  const last = pages.at(-1) ?? first;
  const order = currentSort(models, columns, props.initialSort);
  const rows = sortRows(props.rows(last, [first, ...pages]), columns, order);
  const isBusy = resource.busy.value;
  const { next, page, size, total }: Counted = last;
  const isEmpty = rows.length === 0 && !next;
  return (
    <>
      {props.note?.(last)}
      {isEmpty ? <NoRows {...props} /> : (
        <section class="panel">
          <DataTable
            {...props}
            label={label}
            columns={chosenColumns(columns, models.preferences.columns.value[name])}
            rows={rows}
            order={order}
            onOrder={(chosen) => models.router.setParams({ sort: formatSort(chosen), page: "" })}
            busy={isBusy}
          />
        </section>
      )}
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
      <PageButton isEnd={page === 1} onClick={() => onPage(page - 1)}>
        <Icon name="chevron-left" size={14} />
        {t("common.previous")}
      </PageButton>
      <PageButton isEnd={to >= total} onClick={() => onPage(page + 1)}>
        {t("common.next")}
        <Icon name="chevron-right" size={14} />
      </PageButton>
    </nav>
  );
}

interface PageButtonProps {
  /** There is no page in this direction. */
  readonly isEnd: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

/** At the end of the list it keeps the focus, which a disabled button would lose. */
function PageButton({ isEnd, onClick, children }: PageButtonProps) {
  return (
    <button
      type="button"
      class="button button-small"
      aria-disabled={isEnd ? "true" : undefined}
      onClick={() => isEnd || onClick()}
    >
      {children}
    </button>
  );
}
