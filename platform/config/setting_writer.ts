// Saves changes of settings: in one commit with its audit record, if nothing that it changes was changed meanwhile, and so that it can be
// undone.

import { auditEntry, createAuditSlot } from "../audit.ts";
import type { KvMutation } from "../commit_batch.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";
import type { ConfigFault } from "./config.ts";
import { targetPath } from "./effective_settings.ts";
import type { SettingChange, SettingValue, SettingView } from "./list_settings.ts";
import type { TomlTable } from "./parse_toml.ts";
import {
  auditValues,
  isSameValue,
  partnersOf,
  type SettingChanges,
  type SettingDiff,
  type SettingsSave,
} from "./setting_changes.ts";
import {
  SETTING_HEAD_KEY,
  settingKey,
  type SettingRecords,
  settingTargetKey,
  type SettingTargetRecord,
  type SettingUndo,
  settingUndoKey,
} from "./setting_records.ts";

/** A setting that another save changed meanwhile. */
export interface SettingConflict extends SettingChange {
  readonly key: string;
  /** In effect; `null` for a secret. */
  readonly value: SettingValue | null;
  /** The caller made the change, in another tab or on another computer. */
  readonly isOwn?: boolean;
}

export interface SaveOptions {
  readonly actor: string;
  readonly source?: string | undefined;
  /** Of the state that the changes are based on. */
  readonly version: number;
}

export type SaveResult =
  /** `auditId`: null if nothing changed. */
  | { readonly ok: true; readonly auditId: string | null }
  | { readonly ok: false; readonly reason: "conflict"; readonly conflicts: readonly SettingConflict[] }
  | { readonly ok: false; readonly reason: "faults"; readonly faults: readonly ConfigFault[] };

const MAX_ATTEMPTS = 8;
/** How long a change can be undone. */
const UNDO_MS = 30 * 24 * 3600_000;

export interface SettingWriterDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly settings: WritableSettings;
}

/** What a save needs of the settings. */
interface WritableSettings {
  readonly records: SettingRecords;
  list(): readonly SettingView[];
  draft(save: Omit<SettingsSave, "audit">): {
    readonly faults: readonly ConfigFault[];
    readonly diff: readonly SettingDiff[];
  };
  /** Takes over what was committed, and applies it. */
  committed(mutations: readonly KvMutation[]): void;
}

export class SettingWriter {
  readonly #deps: SettingWriterDeps;

  constructor(deps: SettingWriterDeps) {
    this.#deps = deps;
  }

  /** Saves values by key. Only keys that others changed meanwhile conflict. */
  change(changes: SettingChanges, options: SaveOptions): Promise<SaveResult> {
    const wanted = this.#withoutRepetition(changes);
    const { diff } = this.#deps.settings.draft({ changes: wanted });
    const keys = Object.keys(wanted);
    return this.save({
      changes: wanted,
      audit: {
        action: "settings.change",
        objects: keys.map((key) => `setting:${key}`),
        ...auditValues(diff, { changes: wanted }),
      },
    }, options);
  }

  /** The settings and targets that a save changed; `null`: it is not known any more. */
  async undone(
    revision: number,
  ): Promise<{ readonly keys: readonly string[]; readonly targets: readonly string[] } | null> {
    const { value } = await this.#deps.store.get<SettingUndo>(settingUndoKey(revision));
    if (value === null) return null;
    return { keys: value.values.map(([key]) => key), targets: value.targets.map(([name]) => name) };
  }

  /** Reverts the save with this revision, if nothing was changed since. `null`: it is not known any more. */
  async undo(
    revision: number,
    { actor, source }: Omit<SaveOptions, "version">,
  ): Promise<SaveResult | null> {
    const { value } = await this.#deps.store.get<SettingUndo>(settingUndoKey(revision));
    if (value === null) return null;
    const changes: Record<string, SettingValue | null> = {};
    for (const [key, record] of value.values) {
      changes[key] = record === null ? null : this.#deps.settings.records.openValue(key, record) ?? null;
    }
    const targets: Record<string, TomlTable | null> = {};
    for (const [name, record] of value.targets) {
      targets[name] = record === null ? null : this.#deps.settings.records.openTarget(name, record) ?? null;
    }
    const { diff } = this.#deps.settings.draft({ changes, isUndo: true });
    const objects = [
      ...Object.keys(changes).map((key) => `setting:${key}`),
      ...Object.keys(targets).map((name) => `target:${name}`),
    ];
    const audit = { action: "settings.undo", objects, ...auditValues(diff, { changes }) } as const;
    return await this.save({ changes, targets, audit, isUndo: true }, {
      actor,
      version: revision,
      ...(source === undefined ? {} : { source }),
    });
  }

  /** Saves values and targets in one commit with its audit record, and applies them. */
  async save(save: SettingsSave, { actor, source, version }: SaveOptions): Promise<SaveResult> {
    const { changes, targets = {} } = save;
    if (Object.keys(changes).length + Object.keys(targets).length === 0) return { ok: true, auditId: null };
    const { store, clock, settings } = this.#deps;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const head = await store.get<{ revision: number }>(SETTING_HEAD_KEY);
      await store.catchUp();
      const conflicts = this.#conflicts(save, version);
      if (conflicts.length > 0) return { ok: false, reason: "conflict", conflicts };
      const { faults } = settings.draft(save);
      if (faults.length > 0) return { ok: false, reason: "faults", faults };
      const revision = Math.max(head.value?.revision ?? 0, settings.records.revision) + 1;
      const written = this.#mutations(save, { revision, atMs: clock.nowMs(), by: actor });
      const slot = createAuditSlot();
      const audit = auditEntry({ ...save.audit, actor, source, revision }, slot);
      const { ok } = await store.commit({
        checks: [{ key: head.key, versionstamp: head.versionstamp }],
        mutations: [...written, this.#undoRecord(save, revision), ...save.also ?? [], audit],
      });
      if (!ok) continue;
      settings.committed(written);
      return { ok: true, auditId: slot.id };
    }
    throw new Error("Cannot save the settings: other saves are in progress");
  }

  #mutations(
    { changes, targets = {}, dataUntilMs }: SettingsSave,
    head: Omit<SettingTargetRecord, "table" | "sealed" | "dataUntilMs">,
  ): KvMutation[] {
    return [
      { type: "set", key: SETTING_HEAD_KEY, value: { revision: head.revision } },
      ...Object.entries(changes).map(([key, value]): KvMutation => ({
        type: "set",
        key: settingKey(key),
        value: this.#deps.settings.records.toRecord(key, value, head),
      })),
      ...Object.entries(targets).map(([name, table]): KvMutation => ({
        type: "set",
        key: settingTargetKey(name),
        value: this.#deps.settings.records.toTargetRecord(name, table, { ...head, dataUntilMs }),
      })),
    ];
  }

  /** What the save replaces, so that it can be undone. */
  #undoRecord({ changes, targets = {} }: SettingsSave, revision: number): KvMutation {
    const value: SettingUndo = {
      values: Object.keys(changes).map((key) => [key, this.#deps.settings.records.value(key)]),
      targets: Object.keys(targets).map((name) => [name, this.#deps.settings.records.target(name)]),
    };
    return { type: "set", key: settingUndoKey(revision), value, expireInMs: UNDO_MS };
  }

  #conflicts({ changes, targets = {}, isUndo = false }: SettingsSave, version: number): SettingConflict[] {
    const views = new Map(this.#deps.settings.list().map((view) => [view.key, view]));
    const changed = Object.keys(changes);
    const keys = isUndo ? [...changed, ...changed.flatMap(partnersOf)] : changed;
    const ofValues = [...new Set(keys)].flatMap((key) => {
      const record = this.#deps.settings.records.value(key);
      if (record === null || record.revision <= version) return [];
      return [{ key, atMs: record.atMs, by: record.by, value: views.get(key)?.value ?? null }];
    });
    const ofTargets = Object.keys(targets).flatMap((name) => {
      const record = this.#deps.settings.records.target(name);
      if (record === null || record.revision <= version) return [];
      return [{ key: targetPath(name), atMs: record.atMs, by: record.by, value: null }];
    });
    return [...ofValues, ...ofTargets];
  }

  /** Without values that are stored already, and defaults that are in effect already. An empty secret is no secret. */
  #withoutRepetition(changes: SettingChanges): SettingChanges {
    const views = new Map(this.#deps.settings.list().map((view) => [view.key, view]));
    return Object.fromEntries(
      Object.entries(changes).flatMap(([key, given]): [string, SettingValue | null][] => {
        const value = given === "" && views.get(key)?.isSecret ? null : given;
        const record = this.#deps.settings.records.value(key);
        const isStored = record?.value !== undefined || record?.sealed !== undefined;
        if (value === null) return isStored || !views.has(key) ? [[key, null]] : [];
        return record?.value !== undefined && isSameValue(record.value, value) ? [] : [[key, value]];
      }),
    );
  }
}
