// The measurements as rows: a figure, its unit, and its limits.

import { bufferDrops, treeCpuSeconds, treeMb } from "./process_figures.ts";
import type { MeasuredServer } from "./peer.ts";
import type { PeerKey, ServerKey } from "./servers.ts";
import { awaitSteadyCode } from "./gateway.ts";
import { countLoad, type LoadOptions, type LoadResult, LOGINS, runLoad, VoidMeasurement } from "./load.ts";

/** At least this ratio to a peer, or at most this value. */
export type Bar = { readonly ratio: number; readonly to: PeerKey } | { readonly most: number };

/** One line of the table. */
export interface FigureRow {
  readonly title: string;
  readonly unit: string;
  readonly bars?: readonly Bar[];
  /** For figures of which less is better, the ratio is inverted: above 1 is always better than the peer. */
  readonly lessIsBetter?: true;
  readonly decimals: number;
}

export const FIGURES = {
  logins: {
    title: "complete logins, 192 at once",
    unit: "/s",
    bars: [{ ratio: 2.6, to: "postgresql" }, { ratio: 2.5, to: "sqlite" }],
    decimals: 0,
  },
  loginCpu: { title: "  CPU of each", unit: "µs", lessIsBetter: true, decimals: 0 },
  loginResident: {
    title: "  resident memory after them",
    unit: "MB",
    bars: [{ most: 200 }],
    lessIsBetter: true,
    decimals: 0,
  },
  loginAlone: {
    title: "  one alone: p50",
    unit: "ms",
    bars: [{ ratio: 1, to: "sqlite" }],
    lessIsBetter: true,
    decimals: 2,
  },
  challenges: {
    title: "challenges, 64 at once",
    unit: "/s",
    bars: [{ ratio: 2, to: "postgresql" }, { ratio: 0.8, to: "freeradius" }],
    decimals: 0,
  },
  challengesMany: {
    title: "  192 at once",
    unit: "/s",
    bars: [{ ratio: 2, to: "postgresql" }, { ratio: 0.95, to: "freeradius" }],
    decimals: 0,
  },
  p50: {
    title: "2,000 challenges/s, 10,000 waiting: p50",
    unit: "ms",
    lessIsBetter: true,
    decimals: 2,
  },
  p99: {
    title: "  p99",
    unit: "ms",
    bars: [{ most: 15 }, { ratio: 1, to: "go" }],
    lessIsBetter: true,
    decimals: 2,
  },
  resident: {
    title: "  resident memory after them",
    unit: "MB",
    bars: [{ most: 200 }],
    lessIsBetter: true,
    decimals: 0,
  },
  garbage: {
    title: "garbage dropped, half and half",
    unit: "/s",
    bars: [{ ratio: 2, to: "freeradius" }],
    decimals: 0,
  },
  garbageStructure: { title: "  broken structure alone", unit: "/s", decimals: 0 },
  garbageSignature: { title: "  wrong Message-Authenticator alone", unit: "/s", decimals: 0 },
  garbageCpu: {
    title: "  CPU a dropped packet, half and half",
    unit: "µs",
    lessIsBetter: true,
    decimals: 1,
  },
  firstAnswer: {
    title: "start to first answer",
    unit: "ms",
    bars: [{ most: 1000 }],
    lessIsBetter: true,
    decimals: 0,
  },
} as const satisfies Record<string, FigureRow>;

export type FigureName = keyof typeof FIGURES;
export type Figures = Partial<Record<FigureName, number>>;

/** How long each measurement takes. */
export interface Durations {
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly waiting: number;
  /** Each of them completes one login: a quarter before the measurement, and the others in it. */
  readonly loginUsers: number;
  /** The same, one after the other. */
  readonly aloneUsers: number;
}

/**
 * Runs `load` with a server and returns the result with the server's CPU time; void when the kernel dropped packets.
 */
async function underWatch(
  server: MeasuredServer,
  load: () => Promise<LoadResult>,
): Promise<{ result: LoadResult; cpu: number }> {
  const [cpuBefore, dropsBefore] = [await treeCpuSeconds(server.pids), await bufferDrops(server.port)];
  const result = await load();
  const drops = await bufferDrops(server.port) - dropsBefore;
  // The barrier proves that garbage was handled only if all of it reached the server.
  if (drops > 0.001 * (result.sent + result.garbage)) {
    throw new VoidMeasurement(
      `The measurement of ${server.name} is void: the kernel dropped ${drops} packets`,
    );
  }
  return { result, cpu: await treeCpuSeconds(server.pids) - cpuBefore };
}

/** The number of simultaneous requests that the default socket buffer holds without a drop. */
const MANY_AT_ONCE = 192;
/** On a busy host, a reply that waits for the disk may need longer than the generator's default of one second. */
const GIVE_UP_SECONDS = LOGINS["give-up"];
/** The gateway drops new logins at 100,000 open ones. A fast host must not get there, warm-up included. */
const MAX_REQUESTS = 60_000;

/** The compiled generator, and how long to measure. */
export interface Measuring {
  readonly generator: string;
  readonly durations: Durations;
}

/** Measures one fresh server. */
export interface Measurement {
  readonly measure: (server: MeasuredServer, measuring: Measuring) => Promise<Figures>;
  /** Whether logins can be completed. */
  readonly completesLogins?: true;
  /** Whether `deno task bench logins` has it, too. */
  readonly isOfLogins?: true;
  /** All servers by default. */
  readonly servers?: readonly ServerKey[];
}

/** Throughput of one fresh server: challenges with 64 requests at once. */
async function measureChallenges(server: MeasuredServer, measuring: Measuring): Promise<Figures> {
  return { challenges: await challengeRate(server, measuring, 64), firstAnswer: server.firstAnswerMs };
}

/** Throughput of one fresh server: challenges with many requests at once. */
async function measureManyAtOnce(server: MeasuredServer, measuring: Measuring): Promise<Figures> {
  return { challengesMany: await challengeRate(server, measuring, MANY_AT_ONCE) };
}

async function challengeRate(
  server: MeasuredServer,
  { generator, durations: { seconds, warmUpSeconds } }: Measuring,
  inFlight: number,
): Promise<number> {
  const options = {
    seconds,
    "warm-up": warmUpSeconds,
    "in-flight": inFlight,
    count: MAX_REQUESTS,
    "give-up": GIVE_UP_SECONDS,
  };
  const { result } = await underWatch(server, () => runLoad(generator, server, options));
  return result.answered / result.seconds;
}

/**
 * Complete logins of one fresh server, many at once and then one after the other: a password and a code, or the same
 * password twice. Each user logs in once, so a measurement ends when all have.
 */
async function measureLogins(
  server: MeasuredServer,
  { generator, durations: { seconds, warmUpSeconds, loginUsers, aloneUsers } }: Measuring,
): Promise<Figures> {
  const options = { ...LOGINS, ...server.totpSeedHex === null ? {} : { totp: server.totpSeedHex } };
  const load = async (more: LoadOptions) => {
    await awaitSteadyCode(seconds + GIVE_UP_SECONDS);
    return await underWatch(server, () => runLoad(generator, server, { ...options, ...more, seconds }));
  };
  const warmUpUsers = loginUsers / 4;
  const warmUp = { users: warmUpUsers, "in-flight": MANY_AT_ONCE, seconds: warmUpSeconds };
  await countLoad(generator, server, { ...options, ...warmUp });
  const many = await load({
    users: loginUsers - warmUpUsers,
    "first-user": warmUpUsers,
    "in-flight": MANY_AT_ONCE,
  });
  const loginResident = await treeMb(server.pids);
  const alone = await load({ users: aloneUsers, "first-user": loginUsers, "in-flight": 1 });
  return {
    logins: many.result.logins / many.result.seconds,
    // Logins that were in progress at the end cost CPU, too: each has two answers.
    loginCpu: many.cpu * 1e6 / (many.result.answered / 2),
    loginResident,
    loginAlone: alone.result.p50Us / 1000,
  };
}

/** Throughput of one fresh server: the kinds of garbage that it drops. */
async function measureGarbage(
  server: MeasuredServer,
  { generator, durations: { seconds, warmUpSeconds } }: Measuring,
): Promise<Figures> {
  const drop = (garbage: NonNullable<LoadOptions["garbage"]>, forSeconds: number) =>
    underWatch(server, () => runLoad(generator, server, { mode: "garbage", garbage, seconds: forSeconds }));
  await drop("mixed", warmUpSeconds);
  const mixed = await drop("mixed", seconds);
  const structure = await drop("structure", seconds / 3);
  const signature = await drop("signature", seconds / 3);
  return {
    garbage: mixed.result.garbage / mixed.result.seconds,
    garbageStructure: structure.result.garbage / structure.result.seconds,
    garbageSignature: signature.result.garbage / signature.result.seconds,
    garbageCpu: mixed.cpu * 1e6 / mixed.result.garbage,
  };
}

/** Times and memory of one fresh server with `waiting` conversations and 2,000 requests a second. */
async function measureWaiting(
  server: MeasuredServer,
  { generator, durations }: Measuring,
): Promise<Figures> {
  await runLoad(generator, server, {
    count: durations.waiting,
    seconds: 30,
    "in-flight": 64,
    "give-up": GIVE_UP_SECONDS,
  });
  const { result } = await underWatch(
    server,
    () => runLoad(generator, server, { rate: 2000, seconds: durations.seconds, "warm-up": 0.5 }),
  );
  const resident = await treeMb(server.pids);
  return { p50: result.p50Us / 1000, p99: result.p99Us / 1000, resident };
}

export const MEASUREMENTS: readonly Measurement[] = [
  { measure: measureLogins, completesLogins: true, isOfLogins: true },
  { measure: measureChallenges },
  { measure: measureManyAtOnce, isOfLogins: true },
  { measure: measureWaiting, isOfLogins: true },
  // The servers with a database drop it as the one without.
  { measure: measureGarbage, servers: ["countersign", "earlier", "freeradius"] },
];
