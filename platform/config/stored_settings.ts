// The settings that a store contains, for commands without the gateway: read once, without writing. Secrets stay sealed. A placeholder
// stands for them, because checks only need to know that they are there.

import { type LifetimeSettings, lifetimesOf } from "../backup/expiry.ts";
import { type EffectiveSettings, resolveSettings, targetPath } from "./effective_settings.ts";
import type { SettingsFile, StoredValues } from "./load.ts";
import { SettingRecords } from "./setting_records.ts";

const PLACEHOLDER = new TextEncoder().encode("a secret that is not read");

export interface StoredSettings {
  readonly stored: StoredValues;
  /** The file together with them. */
  readonly effective: EffectiveSettings;
  /** Stored keys that the file sets too: `radius.state`, `targets.corp`. */
  readonly overridden: readonly string[];
}

export async function readStoredSettings(kv: Deno.Kv, file: SettingsFile): Promise<StoredSettings> {
  const records = new SettingRecords({
    store: {
      follow: () => () => undefined,
      onRunEnd: () => undefined,
      async load(prefix, take) {
        for await (const entry of kv.list({ prefix })) take(entry as Parameters<typeof take>[0]);
      },
    },
    vault: {
      open: () => PLACEHOLDER,
      seal() {
        throw new Error("Cannot seal a secret: the settings are only read");
      },
    },
    changed: () => undefined,
  });
  await records.load();
  const stored = records.open(() => undefined);
  const { values, maps } = file.found;
  const ofFile = maps.get("targets") ?? {};
  const overridden = [
    ...[...stored.values.keys()].filter((key) => values.has(key) || maps.has(key)),
    ...[...stored.targets.keys()].filter((name) => Object.hasOwn(ofFile, name)).map(targetPath),
  ];
  return { stored, effective: resolveSettings(file, stored), overridden };
}

/** The lifetimes of the entries of a store, by the settings in effect. */
export async function readLifetimes(kv: Deno.Kv, file: SettingsFile): Promise<LifetimeSettings> {
  return lifetimesOf((await readStoredSettings(kv, file)).effective.config);
}
