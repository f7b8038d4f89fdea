// A page with one chart of the console, for holding two builds of uPlot against each other.

import { render } from "preact";
import { type ChartLine, TimeChart } from "../../console/web/parts/live/time_chart.tsx";

export interface DrawnChart {
  readonly atMs: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly unit?: string;
}

/** What the chart said of drags: from and to, in milliseconds. */
const narrowed: number[][] = [];
const root = document.createElement("div");
root.style.width = "700px";
document.body.append(root);
Object.assign(globalThis, {
  narrowed,
  draw(chart: DrawnChart) {
    render(
      <TimeChart {...chart} says="A chart" onNarrow={(from, to) => narrowed.push([from, to])} />,
      root,
    );
  },
});
