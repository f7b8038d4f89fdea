// Targets (in the console: directories) that administrators create, change and remove in the console. A target of the settings file is
// locked as a whole. The data of a removed target stays in the store for a time, so that the removal can be undone.

import type { Config, ConfigFault, TargetSettings } from "./config.ts";
import { type Problem, problemOf } from "../setting_problems.ts";
import { type SettingChange, type SettingValue, unusedText } from "./list_settings.ts";
import type { SettingsFile } from "./load.ts";
import { isTable, targetPath, type TomlTable } from "./parse_settings.ts";
import {
  flattenTarget,
  isSameValue,
  type SaveOptions,
  type SaveResult,
  type SettingsSave,
  type SettingWriter,
  targetAuditValues,
  targetReferenceFaults,
} from "./setting_writer.ts";
import { isBackendSecret, mapSecrets, type SettingRecords } from "./setting_records.ts";
import { BACKEND_ROWS, TARGET_SETTINGS } from "./target_settings.ts";
import { controlOf, defaultOf, isPlainName, NAME_MEANS } from "./setting_values.ts";
import { rowsByKey, type SettingRows } from "./setting_rows.ts";

/** How long the data of a removed target stays, unless an administrator deletes it. */
const REMOVED_DATA_MS = 30 * 24 * 3600_000;

/** The target that always exists. */
const DEFAULT_TARGET = "default";

/** A target as the console shows it. Of secrets, the table has only whether they are set: `true` or `false`. */
export interface TargetView {
  readonly name: string;
  readonly source: "default" | "file" | "console";
  readonly locked: "file" | null;
  /** As in the settings file; `env:` and `file:` are not resolved. */
  readonly table: TomlTable;
  readonly changed: SettingChange | null;
  /** Why the stored table is not used. */
  readonly problem: string | null;
  /** The fault behind `problem`, with the key that has it. */
  readonly cause: ConfigFault | null;
}

/** A removed target whose data is in the store. */
interface RemovedTarget {
  readonly name: string;
  readonly removed: SettingChange;
  readonly dataUntilMs: number;
}

/** A row of a table before and after a change; `null`: it is absent. */
export interface TargetDiff {
  readonly key: string;
  readonly before: SettingValue | null;
  readonly after: SettingValue | null;
}

/** A change of a target that is not saved. */
export interface TargetDraft {
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigFault[];
  readonly diff: readonly TargetDiff[];
  /** `null`: it is removed, or it has faults. */
  readonly settings: TargetSettings | null;
  /** As all settings would be. */
  readonly config: Config;
}

interface TargetChangesDeps {
  readonly file: () => SettingsFile;
  readonly records: SettingRecords;
  readonly writer: Pick<SettingWriter, "save">;
  readonly problems: () => ReadonlyMap<string, ConfigFault>;
  readonly config: Config;
  draft(save: Omit<SettingsSave, "audit">): {
    readonly config: Config;
    readonly faults: readonly ConfigFault[];
    readonly warnings: readonly ConfigFault[];
  };
  readonly nowMs: () => number;
}

export class TargetChanges {
  readonly #deps: TargetChangesDeps;

  constructor(deps: TargetChangesDeps) {
    this.#deps = deps;
  }

  /** All targets: those of the settings in effect, and stored ones that are not used. */
  list(): TargetView[] {
    const { config, records } = this.#deps;
    const names = new Set(config.targets.map(({ name }) => name));
    for (const [name, { table }] of records.targets()) if (table !== null) names.add(name);
    return [...names].map((name) => this.#view(name));
  }

  find(name: string): TargetView | null {
    return this.list().find((view) => view.name === name) ?? null;
  }

  /** What a form of a target, and of a backend of each kind, needs. */
  forms() {
    return {
      target: formRows(rowsByKey(TARGET_SETTINGS)),
      backends: {
        store: formRows(BACKEND_ROWS.store),
        ldap: formRows(BACKEND_ROWS.ldap),
        scim: formRows(BACKEND_ROWS.scim),
      },
    };
  }

  /** Removed targets whose data is in the store. */
  removed(): RemovedTarget[] {
    const { records, config } = this.#deps;
    return [...records.targets()].flatMap(([name, { table, dataUntilMs, atMs, by }]) =>
      table !== null || dataUntilMs === undefined || config.targets.some((target) => target.name === name)
        ? []
        : [{ name, removed: { atMs, by }, dataUntilMs }]
    );
  }

  /**
   * Checks a change without saving it.
   *
   * @param table secrets that it lacks stay as they are stored; an empty secret is removed. `null` removes the target.
   */
  draft(name: string, table: TomlTable | null): TargetDraft {
    const view = this.find(name);
    const merged = table === null ? null : this.#withStoredSecrets(name, table);
    const { config, faults, warnings } = this.#deps.draft({ changes: {}, targets: { [name]: merged } });
    const own = [
      ...this.#nameFaults(name, view, table),
      ...(table === null ? [] : targetReferenceFaults(targetPath(name), table)),
      ...(table === null ? [] : this.#repeatedSecretFaults(name, table)),
    ];
    const known = new Set(own.map(({ key }) => key));
    const all = [...own, ...faults.filter(({ key }) => !known.has(key))];
    const found = config.targets.find((target) => target.name === name) ?? null;
    return {
      faults: all,
      warnings,
      diff: diffOf(view?.table ?? null, merged === null ? null : shownTable(merged)),
      settings: all.length === 0 && table !== null ? found : null,
      config,
    };
  }

  /** Creates or changes a target. */
  async put(name: string, table: TomlTable, options: SaveOptions): Promise<SaveResult> {
    const { faults, diff } = this.draft(name, table);
    if (faults.length > 0) return { ok: false, reason: "faults", faults };
    if (diff.length === 0 && !hasNewSecret(table) && this.find(name)?.source === "console") {
      return { ok: true, auditId: null };
    }
    const action = this.find(name) === null ? "target.create" : "target.change";
    const targets = { [name]: this.#withStoredSecrets(name, table) };
    const audit = { action, object: `target:${name}`, ...targetAuditValues(diff) } as const;
    return await this.#deps.writer.save({ changes: {}, targets, audit }, options);
  }

  /** Removes a target. Its data stays for a time, or is deleted as soon as possible. */
  async remove(
    name: string,
    { deletesData, ...options }: SaveOptions & { deletesData: boolean },
  ): Promise<SaveResult> {
    const { faults, diff } = this.draft(name, null);
    if (faults.length > 0) return { ok: false, reason: "faults", faults };
    const nowMs = this.#deps.nowMs();
    const dataUntilMs = deletesData ? nowMs : nowMs + REMOVED_DATA_MS;
    const audit = { action: "target.remove", object: `target:${name}`, ...targetAuditValues(diff) } as const;
    return await this.#deps.writer.save(
      { changes: {}, targets: { [name]: null }, dataUntilMs, audit },
      options,
    );
  }

  #view(name: string): TargetView {
    const { file, records, problems } = this.#deps;
    const ofFile = file().found.maps.get("targets")?.[name];
    if (isTable(ofFile)) {
      const own = { source: "file", locked: "file", changed: null, problem: null, cause: null } as const;
      return { name, table: shownTable(ofFile), ...own };
    }
    const record = records.target(name);
    const stored = record === null || record.table === null ? null : records.openTarget(name, record);
    const changed = record === null ? null : { atMs: record.atMs, by: record.by };
    const cause = problems().get(targetPath(name)) ?? null;
    return {
      name,
      source: stored === null ? "default" : "console",
      locked: null,
      table: shownTable(stored ?? record?.table ?? {}),
      changed,
      problem: cause === null ? null : unusedText(targetPath(name), cause),
      cause,
    };
  }

  #nameFaults(name: string, view: TargetView | null, table: TomlTable | null): ConfigFault[] {
    const refuse = (problem: Problem): ConfigFault[] => [{ key: targetPath(name), ...problem }];
    if (view?.locked === "file") return refuse(problemOf("directory_in_file"));
    if (table === null) {
      if (name === DEFAULT_TARGET) return refuse(problemOf("directory_always"));
      return view === null ? refuse(problemOf("directory_unknown")) : [];
    }
    if (!isPlainName(name)) return refuse(problemOf("directory_name", { means: NAME_MEANS }));
    const data = this.removed().find((one) => one.name === name);
    return data !== undefined && data.dataUntilMs <= this.#deps.nowMs()
      ? refuse(problemOf("directory_data"))
      : [];
  }

  /** The table with stored secrets where it has none. */
  #withStoredSecrets(name: string, table: TomlTable): TomlTable {
    if (!isTable(table.backends)) return table;
    const stored = this.#storedBackends(name);
    const backends = Object.entries(table.backends).map(([backend, inner]) => {
      if (!isTable(inner)) return [backend, inner];
      const before = stored[backend];
      const secrets = isTable(before)
        ? Object.entries(before).filter(([key]) => isBackendSecret(key) && inner[key] === undefined)
        : [];
      const own = Object.entries(inner).filter(([key, value]) => !isBackendSecret(key) || value !== "");
      return [backend, Object.fromEntries([...own, ...secrets])];
    });
    return { ...table, backends: Object.fromEntries(backends) };
  }

  /** A stored secret is never sent to a new address, nor in plain text to one that it reached with TLS. */
  #repeatedSecretFaults(name: string, table: TomlTable): ConfigFault[] {
    const stored = this.#storedBackends(name);
    return Object.entries(isTable(table.backends) ? table.backends : {}).flatMap(([backend, inner]) => {
      const before = stored[backend];
      if (!isTable(inner) || !isTable(before)) return [];
      const isMoved = String(before.url) !== String(inner.url);
      if (!isMoved && (before.start_tls !== true || inner.start_tls === true)) return [];
      const problem = problemOf(isMoved ? "repeat_for_address" : "repeat_without_tls");
      return Object.keys(before).filter((key) => isBackendSecret(key) && inner[key] === undefined)
        .map((key) => ({ key: `${targetPath(name)}.backends.${backend}.${key}`, ...problem }));
    });
  }

  #storedBackends(name: string): TomlTable {
    const { records } = this.#deps;
    const record = records.target(name);
    const table = record === null ? null : records.openTarget(name, record) ?? null;
    return isTable(table?.backends) ? table.backends : {};
  }
}

function formRows(rows: SettingRows) {
  return Object.entries(rows).map(([key, row]) => ({
    ...{ key, doc: row.doc, preset: defaultOf(row), control: controlOf(row) },
    isSecret: row.type === "secret",
    isRequired: row.mustBeGiven === true,
  }));
}

function hasNewSecret(table: TomlTable): boolean {
  let found = false;
  mapSecrets(table, (_path, text) => {
    found = true;
    return text;
  });
  return found;
}

/** The table, with `true` or `false` in place of each secret. */
function shownTable(table: TomlTable): TomlTable {
  if (!isTable(table.backends)) return table;
  const backends = Object.entries(table.backends).map(([backend, inner]) => {
    if (!isTable(inner)) return [backend, inner];
    const entries = Object.entries(inner).map(([key, value]) =>
      isBackendSecret(key) ? [key, value !== ""] : [key, value]
    );
    return [backend, Object.fromEntries(entries)];
  });
  return { ...table, backends: Object.fromEntries(backends) };
}

function diffOf(before: TomlTable | null, after: TomlTable | null): TargetDiff[] {
  const [then, now] = [flattenTarget(before), flattenTarget(after)];
  const order = (table: TomlTable | null) =>
    Object.keys(isTable(table?.backends) ? table.backends : {}).join(", ");
  const rows = [...new Set([...Object.keys(then), ...Object.keys(now)])].flatMap((key): TargetDiff[] => {
    const [a = null, b = null] = [then[key], now[key]];
    return isSameValue(a, b) ? [] : [{ key, before: a, after: b }];
  });
  const [orderBefore, orderAfter] = [order(before), order(after)];
  return orderBefore === orderAfter || before === null || after === null
    ? rows
    : [...rows, { key: "backends", before: orderBefore, after: orderAfter }];
}
