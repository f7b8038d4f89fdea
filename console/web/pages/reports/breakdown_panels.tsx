// Breakdowns of the range: by client, directory, factor and reason, the users and addresses with the most rejected sign-ins, countries and
// networks.

import type { ComponentChildren } from "preact";
import type { BreakdownRow } from "../../../api/reports/breakdown.ts";
import type { BreakdownAnswer } from "../../../api/reports/report_routes.ts";
import type { Figures } from "../../../api/charts/chart_series.ts";
import type { Models } from "../../app/app_context.ts";
import { countText, fullTimeText, secondsText } from "../../app/format.ts";
import { shortReasonText } from "../../app/login_state_labels.ts";
import { userHref } from "../../app/routes.ts";
import { Alert } from "../../components/alert.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { countryName } from "../../components/location.tsx";
import { Time } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import { historyHref, type ReportQuery } from "./report_range.ts";
import { ExportLinks, type ReportColumn, ReportTable } from "./report_table.tsx";

interface PanelProps {
  readonly models: Models;
  readonly query: ReportQuery;
}

interface FigurePanelProps extends PanelProps {
  readonly by: "client" | "target";
  readonly title: string;
  readonly rows: readonly (Figures & { readonly name: string })[];
  readonly range: { readonly fromMs: number; readonly toMs: number };
}

/** The figures of each client or directory. A click on a name filters the reports. */
export function FigurePanel({ models, query, by, title, rows, range }: FigurePanelProps) {
  const time = (ms: number | null) => ms === null ? "–" : secondsText(ms);
  return (
    <ReportTable
      title={title}
      names={t(by === "client" ? "common.client" : "common.target")}
      rows={rows}
      keyOf={({ name }) => name}
      amount={({ total }) => total}
      name={({ name }) => (
        <CellFilter models={models} to={{ [by]: name }} title="common.only" value={name} classes="" />
      )}
      columns={[
        { label: t("reports.count"), cell: ({ total }) => countText(total) },
        {
          label: t("reports.rejected"),
          cell: ({ name, rejected, total }) => (
            <RejectedLink
              {...{ rejected, total }}
              href={historyHref(range, filterOf(query, { [by]: name, outcome: "rejected" }))}
            />
          ),
        },
        { label: t("reports.median"), wideOnly: true, cell: ({ p50Ms }) => time(p50Ms) },
        { label: t("reports.p95_short"), wideOnly: true, cell: ({ p95Ms }) => time(p95Ms) },
      ]}
      files={<ExportLinks report={by === "client" ? "clients" : "targets"} of={title} query={query} />}
      empty="reports.none_in_range"
    />
  );
}

function RejectedLink({ rejected, total, href }: { rejected: number; total: number; href: string }) {
  if (rejected === 0) return <>0</>;
  return (
    <a class="report-link" href={href}>
      {t("reports.rejected_share", {
        count: countText(rejected),
        percent: Math.round(100 * rejected / Math.max(1, total)),
      })}
    </a>
  );
}

function filterOf({ client, target }: ReportQuery, more: Readonly<Record<string, string>>) {
  return { client, target, ...more };
}

export function BreakdownPanels(
  { models, query, counted }: PanelProps & { counted: BreakdownAnswer },
) {
  const { geoIp, countries, networks } = counted;
  const table = { models, query, counted };
  return (
    <>
      <FactorTable {...table} />
      <ReasonTable {...table} />
      <RejectedTable {...table} of="users" />
      <RejectedTable {...table} of="addresses" />
      {geoIp.isConfigured && (
        <PlaceTable
          {...table}
          of="countries"
          rows={countries}
          name={({ name }) => countryName(name)}
        />
      )}
      {geoIp.isConfigured && networks.length > 0 && (
        <PlaceTable
          {...table}
          of="networks"
          rows={networks}
          name={({ name, label }) => `${name} ${label}`}
        />
      )}
    </>
  );
}

type CountedProps = PanelProps & { readonly counted: BreakdownAnswer };

function FactorTable({ query, counted }: CountedProps) {
  const title = t("reports.factors_title");
  return (
    <ReportTable
      title={title}
      names={t("common.factor")}
      rows={counted.factors}
      keyOf={({ name }) => name}
      amount={({ total }) => total}
      name={({ name }) => (
        <HistoryLink {...{ counted, query }} filter={{ factor: name || "none" }}>
          {factorName(name)}
        </HistoryLink>
      )}
      columns={countColumns({ query, counted }, (name) => ({ factor: name || "none" }))}
      files={<ExportLinks report="factors" of={title} query={query} />}
      empty="reports.none_in_range"
    />
  );
}

export function factorName(name: string): string {
  if (name === "") return t("reports.factor_none");
  return name === "device" ? t("reports.factor_device") : findMessage(`common.factor_${name}`) ?? name;
}

function ReasonTable({ query, counted }: CountedProps) {
  const title = t("reports.reasons_title");
  return (
    <ReportTable
      title={title}
      names={t("common.reason")}
      rows={counted.reasons}
      keyOf={({ name }) => name}
      amount={({ total }) => total}
      name={({ name }) => (
        <HistoryLink {...{ counted, query }} filter={{ reason: name }}>{reasonName(name)}</HistoryLink>
      )}
      columns={[{ label: t("reports.count"), cell: ({ total }) => countText(total) }]}
      files={<ExportLinks report="reasons" of={title} query={query} />}
      empty="reports.none_unaccepted"
    />
  );
}

/** The reason of many sign-ins, so without the values of one. */
function reasonName(code: string): string {
  const by = t("reports.an_administrator");
  return shortReasonText({ code: code as "other", values: { by, user: "", client: "" } });
}

function RejectedTable({ models, query, counted, of }: CountedProps & { of: "users" | "addresses" }) {
  const title = t(`reports.${of}_title`);
  const filter = (name: string) => ({ [of === "users" ? "user" : "place"]: name });
  return (
    <ReportTable
      title={title}
      names={t(`reports.${of}_name`)}
      rows={counted[of]}
      keyOf={({ name }) => name}
      amount={({ rejected }) => rejected}
      name={({ name }) =>
        of === "users"
          ? <a class="report-link" href={userHref(name)}>{name}</a>
          : <HistoryLink {...{ counted, query }} filter={filter(name)}>{name}</HistoryLink>}
      columns={[
        {
          label: t("reports.rejected"),
          cell: ({ name, rejected }) => (
            <HistoryLink {...{ counted, query }} filter={{ ...filter(name), outcome: "rejected" }}>
              {countText(rejected)}
            </HistoryLink>
          ),
        },
        { label: t("reports.count"), cell: ({ total }) => countText(total) },
        {
          label: t("reports.last"),
          wideOnly: true,
          cell: ({ lastMs }) => <Time models={models} atMs={lastMs} />,
        },
      ]}
      files={<ExportLinks report={of} of={title} query={query} />}
      empty="reports.none_rejected"
    />
  );
}

interface PlaceTableProps extends CountedProps {
  readonly of: "countries" | "networks";
  readonly rows: readonly BreakdownRow[];
  readonly name: (row: BreakdownRow) => string;
}

function PlaceTable({ query, counted, of, rows, name }: PlaceTableProps) {
  const title = t(`reports.${of}_title`);
  const filter = (country: string) => ({ country: country || "none" });
  return (
    <ReportTable
      title={title}
      names={t(`reports.${of}_name`)}
      rows={rows}
      keyOf={(row) => row.name}
      amount={({ total }) => total}
      name={(row) =>
        of === "networks"
          ? name(row)
          : <HistoryLink {...{ counted, query }} filter={filter(row.name)}>{name(row)}</HistoryLink>}
      columns={of === "networks"
        ? [
          { label: t("reports.count"), cell: ({ total }) => countText(total) },
          { label: t("reports.rejected"), cell: ({ rejected }) => countText(rejected) },
        ]
        : countColumns({ query, counted }, filter)}
      files={<ExportLinks report={of} of={title} query={query} />}
      empty="reports.none_in_range"
    />
  );
}

function countColumns(
  { query, counted }: Pick<CountedProps, "query" | "counted">,
  filterFor: (name: string) => Record<string, string>,
): ReportColumn<BreakdownRow>[] {
  return [
    { label: t("reports.count"), cell: ({ total }) => countText(total) },
    {
      label: t("reports.rejected"),
      cell: ({ name, rejected, total }) => (
        <RejectedLink
          {...{ rejected, total }}
          href={historyHref(counted, filterOf(query, { ...filterFor(name), outcome: "rejected" }))}
        />
      ),
    },
  ];
}

interface HistoryLinkProps extends Pick<CountedProps, "query" | "counted"> {
  readonly filter: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}

function HistoryLink({ query, counted, filter, children }: HistoryLinkProps) {
  return <a class="report-link" href={historyHref(counted, filterOf(query, filter))}>{children}</a>;
}

/** How far the count of the tables came, and what is missing for countries. */
export function BreakdownNotes({ counted }: { counted: BreakdownAnswer }) {
  const { sinceMs, geoIp } = counted;
  return (
    <>
      {sinceMs !== null && (
        <Alert tone="wait" role="status">
          {t("reports.partial", { count: countText(counted.counted), since: fullTimeText(sinceMs) })}
        </Alert>
      )}
      {geoIp.files.flatMap(({ path, problem }) =>
        problem === null ? [] : [
          <Alert key={path} tone="bad">
            {t("reports.geoip_problem", { path, problem: t(`reports.geoip_${problem}`) })}
          </Alert>,
        ]
      )}
    </>
  );
}

/** How to add a database of countries, or which ones are in use. */
export function GeoIpNote({ geoIp: { isConfigured, files } }: Pick<BreakdownAnswer, "geoIp">) {
  if (!isConfigured) return <p class="quiet small">{t("reports.geoip_none")}</p>;
  const inUse = files.flatMap(({ databaseType, builtMs }) =>
    databaseType === null || builtMs === null
      ? []
      : [t("reports.geoip_file", { type: databaseType, built: fullTimeText(builtMs) })]
  );
  return inUse.length === 0 ? null : <p class="quiet small">{inUse.join(" · ")}</p>;
}
