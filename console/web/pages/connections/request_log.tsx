// The live log of an identity provider's requests: filters, newest first, and the details of one request.

import { useRef } from "preact/hooks";
import type {
  ConnectionRequestPage,
  ConnectionRequestRow,
  RequestOutcome,
} from "../../../api/connections/connection_types.ts";
import type { Models } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { fullTimeText, spanText } from "../../app/format.ts";
import { useInterval, useOlderPages } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { EmptyState, ErrorState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { CellFilter, FilterChips } from "../../components/filter_chips.tsx";
import { ListFilterBar, rangeFilters } from "../../components/list_filters.tsx";
import { StateText } from "../../components/status.tsx";
import { ClockTime } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import { type ConnectionPart, fetchRequests } from "./connection_calls.ts";

const POLL_INTERVAL_MS = 2000;
const OUTCOMES = ["done", "refused", "failed"] as const satisfies readonly RequestOutcome[];
const OPERATIONS = [
  ...["list", "search", "get", "create", "replace", "patch", "delete"].flatMap((verb) =>
    ["users", "groups"].map((kind) => [kind, verb].join("."))
  ),
  "bulk",
  "authenticate",
];

export function ConnectionRequestLog({ models, item }: ConnectionPart) {
  const { name, target } = item.settings;
  const filters = filterRows();
  const fetch = async (query: FilterQuery) => withNext(await fetchRequests(models, name, query));
  const { query, list } = useFilteredList(models, { filters, fetch });
  const older = useOlderPages<LogPage>(models);
  const section = useRef<HTMLElement>(null);
  useInterval(POLL_INTERVAL_MS, async () => {
    const state = list.state.peek();
    // Rows do not move while one is in use, and older pages stay with the page that they follow.
    const isInUse = section.current?.matches(":focus-within, :hover") === true ||
      (state.kind === "ready" && older.olderPages(state.value).pages.length > 0);
    if (!isInUse) await list.reload();
  });
  const isFiltered = Object.keys(query).length > 0;
  return (
    <section class="access-part" aria-label={t("common.requests")}>
      <ListFilterBar models={models} label={t("common.requests")} filters={filters} />
      <FilterChips models={models} filters={filters} />
      <Fetched resource={list}>
        {(first) => {
          const { pages, problem } = older.olderPages(first);
          const all = [first, ...pages];
          const rows = all.flatMap(({ rows }) => rows);
          const opened = rows.find(({ id }) => id === models.router.param("request"));
          return (
            <>
              {rows.length === 0
                ? <NoRequests models={models} isFiltered={isFiltered} filters={filters} days={first.days} />
                : (
                  <section class="panel" ref={section}>
                    <DataTable
                      label={t("common.requests")}
                      columns={columnsOf(models)}
                      rows={rows}
                      keyOf={({ id }) => id}
                      days={{ timeOf: ({ atMs }) => atMs, nowMs: models.clock.nowMs.peek() }}
                      nameOf={({ operation }) => operationText(operation)}
                    />
                  </section>
                )}
              {problem !== null && <ErrorState title={t("common.unread")}>{problem}</ErrorState>}
              {all.at(-1)?.next && (
                <div class="pager">
                  <span class="quiet">{t("connections.kept", { count: first.days })}</span>
                  <Button
                    disabled={older.isBusy()}
                    onClick={() => older.loadMore(first, (cursor) => fetch({ ...query, cursor }))}
                  >
                    {t("connections.older")}
                  </Button>
                </div>
              )}
              {opened !== undefined && (
                <Dialog
                  title={operationText(opened.operation)}
                  lightDismiss
                  wide
                  onClose={() => models.router.setParams({ request: "" })}
                >
                  <StateText words={outcomeWords(opened)} />
                  <RequestFacts request={opened} target={target} />
                </Dialog>
              )}
            </>
          );
        }}
      </Fetched>
    </section>
  );
}

type LogPage = ConnectionRequestPage & { readonly next: string | null };

const withNext = (page: ConnectionRequestPage): LogPage => ({ ...page, next: page.cursor });

function filterRows(): ListFilter[] {
  return [
    { name: "text", label: t("connections.search"), chip: t("common.search"), control: "search" },
    ...rangeFilters(),
    {
      name: "operation",
      label: t("connections.operation"),
      control: "choice",
      options: OPERATIONS,
      allLabel: t("connections.all_operations"),
      text: operationText,
    },
    {
      name: "outcome",
      label: t("common.outcome"),
      control: "choice",
      options: OUTCOMES,
      allLabel: t("common.all_outcomes"),
      text: (value) => t(`connections.outcome_${value}` as "connections.outcome_done"),
    },
  ];
}

interface NoRequestsProps {
  readonly models: Models;
  readonly isFiltered: boolean;
  readonly filters: readonly ListFilter[];
  readonly days: number;
}

function NoRequests({ models, isFiltered, filters, days }: NoRequestsProps) {
  return (
    <div class="panel">
      {isFiltered
        ? (
          <EmptyState
            title={t("connections.no_match")}
            next=""
            onClear={() => models.router.setParams(Object.fromEntries(filters.map(({ name }) => [name, ""])))}
          />
        )
        : (
          <EmptyState
            title={t("connections.no_requests", { count: days })}
            next={t("connections.no_requests_next")}
          >
            <a class="button" href="#setup">{t("connections.setup")}</a>
          </EmptyState>
        )}
    </div>
  );
}

function columnsOf(models: Models): readonly TableColumn<ConnectionRequestRow>[] {
  return [
    {
      id: "at",
      label: t("common.at"),
      width: "92px",
      cell: ({ id, atMs }) => (
        <CellFilter models={models} to={{ request: id }} title="connections.details" value="" classes="">
          <ClockTime atMs={atMs} />
        </CellFilter>
      ),
    },
    {
      id: "operation",
      label: t("connections.operation"),
      min: 140,
      cell: ({ operation }) => (
        <CellFilter models={models} to={{ operation }} title="common.only" value={operationText(operation)} />
      ),
    },
    {
      id: "resource",
      label: t("connections.resource"),
      min: 140,
      cell: ({ resource }) => {
        const value = resource?.name ?? resource?.id ?? "";
        return value !== "" &&
          <CellFilter models={models} to={{ text: value }} title="common.only" value={value} />;
      },
    },
    {
      id: "outcome",
      label: t("common.outcome"),
      min: 100,
      isWhole: true,
      cell: (row) => <StateText words={outcomeWords(row)} />,
    },
    {
      id: "status",
      label: t("common.status"),
      width: "80px",
      number: true,
      priority: 2,
      cell: ({ status }) => status,
    },
    {
      id: "detail",
      label: t("common.reason"),
      min: 180,
      priority: 2,
      cell: ({ detail, scimType }) => <span class="quiet cut" title={detail ?? ""}>{detail ?? scimType}
      </span>,
    },
    {
      id: "duration",
      label: t("common.duration"),
      width: "90px",
      number: true,
      priority: 3,
      cell: ({ durationMs }) => spanText(durationMs),
    },
  ];
}

/** `users.create` as text; an unknown operation as it is. */
function operationText(operation: string): string {
  return findMessage(`connections.op_${operation.replaceAll(".", "_")}`) ?? operation;
}

/** How the request ended. A dry run shows what it would have done. */
function outcomeWords({ status, dryRun }: Pick<ConnectionRequestRow, "status" | "dryRun">) {
  if (status >= 500) return { tone: "bad", shape: "cross", label: t("connections.outcome_failed") } as const;
  if (status >= 400) return { tone: "bad", shape: "cross", label: t("connections.outcome_refused") } as const;
  if (dryRun) return { tone: "wait", shape: "ring", label: t("connections.state_dry_run") } as const;
  return { tone: "ok", shape: "check", label: t("connections.outcome_done") } as const;
}

/** The page of the resource, or `null`. */
function resourceHref({ resource }: ConnectionRequestRow, target: string): string | null {
  const name = resource?.name ?? "";
  if (name === "") return null;
  return resource?.kind === "user" ? userHref(name, target) : `/groups/${encodeURIComponent(name)}`;
}

/** @param props.target the directory of the connection, for the link to the user. */
export function RequestFacts({ request, target = "" }: { request: ConnectionRequestRow; target?: string }) {
  const { resource, scimType } = request;
  const href = resourceHref(request, target);
  const name = resource?.name ?? resource?.id ?? "";
  const facts: readonly (readonly [label: string, value: string])[] = [
    [t("common.at"), fullTimeText(request.atMs)],
    [t("connections.operation"), `${operationText(request.operation)} (${request.method})`],
    [t("common.status"), scimType === null ? String(request.status) : `${request.status} ${scimType}`],
    [t("common.reason"), request.detail ?? ""],
    [t("common.attributes"), request.attributes.join(", ")],
    [t("common.duration"), spanText(request.durationMs)],
    [t("connections.source"), request.source],
    [t("connections.user_agent"), request.userAgent],
  ];
  return (
    <dl class="connect-facts">
      {name !== "" && (
        <div>
          <dt>{t("connections.resource")}</dt>
          <dd>
            {href === null ? <bdi>{name}</bdi> : (
              <a href={href}>
                <bdi>{name}</bdi>
              </a>
            )}
          </dd>
        </div>
      )}
      {facts.filter(([, value]) => value !== "").map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}
