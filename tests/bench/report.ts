// The report of the RADIUS benchmark, and its rounds.

import { VoidMeasurement } from "./load.ts";
import { type Bar, type FigureName, type FigureRow, FIGURES, type Figures } from "./figures.ts";
import { type ServerKey, SERVERS } from "./servers.ts";

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

/** The results of the rounds of each measured server. */
export type Rounds = Partial<Record<ServerKey, readonly Figures[]>>;

/** The middle value; the mean of the two middle ones for an even number; NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? NaN;
  return ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/** One figure over all rounds. */
export interface Verdict {
  readonly medians: Partial<Record<ServerKey, number>>;
  /** Of the gateway to each other server, the median of those of each round. Above 1: better than that server. */
  readonly ratios: Partial<Record<ServerKey, number>>;
  /** The limits that can be judged, each with its result. */
  readonly bars: readonly (readonly [Bar, isMet: boolean])[];
}

/** Judges one figure over all rounds. */
export function judgeFigure(name: FigureName, rounds: Rounds): Verdict {
  const row: FigureRow = FIGURES[name];
  const medians: Verdict["medians"] = {};
  const ratios: Verdict["ratios"] = {};
  const ours = rounds.countersign ?? [];
  for (const key of Object.keys(rounds) as ServerKey[]) {
    const values = (rounds[key] ?? []).map((figures) => figures[name]);
    const measured = values.filter((value) => value !== undefined);
    if (measured.length === 0) continue;
    medians[key] = median(measured);
    // A round is short, so the host changes less within it than between rounds.
    const pairs = values.map((theirs = NaN, round) => theirs / (ours[round]?.[name] ?? NaN))
      .filter((ratio) => !Number.isNaN(ratio)).map((ratio) => row.lessIsBetter === true ? ratio : 1 / ratio);
    if (key !== "countersign") ratios[key] = median(pairs);
  }
  const bars = (row.bars ?? []).flatMap((bar): [Bar, boolean][] => {
    if ("most" in bar) return [[bar, (medians.countersign ?? NaN) <= bar.most]];
    const ratio = ratios[bar.to];
    return ratio === undefined ? [] : [[bar, ratio >= bar.ratio]];
  });
  return { medians, ratios, bars };
}

/** The heads of the columns by server, in their order. */
export type Titles = Readonly<Partial<Record<ServerKey, string>>>;

/** The table, one line for each measured figure: its median for each server, and after it the ratio. */
export function reportLines(rounds: Rounds, titles: Titles): string[] {
  const names = Object.keys(FIGURES) as FigureName[];
  const measured = names.filter((name) => judgeFigure(name, rounds).medians.countersign !== undefined);
  const width = Math.max(...measured.map((name) => FIGURES[name].title.length));
  const keys = (Object.keys(titles) as ServerKey[]).filter((key) => rounds[key] !== undefined);
  const head = ["".padEnd(width), ...keys.map((key) => (titles[key] ?? key).padStart(COLUMN_WIDTH))].join(
    "  ",
  );
  return [head, ...measured.map((name) => line(name, { verdict: judgeFigure(name, rounds), width, keys }))];
}

const COLUMN_WIDTH = 20;

function line(
  name: FigureName,
  { verdict, width, keys }: { verdict: Verdict; width: number; keys: readonly ServerKey[] },
): string {
  const row: FigureRow = FIGURES[name];
  const cells = keys.map((key) => {
    const [value, ratio] = [verdict.medians[key], verdict.ratios[key]];
    const figure = value === undefined ? "" : `${formatNumber(value, row.decimals)} ${row.unit}`;
    return `${figure}${ratio === undefined ? "" : ` ${ratio.toFixed(2).padStart(6)}`}`.padStart(COLUMN_WIDTH);
  });
  const bars = verdict.bars.map(([bar, isMet]) =>
    `${"most" in bar ? `≤ ${bar.most} ${row.unit}` : `≥ ${bar.ratio} of ${SERVERS[bar.to].title}`}: ${
      isMet ? "met" : "not met"
    }`
  );
  return `${[row.title.padEnd(width), ...cells].join("  ")}   ${bars.join("; ")}`.trimEnd();
}

/** The figures of one measurement, in one line. */
export function figuresText(figures: Figures): string {
  return (Object.keys(FIGURES) as FigureName[]).flatMap((name) => {
    const value = figures[name];
    return value === undefined
      ? []
      : [`${name} ${formatNumber(value, FIGURES[name].decimals)} ${FIGURES[name].unit}`];
  }).join("  ");
}

/** With thousands separators and a fixed number of decimals. */
export function formatNumber(value: number, decimals: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
