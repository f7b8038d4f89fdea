// Measures the gateway and its peers in one run (`deno task bench`). docs/measuring.md explains each figure.

import { parseArgs } from "node:util";
import { installHint, missingPeers } from "../support/peers.ts";
import { unpackCommit } from "../support/previous_release.ts";
import { DURABILITY_USERS, proveDurable } from "./durability.ts";
import { type Durations, type Figures, MEASUREMENTS, type Measuring } from "./figures.ts";
import { runRelayBench } from "./relay.ts";
import { runIdentityBench } from "./identity/run.ts";
import { runNodesBench } from "./nodes/run.ts";
import { runWritesBench } from "./identity/writes.ts";
import { withScratch } from "./identity/seeds.ts";
import { compileLoad, VoidMeasurement } from "./load.ts";
import { figuresText, onFresh, readRounds, reportLines, ROUND_WORDS } from "./report.ts";
import { type PeerKey, type ServerKey, type ServerRow, SERVERS, startCountersign } from "./servers.ts";

const PEER_KEYS = Object.keys(SERVERS) as PeerKey[];

const HELP = `Measures Countersign beside its peers on this host, over loopback, in interleaved rounds.

  deno task bench [logins] [--servers <names>] [--against <commit>] [--rounds <n>] [--seconds <s>] [--quick]
  deno task bench identity ...    Measure SCIM instead. See deno task bench identity --help.
  deno task bench nodes ...       Measure several nodes instead. See deno task bench nodes --help.
  deno task bench relay ...       Measure relayed EAP instead. See deno task bench relay --help.
  deno task bench writes ...      Measure SCIM writes at scale instead. See deno task bench writes --help.

  logins              Measure only complete logins, challenges with 192 at once, and 2,000 challenges per second.
  --servers <names>   Measure only these: ${
  PEER_KEYS.join(",")
} (default: all, or countersign with --against).
  --against <commit>  Measure this commit of the repository, too, with packages of its own.
  --rounds <n>        Rounds for each server, 1 to 50 (default: 5).
  --seconds <s>       Length of each measurement in a round, 0.5 to 60 (default: 3). Challenges end at 60,000,
                      complete logins at 60,000.
  --quick             Run two rounds of one second with 20,000 logins, to check that the benchmark works.
  --help              Show this help.

The servers are Countersign; FreeRADIUS with rlm_totp and rlm_sql, on SQLite and on PostgreSQL; a reference in Go;
and a FreeRADIUS that stores nothing. Prints medians, the ratio of Countersign to each other server (above 1: better
than that server) and limits, and names each limit that is not met. Before the rounds, each server that stores logins
is killed, and must refuse a used code afterwards. The exit code is 1 only if a measurement failed. Needs gcc,
libssl-dev and two idle cores. A server whose packages are missing is not measured.`;

/** The other measurements by their word. */
const OTHERS: ReadonlyMap<string, (args: string[]) => Promise<number>> = new Map([
  ["identity", runIdentityBench],
  ["nodes", runNodesBench],
  ["relay", runRelayBench],
  ["writes", runWritesBench],
]);

interface BenchOptions {
  readonly help: boolean;
  readonly isOfLogins: boolean;
  readonly servers: readonly PeerKey[];
  readonly against: string | null;
  readonly rounds: number;
  readonly durations: Durations;
}

function readOptions(args: string[]): BenchOptions {
  const more = { servers: { type: "string" }, against: { type: "string" } } as const;
  const { values, positionals } = parseArgs({
    args,
    options: { ...ROUND_WORDS, ...more },
    allowPositionals: true,
  });
  if (positionals.some((word) => word !== "logins")) throw new Error(`Unknown word "${positionals[0]}"`);
  const names = values.servers?.split(",") ?? (values.against === undefined ? PEER_KEYS : ["countersign"]);
  const unknown = names.find((name) => !PEER_KEYS.some((key) => key === name));
  if (unknown !== undefined) throw new Error(`--servers must be some of ${PEER_KEYS.join(",")}`);
  const { rounds, seconds, warmUpSeconds } = readRounds(values, { quickRounds: 2 });
  const [loginUsers, aloneUsers] = values.quick === true ? [20_000, 2000] : [80_000, 10_000];
  return {
    help: values.help === true,
    isOfLogins: positionals.length > 0,
    servers: PEER_KEYS.filter((key) => key === "countersign" || names.includes(key)),
    against: values.against ?? null,
    rounds,
    durations: { seconds, warmUpSeconds, waiting: 10_000, loginUsers, aloneUsers },
  };
}

type MeasuredRows = ReadonlyMap<ServerKey, ServerRow>;

/** The chosen servers that this host can run. */
async function chooseServers(
  { servers, against }: BenchOptions,
  scratch: string,
): Promise<MeasuredRows> {
  const rows = new Map<ServerKey, ServerRow>();
  for (const key of servers) {
    const row = SERVERS[key];
    const lack = row.lacks();
    if (lack === null) rows.set(key, row);
    else console.log(`${row.title} is not measured: ${lack}`);
    if (key === "countersign" && against !== null) rows.set("earlier", await unpackEarlier(against, scratch));
  }
  return rows;
}

async function unpackEarlier(commit: string, scratch: string): Promise<ServerRow> {
  console.log(`installing ${commit}`);
  const root = `${scratch}/earlier/`;
  await Deno.mkdir(root);
  await unpackCommit(commit, root);
  return {
    title: commit.slice(0, 12),
    isDurable: true,
    lacks: () => null,
    start: (options) => startCountersign({ ...options, root }),
  };
}

async function proveAllDurable(rows: MeasuredRows): Promise<void> {
  for (const { title, isDurable, start } of rows.values()) {
    if (!isDurable) continue;
    await onFresh(() => start({ users: DURABILITY_USERS }), proveDurable);
    console.log(`${title} was killed, and refuses the used code`);
  }
}

/** For a measurement that stayed void: the others continue, and the exit code is 1. */
function noFigures(fault: unknown): Figures {
  if (!(fault instanceof VoidMeasurement)) throw fault;
  console.error(fault.message);
  Deno.exitCode = 1;
  return {};
}

async function measureAll(
  rows: MeasuredRows,
  { rounds, isOfLogins, measuring }: { rounds: number; isOfLogins: boolean; measuring: Measuring },
): Promise<Map<ServerKey, Figures[]>> {
  const results = new Map<ServerKey, Figures[]>();
  for (let round = 1; round <= rounds; round++) {
    // The order changes with each round, so that no server always has the warmer host.
    const order = round % 2 === 1 ? [...rows] : [...rows].reverse();
    const figures = new Map<ServerKey, Figures>(order.map(([key]) => [key, {}]));
    for (const { measure, completesLogins, isOfLogins: isOne, servers } of MEASUREMENTS) {
      if (isOfLogins && isOne !== true) continue;
      const users = completesLogins ? measuring.durations.loginUsers + measuring.durations.aloneUsers : 0;
      for (const [key, row] of order) {
        if (servers?.includes(key) === false) continue;
        const measured = await onFresh(() => row.start({ users }), (one) => measure(one, measuring)).catch(
          noFigures,
        );
        console.log(`round ${round}/${rounds} ${row.title.padEnd(14)}  ${figuresText(measured)}`);
        Object.assign(figures.get(key) ?? {}, measured);
      }
    }
    for (const [key, one] of figures) results.set(key, [...results.get(key) ?? [], one]);
  }
  return results;
}

async function main(options: BenchOptions): Promise<number> {
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const missing = missingPeers(["gcc", "libc", "openssl"]);
  if (missing.length > 0) throw new Error(`Cannot measure without a peer: ${installHint(missing)}`);
  return await withScratch(async (scratch) => {
    console.log("compiling the load generator");
    const generator = await compileLoad(scratch);
    const rows = await chooseServers(options, scratch);
    await proveAllDurable(rows);
    const measuring = { generator, durations: options.durations };
    const results = await measureAll(rows, { ...options, measuring });
    const titles = Object.fromEntries([...rows].map(([key, { title }]) => [key, title]));
    console.log("");
    for (const line of reportLines(Object.fromEntries(results), titles)) console.log(line);
    console.log("\nFR: FreeRADIUS. SCIM: deno task bench identity");
    return Deno.exitCode;
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
