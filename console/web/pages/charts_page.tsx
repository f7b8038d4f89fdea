// Charts: how logins ended and how long they took, over a range that lives in the address, and the same for each client and each target.

import type { Figures } from "../../api/charts/chart_series.ts";
import { take } from "../api_client.ts";
import { countText, fullTimeText, secondsText } from "../format.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { CellFilter } from "../parts/cell_filter.tsx";
import { DataTable } from "../parts/data_table.tsx";
import { Fetched } from "../parts/fetched.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { Moment } from "../parts/filter_fields.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { EmptyState } from "../parts/states.tsx";
import { TimeChart } from "../parts/live/time_chart.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

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
const USUAL: RangeName = "24h";
const NAMES = Object.keys(RANGES) as readonly RangeName[];

export default function ChartsPage({ models }: PageProps) {
  const { router, api } = models;
  const [range, from, to, client, target] = ["range", "from", "to", "client", "target"].map(router.param);
  const charts = useResource(models, {
    fetch: () => take(api.charts.$get({ query: { ...spanOf(models), client, target } })),
    inputs: [range, from, to, client, target],
  });
  return (
    <main class="page">
      <PageBar title={t("records.charts")}>
        <Range models={models} />
      </PageBar>
      <FilterChips
        models={models}
        filters={[
          { name: "client", label: t("records.client") },
          { name: "target", label: t("records.target") },
        ]}
      />
      <Fetched resource={charts} failed="records.charts_failed">
        {(series) => <Drawn models={models} series={series} busy={charts.busy.value} />}
      </Fetched>
    </main>
  );
}

/** The span that the address names: its own, or one that ends now. */
function spanOf({ router, clock }: Models): { from: string; to: string } {
  const [fromMs, toMs] = [Date.parse(router.param("from")), Date.parse(router.param("to"))];
  if (!Number.isNaN(fromMs) && !Number.isNaN(toMs)) return { from: String(fromMs), to: String(toMs) };
  const nowMs = clock.nowMs.peek();
  const name = NAMES.find((one) => one === router.param("range")) ?? USUAL;
  return { from: String(Math.floor(nowMs - RANGES[name])), to: String(Math.floor(nowMs)) };
}

function Range({ models: { router } }: { models: Models }) {
  const isOwn = router.param("from") !== "" && router.param("to") !== "";
  return (
    <>
      <Moment router={router} name="from" label={t("records.filter_from")} />
      <Moment router={router} name="to" label={t("records.filter_to")} />
      <select
        class="input"
        aria-label={t("records.range")}
        value={isOwn ? "" : router.param("range") || USUAL}
        onChange={(event) => router.setParams({ range: event.currentTarget.value, from: "", to: "" })}
      >
        {isOwn && (
          <option value="">
            {t("records.range_own", {
              from: fullTimeText(Date.parse(router.param("from"))),
              to: fullTimeText(Date.parse(router.param("to"))),
            })}
          </option>
        )}
        {NAMES.map((name) => <option key={name} value={name}>{t(`records.range_${name}`)}</option>)}
      </select>
    </>
  );
}

type Series = Awaited<ReturnType<typeof fetchSeries>>;
function fetchSeries({ api }: Models) {
  return take(api.charts.$get({ query: {} }));
}

function Drawn({ models, series, busy }: { models: Models; series: Series; busy: boolean }) {
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
        <EmptyState title={t("records.charts_none")} next={t("records.charts_none_next")} />
      </div>
    );
  }
  const narrow = (fromMs: number, toMs: number) =>
    router.setParams({
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      range: "",
    });
  return (
    <div class="charts" data-busy={busy ? "" : undefined}>
      <p class="quiet small">{t("records.drag")}</p>
      <section class="panel" aria-labelledby="chart-outcomes">
        <div class="panel-head">
          <h2 id="chart-outcomes">{t("records.outcomes_title")}</h2>
          <span class="quiet small">{stepText(series.stepMs)}</span>
        </div>
        <TimeChart
          atMs={atMs}
          lines={[
            { label: t("records.accepted"), tone: "ok", values: outcomes.accepted },
            { label: t("records.rejected"), tone: "bad", values: outcomes.rejected },
            { label: t("records.other"), tone: "idle", values: other },
          ]}
          says={t("records.summary_outcomes", totals)}
          onNarrow={narrow}
        />
      </section>
      <section class="panel" aria-labelledby="chart-times">
        <div class="panel-head">
          <h2 id="chart-times">{t("records.times_title")}</h2>
        </div>
        <TimeChart
          atMs={atMs}
          lines={[
            { label: t("records.median"), tone: "challenge", values: p50Ms.map(seconds) },
            { label: t("records.p95"), tone: "wait", values: p95Ms.map(seconds) },
          ]}
          unit="s"
          says={t("records.times_title")}
          onNarrow={narrow}
        />
      </section>
      <By
        models={models}
        by="client"
        title={t("records.clients_title")}
        rows={clients.map(({ client, ...figures }) => ({ name: client, ...figures }))}
      />
      {targets.length > 0 && (
        <By
          models={models}
          by="target"
          title={t("records.targets_title")}
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
    ? t("records.each_minute", { count: minutes })
    : t("records.each_hour", { count: Math.round(minutes / 60) });
}

interface ByProps {
  readonly models: Models;
  readonly by: "client" | "target";
  readonly title: string;
  readonly rows: readonly (Figures & { readonly name: string })[];
}

/** The figures of each client or target; a click on one narrows the charts to it. */
function By({ models, by, title, rows }: ByProps) {
  return (
    <section aria-labelledby={`chart-${by}s`}>
      <h2 id={`chart-${by}s`}>{title}</h2>
      <DataTable
        label={title}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            label: t(`records.${by}`),
            cell: ({ name }) => (
              <CellFilter
                models={models}
                to={{ [by]: name }}
                says="records.filter_by"
                value={name}
                look="cut mono"
              />
            ),
          },
          { label: t("records.total"), number: true, cell: ({ total }) => countText(total) },
          {
            label: t("records.accepted"),
            number: true,
            wideOnly: true,
            cell: ({ accepted }) => countText(accepted),
          },
          {
            label: t("records.rejected"),
            number: true,
            cell: ({ rejected, total }) =>
              `${countText(rejected)} (${Math.round(100 * rejected / Math.max(1, total))} %)`,
          },
          {
            label: t("records.median_short"),
            number: true,
            wideOnly: true,
            cell: ({ p50Ms }) => p50Ms === null ? "" : secondsText(p50Ms),
          },
          {
            label: t("records.p95_short"),
            number: true,
            cell: ({ p95Ms }) => p95Ms === null ? "" : secondsText(p95Ms),
          },
        ]}
      />
    </section>
  );
}
