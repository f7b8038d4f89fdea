// The layout of a chart over time at a width: the bars that fit, the label of each axis, and the height of a value. Pure.

import { DAY_MS, MINUTE_MS } from "../../../../platform/durations.ts";
import { fullTimeText, timeText } from "../../app/format.ts";
import { locale, t } from "../../i18n/translate.ts";
import { type BarSelection, joinedSize, selectedBars } from "./bar_selection.ts";

/** The plot and the room around it, in px. The style sheet has the height of all and the left room. */
export const PLOT_PX = { height: 188, left: 48, right: 6, top: 8 } as const;
const MIN_BAR_PX = 4;
/** The least distance of two labels of the time axis, and of the last one from the end. */
const TIME_LABEL_PX = 72;
const END_PX = 14;
/** The distances of marks that are shorter than a day. All of them divide a day. */
const MARK_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720];
/** Marks of a day that is not shown from its beginning count too. */
const MAX_MARKS = 2000;

/** The steps of a series, joined to bars that are wide enough for a pointer. */
export interface StepLayout {
  readonly widthPx: number;
  readonly plotPx: number;
  readonly barPx: number;
  readonly stepsPerBar: number;
  /** The start of each bar, and the end of the last one. */
  readonly edgesMs: readonly number[];
}

export function layOutSteps(
  { atMs, stepMs }: { readonly atMs: readonly number[]; readonly stepMs: number },
  widthPx: number,
): StepLayout {
  const plotPx = widthPx - PLOT_PX.left - PLOT_PX.right;
  const stepsPerBar = joinedSize(atMs.length, Math.floor(plotPx / MIN_BAR_PX));
  const count = Math.max(1, Math.ceil(atMs.length / stepsPerBar));
  const startMs = atMs[0] ?? 0;
  const edgesMs = Array.from({ length: count + 1 }, (_, at) => startMs + at * stepsPerBar * stepMs);
  return { widthPx, plotPx, barPx: plotPx / count, stepsPerBar, edgesMs };
}

/** The distance of a value from the top of the plot, in px. */
export function valueY(value: number, ticks: readonly number[]): number {
  return PLOT_PX.top + PLOT_PX.height * (1 - value / (ticks.at(-1) ?? 1));
}

export function shortTimeText(atMs: number): string {
  return new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(
    atMs,
  );
}

/** The marks of the time axis: round times of the local clock, as close as the labels allow. Midnight is shown as its date. */
export function timeLabels({ plotPx, edgesMs }: StepLayout): { xPx: number; text: string }[] {
  const [startMs, endMs] = [edgesMs[0] ?? 0, edgesMs.at(-1) ?? 0];
  const msPerPx = Math.max(1, endMs - startMs) / plotPx;
  const minutes = MARK_MINUTES.find((one) => one * MINUTE_MS >= TIME_LABEL_PX * msPerPx) ?? 0;
  const days = Math.max(1, Math.ceil(TIME_LABEL_PX * msPerPx / DAY_MS));
  const day = new Intl.DateTimeFormat(locale(), { month: "short", day: "numeric" });
  const first = new Date(startMs);
  const labels: { xPx: number; text: string }[] = [];
  for (let at = 0; at < MAX_MARKS; at += 1) {
    // By fields of the date, because some days have 23 or 25 hours.
    const mark = new Date(
      first.getFullYear(),
      first.getMonth(),
      first.getDate() + (minutes === 0 ? at * days : 0),
      0,
      at * minutes,
    );
    const atMs = mark.getTime();
    if (atMs < startMs) continue;
    const xPx = (atMs - startMs) / msPerPx;
    if (xPx > plotPx - END_PX) break;
    const isMidnight = mark.getHours() === 0 && mark.getMinutes() === 0;
    labels.push({ xPx: PLOT_PX.left + xPx, text: isMidnight ? day.format(atMs) : shortTimeText(atMs) });
  }
  return labels;
}

/** "23 Nov 2026, 13:00:00 to 14:00:00: Accepted 12, Rejected 3. …". */
export function barText(
  { edgesMs }: StepLayout,
  selection: BarSelection,
  { toMs, isOpen, values }: { toMs: number; isOpen: boolean; values: readonly string[] },
): string {
  const { first, last } = selectedBars(selection);
  const isLast = last === edgesMs.length - 2;
  const [fromMs, endMs] = [edgesMs[first] ?? 0, Math.min(toMs, edgesMs[last + 1] ?? toMs)];
  const isOneDay = new Date(fromMs).toDateString() === new Date(endMs).toDateString();
  return t(isOpen && isLast ? "reports.bar_so_far" : "reports.bar", {
    from: fullTimeText(fromMs),
    to: isOneDay ? timeText(endMs) : fullTimeText(endMs),
    counts: values.join(", "),
  });
}
