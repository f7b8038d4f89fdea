// The part of `deno task check-config` that checks the settings file together with what administrators saved in the console.

import type { Config, ConfigFault } from "../platform/config/config.ts";
import { shownKey } from "../platform/setting_problems.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { readStoredSettings, type StoredSettings } from "../platform/config/live_settings.ts";
import { hasContent, openKv, StoreFault } from "../platform/open_kv.ts";
import { readFormat } from "../platform/upgrade/store_format.ts";
import { checkUpgrade, type UpgradeCheck, upgradeText } from "./check_upgrade.ts";
import { type CommandOutcome, counted, printable } from "./format_result.ts";

/** What the store adds to the check of the file. */
export interface StoredCheck extends CommandOutcome {
  /** The settings in effect; `null` if the store cannot be read. */
  readonly config: Config | null;
  /** What `err` and the warnings of `out` say, a sentence each. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** What the next start does with the store; `null` if the store cannot be read. */
  readonly upgrade: UpgradeCheck | null;
}

type Layer = "settings file" | "console" | "default";

/** Whether `key` is a setting, or a part of it. */
const isOf = (key: string) => (path: string) =>
  path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`);

/** Where the value of a setting comes from. */
function layerOf(path: string, { found }: SettingsFile, { stored }: StoredSettings): Layer {
  const isThis = (key: string) => isOf(key)(path);
  const tables = [...found.maps].flatMap(([map, table]) =>
    map === "targets" ? Object.keys(table).map((name) => `targets.${name}`) : [map]
  );
  if ([...found.values.keys(), ...found.lists.keys(), ...tables].some(isThis)) return "settings file";
  const targets = [...stored.targets.keys()].map((name) => `targets.${name}`);
  return [...stored.values.keys(), ...targets].some(isThis) ? "console" : "default";
}

const lines = (entries: readonly string[]) => entries.map((entry) => `  ${printable(entry)}\n`).join("");

/**
 * Describes the settings in effect: what the console stored and does not fit, what the file overrides, and the warnings, each with the
 * layer of the setting.
 */
function describeStored(file: SettingsFile, read: StoredSettings): Omit<StoredCheck, "upgrade"> {
  const { stored: { values, targets }, effective: { problems, warnings, used }, overridden } = read;
  const layer = (key: string) => layerOf(key, file, read);
  const layered = (fault: ConfigFault) => {
    const { key, problem } = fault;
    return key === file.path ? `${key}: ${problem}` : `${shownKey(fault)} (${layer(key)}): ${problem}`;
  };
  const unused = [...problems].map(([key, cause]) =>
    cause.key === key
      ? `${key} (console): ${cause.problem}`
      : `${key} (console): it does not fit ${layered(cause)}`
  );
  const head = values.size + targets.size === 0
    ? "The console has saved no settings.\n"
    : `The console has saved ${counted(values.size, "setting")} and ${targets.size} ${
      targets.size === 1 ? "directory" : "directories"
    }; ${used.values.size + used.targets.size - overridden.length} of them are used.\n`;
  const notes = overridden.length === 0
    ? ""
    : `The settings file overrides:\n${lines(overridden.map((key) => `${key} (settings file)`))}`;
  const shown = warnings.filter(({ code }) => code !== "not_used").map(layered);
  const warned = shown.length === 0 ? "" : `${counted(shown.length, "warning")}\n${lines(shown)}`;
  const err = unused.length === 0
    ? ""
    : `${counted(unused.length, "saved setting")} cannot be used:\n${lines(unused)}`;
  const { config } = read.effective;
  const exitCode = err === "" ? 0 : 1;
  return { out: head + notes + warned, err, exitCode, config, errors: unused, warnings: shown };
}

/** What the check reads of a policy (radius/policy/policy.ts). */
interface StoredPolicy {
  readonly name: string;
  readonly enabled: boolean;
  readonly outcome: { readonly kind: string; readonly unknownUsers?: boolean };
}

/** Warns about policies that accept names outside the directory without a second factor. */
export function policyWarnings(policies: readonly StoredPolicy[]): string[] {
  const open = policies.filter(({ enabled, outcome }) =>
    enabled && outcome.kind === "bypass" && outcome.unknownUsers === true
  );
  return open.map(({ name }) =>
    `policy "${name}": it accepts names outside the directory with the password alone. Such a name can be another spelling of a user's name.`
  );
}

/** Reads the store without changing it, while the server runs or not. `null`: there is no store yet. */
export async function checkStored(config: Config, file: SettingsFile): Promise<StoredCheck | null> {
  const location = config.store.kv || `${config.server.dataDir}/countersign.kv`;
  try {
    if (config.store.kv === "" && !await hasContent(location)) return null;
    const kv = await openKv(location, { mustExist: true });
    try {
      const { record } = await readFormat(kv, location);
      const described = describeStored(file, await readStoredSettings(kv, file));
      const { value } = await kv.get<{ readonly policies: readonly StoredPolicy[] }>(["policy", "list"]);
      const ofPolicies = policyWarnings(value?.policies ?? []);
      const warned = ofPolicies.length === 0
        ? ""
        : `${counted(ofPolicies.length, "warning")}\n${lines(ofPolicies)}`;
      const upgrade = await checkUpgrade({ kv, config: described.config ?? config, record });
      const refused = upgrade.problems.length === 0
        ? ""
        : `Cannot upgrade the store:\n${lines(upgrade.problems)}`;
      return {
        ...described,
        out: described.out + warned + upgradeText(upgrade),
        err: described.err + refused,
        exitCode: refused === "" ? described.exitCode : 1,
        errors: [...described.errors, ...upgrade.problems],
        warnings: [...described.warnings, ...ofPolicies],
        upgrade,
      };
    } finally {
      kv.close();
    }
  } catch (fault) {
    if (!(fault instanceof StoreFault)) throw fault;
    const { message } = fault;
    const err = `Cannot read the settings of the console: ${printable(message)}\n`;
    return { out: "", err, exitCode: 1, config: null, errors: [message], warnings: [], upgrade: null };
  }
}
