// Measures several nodes, on sites with one store.

import { type Cluster, startCluster } from "../../support/cluster.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE } from "../../support/denokv.ts";
import type { RunningProgram } from "../../support/program.ts";
import { openRadiusClient, type RadiusClient } from "../../support/radius_client.ts";
import { CODES } from "../../support/radius_numbers.ts";
import {
  addTotpUsers,
  awaitFirstAnswer,
  BENCH_DISK,
  BENCH_SECRET,
  BENCH_SETTINGS,
  presentCode,
  startFileGateway,
  TOTP_SEED_HEX,
} from "../gateway.ts";
import { cpuSeconds } from "../process_figures.ts";
import { countLoad, type LoadOptions, type LoadTarget, LOGINS, runLoad } from "../load.ts";

// The measured installations: one gateway with a file, and one or two gateways with denokv. Each has users with an authenticator app.

/** Running gateways that have answered once. */
export interface Site {
  readonly name: string;
  readonly nodes: readonly RunningProgram[];
  /** `null` for a file. */
  readonly cluster: Cluster | null;
  stop(): Promise<void>;
}

export type SiteName = "file" | "one" | "two";

/** How many users a site has: `user00000` and so on. */
export interface SiteOptions {
  readonly users: number;
}

/** The installations in the order of the table. */
export const SITES: Readonly<
  Record<SiteName, { title: string; start(options: SiteOptions): Promise<Site> }>
> = {
  file: { title: "one node, file", start: startFileSite },
  one: { title: "one node, denokv", start: (options) => startClusterSite("one", { ...options, nodes: 1 }) },
  two: { title: "two nodes, denokv", start: (options) => startClusterSite("two", { ...options, nodes: 2 }) },
};

async function startFileSite(options: SiteOptions): Promise<Site> {
  const { gateway, stop } = await startFileGateway(options);
  return { name: SITES.file.title, nodes: [gateway], cluster: null, stop };
}

async function startClusterSite(
  name: "one" | "two",
  { users, nodes }: SiteOptions & { nodes: number },
): Promise<Site> {
  const cluster = await startCluster({
    nodes,
    toml: BENCH_SETTINGS,
    denokv: { dir: BENCH_DISK },
    async fill({ kvUrl, masterKeyHex }) {
      const dataDir = await Deno.makeTempDir({ prefix: "countersign-bench-" });
      Deno.env.set(DENOKV_TOKEN_VARIABLE, DENOKV_TOKEN);
      await addTotpUsers(dataDir, { users, masterKeyHex, kvUrl });
      await Deno.remove(dataDir, { recursive: true });
    },
  });
  for (const node of cluster.nodes) await awaitFirstAnswer(node.radiusPort);
  return { name: SITES[name].title, nodes: cluster.nodes, cluster, stop: () => cluster.dispose() };
}

// The measurements of several nodes: challenges, complete logins, and what a client sees when a node or the store ends.

/** One row of the table. */
export interface NodesRow {
  readonly title: string;
  readonly unit: string;
  readonly decimals: number;
}

export const NODES_FIGURES = {
  challenges: { title: "challenges, 64 at once", unit: "/s", decimals: 0 },
  challengesMany: { title: "challenges, 192 at once", unit: "/s", decimals: 0 },
  logins: { title: "complete logins, 64 at once", unit: "/s", decimals: 0 },
  loginP50: { title: "  p50", unit: "ms", decimals: 1 },
  loginP99: { title: "  p99", unit: "ms", decimals: 1 },
  gatewayCpu: { title: "  CPU of the gateways, each login", unit: "µs", decimals: 0 },
  storeCpu: { title: "  CPU of denokv, each login", unit: "µs", decimals: 0 },
  crossed: { title: "logins answered at the other node", unit: "/s", decimals: 0 },
  crossedRefused: { title: "  of them refused or lost", unit: "%", decimals: 1 },
  loneLogin: { title: "one login at a time: p50", unit: "ms", decimals: 1 },
  failover: { title: "failover in a login: kill -9 to Access-Accept", unit: "s", decimals: 2 },
  failoverOwn: { title: "  without the client's timeouts (2 × 1 s)", unit: "ms", decimals: 0 },
  failoverContinued: { title: "  the same login continued (1) or a new one (0)", unit: "", decimals: 0 },
  storeRestart: { title: "store killed and started: first answer after its start", unit: "ms", decimals: 0 },
} as const satisfies Record<string, NodesRow>;

export type NodesFigure = keyof typeof NODES_FIGURES;
export type NodesFigures = Partial<Record<NodesFigure, number>>;

/** The compiled generator, and the lengths of measurements in seconds. */
export interface NodesMeasuring {
  readonly generator: string;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly users: number;
}

/** Runs with a fresh site. The users of a measurement have not logged in before. */
export type NodesMeasurement = (site: Site, measuring: NodesMeasuring) => Promise<NodesFigures>;

/** The gateway drops new logins at 100,000 open ones. */
const MAX_REQUESTS = 60_000;
/** A usual VPN: two tries of one second, then the second server. */
const CLIENT_RETRIES = { timeoutMs: 1000, tries: 2 };
const CLIENT_TIMEOUTS_MS = CLIENT_RETRIES.timeoutMs * CLIENT_RETRIES.tries;
const LONE_LOGINS = 30;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** The measurements after it use users before this one, because a code is accepted once. */
const FIRST_LONE_USER = 50;

const targetOf = (site: Site, { radiusPort }: RunningProgram): LoadTarget => ({
  name: site.name,
  port: radiusPort,
  secret: BENCH_SECRET,
});

async function challengeRate(site: Site, measuring: NodesMeasuring, inFlight: number): Promise<number> {
  const { generator, seconds, warmUpSeconds } = measuring;
  const each = { "in-flight": Math.ceil(inFlight / site.nodes.length), count: MAX_REQUESTS, "give-up": 5 };
  const results = await Promise.all(
    site.nodes.map((node) =>
      runLoad(generator, targetOf(site, node), {
        ...each,
        seconds,
        "warm-up": warmUpSeconds,
      })
    ),
  );
  return sum(results.map(({ answered, seconds }) => answered / seconds));
}

async function measureLogins(site: Site, measuring: NodesMeasuring): Promise<NodesFigures> {
  const usersEach = Math.floor(measuring.users / site.nodes.length);
  const pids = site.nodes.map(({ pid }) => pid);
  const cpu = async (of: readonly number[]) => sum(await Promise.all(of.map(cpuSeconds)));
  const storePid = site.cluster === null ? [] : [site.cluster.store.pid];
  const before = [await cpu(pids), await cpu(storePid)];
  const results = await Promise.all(
    site.nodes.map((node, at) =>
      runLoad(measuring.generator, targetOf(site, node), {
        ...loginOptions(measuring),
        "in-flight": 64 / site.nodes.length,
        "first-user": at * usersEach,
        users: usersEach,
      })
    ),
  );
  const logins = sum(results.map((result) => result.logins));
  // The warm-up is in the CPU time too, so its logins are estimated from the rate.
  const all = logins * (1 + measuring.warmUpSeconds / measuring.seconds);
  const used = [await cpu(pids), await cpu(storePid)];
  return {
    logins: sum(results.map((result) => result.logins / result.seconds)),
    loginP50: Math.max(...results.map(({ p50Us }) => p50Us)) / 1000,
    loginP99: Math.max(...results.map(({ p99Us }) => p99Us)) / 1000,
    gatewayCpu: ((used[0] ?? 0) - (before[0] ?? 0)) * 1e6 / all,
    ...site.cluster === null ? {} : { storeCpu: ((used[1] ?? 0) - (before[1] ?? 0)) * 1e6 / all },
  };
}

const loginOptions = ({ seconds, warmUpSeconds }: NodesMeasuring) =>
  ({
    ...LOGINS,
    totp: TOTP_SEED_HEX,
    seconds,
    "warm-up": warmUpSeconds,
  }) satisfies LoadOptions;

/** The first packet goes to one node and the answer to the other. */
async function measureCrossed(site: Site, measuring: NodesMeasuring): Promise<NodesFigures> {
  const [first, second] = site.nodes;
  if (first === undefined || second === undefined) return {};
  const result = await countLoad(measuring.generator, targetOf(site, first), {
    ...loginOptions(measuring),
    "answer-port": second.radiusPort,
    users: measuring.users,
  });
  const failed = result.refused + result.lost;
  return {
    crossed: result.logins / result.seconds,
    crossedRefused: 100 * failed / Math.max(1, result.logins + failed),
  };
}

/** A login on a quiet site: the time that a user notices. */
async function measureLone(site: Site, measuring: NodesMeasuring): Promise<NodesFigures> {
  const [node] = site.nodes;
  if (node === undefined) return {};
  const result = await runLoad(measuring.generator, targetOf(site, node), {
    ...loginOptions({ ...measuring, seconds: 20, warmUpSeconds: 0 }),
    "in-flight": 1,
    "first-user": FIRST_LONE_USER,
    users: LONE_LOGINS,
  });
  return { loneLogin: result.p50Us / 1000 };
}

interface BegunLogin {
  readonly user: string;
  readonly state: Uint8Array;
}

const partsOf = (user: string, password: string) => ({
  userName: user,
  password,
  nasPort: 7,
  callingStationId: "198.51.100.7",
});

async function begin(client: RadiusClient, user: string): Promise<BegunLogin> {
  const reply = await client.ask(partsOf(user, "first"), { timeoutMs: 1000, tries: 10 });
  const { state } = reply;
  if (reply.code !== CODES.accessChallenge || state === null) throw new Error(`"${user}" got no challenge`);
  return { user, state };
}

const answer = (client: RadiusClient, { user, state }: BegunLogin, retries: typeof CLIENT_RETRIES) =>
  client.ask({ ...partsOf(user, presentCode()), state }, retries);

/** A client whose server is killed between the challenge and the answer. */
async function measureFailover(site: Site): Promise<NodesFigures> {
  const [first, second] = site.nodes;
  if (first === undefined || second === undefined) return {};
  using old = clientOf(first);
  using other = clientOf(second);
  const login = await begin(old, "user00001");
  await first.kill9();
  const killedMs = performance.now();
  await answer(old, login, CLIENT_RETRIES).catch(() => "the node is dead");
  const reply = await answer(other, login, { timeoutMs: 1000, tries: 20 });
  const isContinued = reply.code === CODES.accessAccept;
  // Otherwise the user begins again, at the second server.
  if (!isContinued) await answer(other, await begin(other, "user00002"), { timeoutMs: 1000, tries: 20 });
  const tookMs = performance.now() - killedMs;
  return {
    failover: tookMs / 1000,
    failoverOwn: tookMs - CLIENT_TIMEOUTS_MS,
    failoverContinued: isContinued ? 1 : 0,
  };
}

/** The store is killed, and started after two seconds; a client sends a new login every 100 ms. */
async function measureStoreRestart(site: Site): Promise<NodesFigures> {
  const [node] = site.nodes;
  if (node === undefined || site.cluster === null) return {};
  using client = clientOf(node);
  await site.cluster.store.kill9();
  const request = client.build(partsOf("user00003", "first"));
  const waiting = client.exchange(request, { timeoutMs: 100, tries: 300 });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await site.cluster.store.start();
  const startedMs = performance.now();
  await waiting;
  return { storeRestart: performance.now() - startedMs };
}

const clientOf = ({ radiusPort }: RunningProgram) =>
  openRadiusClient({ port: radiusPort, secret: BENCH_SECRET });

/** Each measurement has a fresh site. */
export const NODES_MEASUREMENTS: readonly NodesMeasurement[] = [
  async (site, measuring) => ({ challenges: await challengeRate(site, measuring, 64) }),
  async (site, measuring) => ({ challengesMany: await challengeRate(site, measuring, 192) }),
  measureLogins,
  measureCrossed,
  async (site, measuring) => ({
    ...await measureLone(site, measuring),
    ...await measureStoreRestart(site),
    ...await measureFailover(site),
  }),
];
