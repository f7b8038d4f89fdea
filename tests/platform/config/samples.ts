// Loads settings from a text for tests, with files and environment as data.

import type { Config, ConfigFault, ConfigSources } from "../../../platform/config/config.ts";
import type { SettingView } from "../../../platform/config/list_settings.ts";
import { type ConfigOutcome, loadConfig, type SettingsFile } from "../../../platform/config/load.ts";

export interface World {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly checkReplyAttribute?: ConfigSources["checkReplyAttribute"];
  readonly checkExtensions?: (json: string) => string | null;
}

/** Loads `toml` as /srv/countersign.toml. */
function load(toml: string, { env = {}, files = {}, ...checks }: World = {}): ConfigOutcome {
  const all: Record<string, string> = { "/srv/countersign.toml": toml, ...files };
  return loadConfig({
    env: (name) => env[name],
    readTextFile(path) {
      const content = all[path];
      if (content === undefined) throw new Deno.errors.NotFound(path);
      return content;
    },
    cwd: "/srv",
    ...checks,
  });
}

/** The faults of `toml`; empty when it is valid. */
export function faultsOf(toml: string, world?: World): ConfigFault[] {
  const outcome = load(toml, world);
  return outcome.ok ? [] : outcome.faults;
}

/** The faults of `sources`. */
export function faultsFrom(sources: ConfigSources): ConfigFault[] {
  const outcome = loadConfig(sources);
  return outcome.ok ? [] : outcome.faults;
}

function sound(outcome: ConfigOutcome) {
  if (!outcome.ok) throw new Error(`Cannot load the settings: ${JSON.stringify(outcome.faults)}`);
  return outcome;
}

/** The Config of `toml`; throws when it is not valid. */
export function configOf(toml: string, world?: World): Config {
  return sound(load(toml, world)).config;
}

/** The settings file with the content `toml`; throws when it is not valid. */
export function settingsFileOf(toml: string, world?: World): SettingsFile {
  return sound(load(toml, world)).settingsFile;
}

/** The displayed settings of `toml`; throws when it is not valid. */
export function shownOf(toml: string, world?: World): readonly SettingView[] {
  return sound(load(toml, world)).settings;
}

/** The Config of `sources`; throws when they are not valid. */
export function configFrom(sources: ConfigSources): Config {
  return sound(loadConfig(sources)).config;
}

/** Keys of the warnings; throws when `toml` is not valid. */
export function warnedKeys(toml: string, world?: World): string[] {
  return sound(load(toml, world)).warnings.map(({ key }) => key);
}
