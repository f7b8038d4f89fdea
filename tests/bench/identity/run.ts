// Measures SCIM, SCIMMY and a bare Hono with Deno KV (`deno task bench identity`). docs/measuring.md explains each
// figure.

import { parseArgs } from "node:util";
import { installHint, missingPeers } from "../../support/peers.ts";
import type { Sample } from "./figures.ts";
import { measureRefresh, measureScimmy, measureSize, type Pace } from "./measure.ts";
import { comparisonLines, reportLines } from "./report.ts";
import { withScratch } from "./seeds.ts";

export const HELP =
  `Measures both SCIM interfaces on this host, over loopback, beside SCIMMY and a bare Hono + Deno KV.

  deno task bench identity [--users <n,…>] [--rounds <n>] [--seconds <s>] [--refresh <n>] [--scimmy <n,…>]
                           [--seeds <directory>] [--interfaces] [--quick]

  --users <n,…>     Numbers of stored users (default: 1000,100000,1000000).
  --rounds <n>      Rounds for each load, 1 to 20 (default: 3).
  --seconds <s>     Length of each load in a round, 0.1 to 60 (default: 2).
  --refresh <n>     Users of the refresh from slapd; 0 for none (default: 100000).
  --scimmy <n,…>    Numbers of users for SCIMMY; 0 for none (default: 1000,20000).
  --seeds <dir>     Store the test data in this directory and reuse it. A million users take minutes to write.
  --interfaces      Measure only /idm/scim and /scim/v2, with the loads that they share.
  --quick           Run one round of 0.3 s with 1,000 users, to check that the benchmark works.
  --help            Show this help.

Prints medians, ratios (above 1: better than the other) and targets, and "NOT met" for a target that is missed. The
exit code is 1 only if a measurement failed. The refresh needs slapd. Use a host with two idle cores.`;

export interface IdentityBenchOptions {
  readonly help: boolean;
  readonly users: readonly number[];
  readonly scimmy: readonly number[];
  readonly refresh: number;
  readonly seeds: string | null;
  readonly onlyInterfaces: boolean;
  readonly pace: Pace;
}

const MOST_USERS = 5_000_000;

/** Throws an Error that explains what is wrong with the command line. */
export function readOptions(args: string[]): IdentityBenchOptions {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean" },
      quick: { type: "boolean" },
      interfaces: { type: "boolean" },
      users: text,
      rounds: text,
      seconds: text,
      refresh: text,
      scimmy: text,
      seeds: text,
    },
  });
  const quick = values.quick === true;
  const users = sizes("--users", values.users ?? (quick ? "1000" : "1000,100000,1000000"));
  if (users.length === 0 || users.some((size) => size < 100)) throw new Error("--users must be 100 or more");
  const onlyInterfaces = values.interfaces === true;
  const peers = quick ? String(Math.min(...users)) : null;
  const seconds = number("--seconds", values.seconds ?? (quick ? "0.3" : "2"), { least: 0.1, most: 60 });
  return {
    help: values.help === true,
    users,
    scimmy: sizes("--scimmy", values.scimmy ?? (onlyInterfaces ? "0" : peers ?? "1000,20000"))
      .filter((size) => size > 0),
    refresh: number("--refresh", values.refresh ?? (onlyInterfaces ? "0" : peers ?? "100000"), {
      least: 0,
      most: MOST_USERS,
    }),
    seeds: values.seeds ?? null,
    onlyInterfaces,
    pace: {
      rounds: number("--rounds", values.rounds ?? (quick ? "1" : "3"), { least: 1, most: 20 }),
      measuredMs: seconds * 1000,
      warmUpMs: quick ? 50 : 1000,
      starts: quick ? 1 : 3,
      memberChanges: quick ? 10 : 200,
    },
  };
}

function number(
  name: string,
  given: string,
  { least, most }: { least: number; most: number },
): number {
  const value = Number(given);
  if (given === "" || !(value >= least && value <= most)) {
    throw new Error(`${name} must be ${least} to ${most}`);
  }
  return value;
}

function sizes(name: string, given: string): number[] {
  const found = given.split(",").map((one) => number(name, one, { least: 0, most: MOST_USERS }));
  if (found.some((size) => !Number.isInteger(size))) throw new Error(`${name} must be whole numbers`);
  return [...new Set(found)].sort((a, b) => a - b);
}

/** Runs all requested measurements. Throws when one is not possible. */
export async function measureIdentity(
  { users, scimmy, refresh, seeds, onlyInterfaces, pace }: IdentityBenchOptions,
  { say }: { say: (line: string) => void },
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const size of users) {
    samples.push(
      ...await withScratch((scratch) => measureSize(size, { pace, scratch, say, seeds, onlyInterfaces })),
    );
  }
  for (const size of scimmy) samples.push(...await measureScimmy(size, { pace, say }));
  if (refresh > 0) {
    const missing = missingPeers(["slapd"]);
    if (missing.length > 0) {
      throw new Error(`Cannot measure the refresh: ${installHint(missing)}, or --refresh 0`);
    }
    say(`refreshing ${refresh.toLocaleString("en-US")} users from slapd`);
    samples.push(...await withScratch((scratch) => measureRefresh(refresh, { scratch })));
  }
  return samples;
}

/** The command; returns its exit code. */
export async function runIdentityBench(args: string[]): Promise<number> {
  let options: IdentityBenchOptions;
  try {
    options = readOptions(args);
  } catch (fault) {
    console.error(`${fault instanceof Error ? fault.message : String(fault)}; --help says more`);
    return 2;
  }
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const samples = await measureIdentity(options, { say: (line) => console.log(line) });
  console.log("");
  for (const line of [...reportLines(samples), "", ...comparisonLines(samples)]) console.log(line);
  return 0;
}
