// The frame of a chart over time: both axes, the selected bars and what they contain. Charts of one range share the selection.
// A drag, or the arrow keys with Shift and Enter, narrows the time range.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { countText, spanText } from "../../app/format.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import { locale, t } from "../../i18n/translate.ts";
import {
  type BarSelection,
  countTicks,
  joinSteps,
  moveSelection,
  selectedBars,
  valueRange,
  valueRuns,
} from "./bar_selection.ts";
import {
  barText,
  layOutSteps,
  PLOT_PX,
  shortTimeText,
  type StepLayout,
  timeLabels,
  valueY,
} from "./step_layout.ts";

/** The steps of a range, and what is selected in all its charts. */
export interface PlotRange {
  readonly atMs: readonly number[];
  readonly stepMs: number;
  /** The end of the range. */
  readonly toMs: number;
  /** The range ends now: the last bar is not complete. */
  readonly isOpen: boolean;
  readonly selection: Signal<BarSelection | null>;
  readonly onZoom: (range: { fromMs: number; toMs: number }) => void;
}

type TimePlotState = ReturnType<typeof useTimePlot>;

/** The bars that fit the width of a frame, and those that the pointer or the keyboard selects. */
function useTimePlot(range: PlotRange) {
  const { selection, toMs, isOpen } = range;
  const frame = useRef<HTMLDivElement>(null);
  const isDragging = useRef(false);
  const hasFocus = useSignal(false);
  const layout = layOutSteps(range, useFrameWidth(frame));
  const count = layout.edgesMs.length - 1;
  useLayoutEffect(() => {
    selection.value = null;
  }, [range.atMs]);
  const zoom = () => {
    if (selection.value === null) return;
    const { first, last } = selectedBars(selection.value);
    const endMs = Math.min(toMs, layout.edgesMs[last + 1] ?? toMs);
    range.onZoom({ fromMs: layout.edgesMs[first] ?? 0, toMs: endMs });
    selection.value = null;
  };
  const barAt = (event: PointerEvent) => {
    const left = frame.current?.getBoundingClientRect().left ?? 0;
    return Math.min(
      count - 1,
      Math.max(0, Math.floor((event.clientX - left - PLOT_PX.left) / layout.barPx)),
    );
  };
  const handlers = {
    onKeyDown(event: KeyboardEvent) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const moved = moveSelection(selection.value, event, count);
      if (moved !== null) selection.value = moved;
      else if (selection.value === null) return;
      else if (event.key === "Enter") zoom();
      else if (event.key === "Escape") selection.value = null;
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0) return;
      isDragging.current = true;
      frame.current?.setPointerCapture(event.pointerId);
      const at = barAt(event);
      selection.value = { cursor: at, anchor: at };
    },
    onPointerMove(event: PointerEvent) {
      const at = barAt(event);
      selection.value = { cursor: at, anchor: isDragging.current ? selection.value?.anchor ?? at : at };
    },
    onPointerUp() {
      const { value } = selection;
      if (isDragging.current && value !== null && value.anchor !== value.cursor) zoom();
      isDragging.current = false;
    },
    onPointerCancel: () => isDragging.current = false,
    onPointerLeave() {
      if (!isDragging.current) selection.value = null;
    },
    onFocus: () => hasFocus.value = true,
    onBlur() {
      hasFocus.value = false;
      selection.value = null;
    },
  };
  return { frame, layout, selected: selection.value, hasFocus: hasFocus.value, handlers, toMs, isOpen };
}

/** The width of an element in px, measured before the first paint and whenever it changes. */
function useFrameWidth(frame: { readonly current: HTMLElement | null }): number {
  const widthPx = useSignal(600);
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return;
    const measure = () => widthPx.value = Math.max(160, current.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return widthPx.value;
}

interface TimePlotProps {
  readonly plot: TimePlotState;
  /** The marks of the axis of values. */
  readonly ticks: readonly number[];
  readonly tickText: (tick: number) => string;
  readonly legend: ComponentChildren;
  /** What the keys do, for screen readers. */
  readonly keys: string;
  /** The figures of the whole range, for screen readers. */
  readonly summary: string;
  /** Shown while nothing is selected. */
  readonly hint: string;
  /** What the selected bars contain. */
  readonly values: (selection: BarSelection) => readonly string[];
  /** The SVG elements of the data. */
  readonly children: ComponentChildren;
}

function TimePlot(props: TimePlotProps) {
  const { plot, ticks, tickText, legend, keys, summary, hint, values, children } = props;
  const { frame, layout, selected, hasFocus, handlers } = plot;
  return (
    <figure class="time-plot">
      <ul class="legend">{legend}</ul>
      <div ref={frame} class="frame" role="group" tabIndex={0} aria-label={keys} {...handlers}>
        <svg width={layout.plotPx} height={PLOT_PX.top + PLOT_PX.height + 1} role="img" aria-label={summary}>
          {ticks.map((tick) => (
            <line
              key={tick}
              class="grid"
              x1={0}
              x2={layout.plotPx}
              y1={valueY(tick, ticks)}
              y2={valueY(tick, ticks)}
            />
          ))}
          {selected !== null && <SelectedBars layout={layout} selection={selected} />}
          {children}
        </svg>
        <AxisLabels layout={layout} ticks={ticks} tickText={tickText} />
      </div>
      {/* Both texts take their room, so that the page does not move when one replaces the other. */}
      <figcaption class="small quiet">
        <span class={selected === null ? "" : "unseen"}>{hint}</span>
        {/* The other charts show the selection too. Only the one with the focus announces it. */}
        <span aria-live={hasFocus ? "polite" : "off"}>
          {selected !== null && barText(layout, selected, { ...plot, values: values(selected) })}
        </span>
      </figcaption>
    </figure>
  );
}

function SelectedBars({ layout: { barPx }, selection }: { layout: StepLayout; selection: BarSelection }) {
  const { first, last } = selectedBars(selection);
  return (
    <rect
      class="chosen"
      x={first * barPx}
      y={PLOT_PX.top}
      width={(last - first + 1) * barPx}
      height={PLOT_PX.height}
    />
  );
}

/** The labels of both axes, beside and below the plot. */
function AxisLabels(
  { layout, ticks, tickText }: Pick<TimePlotProps, "ticks" | "tickText"> & { layout: StepLayout },
) {
  return (
    <div aria-hidden="true">
      {ticks.map((tick) => (
        <span
          key={tick}
          class="axis count"
          style={{ top: `${valueY(tick, ticks)}px`, width: `${PLOT_PX.left - 8}px` }}
        >
          {tickText(tick)}
        </span>
      ))}
      {timeLabels(layout).map(({ xPx, text }) => (
        <span key={xPx} class="axis middle" style={{ left: `${xPx}px`, bottom: "0px" }}>
          {text}
        </span>
      ))}
    </div>
  );
}

// The time to answer as lines over time. A step without a sign-in is a gap, and a value between two gaps is a point.

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

// Sign-in outcomes as stacked bars.

interface BarSeries {
  readonly label: string;
  readonly tone: Tone;
  /** One for each step. */
  readonly values: readonly number[];
}

interface OutcomeChartProps extends PlotRange {
  /** From the bottom of a bar to its top. */
  readonly series: readonly BarSeries[];
  /** The totals, for screen readers. */
  readonly summary: string;
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

export function OutcomeChart(props: OutcomeChartProps) {
  const plot = useTimePlot(props);
  const { layout, isOpen } = plot;
  const joined = props.series.map((one) => ({ ...one, values: joinSteps(one.values, layout.stepsPerBar) }));
  const sums = layout.edgesMs.slice(1).map((_, at) => sumOf(joined.map(({ values }) => values[at] ?? 0)));
  const ticks = countTicks(Math.max(1, ...sums));
  return (
    <TimePlot
      {...{ plot, ticks }}
      tickText={countText}
      keys={t("reports.outcomes_keys")}
      summary={props.summary}
      hint={t("reports.drag")}
      values={(selection) => {
        const { first, last } = selectedBars(selection);
        return joined.map(({ label, values }) =>
          `${label} ${countText(sumOf(values.slice(first, last + 1)))}`
        );
      }}
      legend={
        <>
          {props.series.map(({ label, tone, values }) => (
            <li key={label} class={`tone-${tone}`}>
              <i aria-hidden="true" />
              {label}
              <span class="number quiet">{countText(sumOf(values))}</span>
            </li>
          ))}
          {isOpen && (
            <li class="open-bar quiet">
              <i aria-hidden="true" />
              {t("reports.so_far", { from: shortTimeText(layout.edgesMs.at(-2) ?? props.toMs) })}
            </li>
          )}
        </>
      }
    >
      <Bars layout={layout} series={joined} ticks={ticks} isOpen={isOpen} />
    </TimePlot>
  );
}

interface BarsProps {
  readonly layout: StepLayout;
  /** One value for each bar. */
  readonly series: readonly BarSeries[];
  readonly ticks: readonly number[];
  readonly isOpen: boolean;
}

function Bars({ layout: { barPx, edgesMs }, series, ticks, isOpen }: BarsProps) {
  const count = edgesMs.length - 1;
  const gapPx = barPx > 8 ? 2 : barPx > 5 ? 1 : 0;
  return (
    <>
      {Array.from({ length: count }, (_, at) => {
        let below = 0;
        return (
          <g key={at} class={isOpen && at === count - 1 ? "open" : undefined}>
            {series.map(({ tone, values }) => {
              const value = values[at] ?? 0;
              const bottom = valueY(below, ticks);
              below += value;
              const top = valueY(below, ticks);
              return value > 0 && (
                <rect
                  key={tone}
                  class={`tone-${tone}`}
                  x={at * barPx + gapPx / 2}
                  y={top}
                  width={Math.max(1, barPx - gapPx)}
                  height={Math.max(1, bottom - top)}
                />
              );
            })}
          </g>
        );
      })}
    </>
  );
}
