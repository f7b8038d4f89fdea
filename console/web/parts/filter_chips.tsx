// The filters that narrow a list, each a chip that takes it off; they live in the address and only there.

import type { Models } from "../models/models.ts";
import { t } from "../words/translate.ts";
import { Symbol } from "./symbol.tsx";

export interface FilterRow {
  /** Its name in the address. */
  readonly name: string;
  /** "State". */
  readonly label: string;
  /** The value in words; the value itself unless given. */
  readonly text?: (value: string) => string;
}

export function FilterChips({ models: { router }, filters }: {
  models: Pick<Models, "router">;
  filters: readonly FilterRow[];
}) {
  const active = filters.filter(({ name }) => router.param(name) !== "");
  if (active.length === 0) return null;
  const clear = (names: readonly string[]) =>
    router.setParams(Object.fromEntries([...names, "page"].map((name) => [name, ""])));
  return (
    <ul class="filter-chips">
      {active.map(({ name, label, text }) => (
        <li key={name}>
          <button type="button" class="filter-chip" onClick={() => clear([name])}>
            <span class="unseen">{`${t("frame.clear_filter")} `}</span>
            <span class="cut">{`${label}: ${(text ?? String)(router.param(name))}`}</span>
            <Symbol name="x" size={12} />
          </button>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <button
            type="button"
            class="button button-plain button-small"
            onClick={() => clear(active.map(({ name }) => name))}
          >
            {t("frame.clear_filters")}
          </button>
        </li>
      )}
    </ul>
  );
}
