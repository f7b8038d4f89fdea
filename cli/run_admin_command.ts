// The frame of every administration command: arguments, settings, connection, result and exit code.

import type { Config, TargetSettings } from "../platform/config/config.ts";
import { loadConfig, type SettingsFile } from "../platform/config/load.ts";
import { DataDirFault } from "../platform/data_dir.ts";
import type { OneTargetSetting } from "../console/api/target_settings/target_setting_routes.ts";
import {
  type AdminApi,
  AdminRefusal,
  AdminUnreachable,
  apiValue,
  openAdminConnection,
} from "./admin_connection.ts";
import { printFaults, VALUE_CHECKS } from "./check_config.ts";
import { type CommandOutcome, firstOf, printable, quoted } from "./format_result.ts";
import { BackupFault } from "../platform/backup/records.ts";
import { StoreFault } from "../platform/open_kv.ts";
import { CommandInterrupted, isHelpRequested } from "./terminal.ts";

const ENVIRONMENT = "A command reads the same settings as the server. Use the same files and environment.\n";

const WITH_OR_WITHOUT_SERVER = "Works with or without a running server. ";
const USAGE_FOOTER = `Reads the same settings as the server: the file in COUNTERSIGN_CONFIG, or
countersign.toml in the working directory.
Exit codes: 0 for success, 1 for failure, 2 for wrong usage.
`;

interface AdminCommand<Plan extends object> {
  /** The help text, without what is the same for all commands. */
  readonly usage: string;
  /** Instead of the help, after wrong arguments: where a long help is. */
  readonly hint?: string;
  /** Reads the arguments. A text is the problem with them. */
  readonly plan: (args: readonly string[]) => Plan | string;
  readonly run: (plan: Plan) => Promise<CommandOutcome>;
  /** The command needs a stopped server, and its help text says so. */
  readonly needsStop?: boolean;
}

/** What a command prints, and its exit code, for its arguments. It reads the settings of the process. */
type RunArguments = (args: readonly string[]) => Promise<CommandOutcome>;

/** A command with its help, and with an error for wrong arguments. */
export function adminCommand<Plan extends object>(
  { usage, hint, plan: planArgs, run, needsStop = false }: AdminCommand<Plan>,
): RunArguments {
  const help = `${usage}\n${needsStop ? "" : WITH_OR_WITHOUT_SERVER}${USAGE_FOOTER}`;
  return async (args) => {
    if (isHelpRequested(args)) return success(help);
    const plan = planArgs(args);
    if (typeof plan !== "string") return await run(plan);
    return { out: "", err: `Cannot use the arguments: ${printable(plan)}.\n\n${hint ?? help}`, exitCode: 2 };
  };
}

/** Runs a command with the arguments of the process, prints its result, and ends the process with its exit code. */
export async function runMain(command: RunArguments): Promise<void> {
  printOutcome(await command(Deno.args));
  // The runtime retries a call to a KV Connect server without an end, also after the store is closed.
  Deno.exit();
}

/** Errors whose message is a sentence without a secret. */
const SENTENCES = [DataDirFault, StoreFault, BackupFault, CommandInterrupted, AdminUnreachable, AdminRefusal];

/**
 * Reads the settings, and calls `work` with the administration API. Named targets that are not in the settings file are read from the
 * gateway.
 *
 * @returns what `work` returns, or a failure whose text contains no secret.
 */
export async function runCommand(
  work: (api: AdminApi, config: Config) => Promise<CommandOutcome>,
  { targets = [] }: { targets?: readonly string[] } = {},
): Promise<CommandOutcome> {
  return await runWithSettings(async (config, source) => {
    const connection = openAdminConnection(config, source);
    try {
      const named = targets.filter((name) => !isInFile(source, name));
      const others = await Promise.all(named.map((name) => readTarget(connection.api, name)));
      const known = config.targets.filter(({ name }) => !named.includes(name));
      const all = [...known, ...others.filter((target) => target !== null)];
      return await work(connection.api, { ...config, targets: all });
    } finally {
      await connection.close();
    }
  });
}

function isInFile({ settingsFile }: CommandSource, target: string): boolean {
  return Object.hasOwn(settingsFile.found.maps.get("targets") ?? {}, target);
}

/** A target that is not in the settings file, with its mapping; `null`: there is none. */
async function readTarget(api: AdminApi, name: string): Promise<TargetSettings | null> {
  const response = await api["target-settings"][":name"].$get({ param: { name: encodeURIComponent(name) } });
  if (response.status === 404) return null;
  const { item: { table: { mapping } } } = await apiValue(Promise.resolve(response)) as OneTargetSetting;
  const { user = {}, group = {} } = (mapping ?? {}) as Partial<TargetSettings["mapping"]>;
  return { name, pageSize: 100, maxDropPercent: 20, mapping: { user, group }, backends: [] };
}

/** Where a command finds the settings and the store. */
export interface CommandSource {
  readonly settingsFile: SettingsFile;
  readonly masterKeyHex: string;
}

/** Reads the settings, and calls `work` with them and with the master key of the environment. Fails like {@link runCommand}. */
export async function runWithSettings(
  work: (config: Config, source: CommandSource) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const loaded = loadConfig({
    env: Deno.env.get,
    readTextFile: Deno.readTextFileSync,
    cwd: Deno.cwd(),
    ...VALUE_CHECKS,
  });
  if (!loaded.ok) return refusal(`${printFaults(loaded.faults)}${ENVIRONMENT}`);
  try {
    const { config, settingsFile } = loaded;
    return await work(config, { settingsFile, masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "" });
  } catch (fault) {
    if (fault instanceof Error && SENTENCES.some((one) => fault instanceof one)) {
      return refusal(`${printable(fault.message)}\n`);
    }
    // Only the name of the error: its message may quote a secret from the arguments.
    const name = fault instanceof Error ? fault.name : "fault";
    return refusal(`The command failed (${name}).\n`);
  }
}

export function success(out: string): CommandOutcome {
  return { out, err: "", exitCode: 0 };
}

export function refusal(err: string): CommandOutcome {
  return { out: "", err, exitCode: 1 };
}

/** Prints an outcome and sets the exit code of the process. */
function printOutcome({ out, err, exitCode }: CommandOutcome): void {
  const encoder = new TextEncoder();
  writeWhole(Deno.stdout, encoder.encode(out));
  writeWhole(Deno.stderr, encoder.encode(err));
  Deno.exitCode = exitCode;
}

function writeWhole(stream: { writeSync(octets: Uint8Array): number }, octets: Uint8Array): void {
  for (let at = 0; at < octets.length;) at += stream.writeSync(octets.subarray(at));
}

/**
 * Finds a target of the settings by its name.
 *
 * @throws AdminRefusal with the names of the targets.
 */
export function checkTarget(name: string, { targets }: Pick<Config, "targets">): TargetSettings {
  const found = targets.find((target) => target.name === name);
  if (found !== undefined) return found;
  throw new AdminRefusal(
    "unknown_target",
    `There is no target ${quoted(name)}. The settings define ${targetNames(targets.map((one) => one.name))}.`,
  );
}

/** The names of targets in quotation marks, at most 20. */
export function targetNames(names: readonly string[]): string {
  return firstOf(names.map(quoted), 20);
}
