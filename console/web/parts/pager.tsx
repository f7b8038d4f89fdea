// "51 to 100 of 772", one page back, one further; a list's page stands in the address.

import type { Models } from "../models/models.ts";
import { scrollPage } from "../page_scroll.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Symbol } from "./symbol.tsx";

interface PagesProps {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** How many rows this page has. */
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

/** For a list whose page stands elsewhere. */
export function PageTurner(
  { page, pageSize, shown, total, onPage }: PagesProps & { onPage: (page: number) => void },
) {
  const before = (page - 1) * pageSize;
  const to = before + shown;
  return (
    <nav class="pager" aria-label={t("frame.page_of_list")}>
      <span class="quiet" role="status">
        {t("frame.range", { from: before + Math.min(1, shown), to, count: total })}
      </span>
      <Button small icon="chevron-left" disabled={page === 1} onClick={() => onPage(page - 1)}>
        {t("frame.previous")}
      </Button>
      <Button small disabled={to >= total} onClick={() => onPage(page + 1)}>
        {t("frame.next")}
        <Symbol name="chevron-right" size={14} />
      </Button>
    </nav>
  );
}
