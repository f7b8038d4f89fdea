// What is wrong with rows: the first of them with their lines, and how many there are.

import { printable } from "./format_result.ts";

export interface FaultList {
  readonly count: number;
  add(line: number, problem: string): void;
  /** One line each, and what was left out. Empty when there is none. */
  text(): string;
}

const MOST_SHOWN = 50;

export function createFaultList(): FaultList {
  const shown: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(line, problem) {
      count++;
      if (count <= MOST_SHOWN) shown.push(`  line ${line}: ${printable(problem)}\n`);
    },
    text() {
      const more = count - MOST_SHOWN;
      return `${shown.join("")}${more > 0 ? `  and ${more.toLocaleString("en-US")} more\n` : ""}`;
    },
  };
}
