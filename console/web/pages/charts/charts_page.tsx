// The Charts page: outcomes and durations of logins over a range, in total and for each client and target. The range is stored in
// the address.

import type { Figures } from "../../../api/charts/chart_series.ts";
import { take } from "../../app/api_client.ts";
import { countText, fullTimeText, secondsText } from "../../app/format.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { CellFilter, DateTimeFilter, FilterChips } from "../../components/list_filters.tsx";
import { DataTable } from "../../components/data_table.tsx";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { TimeChart } from "../../components/time_chart.tsx";
import { t } from "../../i18n/translate.ts";

const HOUR_MS = 3_600_000;
const RANGES = {
  "1h": HOUR_MS,
  "6h": 6 * HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
  "90d": 90 * 24 * HOUR_MS,
} as const;
type RangeName = keyof typeof RANGES;
const DEFAULT_RANGE: RangeName = "24h";
const NAMES = Object.keys(RANGES) as readonly RangeName[];

export default function ChartsPage({ models }: PageProps) {
  const { router, api } = models;
  const [range, from, to, client, target] = ["range", "from", "to", "client", "target"].map(router.param);
  const charts = useResource(models, {
    fetch: () => take(api.charts.$get({ query: { ...requestedRange(models), client, target } })),
    inputs: [range, from, to, client, target],
  });
  return (
    <main class="page">
      <PageBar title={t("charts.charts")}>
        <Range models={models} />
      </PageBar>
      <FilterChips
        models={models}
        filters={[
          { name: "client", label: t("common.client") },
          { name: "target", label: t("common.target") },
        ]}
      />
      <Fetched resource={charts} failed="charts.charts_failed">
        {(series) => <ChartPanels models={models} series={series} busy={charts.busy.value} />}
      </Fetched>
    </main>
  );
}

/** The range of the address: two times, or a named range that ends now. */
function requestedRange({ router, clock }: Models): { from: string; to: string } {
  const [fromMs, toMs] = [Date.parse(router.param("from")), Date.parse(router.param("to"))];
  if (!Number.isNaN(fromMs) && !Number.isNaN(toMs)) return { from: String(fromMs), to: String(toMs) };
  const nowMs = clock.nowMs.peek();
  const name = NAMES.find((one) => one === router.param("range")) ?? DEFAULT_RANGE;
  return { from: String(Math.floor(nowMs - RANGES[name])), to: String(Math.floor(nowMs)) };
}

function Range({ models: { router } }: { models: Models }) {
  const isOwn = router.param("from") !== "" && router.param("to") !== "";
  return (
    <>
      <DateTimeFilter router={router} name="from" label={t("common.filter_from")} />
      <DateTimeFilter router={router} name="to" label={t("common.filter_to")} />
      <select
        class="input"
        aria-label={t("charts.range")}
        value={isOwn ? "" : router.param("range") || DEFAULT_RANGE}
        onChange={(event) => router.setParams({ range: event.currentTarget.value, from: "", to: "" })}
      >
        {isOwn && (
          <option value="">
            {t("charts.range_own", {
              from: fullTimeText(Date.parse(router.param("from"))),
              to: fullTimeText(Date.parse(router.param("to"))),
            })}
          </option>
        )}
        {NAMES.map((name) => <option key={name} value={name}>{t(`charts.range_${name}`)}</option>)}
      </select>
    </>
  );
}

type Series = Awaited<ReturnType<typeof fetchSeries>>;
function fetchSeries({ api }: Models) {
  return take(api.charts.$get({ query: {} }));
}

function ChartPanels({ models, series, busy }: { models: Models; series: Series; busy: boolean }) {
  const { router } = models;
  const { outcomes, atMs, p50Ms, p95Ms, clients, targets } = series;
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const other = outcomes.expired.map((count, at) =>
    count + (outcomes.cancelled[at] ?? 0) + (outcomes.superseded[at] ?? 0)
  );
  const totals = { accepted: sum(outcomes.accepted), rejected: sum(outcomes.rejected), other: sum(other) };
  if (totals.accepted + totals.rejected + totals.other === 0 && clients.length === 0) {
    return (
      <div class="panel">
        <EmptyState title={t("charts.charts_none")} next={t("charts.charts_none_next")} />
      </div>
    );
  }
  const zoom = (fromMs: number, toMs: number) =>
    router.setParams({
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      range: "",
    });
  return (
    <div class="charts" data-busy={busy ? "" : undefined}>
      <p class="quiet small">{t("charts.drag")}</p>
      <section class="panel" aria-labelledby="chart-outcomes">
        <div class="panel-head">
          <h2 id="chart-outcomes">{t("charts.outcomes_title")}</h2>
          <span class="quiet small">{stepText(series.stepMs)}</span>
        </div>
        <TimeChart
          atMs={atMs}
          lines={[
            { label: t("charts.accepted"), tone: "ok", values: outcomes.accepted },
            { label: t("charts.rejected"), tone: "bad", values: outcomes.rejected },
            { label: t("charts.other"), tone: "idle", values: other },
          ]}
          summary={t("charts.summary_outcomes", totals)}
          onZoom={zoom}
        />
      </section>
      <section class="panel" aria-labelledby="chart-times">
        <div class="panel-head">
          <h2 id="chart-times">{t("charts.times_title")}</h2>
        </div>
        <TimeChart
          atMs={atMs}
          lines={[
            { label: t("charts.median"), tone: "challenge", values: p50Ms.map(seconds) },
            { label: t("charts.p95"), tone: "wait", values: p95Ms.map(seconds) },
          ]}
          unit="s"
          summary={t("charts.times_title")}
          onZoom={zoom}
        />
      </section>
      <FigureTable
        models={models}
        by="client"
        title={t("charts.clients_title")}
        rows={clients.map(({ client, ...figures }) => ({ name: client, ...figures }))}
      />
      {targets.length > 0 && (
        <FigureTable
          models={models}
          by="target"
          title={t("charts.targets_title")}
          rows={targets.map(({ target, ...figures }) => ({ name: target, ...figures }))}
        />
      )}
    </div>
  );
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

function stepText(stepMs: number): string {
  const minutes = Math.round(stepMs / 60_000);
  return minutes < 60
    ? t("charts.each_minute", { count: minutes })
    : t("charts.each_hour", { count: Math.round(minutes / 60) });
}

interface FigureTableProps {
  readonly models: Models;
  readonly by: "client" | "target";
  readonly title: string;
  readonly rows: readonly (Figures & { readonly name: string })[];
}

/** The figures of each client or target. A click on a name filters the charts. */
function FigureTable({ models, by, title, rows }: FigureTableProps) {
  return (
    <section aria-labelledby={`chart-${by}s`}>
      <h2 id={`chart-${by}s`}>{title}</h2>
      <DataTable
        label={title}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            label: t(`common.${by}`),
            cell: ({ name }) => (
              <CellFilter
                models={models}
                to={{ [by]: name }}
                title="common.only"
                value={name}
                classes="cut mono"
              />
            ),
          },
          { label: t("charts.total"), number: true, cell: ({ total }) => countText(total) },
          {
            label: t("charts.accepted"),
            number: true,
            wideOnly: true,
            cell: ({ accepted }) => countText(accepted),
          },
          {
            label: t("charts.rejected"),
            number: true,
            cell: ({ rejected, total }) =>
              `${countText(rejected)} (${Math.round(100 * rejected / Math.max(1, total))} %)`,
          },
          {
            label: t("charts.median_short"),
            number: true,
            wideOnly: true,
            cell: ({ p50Ms }) => p50Ms === null ? "" : secondsText(p50Ms),
          },
          {
            label: t("charts.p95_short"),
            number: true,
            cell: ({ p95Ms }) => p95Ms === null ? "" : secondsText(p95Ms),
          },
        ]}
      />
    </section>
  );
}
