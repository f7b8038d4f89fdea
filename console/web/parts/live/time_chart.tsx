// A zoomable chart over time, drawn by uPlot, which is fetched with the first one; a drag over it narrows the range.

import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { countText, decimalText, fullTimeText } from "../../format.ts";
import type { Tone } from "../../words.ts";
import { locale } from "../../i18n/translate.ts";

export interface ChartLine {
  readonly label: string;
  readonly tone: Tone;
  /** As many as there are moments; `null` leaves a gap. */
  readonly values: readonly (number | null)[];
}

interface TimeChartProps {
  /** Milliseconds since the epoch, growing. */
  readonly atMs: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly unit?: string;
  /** What the picture says, for those who do not see it. */
  readonly says: string;
  readonly onNarrow: (fromMs: number, toMs: number) => void;
}

const HEIGHT_PX = 220;
/** A shorter drag is a slip of the hand. */
const SHORTEST_DRAG_PX = 6;

export function TimeChart(props: TimeChartProps) {
  const { lines, says, atMs } = props;
  const frame = useRef<HTMLDivElement>(null);
  const newest = useRef(props);
  newest.current = props;
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
  }, [atMs, lines.map(({ label }) => label).join(), document.documentElement.dataset.theme, locale()]);
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
      <div class="plot" ref={frame} role="img" aria-label={says} />
      <figcaption class="quiet small">
        {atMs.length > 0 && `${fullTimeText(atMs[0] ?? 0)} – ${fullTimeText(atMs.at(-1) ?? 0)} · ${says}`}
      </figcaption>
    </figure>
  );
}

function lastText(values: readonly (number | null)[], unit = ""): string {
  const largest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return ` ≤ ${unit === "" ? countText(largest) : `${decimalText(largest)} ${unit}`}`;
}

function hasLoneValue(values: ChartLine["values"]): boolean {
  const isGap = (at: number) => (values[at] ?? null) === null;
  return values.some((_, at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}

function dataOf({ atMs, lines }: TimeChartProps): uPlot.AlignedData {
  return [atMs.map((at) => at / 1000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(element: HTMLElement, newest: { current: TimeChartProps }): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => {
    // A custom property may be a function of the theme; only a real property has its colour worked out.
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
    splits.map((at) => (stepS >= 86_400 ? day : clock).format(at * 1000));
  const number = new Intl.NumberFormat(locale());
  const unit = newest.current.unit ?? "";
  return {
    width: Math.max(120, element.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    // The page decides what a drag means: the chart itself stays as it is until new data comes.
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
        // A value with a gap on each side would not be seen as a line.
        points: { show: hasLoneValue(values), size: 6, fill: colour(tone) },
        spanGaps: false,
      })),
    ],
    hooks: {
      setSelect: [(chart) => {
        const { left, width } = chart.select;
        if (width < SHORTEST_DRAG_PX) return;
        const [from, to] = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
        newest.current.onNarrow(Math.round(from * 1000), Math.round(to * 1000));
      }],
    },
  };
}
