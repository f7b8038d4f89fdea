// The frame of a chart over time: both axes, the selected bars and what they contain. Charts of one range share the selection.
// A drag, or the arrow keys with Shift and Enter, narrows the time range.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type BarSelection, moveSelection, selectedBars } from "./bar_selection.ts";
import { barText, layOutSteps, PLOT_PX, type StepLayout, timeLabels, valueY } from "./step_layout.ts";

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

export type TimePlotState = ReturnType<typeof useTimePlot>;

/** The bars that fit the width of a frame, and those that the pointer or the keyboard selects. */
export function useTimePlot(range: PlotRange) {
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

export function TimePlot(props: TimePlotProps) {
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
