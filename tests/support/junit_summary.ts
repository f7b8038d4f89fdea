// Counts the results in a JUnit file of `deno test`, and shows what took longest. Steps count as tests, as in deno's
// own summary.

import { stripVTControlCharacters } from "node:util";

/** The results of one or more suites. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** `file: test` of each failed test, and below it the beginning of the message. */
  readonly failures: readonly string[];
  /** `file: test` of each skipped test. */
  readonly skips: readonly string[];
}

/** No test ran. */
export const EMPTY_TALLY: Tally = { passed: 0, failed: 0, skipped: 0, failures: [], skips: [] };

/** The duration of one test, or of a step. */
export interface Timing {
  readonly file: string;
  readonly name: string;
  readonly seconds: number;
}

/** The test file of a place that a report names. Without it, the place. */
type FileOf = (place: string, test: string) => string;

/** Reads a JUnit report of deno. */
export function readJunit(xml: string, fileOf?: FileOf): Tally {
  const failures: string[] = [];
  const skips: string[] = [];
  let passed = 0;
  for (const body of testcases(xml)) {
    const name = `${placeOf(body, fileOf)}: ${attribute(body, "name")}`;
    if (body.includes("<failure") || body.includes("<error")) failures.push(`${name}${reasonOf(body)}`);
    else if (body.includes("<skipped")) skips.push(name);
    else passed++;
  }
  return { passed, failed: failures.length, skipped: skips.length, failures, skips };
}

/** The durations in a JUnit report of deno, in the order in which the tests ran. */
export function readTimings(xml: string, fileOf?: FileOf): Timing[] {
  return testcases(xml).map((body) => ({
    file: placeOf(body, fileOf),
    name: attribute(body, "name"),
    seconds: Number(attribute(body, "time")),
  }));
}

function placeOf(body: string, fileOf: FileOf = (place) => place): string {
  return fileOf(attribute(body, "classname").replace(/^\.\//, ""), attribute(body, "name"));
}

/** The slowest tests and files, as lines for people. @param loads seconds that a file took to load */
export function slowestLines(timings: readonly Timing[], loads: Readonly<Record<string, number>>): string[] {
  // The time of a test contains that of its steps, whose names begin with its name.
  const names = new Set(timings.map(({ file, name }) => `${file}: ${name}`));
  const isStep = ({ file, name }: Timing) => {
    const parents = name.split(" > ").slice(0, -1);
    return parents.some((_, at) => names.has(`${file}: ${parents.slice(0, at + 1).join(" > ")}`));
  };
  const files = new Map(Object.entries(loads));
  for (const one of timings) {
    if (!isStep(one)) files.set(one.file, (files.get(one.file) ?? 0) + one.seconds);
  }
  const tests = timings.map(({ file, name, seconds }) => [`${file}: ${name}`, seconds] as const);
  return [
    "slowest tests (seconds)",
    ...slowest(tests, ([, seconds]) => seconds).map(([name, seconds]) => line(seconds, name)),
    "slowest files (seconds, and those of them that load modules)",
    ...slowest([...files], ([, seconds]) => seconds).map(([file, seconds]) =>
      line(seconds, `${file}${loads[file] === undefined ? "" : ` (${loads[file].toFixed(1)})`}`)
    ),
  ];
}

const SHOWN = 20;

function slowest<T>(all: readonly T[], secondsOf: (one: T) => number): T[] {
  return all.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, SHOWN);
}

function line(seconds: number, text: string): string {
  return `${seconds.toFixed(1).padStart(7)}  ${text}`;
}

/** Test names and messages are escaped in the report, so a literal "<testcase " is always an element. */
function testcases(xml: string): string[] {
  return xml.split("<testcase ").slice(1).map((part) => part.slice(0, part.indexOf("</testcase>")));
}

/**
 * Combines a report with the exit code of the run. A failure outside a test (a module that cannot be loaded, a fault
 * after the last test, a deadline) is not in the report: only the exit code shows it, and it counts as one failure.
 */
export function judge(report: Tally | null, outcome: { suite: string; exitCode: number }): Tally {
  const tally = report ?? EMPTY_TALLY;
  if (outcome.exitCode === 0 && report !== null) return tally;
  if (outcome.exitCode !== 0 && tally.failed > 0) return tally;
  const why = outcome.exitCode === -1
    ? "ended by its deadline"
    : `ended with code ${outcome.exitCode} outside a test`;
  return { ...tally, failed: tally.failed + 1, failures: [...tally.failures, `${outcome.suite}: ${why}`] };
}

/** The sum of several summaries. */
export function addTallies(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, one) => sum + one.passed, 0),
    failed: tallies.reduce((sum, one) => sum + one.failed, 0),
    skipped: tallies.reduce((sum, one) => sum + one.skipped, 0),
    failures: tallies.flatMap((one) => one.failures),
    skips: tallies.flatMap((one) => one.skips),
  };
}

/** The last line of a run: `N passed, N failed`, and the skipped ones if there are any. */
export function summaryLine(tally: Tally): string {
  const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : "";
  return `${tally.passed} passed, ${tally.failed} failed${skipped}`;
}

const ENTITIES = new Map([["lt", "<"], ["gt", ">"], ["quot", '"'], ["apos", "'"], ["amp", "&"]]);

/** The beginning of the message, on separate lines, so that the end of a long run shows the reason. */
function reasonOf(body: string): string {
  const lines = stripVTControlCharacters(attribute(body, "message")).split("\n").filter((line) =>
    line.trim() !== ""
  );
  return lines.slice(0, REASON_LINES).map((line) => `\n    ${line.slice(0, REASON_COLUMNS)}`).join("");
}

const REASON_LINES = 12;
const REASON_COLUMNS = 400;

function attribute(element: string, name: string): string {
  const mark = `${name}="`;
  // The search includes the attribute's name; a leading space keeps `name` from matching inside `classname`.
  const at = ` ${element}`.indexOf(` ${mark}`);
  if (at < 0) return "";
  const start = at + mark.length;
  const raw = element.slice(start, element.indexOf('"', start));
  return raw.replace(/&(lt|gt|quot|apos|amp);/g, (whole, entity: string) => ENTITIES.get(entity) ?? whole);
}
