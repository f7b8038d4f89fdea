// Measures writes at scale (`deno task bench writes`): creates at 1,000 users and at a large number, and a PUT of a group with 10,000 members.

import { parseArgs } from "node:util";
import { formatNumber, median } from "../report.ts";
import type { CreateTimes } from "./create.ts";
import type { GroupPutTimes } from "./group_put.ts";
import { runLoad } from "./load.ts";
import { copySeed, provideSeed, withScratch } from "./seeds.ts";
import { runBeside, startCountersign } from "./servers.ts";

export const WRITES_HELP = `Measures SCIM writes at scale on this host, in interleaved rounds.

  deno task bench writes [--users <n>] [--rounds <n>] [--creates <n>] [--changes <n>] [--seeds <directory>] [--quick]

  --users <n>      The large number of stored users, 1,000 or more (default: 1000000).
  --rounds <n>     Rounds, 1 to 20 (default: 5).
  --creates <n>    Users created in each round and at each size, 100 or more (default: 3000).
  --changes <n>    PUTs of the group in each round (default: 100).
  --seeds <dir>    Store the test data in this directory and reuse it. A million users take 20 minutes to write.
  --quick          One round with 2,000 users, 200 creates and 10 PUTs, to check that the benchmark works.
  --help           Show this help.

Creates run in the process, 16 at once, with the audit record. The PUT runs in the process (from the parsed request
to the answer) and over HTTP (with the JSON of 10,000 members each way). Prints medians, and whether each target is
met. It wants two idle cores.`;

export interface WriteBenchOptions {
  readonly help: boolean;
  readonly users: number;
  readonly rounds: number;
  readonly creates: number;
  readonly changes: number;
  readonly seeds: string | null;
}

const SMALL = 1000;
const MOST_USERS = 5_000_000;
/** People beyond the seeded ones; each run creates others. */
const FIRST_NEW = 30_000_000;

/** Throws an Error that explains what is wrong with the command line. */
export function readWriteOptions(args: string[]): WriteBenchOptions {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args,
    options: {
      help: flag,
      quick: flag,
      users: text,
      rounds: text,
      creates: text,
      changes: text,
      seeds: text,
    },
  });
  const quick = values.quick === true;
  const number = (
    name: "users" | "rounds" | "creates" | "changes",
    most: number,
    given: [number, number, number],
  ) => {
    const [least, usual, short] = given;
    const value = Number(values[name] ?? (quick ? short : usual));
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new Error(`--${name} must be a whole number from ${least} to ${most}`);
    }
    return value;
  };
  return {
    help: values.help === true,
    users: number("users", MOST_USERS, [SMALL, 1_000_000, 2000]),
    rounds: number("rounds", 20, [1, 5, 1]),
    creates: number("creates", 1_000_000, [100, 3000, 200]),
    changes: number("changes", 10_000, [2, 100, 10]),
    seeds: values.seeds ?? null,
  };
}

/** The figures of one round. */
export interface WriteRound {
  readonly small: CreateTimes;
  readonly large: CreateTimes;
  readonly put: GroupPutTimes;
  readonly putHttpMs: number;
}

export async function measureWrites(
  { users, rounds, creates, changes, seeds }: WriteBenchOptions,
  { say }: { say: (line: string) => void },
): Promise<WriteRound[]> {
  return await withScratch(async (scratch) => {
    const [small, large, fresh] = [`${scratch}/small`, `${scratch}/large`, `${scratch}/fresh`];
    await provideSeed(SMALL, { dataDir: small, seeds, say });
    await (users === SMALL ? copySeed(small, large) : provideSeed(users, { dataDir: large, seeds, say }));
    const measured: WriteRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const first = String(FIRST_NEW + round * 1_000_000);
      const create = (dataDir: string) =>
        runBeside<CreateTimes>("create.ts", [dataDir, first, String(creates + 1)]);
      // The small store would grow with each round.
      await copySeed(small, fresh);
      const atSmall = await create(fresh);
      await Deno.remove(fresh, { recursive: true });
      const atLarge = await create(large);
      const put = await runBeside<GroupPutTimes>("group_put.ts", [large, String(users), String(changes)]);
      const putHttpMs = await timeHttpPut(large, { users, measuredMs: changes * 20 });
      measured.push({ small: atSmall, large: atLarge, put, putHttpMs });
      say(
        `round ${round + 1}/${rounds}  create ${atSmall.p50Ms.toFixed(1)} ms, ${
          atLarge.p50Ms.toFixed(1)
        } ms  ` +
          `PUT ${put.p50Ms.toFixed(1)} ms, by HTTP ${putHttpMs.toFixed(1)} ms`,
      );
    }
    return measured;
  });
}

async function timeHttpPut(
  dataDir: string,
  { users, measuredMs }: { users: number; measuredMs: number },
): Promise<number> {
  const server = await startCountersign(dataDir, users);
  try {
    const load = { connections: 1, measuredMs, warmUpMs: 500, seed: 1, firstNew: FIRST_NEW };
    return (await runLoad(server, "member", load)).p50Ms;
  } finally {
    await server.stop();
  }
}

/** The allowed ratio of the time of a create at the large number of users to the time at 1,000. */
const RATIO_MOST = 2;
const PUT_MOST_MS = 10;

/** The medians as lines of text, with the targets. */
export function writeReportLines(rounds: readonly WriteRound[], { users }: { users: number }): string[] {
  const of = (value: (round: WriteRound) => number) => median(rounds.map(value));
  const ratio = of(({ small, large }) => large.p50Ms / small.p50Ms);
  const putMs = of(({ put }) => put.p50Ms);
  const verdict = (isMet: boolean) => isMet ? "met" : "NOT MET";
  const creates = (name: "small" | "large") =>
    `p50 ${of((round) => round[name].p50Ms).toFixed(1)} ms  p99 ${
      of((round) => round[name].p99Ms).toFixed(1)
    } ms  ` +
    `${formatNumber(of((round) => round[name].perSecond), 0)}/s  ` +
    `CPU ${of((round) => round[name].cpuMs).toFixed(2)} ms each`;
  return [
    `create, 16 at once, at ${formatNumber(SMALL, 0)} users:  ${creates("small")}`,
    `create, 16 at once, at ${formatNumber(users, 0)} users:  ${creates("large")}`,
    `  ratio of the p50: ${ratio.toFixed(2)}  target ${RATIO_MOST}: ${verdict(ratio <= RATIO_MOST)}`,
    `PUT of a group of 10,000 with one change, in the process:  p50 ${putMs.toFixed(1)} ms  ` +
    `p10 ${of(({ put }) => put.p10Ms).toFixed(1)} ms  p99 ${
      of(({ put }) => put.p99Ms).toFixed(1)
    } ms  target ${PUT_MOST_MS} ms: ${verdict(putMs < PUT_MOST_MS)}`,
    `  validation ${of(({ put }) => put.validateMs).toFixed(1)} ms  write ${
      of(({ put }) => put.writeMs).toFixed(1)
    } ms  answer ${of(({ put }) => put.renderMs).toFixed(1)} ms  (and JSON of the request ${
      of(({ put }) => put.decodeMs).toFixed(1)
    } ms)  CPU ${of(({ put }) => put.cpuMs).toFixed(1)} ms each`,
    `  over HTTP:  p50 ${of(({ putHttpMs }) => putHttpMs).toFixed(1)} ms`,
  ];
}

/** The command; returns its exit code. */
export async function runWritesBench(args: string[]): Promise<number> {
  let options: WriteBenchOptions;
  try {
    options = readWriteOptions(args);
  } catch (fault) {
    console.error(`${fault instanceof Error ? fault.message : String(fault)}; --help says more`);
    return 2;
  }
  if (options.help) {
    console.log(WRITES_HELP);
    return 0;
  }
  const rounds = await measureWrites(options, { say: (line) => console.log(line) });
  console.log("");
  for (const line of writeReportLines(rounds, options)) console.log(line);
  return 0;
}
