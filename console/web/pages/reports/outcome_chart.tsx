// Sign-in outcomes as stacked bars. A drag, or the arrow keys with Shift and Enter, narrows the time range.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { countText } from "../../app/format.ts";
import { t } from "../../i18n/translate.ts";
import {
  BAR_CHART_PX,
  type BarLayout,
  type BarSeries,
  barText,
  layOutBars,
  shortTimeText,
  timeLabels,
} from "./bar_layout.ts";
import { type BarSelection, moveSelection, selectedBars } from "./bar_selection.ts";

interface OutcomeChartProps {
  readonly atMs: readonly number[];
  readonly stepMs: number;
  /** The end of the range. */
  readonly toMs: number;
  /** The range ends now: the last bar is not complete. */
  readonly isOpen: boolean;
  /** From the bottom of a bar to its top. */
  readonly series: readonly BarSeries[];
  /** The totals, for screen readers. */
  readonly summary: string;
  readonly onZoom: (range: { fromMs: number; toMs: number }) => void;
}

export function OutcomeChart(props: OutcomeChartProps) {
  const { summary, isOpen, toMs } = props;
  const { frame, layout, selection, handlers } = useBarSelection(props);
  return (
    <figure class="outcome-chart">
      <ul class="legend">
        {props.series.map(({ label, tone, values }) => (
          <li key={label} class={`tone-${tone}`}>
            <i aria-hidden="true" />
            {label}
            <span class="number quiet">{countText(values.reduce((sum, value) => sum + value, 0))}</span>
          </li>
        ))}
        {isOpen && (
          <li class="open-bar quiet">
            <i aria-hidden="true" />
            {t("reports.so_far", { from: shortTimeText(layout.edgesMs.at(-2) ?? toMs) })}
          </li>
        )}
      </ul>
      <div
        ref={frame}
        class="bars"
        role="group"
        tabIndex={0}
        aria-label={t("reports.outcomes_keys")}
        {...handlers}
      >
        <Bars layout={layout} summary={summary} selection={selection} isOpen={isOpen} />
        <AxisLabels layout={layout} />
      </div>
      <figcaption class="small quiet">
        <span role="status">
          {selection === null ? t("reports.drag") : barText(layout, selection, { toMs, isOpen })}
        </span>
      </figcaption>
    </figure>
  );
}

/** The bars that fit the width of a frame, and those that the pointer or the keyboard selects. */
function useBarSelection(props: OutcomeChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isDragging = useRef(false);
  const selection = useSignal<BarSelection | null>(null);
  const layout = layOutBars(props, useFrameWidth(frame));
  const count = layout.edgesMs.length - 1;
  useLayoutEffect(() => {
    selection.value = null;
  }, [props.atMs]);
  const zoom = () => {
    if (selection.value === null) return;
    const { first, last } = selectedBars(selection.value);
    const endMs = Math.min(props.toMs, layout.edgesMs[last + 1] ?? props.toMs);
    props.onZoom({ fromMs: layout.edgesMs[first] ?? 0, toMs: endMs });
    selection.value = null;
  };
  const barAt = (event: PointerEvent) => {
    const left = frame.current?.getBoundingClientRect().left ?? 0;
    return Math.min(
      count - 1,
      Math.max(0, Math.floor((event.clientX - left - BAR_CHART_PX.left) / layout.barPx)),
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
    onBlur: () => selection.value = null,
  };
  return { frame, layout, selection: selection.value, handlers };
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

interface BarsProps {
  readonly layout: BarLayout;
  readonly summary: string;
  readonly selection: BarSelection | null;
  readonly isOpen: boolean;
}

function Bars({ layout, summary, selection, isOpen }: BarsProps) {
  const { widthPx, barPx, edgesMs, series, ticks } = layout;
  const largest = ticks.at(-1) ?? 1;
  const plotPx = widthPx - BAR_CHART_PX.left - BAR_CHART_PX.right;
  const y = (value: number) => BAR_CHART_PX.top + BAR_CHART_PX.plot * (1 - value / largest);
  const count = edgesMs.length - 1;
  const gapPx = barPx > 8 ? 2 : barPx > 5 ? 1 : 0;
  const chosen = selection === null ? null : selectedBars(selection);
  return (
    <svg width={plotPx} height={BAR_CHART_PX.top + BAR_CHART_PX.plot + 1} role="img" aria-label={summary}>
      {ticks.map((tick) => <line key={tick} class="grid" x1={0} x2={plotPx} y1={y(tick)} y2={y(tick)} />)}
      {chosen !== null && (
        <rect
          class="chosen"
          x={chosen.first * barPx}
          y={BAR_CHART_PX.top}
          width={(chosen.last - chosen.first + 1) * barPx}
          height={BAR_CHART_PX.plot}
        />
      )}
      {Array.from({ length: count }, (_, at) => {
        let below = 0;
        return (
          <g key={at} class={isOpen && at === count - 1 ? "open" : undefined}>
            {series.map(({ tone, values }) => {
              const value = values[at] ?? 0;
              const bottom = y(below);
              below += value;
              return value > 0 && (
                <rect
                  key={tone}
                  class={`tone-${tone}`}
                  x={at * barPx + gapPx / 2}
                  y={y(below)}
                  width={Math.max(1, barPx - gapPx)}
                  height={Math.max(1, bottom - y(below))}
                />
              );
            })}
          </g>
        );
      })}
    </svg>
  );
}

/** The labels of both axes, beside and below the bars. */
function AxisLabels({ layout }: { layout: BarLayout }) {
  const largest = layout.ticks.at(-1) ?? 1;
  return (
    <div aria-hidden="true">
      {layout.ticks.map((tick) => (
        <span
          key={tick}
          class="axis count"
          style={{
            top: `${BAR_CHART_PX.top + BAR_CHART_PX.plot * (1 - tick / largest)}px`,
            width: `${BAR_CHART_PX.left - 8}px`,
          }}
        >
          {countText(tick)}
        </span>
      ))}
      {timeLabels(layout).map(({ xPx, text }, at) => (
        <span key={xPx} class={`axis ${at > 0 ? "middle" : ""}`} style={{ left: `${xPx}px`, bottom: "0px" }}>
          {text}
        </span>
      ))}
    </div>
  );
}
