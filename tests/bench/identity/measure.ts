// The measurements: the gateway and the lower bound at one size, SCIMMY at another, a refresh; each returns samples.

import { VoidMeasurement } from "../load.ts";
import type { BenchConnection } from "./connect.ts";
import { type FigureName, type MeasurementRow, MEASUREMENTS, type Sample } from "./figures.ts";
import type { LoadResult } from "./generator.ts";
import { runLoad } from "./load.ts";
import type { MemberTimes } from "./members.ts";
import type { RefreshFigures } from "./refresh.ts";
import { provideSeed } from "./seeds.ts";
import {
  type MeasuredServer,
  openV2,
  runBeside,
  startCountersign,
  startFloor,
  startScimmy,
  storeMb,
  timeFirstAnswer,
} from "./servers.ts";
import { formatNumber } from "../report.ts";

/** The sizes and durations. */
export interface Pace {
  readonly rounds: number;
  readonly measuredMs: number;
  readonly warmUpMs: number;
  readonly starts: number;
  readonly memberChanges: number;
}

export interface MeasureOptions {
  readonly pace: Pace;
  /** A directory on the disk for this measurement; the caller removes it. */
  readonly scratch: string;
  readonly say: (line: string) => void;
}

/** People beyond the seeded ones; for each run as many as one can create. */
const FIRST_NEW = 10_000_000;
const NEW_A_RUN = 200_000;
/** Two interfaces create people in one directory. */
const FIRST_NEW_V2 = 50_000_000;
const TRIES = 3;

export interface SizeOptions extends MeasureOptions {
  /** A directory with seeds of earlier runs. */
  readonly seeds: string | null;
  /** Measures the two interfaces alone, with the loads that both have. */
  readonly onlyInterfaces: boolean;
}

/** All measurements at one size. */
export async function measureSize(
  users: number,
  { pace, scratch, say, seeds, onlyInterfaces }: SizeOptions,
): Promise<Sample[]> {
  const dataDir = `${scratch}/data`;
  const samples: Sample[] = [];
  const note = (figure: FigureName, value: number) =>
    void samples.push({ server: "countersign", users, figure, value });

  const seedRate = await provideSeed(users, { dataDir, seeds, say });
  if (seedRate !== null) note("seedRate", seedRate);
  note("store", await storeMb(dataDir));

  const started: MeasuredServer[] = [];
  try {
    const connection = await runBeside<BenchConnection>("connect.ts", [dataDir]);
    const gateway = await startCountersign(dataDir, users);
    started.push(gateway);
    say(`asking for the ids of people among ${formatNumber(users, 0)} users`);
    started.push(await openV2(gateway, connection));
    if (!onlyInterfaces) {
      say(`seeding the floor with ${formatNumber(users, 0)} users`);
      started.push(await startFloor(`${scratch}/floor.kv`, users));
    }
    samples.push(...await measureRounds(started, { pace, say, rows: rowsOf(onlyInterfaces) }));
  } finally {
    for (const server of started) await server.stop();
  }
  if (onlyInterfaces) return samples;

  for (let start = 0; start < pace.starts; start++) {
    note("firstAnswer", await timeFirstAnswer(dataDir, users));
  }
  const times = await runBeside<MemberTimes>("members.ts", [
    dataDir,
    String(users),
    String(pace.memberChanges),
  ]);
  note("memberP50", times.p50Ms);
  note("memberP99", times.p99Ms);
  return samples;
}

function rowsOf(onlyInterfaces: boolean): readonly MeasurementRow[] {
  return onlyInterfaces
    ? MEASUREMENTS.filter(({ on, operation }) => on.includes("v2") || operation === "member")
    : MEASUREMENTS;
}

/** The peer, alone on the host. */
export async function measureScimmy(
  users: number,
  options: Omit<MeasureOptions, "scratch">,
): Promise<Sample[]> {
  const server = await startScimmy(users);
  try {
    // Sixteen of its pages at 20,000 people take minutes, so there is one round and no warm-up.
    const pace = { ...options.pace, rounds: 1, warmUpMs: 0 };
    return await measureRounds([server], { ...options, pace, rows: MEASUREMENTS });
  } finally {
    await server.stop();
  }
}

export async function measureRefresh(
  users: number,
  { scratch }: Pick<MeasureOptions, "scratch">,
): Promise<Sample[]> {
  const figures = await runBeside<RefreshFigures>("refresh.ts", [`${scratch}/data`, String(users)]);
  const sample = (figure: FigureName, value: number): Sample => ({
    server: "countersign",
    users,
    figure,
    value,
  });
  return [
    sample("refreshFirst", figures.firstPerSecond),
    sample("refreshAgain", figures.againPerSecond),
    sample("refreshResident", figures.residentMb),
  ];
}

async function measureRounds(
  servers: readonly MeasuredServer[],
  { pace, say, rows }: Omit<MeasureOptions, "scratch"> & { rows: readonly MeasurementRow[] },
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let round = 1; round <= pace.rounds; round++) {
    for (const row of rows) {
      // The order changes with each round, so that neither server always has the warmer host.
      for (const server of round % 2 === 1 ? servers : servers.toReversed()) {
        if (!row.on.includes(server.name)) continue;
        const result = await measureOne(server, row, { pace, round, say });
        samples.push(...samplesOf(server, row, result));
        say(
          `round ${round}/${pace.rounds}  ${formatNumber(server.users, 0).padStart(9)}  ${
            server.name.padEnd(11)
          }  ${row.operation.padEnd(11)}  p50 ${result.p50Ms.toFixed(2)} ms  ${
            Math.round(result.perSecond)
          }/s`,
        );
      }
    }
  }
  // Both interfaces have the memory of one process.
  for (const server of servers.filter(({ name }) => name !== "v2")) {
    const { now } = await server.residentMb();
    samples.push({ server: server.name, users: server.users, figure: "resident", value: now });
  }
  return samples;
}

/** A void measurement is repeated, at most twice. */
async function measureOne(
  server: MeasuredServer,
  { operation, connections }: MeasurementRow,
  { pace, round, say }: { pace: Pace; round: number; say: (line: string) => void },
): Promise<LoadResult & { readonly cpuMs: number }> {
  for (let tried = 1;; tried++) {
    try {
      const run = round * TRIES + tried;
      const before = await server.cpuSeconds();
      const result = await runLoad(server, operation, {
        connections,
        measuredMs: pace.measuredMs,
        warmUpMs: pace.warmUpMs,
        seed: run,
        firstNew: (server.name === "v2" ? FIRST_NEW_V2 : FIRST_NEW) + run * NEW_A_RUN,
      });
      return { ...result, cpuMs: (await server.cpuSeconds() - before) * 1000 / result.sent };
    } catch (fault) {
      if (!(fault instanceof VoidMeasurement) || tried === TRIES) throw fault;
      say(`again: ${fault.message.split("\n")[0]}`);
    }
  }
}

function samplesOf(
  { name, users }: MeasuredServer,
  row: MeasurementRow,
  { p50Ms, p99Ms, perSecond, cpuMs }: LoadResult & { readonly cpuMs: number },
): Sample[] {
  const values: [FigureName | undefined, number][] = [
    [row.p50, p50Ms],
    [row.p99, p99Ms],
    [row.rate, perSecond],
    [row.cpu, cpuMs],
  ];
  return values.flatMap(([figure, value]) =>
    figure === undefined ? [] : [{ server: name, users, figure, value }]
  );
}
