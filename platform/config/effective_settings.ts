// The settings in effect: the file over what the console stored over the defaults. A stored value that is not valid any more is not
// used, and has a problem that names the reason.

import type { Config, ConfigFault, ConfigWarning } from "./config.ts";
import { evaluateSettings, type SettingsFile, type StoredValues } from "./load.ts";
import { joinKey, type SortedTable, type TomlTable } from "./parse_toml.ts";

export interface EffectiveSettings {
  readonly config: Config;
  readonly warnings: readonly ConfigWarning[];
  readonly found: SortedTable;
  /** The stored values that are in effect. */
  readonly used: StoredValues;
  /** Why a stored value is not used, by key or `targets.<name>`. */
  readonly problems: ReadonlyMap<string, string>;
}

export const targetPath = (name: string): string => joinKey("targets", name);

/**
 * Combines the file with stored values. The file alone must be valid. Stored values that have a fault, or cause one in another setting,
 * are left out until no fault remains.
 */
export function resolveSettings(file: SettingsFile, stored: StoredValues): EffectiveSettings {
  const values = new Map(stored.values);
  const targets = new Map(stored.targets);
  const problems = new Map<string, string>();
  for (;;) {
    const { config, faults, warnings, found } = evaluateSettings(file, { values, targets });
    if (faults.length === 0 || values.size + targets.size === 0) {
      const unused = [...problems].map(([key, problem]) => ({
        key,
        problem: `the value of the console is not used: ${problem}`,
      }));
      return { config, warnings: [...warnings, ...unused], found, used: { values, targets }, problems };
    }
    const before = values.size + targets.size;
    for (const fault of faults) leaveOut(fault, { values, targets, problems });
    const [first] = faults;
    // Another setting causes the fault. The newest change is the most likely cause.
    if (values.size + targets.size === before && first !== undefined) {
      leaveOutNewest(first, { values, targets, problems });
    }
  }
}

interface Candidates {
  readonly values: Map<string, unknown>;
  readonly targets: Map<string, TomlTable>;
  readonly problems: Map<string, string>;
}

function leaveOut({ key, problem }: ConfigFault, { values, targets, problems }: Candidates): void {
  const isAbout = (path: string) => key === path || key.startsWith(`${path}.`);
  for (const name of values.keys()) {
    if (!isAbout(name)) continue;
    values.delete(name);
    return void problems.set(name, problem);
  }
  for (const name of targets.keys()) {
    if (!isAbout(targetPath(name))) continue;
    targets.delete(name);
    return void problems.set(targetPath(name), `${key}: ${problem}`);
  }
}

function leaveOutNewest({ key, problem }: ConfigFault, { values, targets, problems }: Candidates): void {
  const table = key.slice(0, key.lastIndexOf(".") + 1);
  const names = [...values.keys()];
  const newest = names.findLast((name) => table !== "" && name.startsWith(table)) ?? names.at(-1);
  const [target] = [...targets.keys()].slice(-1);
  if (newest !== undefined) {
    values.delete(newest);
    problems.set(newest, `${key}: ${problem}`);
  } else if (target !== undefined) {
    targets.delete(target);
    problems.set(targetPath(target), `${key}: ${problem}`);
  }
}
