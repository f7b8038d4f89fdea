// A chart over time by uPlot, which is loaded with the first chart. A drag selects a shorter range.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { countText, decimalText, fullTimeText } from "../app/format.ts";
import type { Tone } from "../app/login_state_labels.ts";
import { useMedia } from "../app/media.ts";
import { locale, t } from "../i18n/translate.ts";

interface ChartLine {
  readonly label: string;
  readonly tone: Tone;
  /** One for each time; `null` is a gap. */
  readonly values: readonly (number | null)[];
}

interface TimeChartProps {
  /** Milliseconds since the epoch, ascending. */
  readonly atMs: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly unit?: string;
  /** The description, for screen readers. */
  readonly summary: string;
  readonly onZoom: (fromMs: number, toMs: number) => void;
}

const HEIGHT_PX = 220;
/** A shorter drag is ignored. */
const MIN_DRAG_PX = 6;

export function TimeChart(props: TimeChartProps) {
  const { lines, summary, atMs } = props;
  const frame = useRef<HTMLDivElement>(null);
  const newest = useRef(props);
  newest.current = props;
  // The canvas does not follow styles: the chart is drawn again in the colors of the other scheme.
  const isDark = useMedia("(prefers-color-scheme: dark)");
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    let chart: uPlot | null = null;
    let gone = false;
    const fit = () => chart?.setSize({ width: Math.max(120, element.clientWidth), height: HEIGHT_PX });
    const observer = new ResizeObserver(fit);
    import("uplot").then(({ default: Chart }) => {
      if (gone) return;
      chart = new Chart(optionsOf(element, newest), dataOf(newest.current), element);
      observer.observe(element);
    }, () => undefined);
    return () => {
      gone = true;
      observer.disconnect();
      chart?.destroy();
    };
  }, [
    atMs,
    lines.map(({ label }) => label).join(),
    document.documentElement.dataset.theme,
    isDark,
    locale(),
  ]);
  return (
    <figure class="time-chart">
      <ul class="legend">
        {lines.map(({ label, tone, values }) => (
          <li key={label} class={`tone-${tone}`}>
            <i aria-hidden="true" />
            {label}
            <span class="number quiet">{lastText(values, props.unit)}</span>
          </li>
        ))}
      </ul>
      <div class="plot" ref={frame} role="img" aria-label={summary} />
      <figcaption class="quiet small">
        {atMs.length > 0 && `${fullTimeText(atMs[0] ?? 0)} – ${fullTimeText(atMs.at(-1) ?? 0)} · ${summary}`}
      </figcaption>
    </figure>
  );
}

function lastText(values: readonly (number | null)[], unit = ""): string {
  const largest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return t("common.chart_max", {
    value: unit === "" ? countText(largest) : `${decimalText(largest)} ${unit}`,
  });
}

/** The indexes of values between two gaps. They have no visible line. */
function loneValues(values: ChartLine["values"]): number[] {
  const isGap = (at: number) => (values[at] ?? null) === null;
  return values.flatMap((_, at) => !isGap(at) && isGap(at - 1) && isGap(at + 1) ? [at] : []);
}

/** Midnight is shown as the date of the day that begins. */
function isMidnight(atMs: number): boolean {
  const at = new Date(atMs);
  return at.getHours() === 0 && at.getMinutes() === 0;
}

function dataOf({ atMs, lines }: TimeChartProps): uPlot.AlignedData {
  return [atMs.map((at) => at / 1000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(element: HTMLElement, newest: { current: TimeChartProps }): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => {
    // A custom property can contain a function. The browser computes the colour of a real property.
    element.style.color = `var(--${name})`;
    const worked = getComputedStyle(element).color;
    element.style.color = "";
    return worked;
  };
  const axis = {
    stroke: colour("ink-2"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
  };
  const day = new Intl.DateTimeFormat(locale(), { month: "short", day: "numeric" });
  const clock = new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const times = (_chart: uPlot, splits: number[], _axis: number, _space: number, stepS: number) =>
    splits.map((at) => (stepS >= 86_400 || isMidnight(at * 1000) ? day : clock).format(at * 1000));
  const number = new Intl.NumberFormat(locale());
  const unit = newest.current.unit ?? "";
  return {
    width: Math.max(120, element.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    // The page handles the drag. The chart stays as it is until new data arrives.
    cursor: { drag: { x: true, y: false, setScale: false } },
    scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, (high ?? 1) * 1.1)] } },
    axes: [
      { ...axis, values: times },
      {
        ...axis,
        size: 52,
        values: (_chart, splits) => splits.map((value) => `${number.format(value)}${unit && ` ${unit}`}`),
      },
    ],
    series: [
      {},
      ...newest.current.lines.map(({ label, tone, values }) => ({
        label,
        stroke: colour(tone),
        width: 2,
        points: { show: true, size: 6, fill: colour(tone), filter: () => loneValues(values) },
        spanGaps: false,
      })),
    ],
    hooks: {
      setSelect: [(chart) => {
        const { left, width } = chart.select;
        if (width < MIN_DRAG_PX) return;
        const [from, to] = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
        newest.current.onZoom(Math.round(from * 1000), Math.round(to * 1000));
      }],
    },
  };
}
