// Counts the results in a JUnit file of `deno test`. Steps count as tests, as in deno's own summary.

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

/** Reads a JUnit report of deno. */
export function readJunit(xml: string): Tally {
  const failures: string[] = [];
  const skips: string[] = [];
  let passed = 0;
  // Test names and messages are escaped in the report, so a literal "<testcase " is always an element.
  for (const part of xml.split("<testcase ").slice(1)) {
    const body = part.slice(0, part.indexOf("</testcase>"));
    const name = `${attribute(body, "classname")}: ${attribute(body, "name")}`;
    if (body.includes("<failure") || body.includes("<error")) failures.push(`${name}${reasonOf(body)}`);
    else if (body.includes("<skipped")) skips.push(name);
    else passed++;
  }
  return { passed, failed: failures.length, skipped: skips.length, failures, skips };
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
