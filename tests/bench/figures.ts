// The measurements as rows: a figure, its unit, and its limit.

import { bufferDrops, cpuSeconds, residentMb } from "./process_figures.ts";
import type { MeasuredServer } from "./servers.ts";
import { type LoadOptions, type LoadResult, LOGINS, runLoad, VoidMeasurement } from "./load.ts";

/** One line of the table. `ratio` bars compare with FreeRADIUS, `most` bars hold for Countersign alone. */
export interface FigureRow {
  readonly title: string;
  readonly unit: string;
  readonly bar?: { readonly ratio: number } | { readonly most: number };
  /** For figures of which less is better, the ratio is inverted: above 1 is always better than FreeRADIUS. */
  readonly lessIsBetter?: true;
  readonly decimals: number;
}

export const FIGURES = {
  challenges: {
    title: "challenges (ours durable, theirs not), 64 at once",
    unit: "/s",
    bar: { ratio: 0.8 },
    decimals: 0,
  },
  challengesMany: { title: "  192 at once", unit: "/s", bar: { ratio: 0.95 }, decimals: 0 },
  garbage: { title: "garbage dropped, half and half", unit: "/s", bar: { ratio: 2 }, decimals: 0 },
  garbageStructure: { title: "  broken structure alone", unit: "/s", decimals: 0 },
  garbageSignature: { title: "  wrong Message-Authenticator alone", unit: "/s", decimals: 0 },
  garbageCpu: {
    title: "  CPU a dropped packet, half and half",
    unit: "µs",
    lessIsBetter: true,
    decimals: 1,
  },
  logins: {
    title: "complete logins (ours: TOTP, durable; theirs: PAP twice)",
    unit: "/s",
    decimals: 0,
  },
  firstAnswer: {
    title: "start to first answer",
    unit: "ms",
    bar: { most: 1000 },
    lessIsBetter: true,
    decimals: 0,
  },
  p50: {
    title: "2,000 challenges/s, 10,000 waiting: p50",
    unit: "ms",
    lessIsBetter: true,
    decimals: 2,
  },
  p99: { title: "  p99", unit: "ms", bar: { most: 15 }, lessIsBetter: true, decimals: 2 },
  resident: {
    title: "  resident memory after it",
    unit: "MB",
    bar: { most: 200 },
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
  /** Each of them completes one login. */
  readonly loginUsers: number;
}

/**
 * Runs `load` with a server and returns the result with the server's CPU time; void when the kernel dropped packets.
 */
async function underWatch(
  server: MeasuredServer,
  load: () => Promise<LoadResult>,
): Promise<{ result: LoadResult; cpu: number }> {
  const [cpuBefore, dropsBefore] = [await cpuSeconds(server.pid), await bufferDrops(server.port)];
  const result = await load();
  const drops = await bufferDrops(server.port) - dropsBefore;
  // The barrier proves that garbage was handled only if all of it reached the server.
  if (drops > 0.001 * (result.sent + result.garbage)) {
    throw new VoidMeasurement(
      `The measurement of ${server.name} is void: the kernel dropped ${drops} packets`,
    );
  }
  return { result, cpu: await cpuSeconds(server.pid) - cpuBefore };
}

/** The number of simultaneous requests that the default socket buffer holds without a drop. */
const MANY_AT_ONCE = 192;
/** The gateway drops new logins at 100,000 open ones. A fast host must not get there, warm-up included. */
const MAX_REQUESTS = 60_000;

/** The compiled generator, and how long to measure. */
export interface Measuring {
  readonly generator: string;
  readonly durations: Durations;
}

/** Measures one fresh server, on which logins can be completed or not. */
export interface Measurement {
  readonly completesLogins: boolean;
  readonly measure: (server: MeasuredServer, measuring: Measuring) => Promise<Figures>;
}

/** Throughput of one fresh server: challenges with 64 requests at once. */
export async function measureChallenges(server: MeasuredServer, measuring: Measuring): Promise<Figures> {
  return { challenges: await challengeRate(server, measuring, 64), firstAnswer: server.firstAnswerMs };
}

/** Throughput of one fresh server: challenges with many requests at once. */
export async function measureManyAtOnce(server: MeasuredServer, measuring: Measuring): Promise<Figures> {
  return { challengesMany: await challengeRate(server, measuring, MANY_AT_ONCE) };
}

async function challengeRate(
  server: MeasuredServer,
  { generator, durations: { seconds, warmUpSeconds } }: Measuring,
  inFlight: number,
): Promise<number> {
  const options = { seconds, "warm-up": warmUpSeconds, "in-flight": inFlight, count: MAX_REQUESTS };
  const { result } = await underWatch(server, () => runLoad(generator, server, options));
  return result.answered / result.seconds;
}

/**
 * Complete logins per second of one fresh server: a password and a code, or the same password twice. Each user logs in
 * once, so the measurement ends when all have.
 */
export async function measureLogins(
  server: MeasuredServer,
  { generator, durations: { seconds, warmUpSeconds, loginUsers } }: Measuring,
): Promise<Figures> {
  const options: LoadOptions = {
    ...LOGINS,
    ...server.totpSeedHex === null ? {} : { totp: server.totpSeedHex },
    users: loginUsers,
    "in-flight": MANY_AT_ONCE,
    seconds,
    "warm-up": warmUpSeconds,
  };
  const { result } = await underWatch(server, () => runLoad(generator, server, options));
  return { logins: result.logins / result.seconds };
}

/** Throughput of one fresh server: the kinds of garbage that it drops. */
export async function measureGarbage(
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
export async function measureWaiting(
  server: MeasuredServer,
  { generator, durations }: Measuring,
): Promise<Figures> {
  await runLoad(generator, server, { count: durations.waiting, seconds: 30, "in-flight": 64 });
  const { result } = await underWatch(
    server,
    () => runLoad(generator, server, { rate: 2000, seconds: durations.seconds, "warm-up": 0.5 }),
  );
  const { now } = await residentMb(server.pid);
  return { p50: result.p50Us / 1000, p99: result.p99Us / 1000, resident: now };
}
