// The layout of stacked bars over time at a width: edges, marks and labels.

import { countText, fullTimeText } from "../../app/format.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import { locale, t } from "../../i18n/translate.ts";
import { type BarSelection, countTicks, joinSteps, selectedBars } from "./bar_selection.ts";

export interface BarSeries {
  readonly label: string;
  readonly tone: Tone;
  /** One for each step. */
  readonly values: readonly number[];
}

/** The plot and the room around it, in px. The style sheet has the height of all and the left room. */
export const BAR_CHART_PX = { plot: 188, left: 48, right: 6, top: 8 } as const;
const MIN_BAR_PX = 4;
const TIME_LABEL_PX = 96;
const DAY_MS = 24 * 3_600_000;

/** What is drawn at a width. */
export interface BarLayout {
  readonly widthPx: number;
  readonly barPx: number;
  /** The start of each bar, and the end of the last one. */
  readonly edgesMs: readonly number[];
  readonly series: readonly BarSeries[];
  readonly ticks: readonly number[];
}

export function layOutBars(
  { atMs, stepMs, series }: Pick<BarLayout, "series"> & { atMs: readonly number[]; stepMs: number },
  widthPx: number,
): BarLayout {
  const plotPx = widthPx - BAR_CHART_PX.left - BAR_CHART_PX.right;
  const most = Math.max(1, Math.floor(plotPx / MIN_BAR_PX));
  const joined = series.map((one) => ({ ...one, values: joinSteps(one.values, most) }));
  const count = Math.max(1, joined[0]?.values.length ?? 1);
  const size = Math.max(1, Math.ceil(atMs.length / most));
  const startMs = atMs[0] ?? 0;
  const edgesMs = Array.from({ length: count + 1 }, (_, at) => startMs + at * size * stepMs);
  const sums = Array.from(
    { length: count },
    (_, at) => joined.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
  return {
    widthPx,
    barPx: plotPx / count,
    edgesMs,
    series: joined,
    ticks: countTicks(Math.max(1, ...sums)),
  };
}

export function shortTimeText(atMs: number): string {
  return new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(
    atMs,
  );
}

export function timeLabels({ widthPx, barPx, edgesMs }: BarLayout) {
  const count = edgesMs.length - 1;
  const every = Math.max(1, Math.ceil(TIME_LABEL_PX / barPx));
  const spanMs = (edgesMs.at(-1) ?? 0) - (edgesMs[0] ?? 0);
  const format = new Intl.DateTimeFormat(
    locale(),
    spanMs > 2 * DAY_MS
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  const labels: { xPx: number; text: string }[] = [];
  for (let at = 0; at < count; at += every) {
    const xPx = BAR_CHART_PX.left + at * barPx;
    if (xPx > widthPx - TIME_LABEL_PX / 2) break;
    const text = format.format(edgesMs[at]);
    if (text !== labels.at(-1)?.text) labels.push({ xPx, text });
  }
  return labels;
}

/** "23 Nov, 13:00 – 14:00: 12 accepted, 3 rejected". */
export function barText(
  { edgesMs, series }: BarLayout,
  selection: BarSelection,
  { toMs, isOpen }: { toMs: number; isOpen: boolean },
): string {
  const { first, last } = selectedBars(selection);
  const sums = series.map(({ label, values }) => {
    const count = values.slice(first, last + 1).reduce((sum, value) => sum + value, 0);
    return `${label} ${countText(count)}`;
  });
  const isLast = last === edgesMs.length - 2;
  const values = {
    from: fullTimeText(edgesMs[first] ?? 0),
    to: fullTimeText(Math.min(toMs, edgesMs[last + 1] ?? toMs)),
    counts: sums.join(", "),
  };
  return t(isOpen && isLast ? "reports.bar_so_far" : "reports.bar", values);
}
