// The active filters of a list as chips, and cells that filter the list by their value.

import type { ComponentChildren } from "preact";
import type { Models } from "../app/app_context.ts";
import { clearFilters, type ListFilter } from "../app/filters.ts";
import { fullTimeText } from "../app/format.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icons.tsx";

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
