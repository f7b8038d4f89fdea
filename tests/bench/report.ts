// The report of the RADIUS benchmark, and its rounds.

import { VoidMeasurement } from "./load.ts";
import { type FigureName, type FigureRow, FIGURES, type Figures } from "./figures.ts";

// What the measurements with the load generator share: rounds, fresh servers, and the repetition of a void measurement.

/** The words of the command line that all of them have, for `parseArgs()`. */
export const ROUND_WORDS = {
  help: { type: "boolean" },
  quick: { type: "boolean" },
  rounds: { type: "string" },
  seconds: { type: "string" },
} as const;

/** How many rounds there are, and how long a measurement takes, in seconds. */
export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** Reads the words of {@link ROUND_WORDS}. Throws with a message for the user if one is invalid. */
export function readRounds(
  values: { readonly quick?: boolean; readonly rounds?: string; readonly seconds?: string },
  { quickRounds }: { quickRounds: number },
): RoundOptions {
  const quick = values.quick === true;
  const rounds = Number(values.rounds ?? (quick ? quickRounds : 5));
  const seconds = Number(values.seconds ?? (quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50) throw new Error("--rounds must be 1 to 50");
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error("--seconds must be 0.5 to 60");
  return { rounds, seconds, warmUpSeconds: quick ? 0.3 : 1 };
}

/**
 * Runs one measurement with a fresh server, and always stops the server. A void measurement (a busy host drops packets)
 * is repeated, at most twice.
 */
export async function onFresh<Server extends { stop(): Promise<void> }, Result>(
  start: () => Promise<Server>,
  measure: (server: Server) => Promise<Result>,
): Promise<Result> {
  for (let again = 2;; again--) {
    const server = await start();
    try {
      return await measure(server);
    } catch (fault) {
      if (!(fault instanceof VoidMeasurement) || again === 0) throw fault;
      console.log(`again: ${fault.message.split("\n")[0]}`);
    } finally {
      await server.stop();
    }
  }
}

// Medians, ratios and limits, as a plain-text table.

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
