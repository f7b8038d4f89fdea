// The audit: who did what to whom, before and after, from where. Filters live in the address; nothing can be changed here.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditPage as Answer } from "../../api/govern/audit_reader.ts";
import { failureText, take } from "../api_client.ts";
import { fullTimeText } from "../format.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { auditColumns, deedText } from "../parts/audit/audit_columns.tsx";
import { AuditExport } from "../parts/audit/audit_export.tsx";
import { DataTable } from "../parts/data_table.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { Moment } from "../parts/live/history_filters.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";

const FILTERS = ["actor", "object", "action", "source", "from", "to"] as const;
const TIMES: ReadonlySet<string> = new Set(["from", "to"]);
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
      <PageBar title={t("govern.audit")}>
        <AuditExport models={models} query={query} />
      </PageBar>
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
    if (!TIMES.has(name)) return [name, value] as const;
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
    { name: "action", label: t("govern.filter_deed"), text: deedText },
    { name: "source", label: t("govern.filter_source") },
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
      <div class="audit-list">
        <DataTable
          label={t("govern.deeds")}
          columns={auditColumns(models)}
          rows={items}
          keyOf={({ id }) => id}
          nameOf={({ action }) => deedText(action)}
          busy={busy}
        />
      </div>
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
