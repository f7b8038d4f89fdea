// Measures one node with a file, and one and two nodes with denokv (`deno task bench nodes`). docs/measuring.md explains each figure.

import { parseArgs } from "node:util";
import { findDenokv } from "../../support/denokv_build.ts";
import { installHint, missingPeers } from "../../support/peers.ts";
import { withScratch } from "../identity/seeds.ts";
import { compileLoad } from "../load.ts";
import { formatNumber, median, onFresh, readRounds, ROUND_WORDS, type RoundOptions } from "../report.ts";
import {
  NODES_FIGURES,
  NODES_MEASUREMENTS,
  type NodesFigure,
  type NodesFigures,
  type NodesMeasuring,
  type SiteName,
  SITES,
} from "./measure.ts";

const HELP = `Measures several nodes on this host, over loopback, in interleaved rounds.

  deno task bench nodes [--rounds <n>] [--seconds <s>] [--users <n>] [--quick]

  --rounds <n>   Rounds for each installation, 1 to 50 (default: 5).
  --seconds <s>  Length of each measurement in a round, 0.5 to 60 (default: 3).
  --users <n>    Users with an authenticator app (default: 12000). Each can complete one login in a measurement.
  --quick        Run one round of one second with 1,000 users, to check that the benchmark works.
  --help         Show this help.

The installations are: one node with a file, one node with denokv, two nodes with denokv. Prints medians. The exit code is
1 only if something could not be measured. Needs gcc, libssl-dev and denokv (deno run -A tests/support/denokv_build.ts).
All processes share this host, so two nodes on two cores are not faster than one.`;

type NodesResults = Record<SiteName, NodesFigures[]>;

interface NodesOptions extends RoundOptions {
  readonly help: boolean;
  readonly users: number;
}

function readOptions(args: string[]): NodesOptions {
  const { values } = parseArgs({ args, options: { ...ROUND_WORDS, users: { type: "string" } } });
  const users = Number(values.users ?? (values.quick === true ? 1000 : 12_000));
  if (!Number.isInteger(users) || users < 100 || users > 100_000) {
    throw new Error("--users must be 100 to 100000");
  }
  return { help: values.help === true, ...readRounds(values, { quickRounds: 1 }), users };
}

async function measureSites(rounds: number, measuring: NodesMeasuring): Promise<NodesResults> {
  const results: NodesResults = { file: [], one: [], two: [] };
  const names = Object.keys(SITES) as SiteName[];
  for (let round = 1; round <= rounds; round++) {
    // The order changes with each round, so that no installation always has the warmer host.
    const order = names.map((_, at) => names[(at + round) % names.length] as SiteName);
    for (const name of order) {
      const figures: NodesFigures = {};
      for (const measure of NODES_MEASUREMENTS) {
        const start = () => SITES[name].start({ users: measuring.users });
        Object.assign(figures, await onFresh(start, (site) => measure(site, measuring)));
      }
      results[name].push(figures);
      console.log(
        `round ${round}/${rounds} ${SITES[name].title.padEnd(17)}  ${
          Math.round(figures.challenges ?? 0)
        } challenges/s  ` +
          `${Math.round(figures.logins ?? 0)} logins/s`,
      );
    }
  }
  return results;
}

/** The medians as a table, one line for each figure. */
export function nodesReport(results: NodesResults): string[] {
  const names = Object.keys(SITES) as SiteName[];
  const rows = Object.keys(NODES_FIGURES) as NodesFigure[];
  const width = Math.max(...rows.map((row) => NODES_FIGURES[row].title.length));
  const head = [" ".repeat(width), ...names.map((name) => SITES[name].title.padStart(18))].join("  ");
  return [
    head,
    ...rows.map((row) => {
      const { title, unit, decimals } = NODES_FIGURES[row];
      const cells = names.map((name) => {
        const values = results[name].map((figures) => figures[row]).filter((value) => value !== undefined);
        return (values.length === 0 ? "" : `${formatNumber(median(values), decimals)} ${unit}`).trimEnd()
          .padStart(18);
      });
      return [title.padEnd(width), ...cells].join("  ").trimEnd();
    }),
  ];
}

/** Runs `deno task bench nodes` with its arguments. Returns the exit code. */
export async function runNodesBench(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPeers(["gcc", "libc", "openssl"]);
  if (missing.length > 0) throw new Error(`Cannot measure without a peer: ${installHint(missing)}`);
  const denokv = findDenokv();
  if ("missing" in denokv) throw new Error(`Cannot measure: ${denokv.missing}`);
  return await withScratch(async (scratch) => {
    console.log("compiling the load generator");
    const generator = await compileLoad(scratch);
    const results = await measureSites(options.rounds, { ...options, generator });
    console.log("");
    for (const line of nodesReport(results)) console.log(line);
    return 0;
  });
}
