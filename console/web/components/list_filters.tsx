// The fields that filter a list, in one bar above it.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Models } from "../app/app_context.ts";
import type { ListFilter } from "../app/filters.ts";
import { zoneText } from "../app/format.ts";
import { localMidnight, LOG_RANGES, spanOfRange } from "../app/time_range.ts";
import { t } from "../i18n/translate.ts";
import { Icon } from "./icons.tsx";
import { SearchBox } from "./search_box.tsx";

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
  const fields = label === undefined
    ? []
    : filters.filter(({ control, isPartOfRange }) => control !== undefined && isPartOfRange !== true);
  const hasOwnRange = filters.some(({ name, isPartOfRange }) =>
    isPartOfRange === true && models.router.param(name) !== ""
  );
  const [search] = fields.filter(({ control }) => control === "search");
  const others = fields.filter((one) => one !== search);
  const extra = others.filter(({ isExtra }) => isExtra);
  const buttonLabel = t(
    others.length === 0
      ? "common.columns"
      : children === undefined
      ? "common.filters"
      : "common.filters_more",
  );
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
        {hasOwnRange && <OwnRange models={models} />}
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
  const { name, label, control, allLabel } = filter;
  const { router } = models;
  const set = (value: string) => router.setParams({ [name]: value, page: "" });
  if (control === "search") return <SearchBox models={models} label={label} name={name} />;
  if (control === "moment") return <DateTimeFilter router={router} name={name} label={label} />;
  if (control === "range") return <RangeFilter models={models} filter={filter} />;
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
      <Options filter={filter} />
    </select>
  );
}

/** The options in their order, below the headings of their groups. */
function Options({ filter: { options = [], groupOf, text = String } }: Pick<FilterFieldProps, "filter">) {
  const optionsOf = (some: readonly string[]) =>
    some.map((option) => <option key={option} value={option}>{text(option)}</option>);
  if (groupOf === undefined) return <>{optionsOf(options)}</>;
  return (
    <>
      {[...Map.groupBy(options, groupOf)].map(([label, some]) => (
        <optgroup key={label} label={label}>{optionsOf(some)}</optgroup>
      ))}
    </>
  );
}

/** The filters of the time of a log: named ranges, and two times for any other range. */
export function rangeFilters(): readonly ListFilter[] {
  return [
    { name: "range", label: t("common.period"), control: "range", text: rangeText },
    { name: "from", label: t("common.filter_from"), control: "moment", isPartOfRange: true },
    { name: "to", label: t("common.filter_to"), control: "moment", isPartOfRange: true },
  ];
}

function rangeText(name: string): string {
  const known = LOG_RANGES.find((one) => one === name);
  return known === undefined ? name : t(`common.period_${known}`);
}

const OWN_RANGE = "own";

/** A choice of named ranges. "Custom" shows two fields. */
function RangeFilter({ models: { router }, filter: { label } }: FilterFieldProps) {
  const hasOwn = router.param("from") + router.param("to") !== "";
  const named = router.param("range");
  const choose = (value: string) => {
    if (value !== OWN_RANGE) return router.setParams({ range: value, from: "", to: "", page: "" });
    // The fields begin with the range that was shown.
    const { fromMs, toMs } = spanOfRange(named, Date.now()) ??
      { fromMs: localMidnight(Date.now()), toMs: null };
    const textOf = (atMs: number | null) => atMs === null ? "" : new Date(atMs).toISOString();
    router.setParams({ range: "", from: textOf(fromMs), to: textOf(toMs), page: "" });
  };
  return (
    <select
      class="input"
      aria-label={label}
      value={hasOwn ? OWN_RANGE : named}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value="">{t("common.period_all")}</option>
      {LOG_RANGES.map((name) => <option key={name} value={name}>{rangeText(name)}</option>)}
      <option value={OWN_RANGE}>{t("common.period_own")}</option>
    </select>
  );
}

/** The two times of a range that has no name, on a line of their own. */
function OwnRange({ models: { router } }: Pick<FilterFieldsProps, "models">) {
  return (
    <div class="own-range">
      <DateTimeFilter router={router} name="from" label={t("common.filter_from")} />
      <DateTimeFilter router={router} name="to" label={t("common.filter_to")} />
      <span class="quiet small">{t("common.zone", { zone: zoneText(Date.now()) })}</span>
    </div>
  );
}

// A filter for a date and time, which is stored in the address.

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
