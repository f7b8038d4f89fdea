// The History page: finished logins with filters, older pages on demand, and an export. The filters are stored in the address.

import type { ComponentChildren } from "preact";
import type { HistoryItem, HistoryPage as Answer } from "../../../api/history/history.ts";
import { take } from "../../app/api_client.ts";
import { fullTimeText, spanText } from "../../app/format.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { CellFilter } from "../../components/filter_chips.tsx";
import { rangeFilters } from "../../components/list_filters.tsx";
import { CopyButton } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { SignInLogTabs } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Icon } from "../../components/icons.tsx";
import { ClockTime } from "../../components/time.tsx";
import { OUTCOME_NAMES, outcomeLabel, reasonText, shortReasonText } from "../../app/login_state_labels.ts";
import { clientText } from "../../components/client_text.ts";
import { countryName, locationText } from "../../components/location.tsx";
import { userHref } from "../../app/routes.ts";
import type { MenuItem } from "../../components/menu.tsx";
import { usedFactorLabel } from "../users/user_states.tsx";
import { namesWithMessage, t } from "../../i18n/translate.ts";

const TEXTS = {
  filters: "history.logins",
  failed: "history.failed",
  empty: ["history.none", "history.none_next"],
  noMatch: ["common.no_sign_ins_match", "history.none_match_next"],
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
      days={{ timeOf: ({ startedMs }) => startedMs, nowMs: models.clock.nowMs.peek() }}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/live/c/${encodeURIComponent(id)}`}
      nameOf={({ user }) => user}
      actionsOf={actionsOf}
      initialSort="-started"
      older={{
        read: (before) => fetch({ ...query, ...isOldestFirst ? { sort: "started" } : {}, before }),
        label: ({ searchedToMs }) =>
          searchedToMs === null
            ? t(isOldestFirst ? "common.show_newer" : "common.show_older")
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
    ...rangeFilters(),
    {
      name: "outcome",
      label: t("common.outcome"),
      control: "choice",
      options: OUTCOME_NAMES,
      allLabel: t("common.all_outcomes"),
      text: outcomeText,
    },
    {
      name: "reason",
      label: t("common.reason"),
      control: "choice",
      options: namesWithMessage(REASON_TEXTS).toSorted((a, b) =>
        reasonFilterText(a).localeCompare(reasonFilterText(b))
      ),
      allLabel: t("history.every_reason"),
      text: reasonFilterText,
    },
    {
      name: "factor",
      label: t("common.factor"),
      control: "choice",
      options: USED_FACTORS,
      allLabel: t("history.every_factor"),
      text: factorText,
    },
    { name: "client", label: t("common.client"), control: "name" },
    { name: "place", label: t("common.caller"), control: "name" },
    { name: "target", label: t("common.target"), control: "name", isExtra: true },
    { name: "policy", label: t("common.policy"), control: "name", isExtra: true, text: policyText },
    { name: "country", label: t("history.country"), text: countryName },
  ];
}

/** Each reason of a sign-in has a short text. */
const REASON_TEXTS = "explain.short_";
const USED_FACTORS = ["device", "sms", "voice", "totp", "recovery", "bypass", "none"];

function factorText(name: string): string {
  return name === "none" ? t("history.no_factor") : usedFactorLabel(name);
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
  const filterCell = (name: string, value: string, inside?: ComponentChildren) =>
    value !== "" && (
      <CellFilter models={models} to={{ [name]: value }} title="common.only" value={value}>
        {inside}
      </CellFilter>
    );
  return [
    {
      id: "started",
      label: t("common.started"),
      width: "96px",
      sort: "server",
      isLargestFirst: true,
      cell: ({ startedMs }) => <ClockTime atMs={startedMs} />,
    },
    { id: "user", label: t("common.user"), min: 150, cell: ({ user }) => filterCell("user", user) },
    {
      id: "outcome",
      label: t("common.outcome"),
      min: 100,
      isWhole: true,
      cell: ({ outcome }) => <Outcome models={models} outcome={outcome} />,
    },
    {
      id: "reason",
      label: t("common.reason"),
      min: 130,
      isWhole: true,
      // The page of the sign-in shows the whole sentence.
      cell: ({ reason }) => reason !== null && filterCell("reason", reason.code, <Reason of={reason} />),
    },
    {
      id: "factor",
      label: t("common.factor"),
      priority: 2,
      min: 110,
      cell: ({ factor }) => factor === null ? "" : filterCell("factor", factor, usedFactorLabel(factor)),
    },
    {
      id: "client",
      label: t("common.client"),
      priority: 2,
      min: 110,
      cell: ({ client }) => filterCell("client", client, clientText(client)),
    },
    {
      id: "caller",
      label: t("common.caller"),
      priority: 2,
      min: 110,
      isWhole: true,
      // The page of the sign-in shows the address of the client.
      cell: ({ place, location }) => filterCell("place", place, <Caller {...{ place, location }} />),
    },
    {
      id: "target",
      label: t("common.target"),
      priority: 3,
      min: 100,
      cell: ({ target = "" }) => filterCell("target", target),
    },
    {
      id: "policy",
      label: t("common.policy"),
      priority: 3,
      min: 120,
      isOptional: true,
      cell: ({ policy = "" }) => filterCell("policy", policy),
    },
    {
      id: "took",
      label: t("common.duration"),
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

function Reason({ of }: { of: NonNullable<HistoryItem["reason"]> }) {
  return <span class="quiet" title={reasonText(of)}>{shortReasonText(of)}</span>;
}

function Caller({ place, location }: Pick<HistoryItem, "place" | "location">) {
  const country = location?.country ?? null;
  return (
    <span title={location === null ? place : `${place} · ${locationText(location)}`}>
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
