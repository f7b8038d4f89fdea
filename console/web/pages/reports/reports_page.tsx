// The Reports page: outcomes and durations of sign-ins over a range, breakdowns, and enrolment. The range is stored in the address.

import { type ComponentChildren, Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { DAY_MS } from "../../../../platform/durations.ts";
import type { ChartAnswer } from "../../../api/charts/chart_store.ts";
import type { BreakdownAnswer } from "../../../api/reports/report_routes.ts";
import type { HoursOfWeek, RangeTotals } from "../../../api/charts/chart_summary.ts";
import { take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText, fullTimeText, secondsText, spanText } from "../../app/format.ts";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { Button } from "../../components/button.tsx";
import { Alert, EmptyState, Fetched, Skeleton } from "../../components/alert.tsx";
import { FilterChips } from "../../components/filter_chips.tsx";
import { DateTimeFilter } from "../../components/list_filters.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { locale, t } from "../../i18n/translate.ts";
import { BreakdownNotes, BreakdownPanels, FigurePanel, GeoIpNote } from "./breakdown_panels.tsx";
import type { BarSelection } from "./bar_selection.ts";
import { DurationChart, OutcomeChart, type PlotRange } from "./time_charts.tsx";
import { EnrolmentPanel, useEnrolment } from "./enrolment_panel.tsx";
import {
  DEFAULT_RANGE,
  hasOwnRange,
  historyHref,
  narrowRange,
  RANGE_NAMES,
  type ReportQuery,
  reportQuery,
} from "./report_range.ts";
import { ExportLinks } from "./report_table.tsx";

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

// The totals of the range, each with the total of the same time before.

interface TotalTilesProps {
  readonly totals: RangeTotals;
  /** `null`: the counts do not go back so far. */
  readonly previous: RangeTotals | null;
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly filter: { readonly client: string; readonly target: string };
}

interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly before: string;
  readonly href?: string;
}

function TotalTiles({ totals, previous, range, filter }: TotalTilesProps) {
  const count = (label: string, of: (of: RangeTotals) => number, outcome?: string) => (
    <Tile
      label={label}
      value={countText(of(totals))}
      before={beforeText(of(totals), previous === null ? null : of(previous), countText)}
      {...outcome === undefined ? {} : { href: historyHref(range, { ...filter, outcome }) }}
    />
  );
  const time = (label: string, of: (of: RangeTotals) => number | null) => {
    const [now, before] = [of(totals), previous === null ? null : of(previous)];
    return (
      <Tile
        label={label}
        value={now === null ? "–" : secondsText(now)}
        before={now === null ? t("common.no_sign_ins") : beforeText(now, before, secondsText)}
      />
    );
  };
  return (
    <ul class="report-tiles" aria-label={t("reports.totals")}>
      {count(t("common.sign_ins"), ({ total }) => total, "")}
      {count(t("reports.accepted"), ({ outcomes }) => outcomes.accepted, "accepted")}
      {count(t("reports.rejected"), ({ outcomes }) => outcomes.rejected, "rejected")}
      {count(
        t("reports.other"),
        ({ outcomes }) => outcomes.expired + outcomes.cancelled + outcomes.superseded,
      )}
      {time(t("reports.median"), ({ p50Ms }) => p50Ms)}
      {time(t("reports.p95"), ({ p95Ms }) => p95Ms)}
    </ul>
  );
}

function Tile({ label, value, before, href }: TileProps) {
  const inside = (
    <>
      <span class="quiet">{label}</span>
      <strong>{value}</strong>
      <span class="quiet small">{before}</span>
    </>
  );
  return (
    <li class="report-tile">
      {href === undefined ? <div>{inside}</div> : <a href={href}>{inside}</a>}
    </li>
  );
}

/** "1,020 before (+12 %)". */
function beforeText(now: number, before: number | null, text: (value: number) => string): string {
  if (before === null) return t("reports.no_earlier");
  if (before === 0) return t("reports.before_none", { before: text(0) });
  const change = Math.round(100 * (now - before) / before);
  return t("reports.before", { before: text(before), change: changeText(change) });
}

function changeText(percent: number): string {
  return `${percent > 0 ? "+" : percent < 0 ? "\u2212" : ""}${Math.abs(percent)}`;
}

// Sign-ins by weekday and hour in the time zone of the browser: a grid whose fields are stronger for more sign-ins.

const LEVELS = 5;
/** A Monday. */
const MONDAY_MS = Date.UTC(2024, 0, 1);

function HoursPanel({ hours, query }: { hours: HoursOfWeek; query: ReportQuery }) {
  const title = t("reports.hours_title");
  const largest = Math.max(0, ...hours.total);
  const days = weekdays();
  const busiest = largest > 0 ? busiestText(hours, largest, days) : t("reports.none_in_range");
  return (
    <section class="panel report-panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <span class="quiet small">{query.zone}</span>
        <div class="end">
          <ExportLinks report="hours" of={title} query={query} />
        </div>
      </div>
      <div class="hours-grid" role="img" aria-label={busiest}>
        <span />
        {[0, 6, 12, 18].map((hour) => <b key={hour} class="six">{hour}</b>)}
        {days.map(({ short, long }, day) => (
          <Fragment key={short}>
            <b>{short}</b>
            {Array.from({ length: 24 }, (_, hour) => {
              const at = day * 24 + hour;
              const total = hours.total[at] ?? 0;
              const rejected = hours.rejected[at] ?? 0;
              return (
                <i
                  key={hour}
                  class={`heat-${levelOf(total, largest)}`}
                  title={cellText({ day: long, hour, total, rejected })}
                />
              );
            })}
          </Fragment>
        ))}
      </div>
      <p class="report-empty quiet small">{busiest}</p>
    </section>
  );
}

function levelOf(total: number, largest: number): number {
  return total === 0 ? 0 : Math.max(1, Math.ceil(LEVELS * total / largest));
}

function weekdays(): { short: string; long: string }[] {
  const [short, long] = (["short", "long"] as const).map((weekday) =>
    new Intl.DateTimeFormat(locale(), { weekday, timeZone: "UTC" })
  );
  return Array.from({ length: 7 }, (_, day) => ({
    short: short?.format(MONDAY_MS + day * DAY_MS) ?? "",
    long: long?.format(MONDAY_MS + day * DAY_MS) ?? "",
  }));
}

function hoursText(hour: number): string {
  return `${hour}:00–${hour + 1}:00`;
}

function cellText({ hour, total, rejected, day }: {
  day: string;
  hour: number;
  total: number;
  rejected: number;
}): string {
  const counts = { total: countText(total), rejected: countText(rejected) };
  return t("reports.hours_cell", { day, hours: hoursText(hour), ...counts });
}

function busiestText({ total }: HoursOfWeek, largest: number, days: readonly { long: string }[]): string {
  const at = total.indexOf(largest);
  return t("reports.hours_busiest", {
    day: days[Math.floor(at / 24)]?.long ?? "",
    hours: hoursText(at % 24),
    count: countText(largest),
  });
}
