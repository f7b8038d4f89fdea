// The history: finished logins, narrowed by filters that live in the address, read further back page by page, and taken along as a file.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { HistoryItem, HistoryPage as Answer } from "../../api/live/history.ts";
import { failureText, take } from "../api_client.ts";
import { fullTimeText, spanText } from "../format.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { CopyButton } from "../parts/copy_button.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { whyText } from "../parts/live/explanation_text.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { HistoryFilters } from "../parts/live/history_filters.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { OUTCOME_NAMES, outcomeWords } from "../words.ts";
import { t } from "../words/translate.ts";

/** The filters, as the address and the API call them. */
const FILTERS = ["outcome", "user", "client", "target", "from", "to"] as const;

export default function HistoryPage({ models }: PageProps) {
  const asked = FILTERS.map((name) => models.router.param(name));
  const query = queryOf(asked);
  const first = useResource<Answer>(models, {
    fetch: () => take(models.api.history.$get({ query })),
    inputs: asked,
  });
  const { value: state } = first.state;
  return (
    <main class="page">
      <PageBar title={t("records.history")}>
        <Export query={query} />
      </PageBar>
      <HistoryFilters models={models} />
      <FilterChips models={models} filters={chipRows()} />
      {state.kind === "loading" && <Skeleton />}
      {first.problem.value !== null && (
        <ErrorState
          title={t("records.failed")}
          onRetry={() => void first.reload()}
        >
          {first.problem.value}
        </ErrorState>
      )}
      {state.kind === "ready" && (
        <Listed
          key={JSON.stringify(asked)}
          models={models}
          first={state.value}
          busy={first.busy.value}
          query={query}
        />
      )}
    </main>
  );
}

type Query = Readonly<Record<string, string>>;

function queryOf(values: readonly string[]): Query {
  const named = FILTERS.map((name, at) => [name, values[at] ?? ""] as const);
  const sent = named.map(([name, value]) => {
    if (name !== "from" && name !== "to") return [name, value] as const;
    const atMs = Date.parse(value);
    return [name, Number.isNaN(atMs) ? "" : String(atMs)] as const;
  });
  return Object.fromEntries(sent.filter(([, value]) => value !== ""));
}

function chipRows() {
  const time = (value: string) => Number.isNaN(Date.parse(value)) ? value : fullTimeText(Date.parse(value));
  return [
    { name: "outcome", label: t("records.outcome"), text: outcomeText },
    { name: "user", label: t("records.filter_user") },
    { name: "client", label: t("records.client") },
    { name: "target", label: t("records.target") },
    { name: "from", label: t("records.filter_from"), text: time },
    { name: "to", label: t("records.filter_to"), text: time },
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

interface ListedProps {
  readonly models: Models;
  readonly first: Answer;
  readonly busy: boolean;
  readonly query: Query;
}

/** The first page, and those further back that somebody asked for. */
function Listed({ models, first, busy, query }: ListedProps) {
  const older = useSignal<readonly Answer[]>([]);
  const fetching = useSignal(false);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    older.value = [];
  }, [first]);
  const pages = [first, ...older.value];
  const items = pages.flatMap((page) => page.items);
  const last = pages.at(-1) ?? first;
  const readOn = async () => {
    if (last.next === null) return;
    const before = last.next;
    fetching.value = true;
    problem.value = null;
    try {
      const page = await models.session.whileSignedIn(() =>
        take(models.api.history.$get({ query: { ...query, before } }))
      );
      older.value = [...older.peek(), page];
    } catch (fault) {
      problem.value = failureText(fault);
    }
    fetching.value = false;
  };
  if (items.length === 0 && last.next === null) return <Nothing models={models} query={query} />;
  return (
    <>
      <DataTable
        stack
        label={t("records.logins")}
        columns={columns(models)}
        rows={items}
        keyOf={({ id }) => id}
        nameOf={({ user }) => user}
        hrefOf={({ id }) => `/live/c/${encodeURIComponent(id)}`}
        busy={busy}
      />
      {problem.value !== null && <ErrorState title={t("records.failed")}>{problem.value}</ErrorState>}
      {last.next !== null && (
        <div class="pager">
          <span>
            {last.searchedToMs !== null &&
              t("records.searched_to", { time: fullTimeText(last.searchedToMs) })}
          </span>
          <button type="button" class="button" disabled={fetching.value} onClick={() => void readOn()}>
            {t(last.searchedToMs === null ? "records.more" : "records.search_on")}
          </button>
        </div>
      )}
    </>
  );
}

function Nothing({ models, query }: { models: Models; query: Query }) {
  const isFiltered = Object.keys(query).length > 0;
  const clear = () => models.router.setParams(Object.fromEntries(FILTERS.map((name) => [name, ""])));
  return (
    <div class="panel">
      {isFiltered
        ? <EmptyState title={t("records.none_match")} next={t("records.none_match_next")} onClear={clear} />
        : <EmptyState title={t("records.none")} next={t("records.none_next")} />}
    </div>
  );
}

function columns(models: Models): Column<HistoryItem>[] {
  /** A click on a cell narrows the list to it. */
  const narrowing = (name: string, value: string) => (
    <button
      type="button"
      class="cell-filter cut"
      title={t("records.filter_by", { value })}
      onClick={() => models.router.setParams({ [name]: value })}
    >
      {value}
    </button>
  );
  return [
    {
      name: "started",
      label: t("records.started"),
      width: "108px",
      cell: ({ startedMs }) => <Time models={models} atMs={startedMs} />,
    },
    { name: "user", label: t("records.user"), width: "15%", cell: ({ user }) => narrowing("user", user) },
    {
      name: "client",
      label: t("records.client"),
      wideOnly: true,
      cell: ({ client }) => narrowing("client", client),
    },
    {
      name: "target",
      label: t("records.target"),
      wideOnly: true,
      cell: ({ target = "" }) => target === "" ? "" : narrowing("target", target),
    },
    {
      name: "from",
      label: t("records.from_place"),
      width: "12%",
      wideOnly: true,
      cell: ({ place, source }) => <span class="mono">{place || source}</span>,
    },
    {
      name: "outcome",
      label: t("records.outcome"),
      width: "min(33vw, 184px)",
      cell: ({ outcome }) => {
        const known = OUTCOME_NAMES.find((one) => one === outcome);
        return known === undefined ? outcome : <Status words={outcomeWords(known)} />;
      },
    },
    {
      name: "reason",
      label: t("records.reason"),
      wideOnly: true,
      width: "22%",
      cell: ({ reason }) => reason === null ? "" : <span class="quiet">{whyText(reason)}</span>,
    },
    {
      name: "took",
      label: t("records.took"),
      width: "80px",
      number: true,
      wideOnly: true,
      cell: ({ startedMs, endedMs }) => <span class="mono">{spanText(endedMs - startedMs)}</span>,
    },
  ];
}
