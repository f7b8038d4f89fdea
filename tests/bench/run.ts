// Measures the gateway and FreeRADIUS in one run (`deno task bench`). docs/measuring.md explains each figure.

import { parseArgs } from "node:util";
import { installHint, missingPeers } from "../support/peers.ts";
import {
  type Durations,
  type Figures,
  measureChallenges,
  measureGarbage,
  measureLogins,
  measureManyAtOnce,
  type Measurement,
  measureWaiting,
  type Measuring,
} from "./figures.ts";
import { runRelayBench } from "./relay.ts";
import { runIdentityBench } from "./identity/run.ts";
import { runNodesBench } from "./nodes/run.ts";
import { runWritesBench } from "./identity/writes.ts";
import { withScratch } from "./identity/seeds.ts";
import { compileLoad } from "./load.ts";
import { onFresh, readRounds, reportLines, ROUND_WORDS, type Rounds } from "./report.ts";
import { startCountersign, startFreeradius, type StartServer } from "./servers.ts";

const HELP = `Measures Countersign beside FreeRADIUS on this host, over loopback, in interleaved rounds.

  deno task bench [--rounds <n>] [--seconds <s>] [--quick]
  deno task bench identity ...    Measure SCIM instead. See deno task bench identity --help.
  deno task bench nodes ...       Measure several nodes instead. See deno task bench nodes --help.
  deno task bench relay ...       Measure relayed EAP instead. See deno task bench relay --help.
  deno task bench writes ...      Measure SCIM writes at scale instead. See deno task bench writes --help.

  --rounds <n>   Rounds for each server, 1 to 50 (default: 5).
  --seconds <s>  Length of each measurement in a round, 0.5 to 60 (default: 3). Challenges end at 60,000,
                 complete logins at 80,000.
  --quick        Run two rounds of one second with 20,000 logins, to check that the benchmark works.
  --help         Show this help.

Prints medians, ratios (above 1: better than FreeRADIUS) and limits, and names each limit that is not met. The exit code
is 1 only if a measurement failed. Needs gcc, libssl-dev, freeradius and two idle cores.`;

/** The other measurements by their word. */
const OTHERS: ReadonlyMap<string, (args: string[]) => Promise<number>> = new Map([
  ["identity", runIdentityBench],
  ["nodes", runNodesBench],
  ["relay", runRelayBench],
  ["writes", runWritesBench],
]);

type ServerKey = keyof Rounds;
const SERVERS: Readonly<Record<ServerKey, StartServer>> = {
  countersign: startCountersign,
  freeradius: startFreeradius,
};

/** Each measurement has a fresh server. */
const MEASUREMENTS: readonly Measurement[] = [
  { measure: measureChallenges, completesLogins: false },
  { measure: measureManyAtOnce, completesLogins: false },
  { measure: measureLogins, completesLogins: true },
  { measure: measureGarbage, completesLogins: false },
  { measure: measureWaiting, completesLogins: false },
];

interface BenchOptions {
  readonly help: boolean;
  readonly rounds: number;
  readonly durations: Durations;
}

function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({ args, options: ROUND_WORDS });
  const { rounds, seconds, warmUpSeconds } = readRounds(values, { quickRounds: 2 });
  const loginUsers = values.quick === true ? 20_000 : 80_000;
  return {
    help: values.help === true,
    rounds,
    durations: { seconds, warmUpSeconds, waiting: 10_000, loginUsers },
  };
}

async function measureAll(rounds: number, measuring: Measuring): Promise<Rounds> {
  const results: Record<ServerKey, Figures[]> = { countersign: [], freeradius: [] };
  for (let round = 1; round <= rounds; round++) {
    // The order changes with each round, so that neither server always has the warmer host.
    const order: ServerKey[] = round % 2 === 1
      ? ["countersign", "freeradius"]
      : ["freeradius", "countersign"];
    for (const key of order) {
      const figures: Figures = {};
      for (const { measure, completesLogins } of MEASUREMENTS) {
        const users = completesLogins ? measuring.durations.loginUsers : 0;
        const start = () => SERVERS[key]({ users });
        Object.assign(figures, await onFresh(start, (server) => measure(server, measuring)));
      }
      results[key].push(figures);
      console.log(
        `round ${round}/${rounds} ${key.padEnd(11)}  ${Math.round(figures.challenges ?? 0)} challenges/s  ` +
          `${Math.round(figures.logins ?? 0)} logins/s  ${Math.round(figures.garbage ?? 0)} dropped/s  p99 ${
            (figures.p99 ?? 0).toFixed(2)
          } ms`,
      );
    }
  }
  return results;
}

async function main({ help, rounds, durations }: BenchOptions): Promise<number> {
  if (help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPeers(["freeradius", "gcc", "libc", "openssl"]);
  if (missing.length > 0) throw new Error(`Cannot measure without a peer: ${installHint(missing)}`);
  return await withScratch(async (scratch) => {
    console.log("compiling the load generator");
    const generator = await compileLoad(scratch);
    const results = await measureAll(rounds, { generator, durations });
    console.log("");
    for (const line of reportLines(results)) console.log(line);
    console.log("\nSCIM: deno task bench identity");
    return 0;
  });
}

/** The options; ends the program with exit code 2 and a message if they are invalid. */
function optionsOrEnd(): BenchOptions {
  try {
    return readOptions(Deno.args);
  } catch (fault) {
    console.error(`${fault instanceof Error ? fault.message : String(fault)}; --help says more`);
    Deno.exit(2);
  }
}

if (import.meta.main) {
  const [word, ...rest] = Deno.args;
  try {
    const other = word === undefined ? undefined : OTHERS.get(word);
    Deno.exit(other === undefined ? await main(optionsOrEnd()) : await other(rest));
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    Deno.exit(1);
  }
}
