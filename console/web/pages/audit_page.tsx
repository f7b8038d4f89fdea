// The audit: who did what to whom, before and after, from where. Filters live in the address; nothing can be changed here.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditItem, AuditPage as Answer } from "../../api/audit_reader.ts";
import { failureText, take } from "../api_client.ts";
import { fullTimeText } from "../format.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { Moment } from "../parts/history_filters.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../routes.ts";
import { readable } from "../words.ts";
import { t } from "../words/translate.ts";

const FILTERS = ["actor", "object", "from", "to"] as const;
type Query = Readonly<Record<string, string>>;

export default function AuditPage({ models }: PageProps) {
  const asked = FILTERS.map((name) => models.router.param(name));
  const query = queryOf(asked);
  const first = useResource<Answer>(models, {
    fetch: () => take(models.api.audit.$get({ query })),
    inputs: asked,
  });
  const { value: state } = first.state;
  return (
    <main class="page">
      <PageBar title={t("govern.audit")} />
      <div class="filters" role="search" aria-label={t("govern.deeds")}>
        <SearchBox models={models} label={t("govern.filter_actor")} name="actor" />
        <SearchBox models={models} label={t("govern.filter_object")} name="object" />
        <Moment router={models.router} name="from" label={t("govern.since")} />
        <Moment router={models.router} name="to" label={t("govern.until")} />
      </div>
      <FilterChips models={models} filters={chipRows()} />
      {state.kind === "loading" && <Skeleton />}
      {first.problem.value !== null && (
        <ErrorState
          title={t("govern.failed")}
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

function queryOf(values: readonly string[]): Query {
  const sent = FILTERS.map((name, at) => {
    const value = values[at] ?? "";
    if (name === "actor" || name === "object") return [name, value] as const;
    const atMs = Date.parse(value);
    return [name, Number.isNaN(atMs) ? "" : String(atMs)] as const;
  });
  return Object.fromEntries(sent.filter(([, value]) => value !== ""));
}

function chipRows() {
  const time = (value: string) => Number.isNaN(Date.parse(value)) ? value : fullTimeText(Date.parse(value));
  return [
    { name: "actor", label: t("govern.who") },
    { name: "object", label: t("govern.object") },
    { name: "from", label: t("govern.since"), text: time },
    { name: "to", label: t("govern.until"), text: time },
  ];
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
  const next = (pages.at(-1) ?? first).next;
  const readOn = async (before: string) => {
    fetching.value = true;
    problem.value = null;
    try {
      const page = await models.session.whileSignedIn(() =>
        take(models.api.audit.$get({ query: { ...query, before } }))
      );
      older.value = [...older.peek(), page];
    } catch (fault) {
      problem.value = failureText(fault);
    }
    fetching.value = false;
  };
  if (items.length === 0 && next === null) return <Nothing models={models} query={query} />;
  return (
    <>
      <DataTable
        label={t("govern.deeds")}
        columns={columns(models)}
        rows={items}
        keyOf={({ id }) => id}
        nameOf={({ action }) => deedText(action)}
        busy={busy}
      />
      {problem.value !== null && <ErrorState title={t("govern.failed")}>{problem.value}</ErrorState>}
      {next !== null && (
        <div class="pager">
          <button type="button" class="button" disabled={fetching.value} onClick={() => void readOn(next)}>
            {t("govern.more")}
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
        ? <EmptyState title={t("govern.none_match")} next={t("govern.none_match_next")} onClear={clear} />
        : <EmptyState title={t("govern.none")} next={t("govern.none_next")} />}
    </div>
  );
}

function deedText(action: string): string {
  return readable(action.replaceAll(".", "_"));
}

function columns(models: Models): Column<AuditItem>[] {
  /** A click on a cell narrows the list to it. */
  const narrowing = (name: string, value: string) => (
    <button
      key={value}
      type="button"
      class="cell-filter cut"
      title={t("govern.filter_by", { value })}
      onClick={() => models.router.setParams({ [name]: value })}
    >
      {value}
    </button>
  );
  return [
    {
      name: "at",
      label: t("govern.at"),
      width: "130px",
      cell: ({ atMs }) => <Time models={models} atMs={atMs} />,
    },
    { name: "who", label: t("govern.who"), cell: ({ actor }) => narrowing("actor", actor) },
    { name: "deed", label: t("govern.deed"), cell: ({ action }) => deedText(action) },
    {
      name: "object",
      label: t("govern.object"),
      cell: ({ objects }) => objects.map((object) => narrowing("object", object)),
    },
    {
      name: "change",
      label: t("govern.change"),
      wideOnly: true,
      width: "26%",
      cell: (item) => <span class="quiet">{changeText(item)}</span>,
    },
    {
      name: "from",
      label: t("govern.from_place"),
      wideOnly: true,
      cell: ({ source }) => <span class="mono">{source}</span>,
    },
  ];
}

/** Before and after where the record has them, else what it says besides. */
function changeText({ before, after, details }: AuditItem): string {
  if (before !== "" || after !== "") return `${before === "" ? "–" : before} → ${after === "" ? "–" : after}`;
  return Object.entries(details).map(([name, value]) => `${readable(name)}: ${value}`).join(", ");
}
