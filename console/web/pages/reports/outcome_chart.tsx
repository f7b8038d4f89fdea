// Sign-in outcomes as stacked bars.

import { countText } from "../../app/format.ts";
import type { Tone } from "../../app/login_state_labels.ts";
import { t } from "../../i18n/translate.ts";
import { countTicks, joinSteps, selectedBars } from "./bar_selection.ts";
import { shortTimeText, type StepLayout, valueY } from "./step_layout.ts";
import { type PlotRange, TimePlot, useTimePlot } from "./time_plot.tsx";

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
