// The settings of a running gateway: the file over the values that administrators saved in the console over the defaults. A saved change
// applies to this node at once, and to other nodes before they handle their next packet.

import { ownUrl } from "../addresses.ts";
import type { KvMutation } from "../commit_batch.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import type { Config, ConfigFault, ConfigWarning } from "./config.ts";
import { problemOf } from "../setting_problems.ts";
import { type EffectiveSettings, resolveSettings, unusedText } from "./effective_settings.ts";
import { ALL_SETTINGS, listSettings, type SettingView } from "./list_settings.ts";
import { createLiveConfig, updateLiveConfig } from "./live_config.ts";
import { evaluateSettings, NO_STORED_VALUES, type SettingsFile, type StoredValues } from "./load.ts";
import type { TomlTable } from "./parse_toml.ts";
import {
  changeFaults,
  isSameValue,
  type SettingChanges,
  type SettingDiff,
  settingDiff,
  type SettingsSave,
} from "./setting_changes.ts";
import { SettingRecords, settingTargetKey } from "./setting_records.ts";
import { SettingWriter } from "./setting_writer.ts";
import { TargetChanges } from "./target_changes.ts";

export interface LiveSettingsDeps {
  readonly file: SettingsFile;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
}

/** A change that is not saved. */
export interface SettingsDraft {
  /** As it would be. Not frozen, and valid only without faults. */
  readonly config: Config;
  readonly faults: readonly ConfigFault[];
  /** Those that the change adds. */
  readonly warnings: readonly ConfigWarning[];
  readonly diff: readonly SettingDiff[];
}

/** Told the keys whose effective values may have changed; those of targets are `targets.<name>`. */
export type SettingsListener = (changed: ReadonlySet<string>) => void;

export class LiveSettings {
  /** In effect. Its tables keep their identity and change in place. */
  readonly config: Config;
  readonly #deps: LiveSettingsDeps;
  readonly records: SettingRecords;
  readonly writer: SettingWriter;
  readonly targets: TargetChanges;
  readonly #listeners: SettingsListener[] = [];
  #effective: EffectiveSettings;
  #unreadable: ReadonlySet<string> = new Set();
  /** The bound port, if `http.listen` has port 0. */
  #port: number | null = null;

  constructor(deps: LiveSettingsDeps) {
    this.#deps = deps;
    this.records = new SettingRecords({ ...deps, changed: () => this.#apply() });
    this.writer = new SettingWriter({ ...deps, settings: this });
    this.#effective = resolveSettings(deps.file, NO_STORED_VALUES);
    this.config = createLiveConfig(this.#effective.config);
    this.targets = new TargetChanges({
      ...{ file: deps.file, records: this.records, writer: this.writer, config: this.config },
      problems: () => this.problems,
      draft: (save) => this.draft(save),
      nowMs: () => deps.clock.nowMs(),
    });
  }

  /** Reads the stored values. Call it once, before services read the settings. */
  async load(): Promise<void> {
    await this.records.load();
    this.#apply();
  }

  /** Links contain the port of the listener, if `http.listen` has port 0. */
  bindPort(port: number): void {
    this.#port = this.config.http.listen.port === 0 ? port : this.#port;
    this.#apply();
  }

  /** Calls `listener` after each change of the effective settings, in the same task. */
  onChange(listener: SettingsListener): void {
    this.#listeners.push(listener);
  }

  get file(): SettingsFile {
    return this.#deps.file;
  }

  /** The version of the state that {@link list} shows. */
  get version(): number {
    return this.records.revision;
  }

  get warnings(): readonly ConfigWarning[] {
    return this.#effective.warnings;
  }

  /** Why stored values are not used, by key. */
  get problems(): ReadonlyMap<string, ConfigFault> {
    return this.#effective.problems;
  }

  /** Why the gateway must not start: without the stored value, weaker settings could apply to sign-ins. `null`: it may start. */
  get startProblem(): string | null {
    for (const [key, cause] of this.problems) {
      if (!this.isSecurity(key) && !key.startsWith("targets.")) continue;
      const repair = this.isSecurity(key)
        ? `, or remove the value: deno task settings unset ${key}`
        : ", or configure this directory there";
      return `Cannot start: ${key}, which was saved in the console, cannot be used (${
        unusedText(key, cause)
      }). ` +
        `Without it, sign-ins could be less protected. Correct the settings file${repair}.`;
    }
    return null;
  }

  /** Whether a change of a setting needs a recent factor: of every setting whose row does not say otherwise. */
  isSecurity(key: string): boolean {
    const row = ALL_SETTINGS.get(key);
    return row !== undefined && row.security !== false;
  }

  list(): SettingView[] {
    return this.#list(this.#effective);
  }

  /** Checks a change without saving it. `isUndo`: the change restores what was there before. */
  draft({ changes, targets = {}, isUndo = false }: Omit<SettingsSave, "audit">): SettingsDraft {
    const used = applied(this.#effective.used, changes, targets);
    const { config, faults, warnings, found } = evaluateSettings(this.#deps.file, used);
    const known = new Set(this.#effective.warnings.map(warningText));
    const before = this.list();
    const after = this.#list({ ...this.#effective, config, found, used });
    return {
      config: this.#withPort(config),
      faults: [...changeFaults(changes, before, { isUndo }), ...faults].filter(({ key }, at, all) =>
        all.findIndex((one) => one.key === key) === at
      ),
      warnings: warnings.filter((warning) => !known.has(warningText(warning))),
      diff: settingDiff(before, after, changes),
    };
  }

  /** Records that the data of a removed target is deleted. */
  async targetDataDeleted(name: string, audit: Mutation): Promise<void> {
    const record = this.records.target(name);
    if (record === null || record.table !== null) return;
    const { dataUntilMs: _, ...rest } = record;
    const mutation = { type: "set", key: settingTargetKey(name), value: rest } as const;
    await this.#deps.store.commit({ mutations: [mutation, audit] });
    this.records.committed([mutation]);
  }

  /** Takes over what a save committed, and applies it. */
  committed(mutations: readonly KvMutation[]): void {
    this.records.committed(mutations);
    this.#apply();
  }

  /** Applies the file and the stored values to {@link config}, in one task. */
  #apply(): void {
    const { file, log } = this.#deps;
    const unreadable = new Set<string>();
    const stored = this.records.open((key) => unreadable.add(key));
    this.#unreadable = unreadable;
    const before = this.#effective;
    const effective = resolveSettings(file, stored);
    const problems = new Map(effective.problems);
    for (const key of unreadable) problems.set(key, { key, ...problemOf("unreadable") });
    this.#effective = { ...effective, problems };
    for (const [key, cause] of problems) {
      const problem = unusedText(key, cause);
      if (before.problems.get(key)?.problem !== cause.problem) {
        log.warn("a setting of the console is not used", { setting: key, problem });
      }
    }
    updateLiveConfig(this.config, this.#withPort(effective.config));
    const changed = changedKeys(before.used, effective.used);
    for (const listener of this.#listeners) listener(changed);
  }

  #withPort(config: Config): Config {
    const port = this.#port;
    if (port === null) return config;
    const listen = { ...config.http.listen, port };
    const { found } = this.#effective;
    const own = found.values.has("http.public_url")
      ? null
      : ownUrl(listen, { tls: config.http.tls !== null });
    return { ...config, http: { ...config.http, listen, publicUrl: own ?? config.http.publicUrl } };
  }

  #list({ config, found, used, problems }: EffectiveSettings): SettingView[] {
    const ofFile = this.#deps.file.found;
    const own = ownUrl(this.#withPort(config).http.listen, { tls: config.http.tls !== null });
    const derived: Record<string, string> = own === null ? {} : { "http.public_url": own };
    return listSettings(found, derived, (key) => {
      const record = this.records.value(key);
      const isInFile = ofFile.values.has(key) || ofFile.maps.has(key);
      const found = problems.get(key) ??
        (this.#unreadable.has(key) ? { key, ...problemOf("unreadable") } : null);
      const cause = isInFile ? null : found;
      return {
        isInFile,
        isUsed: used.values.has(key),
        changed: record === null || isInFile ? null : { atMs: record.atMs, by: record.by },
        problem: cause === null ? null : unusedText(key, cause),
        cause,
      };
    });
  }
}

const warningText = ({ key, problem }: ConfigWarning): string => `${key}\n${problem}`;

function applied(
  { values, targets }: StoredValues,
  changes: SettingChanges,
  tables: Readonly<Record<string, TomlTable | null>>,
): StoredValues {
  return { values: changedMap(values, changes), targets: changedMap(targets, tables) };
}

function changedMap<T>(
  map: ReadonlyMap<string, T>,
  changes: Readonly<Record<string, T | null>>,
): Map<string, T> {
  const next = new Map(map);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) next.delete(key);
    else next.set(key, value);
  }
  return next;
}

function changedKeys(before: StoredValues, after: StoredValues): Set<string> {
  const changed = new Set<string>();
  const compare = (
    a: ReadonlyMap<string, unknown>,
    b: ReadonlyMap<string, unknown>,
    prefix: string,
  ): void => {
    for (const key of new Set([...a.keys(), ...b.keys()])) {
      if (!isSameValue(a.get(key), b.get(key))) changed.add(prefix + key);
    }
  };
  compare(before.values, after.values, "");
  compare(before.targets, after.targets, "targets.");
  return changed;
}
