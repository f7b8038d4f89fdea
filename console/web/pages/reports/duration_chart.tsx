// The time to answer as lines over time. A step without a sign-in is a gap, and a value between two gaps is a point.

import { spanText } from "../../app/format.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import { locale, t } from "../../i18n/translate.ts";
import { type BarSelection, countTicks, selectedBars, valueRange, valueRuns } from "./bar_selection.ts";
import { type StepLayout, valueY } from "./step_layout.ts";
import { type PlotRange, TimePlot, useTimePlot } from "./time_plot.tsx";

interface DurationLine {
  readonly label: string;
  readonly tone: Tone;
  /** Lines differ by their dashes too, not by color alone. */
  readonly isDashed: boolean;
  /** One for each step, in ms; `null` is a gap. */
  readonly values: readonly (number | null)[];
}

interface DurationChartProps extends PlotRange {
  readonly lines: readonly DurationLine[];
  /** The figures of the whole range, for screen readers. */
  readonly summary: string;
}

/** The axis reaches at least this value. */
const MIN_AXIS_MS = 100;
/** Steps of this width have room for a point at each value. */
const POINT_STEP_PX = 14;
/** Narrower steps need a thin line. */
const DENSE_STEP_PX = 5;

export function DurationChart(props: DurationChartProps) {
  const { lines, summary } = props;
  const plot = useTimePlot(props);
  const { layout, selected } = plot;
  const largest = (values: DurationLine["values"]) => Math.max(0, ...values.map((value) => value ?? 0));
  const ticks = countTicks(Math.max(MIN_AXIS_MS, ...lines.map(({ values }) => largest(values))));
  return (
    <TimePlot
      {...{ plot, ticks, summary }}
      tickText={tickText}
      keys={t("reports.times_keys")}
      hint={t("reports.times_hint")}
      values={(selection) => lines.map((line) => lineText(line, selection, layout))}
      legend={lines.map(({ label, tone, isDashed, values }) => (
        <li key={label} class={`tone-${tone}`}>
          <i aria-hidden="true" class={isDashed ? "line dashed" : "line"} />
          {label}
          <span class="number quiet">{t("common.chart_max", { value: spanText(largest(values)) })}</span>
        </li>
      ))}
    >
      {lines.map((line) => (
        <Line key={line.label} line={line} layout={layout} ticks={ticks} selected={selected} />
      ))}
    </TimePlot>
  );
}

/** "Median 0.8 s", or "Median 0.4 s to 1.2 s" for several steps. */
function lineText({ label, values }: DurationLine, selection: BarSelection, { stepsPerBar }: StepLayout) {
  const range = valueRange(values, selection, stepsPerBar);
  if (range === null) return `${label}: ${t("common.no_sign_ins")}`;
  const [low, high] = [spanText(range.low), spanText(range.high)];
  return `${label} ${low === high ? low : t("reports.times_range", { low, high })}`;
}

/** "200 ms", "1.5 s". */
function tickText(ms: number): string {
  return ms > 0 && ms < 1000 ? `${ms} ms` : `${new Intl.NumberFormat(locale()).format(ms / 1000)} s`;
}

interface LineProps {
  readonly line: DurationLine;
  readonly layout: StepLayout;
  readonly ticks: readonly number[];
  readonly selected: BarSelection | null;
}

function Line({ line: { tone, isDashed, values }, layout, ticks, selected }: LineProps) {
  const { barPx, stepsPerBar } = layout;
  const stepPx = barPx / stepsPerBar;
  const place = (at: number, ms: number) => ({ x: (at + 0.5) * stepPx, y: valueY(ms, ticks) });
  const chosen = selected === null ? null : selectedBars(selected);
  const isChosen = (at: number) =>
    chosen !== null && at >= chosen.first * stepsPerBar && at < (chosen.last + 1) * stepsPerBar;
  return (
    <g class={`tone-${tone} ${stepPx < DENSE_STEP_PX ? "dense" : ""}`}>
      {valueRuns(values).map(({ start, run }) => (
        <g key={start}>
          {run.length > 1 && (
            <polyline
              class={isDashed ? "dashed" : undefined}
              points={run.map((ms, at) => {
                const { x, y } = place(start + at, ms);
                return `${x.toFixed(1)},${y.toFixed(1)}`;
              }).join(" ")}
            />
          )}
          {run.map((ms, at) => {
            if (run.length > 1 && stepPx < POINT_STEP_PX && !isChosen(start + at)) return null;
            const { x, y } = place(start + at, ms);
            return isDashed
              ? <rect key={at} class="point" x={x - 2.5} y={y - 2.5} width={5} height={5} />
              : <circle key={at} class="point" cx={x} cy={y} r={3} />;
          })}
        </g>
      ))}
    </g>
  );
}
