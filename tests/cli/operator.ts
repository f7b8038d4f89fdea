// A terminal session of an operator for tests, with a temporary data directory, and an optional server that holds it.
// Commands run in this process, unless a test is about the process: a start costs ten times as much as the command.

import type { runAdmin } from "../../cli/admin.ts";
import { compose, type Composition } from "../../compose.ts";
import { NO_DIST } from "../../console/assets.ts";
import { answerBackups } from "../../platform/backup/server_backup.ts";
import { lifetimesOf } from "../../platform/backup/expiry.ts";
import { listenControl } from "../../platform/control_listener.ts";
import { openDataDir } from "../../platform/data_dir.ts";
import { createLog, type Log } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import { type Ended, runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The permissions that the tasks give their commands, and no more. */
const PERMISSIONS = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];

/** What a command prints, and its exit code. */
type Printed = Pick<Ended, "code" | "stdout" | "stderr">;
type RunArguments = typeof runAdmin;

/** By the name of the file in cli/. */
const COMMANDS: Readonly<Record<string, () => Promise<RunArguments>>> = {
  admin: async () => (await import("../../cli/admin.ts")).runAdmin,
  backup: async () => (await import("../../cli/backup.ts")).backupCommand,
  check_config: async () => (await import("../../cli/check_config.ts")).checkConfigCommand,
  client: async () => (await import("../../cli/client.ts")).clientCommand,
  enrol: async () => (await import("../../cli/enrol.ts")).enrolCommand,
  export: async () => (await import("../../cli/export.ts")).exportCommand,
  import: async () => (await import("../../cli/import.ts")).importCommand,
  move_store: async () => (await import("../../cli/move_store.ts")).moveStoreCommand,
  outbox: async () => (await import("../../cli/outbox.ts")).outboxCommand,
  pair: async () => (await import("../../cli/pair.ts")).pairCommand,
  refresh: async () => (await import("../../cli/refresh.ts")).refreshCommand,
  restore: async () => (await import("../../cli/restore.ts")).restoreCommand,
  scim_credential: async () => (await import("../../cli/scim_credential.ts")).scimCredentialCommand,
  settings: async () => (await import("../../cli/settings.ts")).settingsCommand,
  support_bundle: async () => (await import("../../cli/support_bundle.ts")).supportBundleCommand,
  test_mail: async () => (await import("../../cli/test_mail.ts")).mailTestCommand,
  tokens: async () => (await import("../../cli/tokens.ts")).tokensCommand,
  unlock: async () => (await import("../../cli/unlock.ts")).unlockCommand,
};

export interface Operator extends AsyncDisposable {
  readonly home: string;
  readonly dataDir: string;
  /** Runs the command of `cli/<name>.ts` in this process, one at a time. */
  run(command: string, ...args: string[]): Promise<Printed>;
  /** The same with text on standard input. */
  type(stdin: string, command: string, ...args: string[]): Promise<Printed>;
  /** Runs `cli/<name>.ts` like its task, in its own process. */
  start(command: string, ...args: string[]): Promise<Ended>;
  /** Starts it, and sends SIGINT when `isTime` resolves. */
  interrupt(isTime: () => Promise<void>, command: string, ...args: string[]): Promise<Ended>;
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
    command: string,
    args: readonly string[],
    interruptAfter?: () => Promise<void>,
  ) =>
    runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...PERMISSIONS, `${ROOT}cli/${command}.ts`, ...args],
      cwd: home,
      env: { NO_COLOR: "1", COUNTERSIGN_CONFIG: file, COUNTERSIGN_MASTER_KEY: "", ...env },
      ...interruptAfter === undefined ? {} : { interruptAfter },
    });
  const type = (stdin: string, command: string, ...args: string[]) =>
    runHere(command, args, { stdin, env: { COUNTERSIGN_CONFIG: file, COUNTERSIGN_MASTER_KEY: "", ...env } });
  return {
    home,
    dataDir,
    run: (command, ...args) => type("", command, ...args),
    type,
    start: (command, ...args) => start(command, args),
    interrupt: (isTime, command, ...args) => start(command, args, isTime),
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

/**
 * Runs `cli/<command>.ts` in this process, one at a time, with an environment of its own, and collects what it prints. A relative path is
 * one of this process. Signals are not for the command, because it listens to them until its process ends.
 */
export async function runHere(
  command: string,
  args: readonly string[],
  { stdin = "", env }: { readonly stdin?: string; readonly env: Readonly<Record<string, string>> },
): Promise<Printed> {
  const main = await COMMANDS[command]?.();
  if (main === undefined) throw new Error(`There is no command ${command}`);
  const printed = { stdout: "", stderr: "" };
  const readEnv = Deno.env.get;
  using replaced = new DisposableStack();
  const replace = <T extends object>(object: T, methods: Partial<T>) => {
    const before = Object.getOwnPropertyDescriptors(object);
    Object.assign(object, methods);
    replaced.defer(() => {
      for (const name of Object.keys(methods)) {
        const own = Reflect.get(before, name);
        if (own === undefined) Reflect.deleteProperty(object, name);
        else Object.defineProperty(object, name, own);
      }
    });
  };
  for (const name of ["stdout", "stderr"] as const) {
    const decoder = new TextDecoder();
    const writeSync = (octets: Uint8Array) => {
      printed[name] += decoder.decode(octets, { stream: true });
      return octets.length;
    };
    replace(Deno[name], {
      writeSync,
      write: (octets) => Promise.resolve(writeSync(octets)),
      isTerminal: () => false,
    });
  }
  let typed = new TextEncoder().encode(stdin);
  const read = (into: Uint8Array) => {
    const count = Math.min(into.length, typed.length);
    into.set(typed.subarray(0, count));
    typed = typed.subarray(count);
    return Promise.resolve(count === 0 ? null : count);
  };
  replace(Deno.stdin, { read, isTerminal: () => false });
  replace(Deno.env, { get: (name) => env[name] ?? readEnv(name) });
  replace(Deno, { addSignalListener: () => undefined });
  const { out, err, exitCode } = await main(args);
  return { code: exitCode, stdout: printed.stdout + out, stderr: printed.stderr + err };
}

/** Starts a server without network listeners in this process: it holds the data directory and answers on its socket. */
export async function openStandIn(
  { dataDir: path }: Pick<Operator, "dataDir">,
  { toml = "", files = {} }: Pick<Options, "toml"> & { readonly files?: Readonly<Record<string, string>> } =
    {},
): Promise<Composition & AsyncDisposable & { readonly log: Log }> {
  const random = createSystemRandom();
  const clock = systemClock;
  const dataDir = await openDataDir(path, { random, masterKeyHex: "" });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const settings = new LiveSettings({ file: settingsFileOf(toml, { files }), ...dataDir, clock, log });
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
    passwordCost: { costLog2: 4 },
    radiusListeners: [],
    isHttpServing: () => true,
  });
  const source = { ...dataDir, clock, settings: lifetimesOf(settings.config), log };
  const answer = answerBackups(source, (await composition.openApp()).answerControlSocket);
  const control = await listenControl({ path: `${path}/control.sock`, answer, log, clock });
  return {
    ...{ ...composition, log },
    async [Symbol.asyncDispose]() {
      await control.close();
      await composition.close();
      await dataDir.close();
    },
  };
}
