// The settings of a running gateway: the file over the values that administrators saved in the console over the defaults. A saved change
// applies to this node at once, and to other nodes before they handle their next packet.

import { COMMAND } from "../command_name.ts";
import { ownUrl } from "../addresses.ts";
import type { KvMutation } from "../commit_queue.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import type { Config, ConfigFault, ConfigWarning } from "./config.ts";
import { problemOf } from "../setting_problems.ts";
import {
  ALL_SETTINGS,
  listSettings,
  redactWhenPrinted,
  type SettingView,
  unusedText,
} from "./list_settings.ts";
import {
  evaluateSettings,
  type Evaluation,
  NO_STORED_VALUES,
  planReload,
  type SettingsFile,
  type StoredValues,
} from "./load.ts";
import { type SortedTable, targetPath, type TomlTable } from "./parse_settings.ts";
import {
  changeFaults,
  isSameValue,
  type SettingChanges,
  type SettingDiff,
  settingDiff,
  type SettingsSave,
  SettingWriter,
} from "./setting_writer.ts";
import { SettingRecords, settingTargetKey } from "./setting_records.ts";
import { TargetChanges } from "./target_changes.ts";
import { isDeepEqual } from "../deep_equal.ts";
import { type LifetimeSettings, lifetimesOf } from "../backup/expiry.ts";

interface LiveSettingsDeps {
  readonly file: SettingsFile;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
}

/** A change that is not saved. */
interface SettingsDraft {
  /** As it would be. Not frozen, and valid only without faults. */
  readonly config: Config;
  readonly faults: readonly ConfigFault[];
  /** Those that the change adds. */
  readonly warnings: readonly ConfigWarning[];
  readonly diff: readonly SettingDiff[];
}

/** Told the keys whose effective values may have changed; those of targets are `targets.<name>`. */
type SettingsListener = (changed: ReadonlySet<string>) => void;

export class LiveSettings {
  /** In effect. Its tables keep their identity and change in place. */
  readonly config: Config;
  readonly #deps: LiveSettingsDeps;
  #file: SettingsFile;
  readonly records: SettingRecords;
  readonly writer: SettingWriter;
  readonly targets: TargetChanges;
  readonly #listeners: SettingsListener[] = [];
  #effective: EffectiveSettings;
  /** The newest evaluation. A check, the save of what it checked, and the use of what was saved share one. */
  #evaluated: { readonly of: StoredValues; readonly evaluation: Evaluation } | null = null;
  #unreadable: ReadonlySet<string> = new Set();
  /** The bound port, if `http.listen` has port 0. */
  #port: number | null = null;

  constructor(deps: LiveSettingsDeps) {
    this.#deps = deps;
    this.#file = deps.file;
    this.records = new SettingRecords({ ...deps, changed: () => this.#apply() });
    this.writer = new SettingWriter({ ...deps, settings: this });
    this.#effective = this.#resolve(NO_STORED_VALUES);
    this.config = createLiveConfig(this.#effective.config);
    this.targets = new TargetChanges({
      ...{ file: () => this.#file, records: this.records, writer: this.writer, config: this.config },
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
    return this.#file;
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
      if (!this.#isNeeded(key)) continue;
      const repair = this.isSecurity(key)
        ? `, or remove the value: ${COMMAND} settings unset ${key}`
        : ", or configure this directory there";
      return `Cannot start: ${key}, which was saved in the console, cannot be used (${
        unusedText(key, cause)
      }). ` +
        `Without it, sign-ins could be less protected. Correct the settings file${repair}.`;
    }
    return null;
  }

  /** Whether the gateway must not run without a stored value. */
  #isNeeded(key: string): boolean {
    return this.isSecurity(key) || key.startsWith("targets.");
  }

  /**
   * Uses the settings file as it is now, except for what needs a restart. With faults, nothing changes. A stored value that sign-ins need
   * and that the file makes unusable is a fault, as at a start.
   */
  replaceFile(
    next: SettingsFile,
  ): { readonly faults: readonly ConfigFault[]; readonly needsRestart: readonly string[] } {
    const before = this.#file;
    const { file, needsRestart } = planReload(before, next);
    this.#useFile(file);
    const { faults } = this.#evaluate(NO_STORED_VALUES);
    const lost = faults.length > 0 ? [] : [...this.#resolve(this.records.open(() => undefined)).problems]
      .filter(([key]) => this.#isNeeded(key) && !this.problems.has(key))
      .map(([key, cause]) => ({ ...cause, key }));
    if (faults.length + lost.length > 0) this.#useFile(before);
    else this.#apply(new Set([before, file].flatMap(keysOfFile)));
    return { faults: [...faults, ...lost], needsRestart };
  }

  #useFile(file: SettingsFile): void {
    this.#file = file;
    this.#evaluated = null;
  }

  #resolve(stored: StoredValues): EffectiveSettings {
    return resolveSettings((values) => this.#evaluate(values), stored);
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
    const { config, faults, warnings, found } = this.#evaluate(used);
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

  /** Applies the file and the stored values to {@link config}, in one task. @param ofFile keys of a file that changed. */
  #apply(ofFile: ReadonlySet<string> = new Set()): void {
    const { log } = this.#deps;
    const unreadable = new Set<string>();
    const stored = this.records.open((key) => unreadable.add(key));
    this.#unreadable = unreadable;
    const before = this.#effective;
    const effective = this.#resolve(stored);
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
    const changed = changedKeys(before.used, effective.used).union(ofFile);
    for (const listener of this.#listeners) listener(changed);
  }

  #evaluate({ values, targets }: StoredValues): Evaluation {
    const of = { values: new Map(values), targets: new Map(targets) };
    if (
      this.#evaluated === null || !isDeepEqual([...this.#evaluated.of.targets], [...targets]) ||
      changedKeys(this.#evaluated.of, of).size > 0
    ) {
      this.#evaluated = { of, evaluation: evaluateSettings(this.#file, of) };
    }
    return this.#evaluated.evaluation;
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
    const ofFile = this.#file.found;
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
    // The newest change is the last entry, as in the records.
    next.delete(key);
    if (value !== null) next.set(key, value);
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

/** Every key of a file: a value can be a reference whose target changed. */
function keysOfFile({ found: { values, lists, maps } }: SettingsFile): string[] {
  const targets = Object.keys(maps.get("targets") ?? {}).map(targetPath);
  return [...values.keys(), ...lists.keys(), ...maps.keys(), ...targets];
}

interface EffectiveSettings {
  readonly config: Config;
  readonly warnings: readonly ConfigWarning[];
  readonly found: SortedTable;
  /** The stored values that are in effect. */
  readonly used: StoredValues;
  /** Why a stored value is not used, by key or `targets.<name>`: the fault that it has, or causes in another setting. */
  readonly problems: ReadonlyMap<string, ConfigFault>;
}

/**
 * Combines the file with stored values. The file alone must be valid. Stored values that have a fault, or cause one in another setting,
 * are left out until no fault remains.
 */
function resolveSettings(
  evaluate: (stored: StoredValues) => Evaluation,
  stored: StoredValues,
): EffectiveSettings {
  const values = new Map(stored.values);
  const targets = new Map(stored.targets);
  const problems = new Map<string, ConfigFault>();
  for (;;) {
    const { config, faults, warnings, found } = evaluate({ values, targets });
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

type Table = Record<string, unknown>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isTable(value)) return value;
  return redactWhenPrinted(
    Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copy(inner)])),
  );
}

/** A copy of `config` that {@link updateLiveConfig} can change. Readers see it as read-only. */
function createLiveConfig(config: Config): Config {
  return copy(config) as Config;
}

/**
 * Changes `live` to `next`, in place and within one task, so that no reader sees a mixture. Tables keep their identity; lists, and
 * tables that were `null`, are replaced if they change. Nothing else writes to a Config.
 */
function updateLiveConfig(live: Config, next: Config): void {
  assign(live as unknown as Table, next as unknown as Table);
}

/** Tables that are replaced as a whole: others remember what they computed from them. */
const REPLACED: ReadonlySet<string> = new Set(["anyClient"]);

function assign(live: Table, next: Table): void {
  for (const name of Object.keys(live)) if (!(name in next)) delete live[name];
  for (const [name, value] of Object.entries(next)) {
    const before = live[name];
    if (isTable(before) && isTable(value) && !REPLACED.has(name)) assign(before, value);
    else if (!isDeepEqual(before, value)) live[name] = copy(value);
  }
}

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
  return {
    stored,
    effective: resolveSettings((values) => evaluateSettings(file, values), stored),
    overridden,
  };
}

/** The lifetimes of the entries of a store, by the settings in effect. */
export async function readLifetimes(kv: Deno.Kv, file: SettingsFile): Promise<LifetimeSettings> {
  return lifetimesOf((await readStoredSettings(kv, file)).effective.config);
}
