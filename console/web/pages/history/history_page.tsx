// The History page: finished logins with filters, older pages on demand, and an export. The filters are stored in the address.

import type { ComponentChildren } from "preact";
import type { HistoryItem, HistoryPage as Answer } from "../../../api/history/history.ts";
import { take } from "../../app/api_client.ts";
import { fullTimeText, spanText } from "../../app/format.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { CellFilter } from "../../components/list_filters.tsx";
import { CopyButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { SignInLogTabs } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { OUTCOME_NAMES, outcomeLabel, reasonText, shortReasonText } from "../../app/login_state_labels.ts";
import { countryName, locationText } from "../../components/location.tsx";
import { userHref } from "../../app/routes.ts";
import type { MenuItem } from "../../components/menu.tsx";
import { usedFactorLabel } from "../users/user_states.tsx";
import { t } from "../../i18n/translate.ts";

const TEXTS = {
  filters: "history.logins",
  failed: "history.failed",
  empty: ["history.none", "history.none_next"],
  noMatch: ["history.none_match", "history.none_match_next"],
} as const;

export default function HistoryPage({ models }: PageProps) {
  const filters = filterRows();
  const fetch = (query: FilterQuery) => take<Answer>(models.api.history.$get({ query }));
  const { query, list } = useFilteredList(models, { filters, fetch, isSorted: true });
  const isOldestFirst = models.router.param("sort") === "started";
  return (
    <ListPage
      models={models}
      name="history"
      savedAs="history"
      title={t("shell.sign_in_log")}
      tabs={<SignInLogTabs current="history" />}
      texts={TEXTS}
      filters={filters}
      resource={list}
      actions={<Export query={query} />}
      label={t("history.logins")}
      rows={(_last, pages) => pages.flatMap(({ items }) => items)}
      columns={columns(models)}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/live/c/${encodeURIComponent(id)}`}
      nameOf={({ user }) => user}
      actionsOf={actionsOf}
      initialSort="-started"
      older={{
        read: (before) => fetch({ ...query, ...isOldestFirst ? { sort: "started" } : {}, before }),
        label: ({ searchedToMs }) =>
          searchedToMs === null
            ? t(isOldestFirst ? "common.show_newer" : "history.more")
            : t(isOldestFirst ? "common.search_newer" : "history.search_on"),
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
    { name: "target", label: t("common.target"), control: "name", isExtra: true },
    { name: "factor", label: t("history.factor"), text: usedFactorLabel },
    { name: "reason", label: t("history.reason"), text: reasonFilterText },
    { name: "policy", label: t("history.policy"), text: policyText },
    { name: "place", label: t("history.place") },
    { name: "country", label: t("history.country"), text: countryName },
    { name: "from", label: t("common.filter_from"), control: "moment", isExtra: true },
    { name: "to", label: t("common.filter_to"), control: "moment", isExtra: true },
  ];
}

function outcomeText(name: string): string {
  const known = OUTCOME_NAMES.find((one) => one === name);
  return known === undefined ? name : outcomeLabel(known).label;
}

function policyText(name: string): string {
  return name === "none" ? t("history.no_policy") : name;
}

function reasonFilterText(code: string): string {
  return shortReasonText({ code: code as "other", values: { by: "…", user: "…", client: "…" } });
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
  const filterCell = (name: string, value: string, inside?: ComponentChildren) => (
    <CellFilter models={models} to={{ [name]: value }} title="common.only" value={value}>{inside}</CellFilter>
  );
  return [
    {
      id: "started",
      label: t("history.started"),
      width: "124px",
      sort: "server",
      isLargestFirst: true,
      cell: ({ startedMs }) => <Time models={models} atMs={startedMs} />,
    },
    { id: "user", label: t("history.user"), min: 150, cell: ({ user }) => filterCell("user", user) },
    {
      id: "outcome",
      label: t("history.outcome"),
      width: "120px",
      cell: ({ outcome }) => <Outcome models={models} outcome={outcome} />,
    },
    {
      id: "reason",
      label: t("history.reason"),
      priority: 2,
      min: 150,
      // The page of the sign-in shows the whole sentence.
      cell: ({ reason }) =>
        reason === null
          ? ""
          : <span class="quiet cut" title={reasonText(reason)}>{shortReasonText(reason)}</span>,
    },
    {
      id: "client",
      label: t("common.client"),
      priority: 2,
      min: 110,
      cell: ({ client }) => filterCell("client", client),
    },
    {
      id: "caller",
      label: t("history.caller"),
      priority: 3,
      min: 120,
      // The page of the sign-in shows the address of the client.
      cell: ({ place, location }) => <Caller place={place} location={location} />,
    },
    {
      id: "target",
      label: t("common.target"),
      priority: 3,
      min: 100,
      cell: ({ target = "" }) => target === "" ? "" : filterCell("target", target),
    },
    {
      id: "factor",
      label: t("history.factor"),
      priority: 3,
      min: 120,
      isOptional: true,
      cell: ({ factor }) => factor === null ? "" : usedFactorLabel(factor),
    },
    {
      id: "policy",
      label: t("history.policy"),
      priority: 3,
      min: 120,
      isOptional: true,
      cell: ({ policy = "" }) => policy === "" ? "" : filterCell("policy", policy),
    },
    {
      id: "took",
      label: t("history.took"),
      width: "96px",
      number: true,
      priority: 3,
      cell: ({ startedMs, endedMs }) => spanText(endedMs - startedMs),
    },
  ];
}

function Outcome({ models, outcome }: { models: Models; outcome: string }) {
  const known = OUTCOME_NAMES.find((one) => one === outcome);
  if (known === undefined) return <>{outcome}</>;
  const words = outcomeLabel(known);
  return (
    <CellFilter models={models} to={{ outcome: known }} title="common.only" value={words.label}>
      <StateText words={words} />
    </CellFilter>
  );
}

function Caller({ place, location }: Pick<HistoryItem, "place" | "location">) {
  const country = location?.country ?? null;
  return (
    <span class="cut" title={location === null ? place : `${place} · ${locationText(location)}`}>
      <span class="mono">{place}</span>
      {country !== null && <span class="quiet small">{` ${countryName(country)}`}</span>}
    </span>
  );
}

function actionsOf({ id, user, client }: HistoryItem): readonly MenuItem[] {
  return [
    { label: t("history.open"), icon: "activity", href: `/live/c/${encodeURIComponent(id)}` },
    { label: t("common.open_user"), icon: "user", href: userHref(user) },
    { label: t("common.open_client"), icon: "network", href: `/clients/${encodeURIComponent(client)}` },
  ];
}
