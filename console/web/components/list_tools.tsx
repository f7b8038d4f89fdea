// The tools of a list, beside its filters: the saved filters, the columns to show, and the order on small screens.

import type { FilterList } from "../../api/saved_filters/saved_filters.ts";
import type { Models } from "../app/app_context.ts";
import type { ListFilter } from "../app/filters.ts";
import { formatSort, type SortOrder } from "../app/sorting.ts";
import { t } from "../i18n/translate.ts";
import type { TableColumn } from "./data_table.tsx";
import { Menu } from "./menu.tsx";
import { SavedFilters } from "./saved_filters.tsx";

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

export function ListTools<T>(props: ListToolsProps<T>) {
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
export function chosenColumns<T>(
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
