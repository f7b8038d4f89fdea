// A terminal session of an operator for tests, with a temporary data directory, and an optional server that holds it.

import { compose, type Composition, VERSION } from "../../compose.ts";
import { NO_DIST } from "../../console/assets.ts";
import { answerBackups } from "../../platform/backup/server_backup.ts";
import { lifetimesOf } from "../../platform/backup/expiry.ts";
import { listenControl } from "../../platform/control_listener.ts";
import { openDataDir } from "../../platform/data_dir.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import { type Ended, runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The permissions that the tasks give their commands, and no more. */
const PERMISSIONS = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];

export interface Operator extends AsyncDisposable {
  readonly home: string;
  readonly dataDir: string;
  /** Runs `cli/<name>.ts` like its task. */
  run(command: string, ...args: string[]): Promise<Ended>;
  /** Starts it, and sends SIGINT when `isTime` resolves. */
  interrupt(isTime: () => Promise<void>, command: string, ...args: string[]): Promise<Ended>;
  /** The same as `run` with text on standard input. */
  type(stdin: string, command: string, ...args: string[]): Promise<Ended>;
}

interface Options {
  /** Settings besides the data directory. */
  readonly toml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function openOperator({ toml = "", env = {} }: Options = {}): Promise<Operator> {
  const home = await Deno.makeTempDir({ prefix: "countersign-operator-" });
  const dataDir = `${home}/data`;
  const file = `${home}/countersign.toml`;
  await Deno.writeTextFile(file, `${toml}\n[server]\ndata_dir = ${JSON.stringify(dataDir)}\n`);
  const start = (
    stdin: string | undefined,
    command: string,
    args: readonly string[],
    interruptAfter?: () => Promise<void>,
  ) =>
    runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...PERMISSIONS, `${ROOT}cli/${command}.ts`, ...args],
      cwd: home,
      env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: file, COUNTERSIGN_MASTER_KEY: "", ...env },
      ...stdin === undefined ? {} : { stdin },
      ...interruptAfter === undefined ? {} : { interruptAfter },
    });
  return {
    home,
    dataDir,
    run: (command, ...args) => start(undefined, command, args),
    interrupt: (isTime, command, ...args) => start(undefined, command, args, isTime),
    type: (stdin, command, ...args) => start(stdin, command, args),
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

/** Starts a server without network listeners in this process: it holds the data directory and answers on its socket. */
export async function openStandIn(
  { dataDir: path }: Pick<Operator, "dataDir">,
  { toml = "" }: Pick<Options, "toml"> = {},
): Promise<Composition & AsyncDisposable> {
  const random = createSystemRandom();
  const clock = systemClock;
  const dataDir = await openDataDir(path, { random, masterKeyHex: "" });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const settings = new LiveSettings({ file: settingsFileOf(toml), ...dataDir, clock, log });
  await settings.load();
  const composition = await compose({
    settings,
    dataDir,
    dist: NO_DIST,
    clock,
    random,
    log,
    startedMs: clock.nowMs(),
    generatedSecret: "unused",
    radiusListeners: [],
    isHttpServing: () => true,
  });
  const source = {
    ...dataDir,
    clock,
    settings: lifetimesOf(settings.config),
    version: VERSION,
    log,
  };
  const answer = answerBackups(source, (await composition.openApp()).answerControlSocket);
  const control = await listenControl({ path: `${path}/control.sock`, answer, log, clock });
  return {
    ...composition,
    async [Symbol.asyncDispose]() {
      await control.close();
      await composition.close();
      await dataDir.close();
    },
  };
}
