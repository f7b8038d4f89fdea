// The Reports page: outcomes and durations of sign-ins over a range, breakdowns, and enrolment. The range is stored in the address.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { ChartAnswer } from "../../../api/charts/chart_store.ts";
import type { BreakdownAnswer } from "../../../api/reports/report_routes.ts";
import { take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText, fullTimeText, spanText } from "../../app/format.ts";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { useSignal } from "@preact/signals";
import { Button } from "../../components/button.tsx";
import { Alert, EmptyState, Fetched, Skeleton } from "../../components/alert.tsx";
import { FilterChips } from "../../components/filter_chips.tsx";
import { DateTimeFilter } from "../../components/date_time_filter.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { BreakdownNotes, BreakdownPanels, FigurePanel, GeoIpNote } from "./breakdown_panels.tsx";
import type { BarSelection } from "./bar_selection.ts";
import { DurationChart } from "./duration_chart.tsx";
import { EnrolmentPanel, useEnrolment } from "./enrolment_panel.tsx";
import { HoursPanel } from "./hours_panel.tsx";
import { OutcomeChart } from "./outcome_chart.tsx";
import {
  DEFAULT_RANGE,
  hasOwnRange,
  narrowRange,
  RANGE_NAMES,
  type ReportQuery,
  reportQuery,
} from "./report_range.ts";
import { ExportLinks } from "./report_table.tsx";
import type { PlotRange } from "./time_plot.tsx";
import { TotalTiles } from "./total_tiles.tsx";

/** The answer of the server, with the range that it used. */
type Series = ChartAnswer & { readonly fromMs: number; readonly toMs: number };

/** A range that ends at most this long before now is still open. */
const OPEN_MS = 60_000;

export default function ReportsPage({ models }: PageProps) {
  const { router, api, clock } = models;
  const turn = useSignal(0);
  const inputs = [...["range", "from", "to", "client", "target"].map(router.param), turn.value];
  // One time for all calls, so that they have the same range.
  const query = useMemo(() => reportQuery(models, clock.nowMs.peek()), inputs);
  const series = useResource(models, { fetch: () => take<Series>(api.charts.$get({ query })), inputs });
  const breakdown = useResource(models, {
    fetch: () => take<BreakdownAnswer>(api.reports.breakdown.$get({ query })),
    inputs,
  });
  const enrolment = useEnrolment(models);
  const counted = readyValue(breakdown.state.value);
  // A part appears after the parts above it, so that nothing moves.
  const isCounted = isSettled(series) && isSettled(breakdown);
  return (
    <main class="page">
      <PageBar title={t("shell.charts")}>
        <Button icon="refresh-cw" onClick={() => turn.value += 1}>{t("reports.refresh")}</Button>
      </PageBar>
      <RangePicker models={models} />
      <FilterChips
        models={models}
        filters={[
          { name: "client", label: t("common.client") },
          { name: "target", label: t("common.target") },
        ]}
      />
      <Fetched resource={series} failed="reports.failed">
        {(answer) => (
          <ChartPanels
            {...{ models, query }}
            series={answer}
            busy={series.busy.value}
            notes={counted !== null && <BreakdownNotes counted={counted} />}
            isCounted={isCounted}
          >
            <Fetched resource={breakdown} failed="reports.breakdown_failed" rows={4}>
              {(answer) => <BreakdownPanels models={models} query={query} counted={answer} />}
            </Fetched>
          </ChartPanels>
        )}
      </Fetched>
      {counted !== null && isCounted && <GeoIpNote geoIp={counted.geoIp} />}
      {isCounted && <EnrolmentPanel models={models} answer={enrolment} />}
    </main>
  );
}

/** Whether a first answer came, or none will come. */
function isSettled<T>({ state }: Resource<T>): boolean {
  return state.value.kind === "ready" || state.value.kind === "failed";
}

function RangePicker({ models }: { models: Models }) {
  const { router } = models;
  const isOwn = hasOwnRange(models);
  return (
    <div class="report-range" role="group" aria-label={t("reports.range")}>
      <select
        class="input"
        aria-label={t("reports.range")}
        value={isOwn ? "" : router.param("range") || DEFAULT_RANGE}
        onChange={(event) => router.setParams({ range: event.currentTarget.value, from: "", to: "" })}
      >
        {isOwn && <option value="">{t("reports.range_own")}</option>}
        {RANGE_NAMES.map((name) => <option key={name} value={name}>{t(`reports.range_${name}`)}</option>)}
      </select>
      <DateTimeFilter router={router} name="from" label={t("common.filter_from")} />
      <DateTimeFilter router={router} name="to" label={t("common.filter_to")} />
      {isOwn && (
        <Button kind="plain" onClick={() => router.setParams({ from: "", to: "" })}>
          {t("reports.range_reset")}
        </Button>
      )}
    </div>
  );
}

interface ChartPanelsProps {
  readonly models: Models;
  readonly series: Series;
  readonly query: ReportQuery;
  readonly busy: boolean;
  /** The breakdowns are there. */
  readonly isCounted: boolean;
  /** What is missing in the breakdowns. */
  readonly notes: ComponentChildren;
  /** The breakdowns. */
  readonly children: ComponentChildren;
}

function ChartPanels(props: ChartPanelsProps) {
  const { models, series, query, busy, isCounted, notes, children } = props;
  const { clients, totals, previous, fromMs, toMs } = series;
  const range = { fromMs, toMs };
  const plot: PlotRange = {
    ...{ atMs: series.atMs, stepMs: series.stepMs, toMs },
    isOpen: models.clock.nowMs.value - toMs < OPEN_MS || !hasOwnRange(models),
    selection: useSignal<BarSelection | null>(null),
    onZoom: (range) => narrowRange(models, range),
  };
  if (totals.total === 0 && clients.length === 0) {
    return (
      <div class="panel">
        <EmptyState title={t("reports.none_in_range")} next={t("reports.none_in_range_next")} />
      </div>
    );
  }
  return (
    <div class="charts" data-busy={busy ? "" : undefined}>
      <p class="quiet small">
        {t("reports.range_of", { from: fullTimeText(fromMs), to: fullTimeText(toMs) })}
      </p>
      {series.isCut && <Alert tone="wait" role="status">{t("reports.series_cut")}</Alert>}
      <TotalTiles totals={totals} previous={previous} range={range} filter={query} />
      <Outcomes series={series} query={query} plot={plot} />
      <Durations series={series} plot={plot} />
      {notes}
      {isCounted ? <Columns {...{ models, series, query }}>{children}</Columns> : <Skeleton rows={8} />}
    </div>
  );
}

type ColumnsProps = Pick<ChartPanelsProps, "models" | "series" | "query" | "children">;

function Columns({ models, series, query, children }: ColumnsProps) {
  const { clients, targets, hours } = series;
  return (
    <div class="report-columns">
      <FigurePanel
        {...{ models, query }}
        range={series}
        by="client"
        title={t("reports.clients_title")}
        rows={clients.map(({ client, ...figures }) => ({ name: client, ...figures }))}
      />
      {targets.length > 0 && (
        <FigurePanel
          {...{ models, query }}
          range={series}
          by="target"
          title={t("reports.targets_title")}
          rows={targets.map(({ target, ...figures }) => ({ name: target, ...figures }))}
        />
      )}
      <HoursPanel hours={hours} query={query} />
      {children}
    </div>
  );
}

interface ChartPanelProps {
  readonly series: Series;
  readonly plot: PlotRange;
}

function Outcomes({ series, plot, query }: ChartPanelProps & { query: ReportQuery }) {
  const { outcomes, stepMs, totals } = series;
  const title = t("reports.outcomes_title");
  const other = outcomes.expired.map((count, at) =>
    count + (outcomes.cancelled[at] ?? 0) + (outcomes.superseded[at] ?? 0)
  );
  const { accepted, rejected } = totals.outcomes;
  return (
    <section class="panel" aria-labelledby="chart-outcomes">
      <div class="panel-head">
        <h2 id="chart-outcomes">{title}</h2>
        <span class="quiet small">{stepText(stepMs)}</span>
        <div class="end">
          <ExportLinks report="outcomes" of={title} query={query} />
        </div>
      </div>
      <OutcomeChart
        {...plot}
        series={[
          { label: t("reports.accepted"), tone: "ok", values: outcomes.accepted },
          { label: t("reports.rejected"), tone: "bad", values: outcomes.rejected },
          { label: t("reports.other"), tone: "idle", values: other },
        ]}
        summary={t("reports.summary_outcomes", {
          accepted: countText(accepted),
          rejected: countText(rejected),
          other: countText(totals.total - accepted - rejected),
        })}
      />
    </section>
  );
}

function Durations({ series, plot }: ChartPanelProps) {
  const { p50Ms, p95Ms, totals } = series;
  const time = (ms: number | null) => ms === null ? t("common.no_sign_ins") : spanText(ms);
  return (
    <section class="panel" aria-labelledby="chart-times">
      <div class="panel-head">
        <h2 id="chart-times">{t("reports.times_title")}</h2>
      </div>
      <DurationChart
        {...plot}
        lines={[
          { label: t("reports.median"), tone: "challenge", isDashed: false, values: p50Ms },
          { label: t("reports.p95"), tone: "wait", isDashed: true, values: p95Ms },
        ]}
        summary={t("reports.summary_times", { median: time(totals.p50Ms), p95: time(totals.p95Ms) })}
      />
    </section>
  );
}

function stepText(stepMs: number): string {
  const minutes = Math.round(stepMs / 60_000);
  return minutes < 60
    ? t("reports.each_minute", { count: minutes })
    : t("reports.each_hour", { count: Math.round(minutes / 60) });
}
