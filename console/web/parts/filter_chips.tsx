// The filters that narrow a list, each a chip that takes it off; they live in the address and only there.

import { fullTimeText } from "../format.ts";
import { type Filter, takeOff } from "../models/filters.ts";
import type { Models } from "../models/models.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Symbol } from "./symbol.tsx";

export function FilterChips({ models, filters }: {
  models: Pick<Models, "router">;
  filters: readonly Filter[];
}) {
  const { param } = models.router;
  const active = filters.filter(({ name, chip }) => chip !== "" && param(name) !== "");
  if (active.length === 0) return null;
  return (
    <ul class="filter-chips">
      {active.map((filter) => (
        <li key={filter.name}>
          <button type="button" class="filter-chip" onClick={() => takeOff(models, [filter])}>
            <span class="unseen">{`${t("frame.clear_filter")} `}</span>
            <span class="cut">{chipText(filter, param(filter.name))}</span>
            <Symbol name="x" size={12} />
          </button>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <Button kind="plain" small onClick={() => takeOff(models, active)}>
            {t("frame.clear_filters")}
          </Button>
        </li>
      )}
    </ul>
  );
}

function chipText(
  { label, chip = label, by, text = by === "moment" ? momentText : String }: Filter,
  value: string,
) {
  return `${chip}: ${text(value)}`;
}

function momentText(value: string): string {
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? value : fullTimeText(atMs);
}
