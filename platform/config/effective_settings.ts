// The settings in effect: the file over what the console stored over the defaults. A stored value that is not valid any more is not
// used, and has a problem that names the reason.

import type { Config, ConfigFault, ConfigWarning } from "./config.ts";
import { evaluateSettings, type SettingsFile, type StoredValues } from "./load.ts";
import { problemOf } from "../setting_problems.ts";
import { joinKey, type SortedTable, type TomlTable } from "./parse_toml.ts";

export interface EffectiveSettings {
  readonly config: Config;
  readonly warnings: readonly ConfigWarning[];
  readonly found: SortedTable;
  /** The stored values that are in effect. */
  readonly used: StoredValues;
  /** Why a stored value is not used, by key or `targets.<name>`: the fault that it has, or causes in another setting. */
  readonly problems: ReadonlyMap<string, ConfigFault>;
}

export const targetPath = (name: string): string => joinKey("targets", name);

/**
 * Combines the file with stored values. The file alone must be valid. Stored values that have a fault, or cause one in another setting,
 * are left out until no fault remains.
 */
export function resolveSettings(file: SettingsFile, stored: StoredValues): EffectiveSettings {
  const values = new Map(stored.values);
  const targets = new Map(stored.targets);
  const problems = new Map<string, ConfigFault>();
  for (;;) {
    const { config, faults, warnings, found } = evaluateSettings(file, { values, targets });
    if (faults.length === 0 || values.size + targets.size === 0) {
      const unused = [...problems].map(([key, cause]) => ({
        key,
        ...problemOf("not_used", { reason: unusedText(key, cause) }),
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
  readonly problems: Map<string, ConfigFault>;
}

/** Why a stored value is not used. Names the setting that has the fault, if that is another one. */
export function unusedText(key: string, { key: other, problem }: ConfigFault): string {
  return key === other ? problem : `${other}: ${problem}`;
}

function leaveOut(fault: ConfigFault, { values, targets, problems }: Candidates): void {
  const { key } = fault;
  const isAbout = (path: string) => key === path || key.startsWith(`${path}.`);
  for (const name of values.keys()) {
    if (!isAbout(name)) continue;
    values.delete(name);
    return void problems.set(name, { ...fault, key: name });
  }
  for (const name of targets.keys()) {
    if (!isAbout(targetPath(name))) continue;
    targets.delete(name);
    return void problems.set(targetPath(name), fault);
  }
}

function leaveOutNewest(fault: ConfigFault, { values, targets, problems }: Candidates): void {
  const { key } = fault;
  const table = key.slice(0, key.lastIndexOf(".") + 1);
  const names = [...values.keys()];
  const newest = names.findLast((name) => table !== "" && name.startsWith(table)) ?? names.at(-1);
  const [target] = [...targets.keys()].slice(-1);
  if (newest !== undefined) {
    values.delete(newest);
    problems.set(newest, fault);
  } else if (target !== undefined) {
    targets.delete(target);
    problems.set(targetPath(target), fault);
  }
}
