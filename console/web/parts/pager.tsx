// "51 to 100 of 772", one page back, one further; the page stands in the address.

import type { Models } from "../models/models.ts";
import { t } from "../words/translate.ts";
import { Symbol } from "./symbol.tsx";

interface PagerProps {
  readonly models: Pick<Models, "router">;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** How many rows this page has. */
  readonly shown: number;
  /** `null` while nobody has counted them: the rows come first. */
  readonly total: number | null;
  /** Whether there is another page, where the total is not known. */
  readonly hasNext?: boolean;
}

/** The page of the address: 1 unless it names a better one. */
export function pageOf({ router }: Pick<Models, "router">): number {
  const page = Number(router.param("page"));
  return Number.isInteger(page) && page > 0 ? page : 1;
}

export function Pager({ models, page, pageSize, shown, total, hasNext }: PagerProps) {
  const from = (page - 1) * pageSize + Math.min(1, shown);
  const to = (page - 1) * pageSize + shown;
  const isLast = total === null ? hasNext === false : to >= total;
  const go = (to: number) => {
    models.router.setParams({ page: to === 1 ? "" : String(to) });
    scrollTo(0, 0);
  };
  return (
    <nav class="pager" aria-label={t("frame.page_of_list")}>
      <span class="quiet" role="status">
        {total === null ? t("frame.range_open", { from, to }) : t("frame.range", { from, to, count: total })}
      </span>
      <button type="button" class="button button-small" disabled={page === 1} onClick={() => go(page - 1)}>
        <Symbol name="chevron-left" size={14} />
        {t("frame.previous")}
      </button>
      <button type="button" class="button button-small" disabled={isLast} onClick={() => go(page + 1)}>
        {t("frame.next")}
        <Symbol name="chevron-right" size={14} />
      </button>
    </nav>
  );
}
