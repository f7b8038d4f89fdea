// Medians, ratios and limits, as a plain-text table.

import { type FigureName, type FigureRow, FIGURES, type Figures } from "./figures.ts";

/** The results of the rounds of each server. */
export interface Rounds {
  readonly countersign: readonly Figures[];
  readonly freeradius: readonly Figures[];
}

/** The middle value; the mean of the two middle ones for an even number; NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? NaN;
  return ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** One row's figures: medians, their ratio (above 1: better than FreeRADIUS), and whether its limit is met. */
export interface Verdict {
  readonly ours: number;
  readonly theirs: number;
  readonly ratio: number;
  readonly met: boolean | null;
}

/** Judges one figure over all rounds. */
export function judgeFigure(name: FigureName, rounds: Rounds): Verdict {
  const row: FigureRow = FIGURES[name];
  const of = (list: readonly Figures[]) =>
    median(list.map((one) => one[name]).filter((value) => value !== undefined));
  const [ours, theirs] = [of(rounds.countersign), of(rounds.freeradius)];
  const ratio = row.lessIsBetter === true ? theirs / ours : ours / theirs;
  if (row.bar === undefined) return { ours, theirs, ratio, met: null };
  return { ours, theirs, ratio, met: "ratio" in row.bar ? ratio >= row.bar.ratio : ours <= row.bar.most };
}

/** The table, one line for each measured figure. */
export function reportLines(rounds: Rounds): string[] {
  const names = Object.keys(FIGURES) as FigureName[];
  const measured = names.filter((name) => rounds.countersign.some((one) => one[name] !== undefined));
  const width = Math.max(...measured.map((name) => FIGURES[name].title.length));
  const head = `${"".padEnd(width)}  ${"Countersign".padStart(14)}  ${
    "FreeRADIUS".padStart(14)
  }   ratio  bar`;
  return [head, ...measured.map((name) => line(name, { verdict: judgeFigure(name, rounds), width }))];
}

function line(name: FigureName, { verdict, width }: { verdict: Verdict; width: number }): string {
  const row: FigureRow = FIGURES[name];
  const figure = (value: number) => `${formatNumber(value, row.decimals)} ${row.unit}`.padStart(14);
  const columns = [row.title.padEnd(width), figure(verdict.ours), figure(verdict.theirs)];
  return `${columns.join("  ")}  ${verdict.ratio.toFixed(2).padStart(6)}  ${barText(row, verdict)}`.trimEnd();
}

function barText(row: FigureRow, verdict: Verdict): string {
  if (row.bar === undefined) return "";
  const bar = "ratio" in row.bar ? `ratio ≥ ${row.bar.ratio}` : `≤ ${row.bar.most} ${row.unit}`;
  return `${bar}: ${verdict.met === true ? "met" : "not met"}`;
}

/** With thousands separators and a fixed number of decimals. */
export function formatNumber(value: number, decimals: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
