// The filters of a list: fields above it, chips for the active ones, and cells that filter by their value.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Models } from "../app/app_context.ts";
import { Icon } from "./icons.tsx";
import { clearFilters, type ListFilter } from "../app/filters.ts";
import { fullTimeText } from "../app/format.ts";
import { t } from "../i18n/translate.ts";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import type { MessageKey } from "../i18n/catalogue.ts";
import { focusRow } from "./table_keys.ts";

const TYPING_PAUSE_MS = 150;

interface SearchProps {
  readonly models: Pick<Models, "router">;
  /** For screen readers: "Search users". */
  readonly label: string;
  readonly placeholder?: string;
  /** The query parameter in the address. */
  readonly name?: string;
}

export function SearchBox({ models: { router }, label, placeholder = label, name = "q" }: SearchProps) {
  const text = router.param(name);
  const typed = useSignal(text);
  const written = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    typed.value = text;
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const write = () => {
    written.current = typed.value.trim();
    router.setParams({ [name]: written.current, page: "" });
  };
  return (
    <div class="search">
      <Icon name="search" size={14} />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        data-search=""
        maxLength={200}
        value={typed.value}
        onKeyDown={(event) => {
          // From the field to the rows it found, past the filters.
          const row = event.key === "ArrowDown" && !event.isComposing
            ? document.querySelector<HTMLElement>("main tbody tr[data-key]")
            : null;
          if (row === null) return;
          event.preventDefault();
          focusRow(row);
        }}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = setTimeout(write, TYPING_PAUSE_MS);
        }}
      />
    </div>
  );
}

interface FilterFieldsProps {
  readonly models: Pick<Models, "router">;
  /** For screen readers; absent without filters. */
  readonly label?: string | undefined;
  readonly filters: readonly ListFilter[];
  /** The tools of the list. */
  readonly children?: ComponentChildren;
}

/**
 * The filters and tools of a list in one bar. On a small screen, a button shows those besides the search; on a wide
 * screen, a button shows the extra ones.
 */
export function ListFilterBar({ models, label, filters, children }: FilterFieldsProps) {
  const isOpen = useSignal(false);
  const isExtraOpen = useSignal(false);
  const fields = label === undefined ? [] : filters.filter(({ control }) => control !== undefined);
  const [search] = fields.filter(({ control }) => control === "search");
  const others = fields.filter((one) => one !== search);
  const extra = others.filter(({ isExtra }) => isExtra);
  const buttonLabel = t(others.length === 0 ? "common.columns" : "common.filters_more");
  const withCount = (text: string, some: readonly ListFilter[]) => {
    const count = some.filter(({ name }) => models.router.param(name) !== "").length;
    return count === 0 ? text : t("common.filters_active", { label: text, count });
  };
  return (
    <div class="list-bar" {...fields.length === 0 ? {} : { role: "search", "aria-label": label }}>
      {search !== undefined && <FilterField models={models} filter={search} />}
      <button
        type="button"
        class="button filters-button"
        aria-expanded={isOpen.value}
        onClick={() => isOpen.value = !isOpen.value}
      >
        <Icon name="filter" size={14} />
        {withCount(buttonLabel, others)}
      </button>
      <div class="filters-more" data-open={isOpen.value ? "" : undefined}>
        {others.filter(({ isExtra }) => !isExtra).map((filter) => (
          <FilterField key={filter.name} models={models} filter={filter} />
        ))}
        <div class="list-bar-end">
          {extra.length > 0 && (
            <button
              type="button"
              class="button filters-extra-button"
              aria-expanded={isExtraOpen.value}
              onClick={() => isExtraOpen.value = !isExtraOpen.value}
            >
              {withCount(t("common.filters_extra"), extra)}
              <Icon name="chevron-down" size={14} />
            </button>
          )}
          {children}
        </div>
        {extra.length > 0 && (
          <div class="filters-extra" data-open={isExtraOpen.value ? "" : undefined}>
            {extra.map((filter) => <FilterField key={filter.name} models={models} filter={filter} />)}
          </div>
        )}
      </div>
    </div>
  );
}

interface FilterFieldProps extends Pick<FilterFieldsProps, "models"> {
  readonly filter: ListFilter;
}

function FilterField({ models, filter }: FilterFieldProps) {
  const { name, label, control, options = [], allLabel, text = String } = filter;
  const { router } = models;
  const set = (value: string) => router.setParams({ [name]: value, page: "" });
  if (control === "search") return <SearchBox models={models} label={label} name={name} />;
  if (control === "moment") return <DateTimeFilter router={router} name={name} label={label} />;
  if (control === "name") {
    return (
      <input
        class="input"
        aria-label={label}
        placeholder={label}
        maxLength={200}
        value={router.param(name)}
        onChange={(event) => set(event.currentTarget.value.trim())}
      />
    );
  }
  return control === "choice" && (
    <select
      class="input"
      aria-label={label}
      value={router.param(name)}
      onChange={(event) => set(event.currentTarget.value)}
    >
      <option value="">{allLabel}</option>
      {options.map((option) => <option key={option} value={option}>{text(option)}</option>)}
    </select>
  );
}

/** A date and time in the time zone of the browser. */
export function DateTimeFilter(
  { router, name, label }: { router: Models["router"]; name: string; label: string },
) {
  return (
    <label class="moment">
      <span>{label}</span>
      <input
        class="input"
        type="datetime-local"
        value={localText(router.param(name))}
        onChange={(event) => {
          const atMs = Date.parse(event.currentTarget.value);
          router.setParams({ [name]: Number.isNaN(atMs) ? "" : new Date(atMs).toISOString() });
        }}
      />
    </label>
  );
}

/** `datetime-local` takes local time without a zone. */
function localText(value: string): string {
  const atMs = Date.parse(value);
  if (Number.isNaN(atMs)) return "";
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function FilterChips({ models, filters }: {
  models: Pick<Models, "router">;
  filters: readonly ListFilter[];
}) {
  const { param } = models.router;
  const active = filters.filter(({ name, chip }) => chip !== "" && param(name) !== "");
  if (active.length === 0) return null;
  return (
    <ul class="filter-chips">
      {active.map((filter) => (
        <li key={filter.name}>
          <button type="button" class="filter-chip" onClick={() => clearFilters(models, [filter])}>
            <span class="unseen">{`${t("common.clear_filter")} `}</span>
            <span class="cut">{chipText(filter, param(filter.name))}</span>
            <Icon name="x" size={12} />
          </button>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <Button kind="plain" small onClick={() => clearFilters(models, active)}>
            {t("common.clear_filters")}
          </Button>
        </li>
      )}
    </ul>
  );
}

function chipText(
  { label, chip = label, control, text = control === "moment" ? momentText : String }: ListFilter,
  value: string,
) {
  return `${chip}: ${text(value)}`;
}

function momentText(value: string): string {
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? value : fullTimeText(atMs);
}

interface CellFilterProps {
  readonly models: Pick<Models, "router">;
  /** The query parameters to set. */
  readonly to: Readonly<Record<string, string>>;
  /** "Show only {value}". */
  readonly title: MessageKey;
  readonly value: string;
  /** Further classes: `cut`, `mono`. */
  readonly classes?: string | undefined;
  /** Instead of the value. */
  readonly children?: ComponentChildren;
}

export function CellFilter(
  { models: { router }, to, title, value, classes = "cut", children }: CellFilterProps,
) {
  return (
    <button
      type="button"
      class={`cell-filter ${classes}`}
      title={t(title, { value })}
      onClick={() => router.setParams(to)}
    >
      {children ?? value}
    </button>
  );
}
