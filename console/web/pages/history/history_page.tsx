// The History page: finished logins with filters, older pages on demand, and an export. The filters are stored in the address.

import type { HistoryItem, HistoryPage as Answer } from "../../../api/history/history.ts";
import { take } from "../../app/api_client.ts";
import { fullTimeText, spanText } from "../../app/format.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { CellFilter } from "../../components/list_filters.tsx";
import { CopyButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { StateText } from "../../components/status.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { OUTCOME_NAMES, outcomeLabel, reasonText } from "../../app/login_state_labels.ts";
import { t } from "../../i18n/translate.ts";

const TEXTS = {
  filters: "history.logins",
  failed: "history.failed",
  empty: ["history.none", "history.none_next"],
  noMatch: ["history.none_match", "history.none_match_next"],
} as const;
const FRAMES = { rows: "", none: "panel" } as const;

export default function HistoryPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: FilterQuery) => take<Answer>(models.api.history.$get({ query }));
  const { query, list } = useFilteredList(models, { filters, fetch });
  return (
    <ListPage
      models={models}
      title={t("history.history")}
      texts={TEXTS}
      filters={filters}
      bar="filters"
      resource={list}
      actions={<Export query={query} />}
      frames={FRAMES}
      label={t("history.logins")}
      stack
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={columns(models)}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/live/c/${encodeURIComponent(id)}`}
      older={{
        read: (before) => fetch({ ...query, before }),
        label: ({ searchedToMs }) => t(searchedToMs === null ? "history.more" : "history.search_on"),
        note: ({ searchedToMs }) =>
          searchedToMs === null ? null : t("history.searched_to", { time: fullTimeText(searchedToMs) }),
      }}
    />
  );
}

function filterRows(): ListFilter[] {
  return [
    { name: "user", label: t("history.filter_user"), control: "search" },
    {
      name: "outcome",
      label: t("history.outcome"),
      control: "choice",
      options: OUTCOME_NAMES,
      allLabel: t("history.every_outcome"),
      text: outcomeText,
    },
    { name: "client", label: t("history.filter_client"), control: "name" },
    { name: "target", label: t("common.target"), control: "name" },
    { name: "from", label: t("common.filter_from"), control: "moment" },
    { name: "to", label: t("common.filter_to"), control: "moment" },
  ];
}

function outcomeText(name: string): string {
  const known = OUTCOME_NAMES.find((one) => one === name);
  return known === undefined ? name : outcomeLabel(known).label;
}

function Export({ query }: { query: FilterQuery }) {
  const address = (format: string) =>
    `/console/api/history/export?${new URLSearchParams({ ...query, format })}`;
  return (
    <>
      <CopyButton what={t("common.copy_link")} text={location.href} />
      {(["csv", "json"] as const).map((format) => (
        <a key={format} class="button" href={address(format)} download={`logins.${format}`}>
          <Icon name="download" size={14} />
          {t(`history.export_${format}`)}
        </a>
      ))}
    </>
  );
}

function columns(models: Models): TableColumn<HistoryItem>[] {
  const filterCell = (name: string, value: string) => (
    <CellFilter models={models} to={{ [name]: value }} title="common.only" value={value} />
  );
  return [
    {
      label: t("history.started"),
      width: "108px",
      cell: ({ startedMs }) => <Time models={models} atMs={startedMs} />,
    },
    { label: t("history.user"), width: "15%", cell: ({ user }) => filterCell("user", user) },
    {
      label: t("common.client"),
      wideOnly: true,
      cell: ({ client }) => filterCell("client", client),
    },
    {
      label: t("history.caller"),
      width: "12%",
      wideOnly: true,
      // The page of the login shows the address of the client.
      cell: ({ place }) => <span class="mono">{place}</span>,
    },
    {
      label: t("common.target"),
      wideOnly: true,
      cell: ({ target = "" }) => target === "" ? "" : filterCell("target", target),
    },
    {
      label: t("history.outcome"),
      width: "172px",
      narrow: "124px",
      cell: ({ outcome }) => {
        const known = OUTCOME_NAMES.find((one) => one === outcome);
        return known === undefined ? outcome : <StateText words={outcomeLabel(known)} />;
      },
    },
    {
      label: t("history.reason"),
      wideOnly: true,
      width: "22%",
      cell: ({ reason }) => reason === null ? "" : <span class="quiet">{reasonText(reason)}</span>,
    },
    {
      label: t("history.took"),
      width: "92px",
      number: true,
      wideOnly: true,
      cell: ({ startedMs, endedMs }) => <span class="mono">{spanText(endedMs - startedMs)}</span>,
    },
  ];
}
