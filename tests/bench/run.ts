// Measures the gateway and FreeRADIUS in one run (`deno task bench`). docs/measuring.md explains each figure.

import { parseArgs } from "node:util";
import { installHint, missingPeers } from "../support/peers.ts";
import {
  type Durations,
  type Figures,
  measureChallenges,
  measureGarbage,
  measureManyAtOnce,
  measureWaiting,
} from "./figures.ts";
import { runIdentityBench } from "./identity/run.ts";
import { compileLoad, VoidMeasurement } from "./load.ts";
import { reportLines, type Rounds } from "./report.ts";
import { startCountersign, startFreeradius, type StartServer } from "./servers.ts";

const HELP = `Measures Countersign beside FreeRADIUS on this host, over loopback, in interleaved rounds.

  deno task bench [--rounds <n>] [--seconds <s>] [--quick]
  deno task bench identity ...    Measure SCIM instead. See deno task bench identity --help.

  --rounds <n>   Rounds for each server, 1 to 50 (default: 5).
  --seconds <s>  Length of each measurement in a round, 0.5 to 60 (default: 3). Challenges end at 60,000.
  --quick        Run two rounds of one second, to check that the benchmark works.
  --help         Show this help.

Prints medians, ratios (above 1: better than FreeRADIUS) and limits, and names each limit that is not met. The exit code
is 1 only if a measurement failed. Needs gcc, libssl-dev, freeradius and two idle cores.`;

type ServerKey = keyof Rounds;
type Measure = (
  server: Awaited<ReturnType<StartServer>>,
  options: { generator: string; durations: Durations },
) => Promise<Figures>;

const SERVERS: Readonly<Record<ServerKey, StartServer>> = {
  countersign: startCountersign,
  freeradius: startFreeradius,
};

/** Each measurement has a fresh server. */
const MEASUREMENTS: readonly Measure[] = [
  measureChallenges,
  measureManyAtOnce,
  measureGarbage,
  measureWaiting,
];

function readOptions(args: string[]): { help: boolean; rounds: number; durations: Durations } {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean" },
      quick: { type: "boolean" },
      rounds: { type: "string" },
      seconds: { type: "string" },
    },
  });
  const quick = values.quick === true;
  const rounds = Number(values.rounds ?? (quick ? 2 : 5));
  const seconds = Number(values.seconds ?? (quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50) throw new Error("--rounds must be 1 to 50");
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error("--seconds must be 0.5 to 60");
  return {
    help: values.help === true,
    rounds,
    durations: { seconds, warmUpSeconds: quick ? 0.3 : 1, waiting: 10_000 },
  };
}

/** A void measurement (a busy host drops packets) is repeated, at most twice. */
async function onFresh(
  start: StartServer,
  measure: Measure,
  options: { generator: string; durations: Durations },
): Promise<Figures> {
  for (let again = 2;; again--) {
    try {
      return await onFreshOnce(start, measure, options);
    } catch (fault) {
      if (!(fault instanceof VoidMeasurement) || again === 0) throw fault;
      console.log(`again: ${fault.message.split("\n")[0]}`);
    }
  }
}

/** Runs one measurement with a fresh server, and always stops the server. */
async function onFreshOnce(
  start: StartServer,
  measure: Measure,
  options: { generator: string; durations: Durations },
): Promise<Figures> {
  const server = await start();
  try {
    return await measure(server, options);
  } finally {
    await server.stop();
  }
}

async function measureAll(
  rounds: number,
  options: { generator: string; durations: Durations },
): Promise<Rounds> {
  const results: Record<ServerKey, Figures[]> = { countersign: [], freeradius: [] };
  for (let round = 1; round <= rounds; round++) {
    // The order changes with each round, so that neither server always has the warmer host.
    const order: ServerKey[] = round % 2 === 1
      ? ["countersign", "freeradius"]
      : ["freeradius", "countersign"];
    for (const key of order) {
      const figures: Figures = {};
      for (const measure of MEASUREMENTS) {
        Object.assign(figures, await onFresh(SERVERS[key], measure, options));
      }
      results[key].push(figures);
      console.log(
        `round ${round}/${rounds} ${key.padEnd(11)}  ${Math.round(figures.challenges ?? 0)} challenges/s  ` +
          `${Math.round(figures.garbage ?? 0)} dropped/s  p99 ${(figures.p99 ?? 0).toFixed(2)} ms`,
      );
    }
  }
  return results;
}

async function main({ help, rounds, durations }: ReturnType<typeof readOptions>): Promise<number> {
  if (help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPeers(["freeradius", "gcc", "libc", "openssl"]);
  if (missing.length > 0) throw new Error(`Cannot measure without a peer: ${installHint(missing)}`);
  const scratch = await Deno.makeTempDir({ prefix: "countersign-bench-" });
  try {
    console.log("compiling the load generator");
    const generator = await compileLoad(scratch);
    const results = await measureAll(rounds, { generator, durations });
    console.log("");
    for (const line of reportLines(results)) console.log(line);
    console.log("\nSCIM: deno task bench identity");
    return 0;
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** The options; ends the program with exit code 2 and a message if they are invalid. */
function optionsOrEnd(): ReturnType<typeof readOptions> {
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
    Deno.exit(word === "identity" ? await runIdentityBench(rest) : await main(optionsOrEnd()));
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    Deno.exit(1);
  }
}
