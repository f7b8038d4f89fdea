// Starts the real program for a test: on free ports, with a temporary data directory, and with its log.

import { TextLineStream } from "./lines.ts";
import { endChild, type Ended, endingWithParent, runProgram, signal } from "./child.ts";
import { askControl } from "./control_call.ts";
import { type GatewayPaths, prepareSettings, type ToldListeners } from "./gateway_settings.ts";
import { openRadiusClient, type RadiusClient } from "./radius_client.ts";

/** The options of {@link startProgram}; all are optional. */
export interface ProgramOptions {
  /** Settings as in the operating page; they are merged into those of the temporary directory, table by table. */
  readonly toml?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A data directory that stays; without it, a temporary one is created, and removed by `dispose()`. */
  readonly dataDir?: string;
  /** Another program than `main.ts`. */
  readonly program?: string;
  /** The tree of another version, whose `main.ts` and commands run; it ends with a slash. */
  readonly root?: string;
  /** The most file descriptors that the process may open (hard limit); needs `prlimit` of util-linux. */
  readonly maxDescriptors?: number;
  /** A module of the test that runs in the process before the program. */
  readonly preload?: string;
  /** The deadline of the start; the default is 60 s. */
  readonly readyTimeoutMs?: number;
  /** Kills the program while it starts. */
  readonly signal?: AbortSignal;
}

/** A gateway that answers. Declare it with `await using`, or call `dispose()`. */
export interface RunningProgram extends AsyncDisposable {
  readonly radiusPort: number;
  /** 0 if the gateway has no accounting port of its own. */
  readonly accountingPort: number;
  /** The TCP port of RADIUS over TLS; 0 without it. */
  readonly tlsPort: number;
  readonly httpUrl: string;
  readonly secret: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly configPath: string;
  /** From the start of the process until it reports that it is ready. */
  readonly startedInMs: number;
  /** Its whole output, both streams, in the order of arrival; the oldest lines are dropped after 20,000. */
  logLines(): readonly string[];
  /** Waits for the first line with `text` (30 s), because the log is written after the answer. Throws without one. */
  logged(text: string): Promise<string>;
  /** A value of /metrics, named without the prefix `countersign_`; 0 if it is absent. */
  metric(name: string): Promise<number>;
  /** Opens a client with the gateway's secret. */
  client(): RadiusClient;
  /**
   * Adds a factor of a user, or prints the link of an invitation: `pair("ada", "--totp", seed)`, `pair("ada", "--invite")`.
   * It makes the call of `deno task pair` itself, because the process of the command takes longer than most logins.
   */
  pair(user: string, option: PairOption, value?: string): Promise<Pick<Ended, "code" | "stdout" | "stderr">>;
  /** Runs another command of `cli/`, such as `cli/import.ts`, with the same settings. */
  command(path: string, ...args: string[]): Promise<Ended>;
  /** Sends SIGTERM, and SIGKILL after 10 s. The data stays. */
  stop(): Promise<Deno.CommandStatus>;
  /** Sends SIGKILL. The data stays. */
  kill9(): Promise<void>;
  /** Stops it unless it has ended, and starts it again with the same settings, data and ports. */
  restart(): Promise<void>;
  /** Stops it and removes its temporary directory. */
  dispose(): Promise<void>;
}

const ROOT = new URL("../../", import.meta.url).pathname;
/** The permissions of `deno task start`, and no more. */
export const PROGRAM_FLAGS = [
  "--v8-flags=--heap-growing-percent=30,--min-semi-space-size=8,--max-semi-space-size=8,--no-allocation-site-pretenuring",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--node-modules-dir=manual",
  "--cached-only",
  "--no-remote",
  "--deny-run",
  "--deny-ffi",
  "--deny-sys",
] as const;
const BANNER_RULE = "─".repeat(20);
const MAX_LINES = 20_000;
const STOP_GRACE_MS = 10_000;
const LOG_WAIT_MS = 30_000;
/** How long a restart waits for a port that another process took meanwhile. */
const PORT_WAIT_MS = 60_000;
const PORT_TAKEN = /Cannot listen|Address already in use/;

interface Process {
  readonly child: Deno.ChildProcess;
  readonly drained: Promise<unknown>;
  readonly startedInMs: number;
}

/** Starts the gateway and waits until it is ready. Throws with the end of its log when it does not start. */
export async function startProgram(options: ProgramOptions = {}): Promise<RunningProgram> {
  const prepared = await prepareSettings(options);
  const { paths } = prepared;
  const lines: string[] = [];
  const launched = await launch(options, { paths, lines }).catch(async (fault: unknown) => {
    await Deno.remove(prepared.scratch, { recursive: true });
    throw fault;
  });
  let { process, told } = launched;

  const stop = async () => {
    const status = await endChild(process.child, STOP_GRACE_MS);
    await process.drained;
    return status;
  };
  const dispose = async () => {
    await stop();
    await Deno.remove(prepared.scratch, { recursive: true });
  };
  return {
    get radiusPort() {
      return told.radius[0]?.port ?? 0;
    },
    get accountingPort() {
      return told.accounting[0]?.port ?? 0;
    },
    get tlsPort() {
      return told.tls[0]?.port ?? 0;
    },
    get httpUrl() {
      return `http://127.0.0.1:${told.http.port}`;
    },
    get pid() {
      return process.child.pid;
    },
    get startedInMs() {
      return process.startedInMs;
    },
    secret: prepared.secret,
    dataDir: paths.dataDir,
    configPath: paths.config,
    logLines: () => lines,
    logged: (text) => findLine(lines, text),
    metric: (name) => readMetric(told.http.port, name),
    client: () => openRadiusClient({ port: told.radius[0]?.port ?? 0, secret: prepared.secret }),
    pair: (user, option, value = "") => pair(paths, { user, option, value }),
    command: (path, ...args) => runCommand(path, { args, paths, ...options }),
    stop,
    async kill9() {
      signal(process.child, "SIGKILL");
      await process.child.status;
      await process.drained;
    },
    async restart() {
      await stop();
      await prepared.pinPorts(told);
      ({ process, told } = await launchAgain(options, { paths, lines }));
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

async function launch(
  options: ProgramOptions,
  { paths, lines }: { paths: GatewayPaths; lines: string[] },
): Promise<{ process: Process; told: ToldListeners }> {
  await removeIfThere(paths.ready);
  const startedMs = performance.now();
  const { maxDescriptors, preload, root = ROOT, program = `${root}main.ts` } = options;
  const before = preload === undefined ? [] : [`--preload=${preload}`];
  const run = ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, ...before, program];
  // prlimit and setpriv set something on themselves and then become the program, so the process id is the program's.
  const [command, args]: [string, string[]] = maxDescriptors === undefined
    ? [Deno.execPath(), run]
    : ["prlimit", [`--nofile=${maxDescriptors}:${maxDescriptors}`, Deno.execPath(), ...run]];
  const [wrapper, wrapperArgs] = endingWithParent(command, args);
  const child = new Deno.Command(wrapper, {
    args: wrapperArgs,
    cwd: root,
    env: { MALLOC_ARENA_MAX: "1", ...options.env, ...environment(paths) },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const banner = createBannerWait();
  const drained = Promise.all([
    keep(child.stdout, (line) => {
      addLine(lines, line);
      banner.see(line);
    }),
    keep(child.stderr, (line) => addLine(lines, line)),
  ]);
  options.signal?.addEventListener("abort", () => signal(child, "SIGKILL"), { once: true });
  const told = await waitForReady(child, paths.ready, options.readyTimeoutMs ?? 60_000);
  const startedInMs = performance.now() - startedMs;
  if (told === null) {
    signal(child, "SIGKILL");
    await child.status;
    await drained;
    throw new Error(`The gateway did not come up:\n${lines.slice(-30).join("\n")}`);
  }
  // The banner is written before the ready file, but read from a pipe: without this wait its lines arrive among those
  // of the test.
  if (options.program === undefined) await Promise.race([banner.whole, drained]);
  return { process: { child, drained, startedInMs }, told };
}

/** Starts the program on its former ports. If another process took one of them meanwhile, it tries again. */
async function launchAgain(
  options: ProgramOptions,
  where: { paths: GatewayPaths; lines: string[] },
): ReturnType<typeof launch> {
  for (const end = performance.now() + PORT_WAIT_MS;;) {
    try {
      return await launch(options, where);
    } catch (fault) {
      const isTaken = fault instanceof Error && PORT_TAKEN.test(fault.message);
      if (!isTaken || performance.now() > end) throw fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Resolves `whole` at the second rule of the banner, which is its last line. */
function createBannerWait(): { whole: Promise<void>; see: (line: string) => void } {
  const { promise: whole, resolve } = Promise.withResolvers<void>();
  let rules = 0;
  return {
    whole,
    see(line) {
      if (line.startsWith(BANNER_RULE)) rules += 1;
      if (rules === 2) resolve();
    },
  };
}

function environment(paths: GatewayPaths): Record<string, string> {
  return { COUNTERSIGN_CONFIG: paths.config, COUNTERSIGN_READY_FILE: paths.ready, NO_COLOR: "1" };
}

/** The body of the call for each option of `deno task pair` that adds a factor. */
const FACTOR_OF = {
  "--device": (id: string) => ({ kind: "device", id, totpLength: 6 }),
  "--sms": (number: string) => ({ kind: "sms", number }),
  "--totp": (seed: string) => ({ kind: "totp", seed }),
  "--voice": (number: string) => ({ kind: "voice", number }),
} as const;
type PairOption = keyof typeof FACTOR_OF | "--invite";

async function pair(
  { dataDir }: GatewayPaths,
  { user, option, value }: { user: string; option: PairOption; value: string },
): ReturnType<RunningProgram["pair"]> {
  const path = `/users/${encodeURIComponent(user)}`;
  const stdout = option === "--invite"
    ? (await askControl<{ link: string }>(dataDir, `${path}/invitation`, {})).link
    : JSON.stringify(await askControl(dataDir, `${path}/pairings`, FACTOR_OF[option](value)));
  return { code: 0, stdout, stderr: "" };
}

/** Runs one of the program's commands with the settings of a running gateway. */
function runCommand(
  path: string,
  { args, paths, env, root = ROOT }: Pick<ProgramOptions, "env" | "root"> & {
    args: readonly string[];
    paths: GatewayPaths;
  },
): Promise<Ended> {
  return runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, `${root}${path}`, ...args],
    cwd: root,
    env: { ...env, ...environment(paths) },
  });
}

/** The listeners in the program's ready file; `null` when it ended or took too long. */
async function waitForReady(
  child: Deno.ChildProcess,
  path: string,
  timeoutMs: number,
): Promise<ToldListeners | null> {
  let ended = false;
  void child.status.then(() => {
    ended = true;
  });
  for (const end = performance.now() + timeoutMs; performance.now() < end && !ended;) {
    try {
      // Version 0.2 has no listeners of TLS.
      return { tls: [], ...JSON.parse(await Deno.readTextFile(path)) };
    } catch (fault) {
      // The file appears complete, by a rename; before that it does not exist.
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return null;
}

async function readMetric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`countersign_${name} `));
  return Number(line?.split(" ")[1] ?? 0);
}

async function findLine(lines: readonly string[], text: string): Promise<string> {
  for (const end = performance.now() + LOG_WAIT_MS; performance.now() < end;) {
    const line = lines.find((one) => one.includes(text));
    if (line !== undefined) return line;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`The log has no "${text}" but:\n${lines.slice(-20).join("\n")}`);
}

async function keep(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  for await (const line of stream.pipeThrough(new TextLineStream())) onLine(line);
}

function addLine(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > MAX_LINES) lines.shift();
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (fault) {
    if (!(fault instanceof Deno.errors.NotFound)) throw fault;
  }
}
