// Outcomes of sign-ins in the last 24 hours as stacked bars, one for each hour.

import { countText, minuteText } from "../../app/format.ts";
import type { Resource } from "../../app/resource.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { t } from "../../i18n/translate.ts";
import { type DayAnswer, sumOf } from "./overview_calls.ts";

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

export function OutcomesPanel({ day }: { day: Resource<DayAnswer> }) {
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
