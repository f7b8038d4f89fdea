// The Overview page: counts that open the filtered lists, problems that need attention, outcomes of 24 hours, and the latest rejected
// sign-ins. Each part loads on its own, so a slow count never holds up the others.

import { useEffect } from "preact/hooks";
import type { HistoryItem, HistoryPage } from "../../../api/history/history.ts";
import type { FactorlessAnswer, OverviewCounts } from "../../../api/overview/overview_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText, minuteText, relativeText, timeText } from "../../app/format.ts";
import { readyValue, type Resource, useInterval, useResource } from "../../app/resource.ts";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { userHref } from "../../app/routes.ts";
import { clientText } from "../../components/client_text.ts";
import { ClockTime } from "../../components/time.tsx";
import { shortReasonText } from "../../app/login_state_labels.ts";
import { AttentionPanel } from "./attention_panel.tsx";
import {
  type DayAnswer,
  fetchCounts,
  fetchDay,
  fetchFactorless,
  fetchHealthReport,
  fetchRejected,
  startOfDay,
  sumOf,
} from "./overview_calls.ts";

const COUNTS_EVERY_MS = 15_000;
const CHARTS_EVERY_MS = 5000;
const HEALTH_EVERY_MS = 60_000;
const COUNTING_EVERY_MS = 2000;

export default function OverviewPage({ models }: PageProps) {
  const counts = useResource(models, { fetch: () => fetchCounts(models), inputs: [] });
  const factorless = useResource(models, { fetch: () => fetchFactorless(models), inputs: [] });
  const day = useResource(models, { fetch: () => fetchDay(models), inputs: [] });
  const health = useResource(models, { fetch: () => fetchHealthReport(models), inputs: [] });
  const rejected = useRejected(models, day);
  const isCounting = (readyValue(factorless.state.value)?.progress ?? null) !== null;
  useInterval(COUNTS_EVERY_MS, () => Promise.all([counts.reload(), factorless.reload()]));
  useInterval(CHARTS_EVERY_MS, day.reload);
  useInterval(HEALTH_EVERY_MS, health.reload);
  useInterval(COUNTING_EVERY_MS, async () => {
    if (isCounting) await factorless.reload();
  });
  const now = readyValue(counts.state.value);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.overview")}>
        {now !== null && (
          <span class="quiet small">
            {t("common.as_of", { time: timeText(now.nowMs) })}
            {now.isShared && ` · ${t("overview.shared")}`}
          </span>
        )}
      </PageBar>
      <OverviewTiles {...{ models, counts, factorless, day }} />
      <div class="overview-columns">
        <AttentionPanel {...{ models, counts, health, day }} />
        <div class="overview-column">
          <OutcomesPanel day={day} />
          <RejectedPanel models={models} rejected={rejected} fromMs={startOfDay(models)} />
        </div>
      </div>
    </main>
  );
}

/** The latest rejected sign-ins. They are read again only if the number of rejections changed. */
function useRejected(models: Models, day: Resource<DayAnswer>): Resource<HistoryPage> {
  const rejected = useResource(models, { fetch: () => fetchRejected(models), inputs: [] });
  const value = readyValue(day.state.value);
  const count = value === null ? null : sumOf(value.outcomes.rejected);
  useEffect(() => {
    if (count !== null && rejected.state.peek().kind === "ready") void rejected.reload();
  }, [count]);
  return rejected;
}

// Outcomes of sign-ins in the last 24 hours as stacked bars, one for each hour.

const WIDTH = 480;
const HEIGHT = 96;
const GAP = 4;
/** A count above zero is visible, however small its share. */
const MIN_BAR_HEIGHT = 2;

const SERIES = [
  { name: "accepted", tone: "ok" },
  { name: "rejected", tone: "bad" },
  { name: "other", tone: "idle" },
] as const;

interface HourCounts {
  readonly atMs: number;
  readonly counts: Readonly<Record<typeof SERIES[number]["name"], number>>;
}

function OutcomesPanel({ day }: { day: Resource<DayAnswer> }) {
  return (
    <section class="panel overview-panel" aria-labelledby="overview-outcomes">
      <div class="panel-head">
        <h2 id="overview-outcomes">{t("overview.outcomes")}</h2>
        <span class="quiet small">{t("overview.last_day")}</span>
        <a class="end" href="/charts?range=24h">{t("shell.charts")}</a>
      </div>
      <div class="outcomes-room">
        <Fetched resource={day} rows={3}>{(answer) => <Outcomes hours={hoursOf(answer)} />}</Fetched>
      </div>
    </section>
  );
}

function hoursOf({ atMs, outcomes }: DayAnswer): HourCounts[] {
  const { accepted, rejected, expired, cancelled, superseded } = outcomes;
  return atMs.map((startMs, at) => ({
    atMs: startMs,
    counts: {
      accepted: accepted[at] ?? 0,
      rejected: rejected[at] ?? 0,
      other: (expired[at] ?? 0) + (cancelled[at] ?? 0) + (superseded[at] ?? 0),
    },
  }));
}

function Outcomes({ hours }: { hours: readonly HourCounts[] }) {
  const totals = SERIES.map(({ name, tone }) => ({
    name,
    tone,
    count: sumOf(hours.map(({ counts }) => counts[name])),
  }));
  if (sumOf(totals.map(({ count }) => count)) === 0) {
    return <EmptyState title={t("overview.no_sign_ins")} next={t("overview.no_sign_ins_next")} />;
  }
  return (
    <div class="outcomes">
      <Bars hours={hours} />
      <div class="outcome-axis" aria-hidden="true">
        {[0, Math.floor(hours.length / 2), hours.length - 1].map((at) => (
          <span key={at}>{minuteText(hours[at]?.atMs ?? 0)}</span>
        ))}
      </div>
      <ul class="outcome-legend">
        {totals.map(({ name, tone, count }) => (
          <li key={name} class={`tone-${tone}`}>
            <i aria-hidden="true" class={`swatch swatch-${name}`} />
            {t(`overview.${name}_legend`)} <strong>{countText(count)}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Bars({ hours }: { hours: readonly HourCounts[] }) {
  const most = Math.max(1, ...hours.map(({ counts }) => sumOf(Object.values(counts))));
  const step = WIDTH / hours.length;
  const totals = SERIES.map(({ name }) => sumOf(hours.map(({ counts }) => counts[name])));
  const [accepted = 0, rejected = 0, other = 0] = totals;
  return (
    <svg
      class="outcome-bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t("overview.outcomes_summary", { accepted, rejected, other })}
    >
      {hours.map((hour, at) => (
        <Bar key={hour.atMs} {...{ hour, most }} x={at * step + GAP / 2} width={step - GAP} />
      ))}
    </svg>
  );
}

function Bar(
  { hour: { atMs, counts }, most, x, width }: { hour: HourCounts; most: number; x: number; width: number },
) {
  let bottom = HEIGHT;
  const parts = SERIES.map(({ name, tone }) => {
    const count = counts[name];
    const height = count === 0 ? 0 : Math.max(MIN_BAR_HEIGHT, (count / most) * (HEIGHT - 6));
    bottom -= height;
    return { name, tone, height, y: bottom };
  });
  return (
    <g>
      <title>{t("overview.hour", { time: minuteText(atMs), ...counts })}</title>
      <rect class="bar-room" x={x - GAP / 2} y={0} width={width + GAP} height={HEIGHT} />
      {parts.filter(({ height }) => height > 0).map(({ name, tone, y, height }) => (
        <rect key={name} class={`tone-${tone} bar-${name}`} {...{ x, y, width, height }} />
      ))}
    </g>
  );
}

// The count tiles of the Overview page. Each tile opens the list of what it counts.

interface TilesProps {
  readonly models: Models;
  readonly counts: Resource<OverviewCounts>;
  readonly factorless: Resource<FactorlessAnswer>;
  readonly day: Resource<DayAnswer>;
}

/** The content of a tile. */
interface TileValue {
  /** `null`: not known yet. */
  readonly count: number | null;
  /** The period, or the time of the count. */
  readonly note: string;
  /** The count is a lower bound. */
  readonly isCut?: boolean;
}

function OverviewTiles({ models, counts, factorless, day }: TilesProps) {
  const since = `from=${encodeURIComponent(fromTime(day))}`;
  const lastDay = t("overview.last_day");
  const now = t("common.now");
  const isEmbedded = counts.state.value.kind !== "ready" || counts.state.value.value.pending.isEmbedded;
  return (
    <ul class="tiles" aria-label={t("overview.counts")}>
      <Tile
        label={t("common.sign_ins")}
        href={`/history?${since}`}
        of={day}
        value={({ outcomes }) => ({
          count: Object.values(outcomes).reduce((all, one) => all + sumOf(one), 0),
          note: lastDay,
        })}
      />
      <Tile
        label={t("overview.rejected")}
        href={`/history?outcome=rejected&${since}`}
        of={day}
        value={({ outcomes }) => ({ count: sumOf(outcomes.rejected), note: lastDay })}
      />
      <Tile
        label={t(isEmbedded ? "common.pending_approvals" : "overview.waiting")}
        href={isEmbedded ? "/live?approvals=open" : "/live?state=SECONDFACTOR_AWAIT_DEVICE_APPROVAL"}
        mark="waiting"
        of={counts}
        value={({ pending }) => ({ count: pending.count, note: now })}
      />
      <Tile
        label={t("overview.factorless")}
        href="/users?status=active&enrolled=no"
        mark="warning"
        of={factorless}
        value={(answer) => ({
          count: answer.count,
          note: factorlessNote(models, answer),
          isCut: answer.isCut,
        })}
      />
      <Tile
        label={t("overview.locked")}
        href="/users?status=locked"
        mark="problem"
        of={counts}
        value={({ locked }) => ({ count: locked?.count ?? null, note: now, isCut: locked?.isCut === true })}
      />
      <Tile
        label={t("overview.sync_problems")}
        href="/targets?sync=problem"
        mark="problem"
        of={counts}
        value={({ sync }) => ({ count: sync?.count ?? null, note: now })}
      />
    </ul>
  );
}

/** The start of the period that the counts cover, as the History page reads it; "" before they are loaded. */
function fromTime({ state: { value } }: Resource<DayAnswer>): string {
  return value.kind === "ready" ? new Date(value.value.fromMs).toISOString() : "";
}

/** A younger count is shown as one of now. */
const FRESH_MS = 60_000;

/** How fresh the number is, or the progress of the count. */
function factorlessNote({ clock }: Models, { count, countedMs, nowMs, progress }: FactorlessAnswer): string {
  if (progress !== null && count === null) {
    const share = progress.total === 0 ? 0 : Math.floor(100 * progress.counted / progress.total);
    return t("overview.counting", { share });
  }
  if (countedMs === null) return t("overview.not_counted");
  const atMs = Math.max(nowMs, clock.nowMs.value);
  return atMs - countedMs < FRESH_MS
    ? t("common.now")
    : t("overview.counted", { time: relativeText(countedMs, atMs) });
}

interface TileProps<T> {
  readonly label: string;
  readonly href: string;
  /** Of a count above zero. */
  readonly mark?: keyof typeof MARKS;
  readonly of: Resource<T>;
  readonly value: (answer: T) => TileValue;
}

const MARKS = {
  waiting: { tone: "wait", icon: "line-clock" },
  warning: { tone: "wait", icon: "line-alert" },
  problem: { tone: "bad", icon: "line-alert" },
} as const;

function Tile<T>({ label, href, mark, of, value }: TileProps<T>) {
  const state = of.state.value;
  const shown = state.kind === "ready" ? value(state.value) : null;
  const note = shown?.note ?? t(state.kind === "failed" ? "overview.unavailable" : "common.loading");
  const count = shown?.count ?? null;
  const marked = mark !== undefined && count !== null && count > 0 ? MARKS[mark] : null;
  return (
    <li>
      <a class={`tile ${marked === null ? "" : `tone-${marked.tone}`}`} href={href}>
        <span class="tile-label">{label}</span>
        <span class="tile-count">
          {count === null ? "–" : countText(count)}
          {shown?.isCut === true && "+"}
          {marked !== null && <Icon name={marked.icon} size={16} />}
        </span>
        <span class="tile-note">
          {of.problem.value !== null && shown !== null ? t("overview.old") : note}
        </span>
      </a>
    </li>
  );
}

// The latest rejected sign-ins with short reasons.

interface RejectedProps {
  readonly models: Models;
  readonly rejected: Resource<HistoryPage>;
  /** The start of the period. */
  readonly fromMs: number;
}

function RejectedPanel({ models, rejected, fromMs }: RejectedProps) {
  const all = new URLSearchParams({ outcome: "rejected", from: new Date(fromMs).toISOString() });
  return (
    <section class="panel overview-panel" aria-labelledby="overview-rejected">
      <div class="panel-head">
        <h2 id="overview-rejected">{t("overview.latest_rejected")}</h2>
        <a class="end" href={`/history?${all}`}>{t("overview.all_rejected")}</a>
      </div>
      <Fetched resource={rejected} rows={5}>
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("overview.none_rejected")} next={t("overview.none_rejected_next")} />
            : (
              <ul class="rejected-list">
                {items.map((item) => <RejectedRow key={item.id} models={models} item={item} />)}
              </ul>
            )}
      </Fetched>
    </section>
  );
}

function RejectedRow({ models, item }: { models: Models; item: HistoryItem }) {
  const { id, user, client, endedMs, reason } = item;
  return (
    <li>
      <a class="rejected-user" href={userHref(user)}>
        <bdi>{user === "" ? t("common.none") : user}</bdi>
      </a>
      <a class="rejected-reason" href={`/live/c/${encodeURIComponent(id)}`}>
        {reason === null ? t("login.rejected") : shortReasonText(reason)}
      </a>
      <bdi class="rejected-client quiet">{clientText(client)}</bdi>
      <ClockTime atMs={endedMs} dayOfMs={models.clock.nowMs.peek()} />
    </li>
  );
}
