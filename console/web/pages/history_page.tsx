// The history: finished logins, narrowed by filters that live in the address, read further back page by page, and taken along as a file.

import type { HistoryItem, HistoryPage as Answer } from "../../api/history/history.ts";
import { take } from "../api_client.ts";
import { fullTimeText, spanText } from "../format.ts";
import { type Filter, type Query, useFiltered } from "../models/filters.ts";
import type { Models } from "../models/models.ts";
import { CellFilter } from "../parts/cell_filter.tsx";
import { CopyButton } from "../parts/copy_button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { Status } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { whyText } from "../why_text.ts";
import { OUTCOME_NAMES, outcomeWords } from "../words.ts";
import { t } from "../i18n/translate.ts";

const SAYS = {
  filters: "records.logins",
  failed: "records.failed",
  none: ["records.none", "records.none_next"],
  unmatched: ["records.none_match", "records.none_match_next"],
} as const;
const FRAMES = { rows: "", none: "panel" } as const;

export default function HistoryPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: Query) => take<Answer>(models.api.history.$get({ query }));
  const { query, list } = useFiltered(models, { filters, fetch });
  return (
    <ListPage
      models={models}
      title={t("records.history")}
      says={SAYS}
      filters={filters}
      bar="filters"
      resource={list}
      actions={<Export query={query} />}
      frames={FRAMES}
      label={t("records.logins")}
      stack
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={columns(models)}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/live/c/${encodeURIComponent(id)}`}
      older={{
        read: (before) => fetch({ ...query, before }),
        label: ({ searchedToMs }) => t(searchedToMs === null ? "records.more" : "records.search_on"),
        said: ({ searchedToMs }) =>
          searchedToMs === null ? null : t("records.searched_to", { time: fullTimeText(searchedToMs) }),
      }}
    />
  );
}

function filterRows(): Filter[] {
  return [
    { name: "user", label: t("records.filter_user"), by: "search" },
    {
      name: "outcome",
      label: t("records.outcome"),
      by: "choice",
      options: OUTCOME_NAMES,
      every: t("records.every_outcome"),
      text: outcomeText,
    },
    { name: "client", label: t("records.filter_client"), by: "name" },
    { name: "target", label: t("records.target"), by: "name" },
    { name: "from", label: t("records.filter_from"), by: "moment" },
    { name: "to", label: t("records.filter_to"), by: "moment" },
  ];
}

function outcomeText(name: string): string {
  const known = OUTCOME_NAMES.find((one) => one === name);
  return known === undefined ? name : outcomeWords(known).label;
}

function Export({ query }: { query: Query }) {
  const address = (format: string) =>
    `/console/api/history/export?${new URLSearchParams({ ...query, format })}`;
  return (
    <>
      <CopyButton what={t("records.copy_link")} text={location.href} />
      {(["csv", "json"] as const).map((format) => (
        <a key={format} class="button" href={address(format)} download={`logins.${format}`}>
          <Symbol name="download" size={14} />
          {t(`records.export_${format}`)}
        </a>
      ))}
    </>
  );
}

function columns(models: Models): Column<HistoryItem>[] {
  const narrowing = (name: string, value: string) => (
    <CellFilter models={models} to={{ [name]: value }} says="records.filter_by" value={value} />
  );
  return [
    {
      label: t("records.started"),
      width: "108px",
      cell: ({ startedMs }) => <Time models={models} atMs={startedMs} />,
    },
    { label: t("records.user"), width: "15%", cell: ({ user }) => narrowing("user", user) },
    {
      label: t("records.client"),
      wideOnly: true,
      cell: ({ client }) => narrowing("client", client),
    },
    {
      label: t("records.caller"),
      width: "12%",
      wideOnly: true,
      // The address of the client is on the page of the login.
      cell: ({ place }) => <span class="mono">{place}</span>,
    },
    {
      label: t("records.target"),
      wideOnly: true,
      cell: ({ target = "" }) => target === "" ? "" : narrowing("target", target),
    },
    {
      label: t("records.outcome"),
      width: "172px",
      narrow: "124px",
      cell: ({ outcome }) => {
        const known = OUTCOME_NAMES.find((one) => one === outcome);
        return known === undefined ? outcome : <Status words={outcomeWords(known)} />;
      },
    },
    {
      label: t("records.reason"),
      wideOnly: true,
      width: "22%",
      cell: ({ reason }) => reason === null ? "" : <span class="quiet">{whyText(reason)}</span>,
    },
    {
      label: t("records.took"),
      width: "92px",
      number: true,
      wideOnly: true,
      cell: ({ startedMs, endedMs }) => <span class="mono">{spanText(endedMs - startedMs)}</span>,
    },
  ];
}
