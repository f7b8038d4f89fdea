// A page with one list: heading, filters, rows in each state, and pages.

import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import type { FilterList, SavedFilterList } from "../../api/saved_filters/saved_filters.ts";
import { clearFilters, type ListFilter } from "../app/filters.ts";
import type { Models } from "../app/app_context.ts";
import {
  type HasOlderPages,
  readyValue,
  type Resource,
  useOlderPages,
  useResource,
} from "../app/resource.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { currentSort, formatSort, type SortOrder, sortRows } from "../app/sorting.ts";
import { scrollPage } from "../app/router.ts";
import { escapeParams, failureText, take } from "../app/api_client.ts";
import { Button } from "./button.tsx";
import { DataTable, type DataTableProps, type TableColumn } from "./data_table.tsx";
import { EmptyState, ErrorState, Fetched, type FetchTexts } from "./alert.tsx";
import { FilterChips } from "./filter_chips.tsx";
import { ListFilterBar } from "./list_filters.tsx";
import { PageBar, type PageBarProps } from "./page_layout.tsx";
import { Icon } from "./icons.tsx";
import { Menu, type MenuItem } from "./menu.tsx";
import { FormDialog } from "./form_dialog.tsx";
import { type FieldRow, FormFields } from "./form_fields.tsx";

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

// The tools of a list, beside its filters: the saved filters, the columns to show, and the order on small screens.

interface ListToolsProps<T> {
  readonly models: Models;
  /** The name of the table in the preferences. */
  readonly name: string;
  readonly columns: readonly TableColumn<T>[];
  readonly order: SortOrder | null;
  readonly onOrder: (order: SortOrder) => void;
  readonly filters: readonly ListFilter[];
  /** The name under which the server stores the filters of this list. */
  readonly savedAs: FilterList | undefined;
}

function ListTools<T>(props: ListToolsProps<T>) {
  const { models, name, columns, order, onOrder, filters, savedAs } = props;
  return (
    <div class="list-tools">
      <SortChoice columns={columns} order={order} onOrder={onOrder} />
      {savedAs !== undefined && <SavedFilters models={models} list={savedAs} filters={filters} />}
      <ColumnChoice models={models} name={name} columns={columns} />
    </div>
  );
}

type SortChoiceProps<T> = Pick<ListToolsProps<T>, "columns" | "order" | "onOrder">;

/** Cards have no headings, so that small screens have a select. */
function SortChoice<T>({ columns, order, onOrder }: SortChoiceProps<T>) {
  const sortable = columns.filter(({ sort }) => sort !== undefined);
  if (sortable.length === 0) return null;
  return (
    <select
      class="input sort-choice"
      aria-label={t("common.sort")}
      value={order === null ? "" : formatSort(order)}
      onChange={({ currentTarget: { value } }) =>
        onOrder({ by: value.replace(/^-/, ""), isDescending: value.startsWith("-") })}
    >
      {order === null && <option value="">{t("common.sort")}</option>}
      {sortable.flatMap(({ id = "", label }) =>
        [false, true].map((isDescending) => (
          <option key={`${isDescending} ${id}`} value={formatSort({ by: id, isDescending })}>
            {t(isDescending ? "common.sort_down" : "common.sort_up", { label })}
          </option>
        ))
      )}
    </select>
  );
}

type ColumnChoiceProps<T> = Pick<ListToolsProps<T>, "models" | "name" | "columns">;

/** The first column always stays. */
function ColumnChoice<T>({ models: { preferences }, name, columns }: ColumnChoiceProps<T>) {
  const choices = columns.slice(1).filter(({ isPinned }) => isPinned !== true);
  if (choices.length < 2) return null;
  const isShown = ({ id, label, isOptional }: TableColumn<T>) =>
    preferences.columns.value[name]?.[id ?? label] ?? isOptional !== true;
  return (
    <Menu
      text={t("common.columns")}
      icon="columns-3"
      label={t("common.columns")}
      items={() => [
        ...choices.map((column) => ({
          label: column.label,
          checked: isShown(column),
          run: () => preferences.setColumn(name, column.id ?? column.label, !isShown(column)),
        })),
        { label: t("common.columns_reset"), icon: "refresh-cw", run: () => preferences.resetColumns(name) },
      ]}
    />
  );
}

/** The columns that the administrator did not hide. A column that was switched on is hidden last when the table is narrow. */
function chosenColumns<T>(
  columns: readonly TableColumn<T>[],
  choices: Readonly<Record<string, boolean>> | undefined,
): readonly TableColumn<T>[] {
  return columns.flatMap((column, at) => {
    const choice = choices?.[column.id ?? column.label];
    if (at === 0 || column.isPinned === true) return [column];
    if (choice === true) return [{ ...column, priority: 1 as const }];
    return choice === false || column.isOptional === true ? [] : [column];
  });
}

// The saved filters of a list: a menu that applies, saves and removes them. The server stores them for each administrator.

interface SavedFiltersProps {
  readonly models: Models;
  readonly list: FilterList;
  readonly filters: readonly ListFilter[];
}

function SavedFilters({ models, list, filters }: SavedFiltersProps) {
  const { router } = models;
  const saved = useResource(models, { fetch: () => createCalls(models, list).read(), inputs: [list] });
  const saving = useSignal(false);
  const items = readyValue(saved.state.value)?.items ?? [];
  const query = savedQuery(models, filters);
  const active = items.find((one) => one.query === query);
  const menuItems = (): MenuItem[] => [
    ...items.map(({ name, query }): MenuItem => ({
      label: name,
      checked: query === active?.query,
      closes: true,
      run: () => router.go(`${router.path.peek()}?${query}`),
    })),
    {
      label: t("common.filter_save"),
      icon: "plus",
      reason: query === "" ? t("common.filter_save_why") : undefined,
      run: () => saving.value = true,
    },
    ...active === undefined ? [] : [{
      label: t("common.remove_name", { name: active.name }),
      icon: "trash-2" as const,
      isBad: true,
      run: () => removeFilter(models, { list, saved, name: active.name }),
    }],
  ];
  return (
    <>
      <Menu
        text={active?.name ?? t("common.filters_saved")}
        icon="bookmark"
        label={t("common.filters_saved")}
        items={menuItems}
      >
        {items.length === 0 && (
          <p class="quiet small">
            {saved.state.value.kind === "failed" ? t("common.filters_not_loaded") : t("common.filters_none")}
          </p>
        )}
      </Menu>
      {saving.value && (
        <SaveFilterDialog
          name={active?.name ?? ""}
          onSave={async (name) => {
            const next = await createCalls(models, list).save(name, query);
            saved.set(next);
            models.toasts.show(t("common.filter_saved", { name }), { tone: "ok" });
          }}
          onClose={() => saving.value = false}
        />
      )}
    </>
  );
}

interface RemovedFilter {
  readonly list: FilterList;
  readonly saved: Resource<SavedFilterList>;
  readonly name: string;
}

async function removeFilter(models: Models, { list, saved, name }: RemovedFilter): Promise<void> {
  const calls = createCalls(models, list);
  const { items } = readyValue(saved.state.peek()) ?? { items: [] };
  const query = items.find((one) => one.name === name)?.query ?? "";
  try {
    saved.set(await calls.remove(name));
    const undo = async () => saved.set(await calls.save(name, query));
    models.toasts.show(t("common.filter_removed", { name }), { tone: "ok", undo: () => void undo() });
  } catch (fault) {
    models.toasts.show(`${t("common.filter_not_removed")} ${failureText(fault)}`, { tone: "bad" });
  }
}

/** The filters and the order in the address, always in the same order; "" without a filter. */
function savedQuery({ router }: Pick<Models, "router">, filters: readonly ListFilter[]): string {
  const given = filters.map(({ name }) => [name, router.param(name)]).filter(([, value]) => value !== "");
  const order = router.param("sort");
  if (given.length === 0 && order === "") return "";
  return new URLSearchParams([...given, ...order === "" ? [] : [["sort", order]]]).toString();
}

function createCalls({ api, session }: Models, list: FilterList) {
  const filters = api["saved-filters"][":list"];
  return {
    read: (): Promise<SavedFilterList> => take(filters.$get({ param: escapeParams({ list }) })),
    save: (name: string, query: string): Promise<SavedFilterList> =>
      session.whileSignedIn(() =>
        take(filters[":name"].$put({ param: escapeParams({ list, name }), json: { query } }))
      ),
    remove: (name: string): Promise<SavedFilterList> =>
      session.whileSignedIn(() =>
        take(filters[":name"].$delete({ param: escapeParams({ list, name }), json: {} }))
      ),
  };
}

// The dialog that saves the filters of a list under a name.

const NAME_ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "common.filter_name",
  hint: "common.filter_name_hint",
  input: { required: true, maxLength: 64, autofocus: true },
}];

interface SaveFilterProps {
  readonly name: string;
  readonly onSave: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

function SaveFilterDialog({ name, onSave, onClose }: SaveFilterProps) {
  const draft = useSignal({ name });
  return (
    <FormDialog
      title={t("common.filter_save")}
      submitLabel={t("common.save")}
      onSubmit={() => onSave(draft.value.name.trim())}
      onClose={onClose}
    >
      <FormFields prefix="saved-filter" draft={draft} rows={NAME_ROWS} />
    </FormDialog>
  );
}
