// Changes of settings in the console: what may be changed, how a change is shown before and after it is saved, and the save: in one commit with its audit record, if nothing that it changes was changed meanwhile, and so that it can be
// undone.

import { type AuditEntry, auditEntry, type AuditValues, createAuditSlot } from "../audit.ts";
import type { KvMutation } from "../commit_queue.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import { requireUpgraded } from "../upgrade/store_format.ts";
import type { ConfigFault } from "./config.ts";
import type { SettingChange, SettingValue, SettingView } from "./list_settings.ts";
import { isTable, targetPath, type TomlTable } from "./parse_settings.ts";
import {
  isBackendSecret,
  SETTING_HEAD_KEY,
  settingKey,
  type SettingRecords,
  settingTargetKey,
  type SettingTargetRecord,
  type SettingUndo,
  settingUndoKey,
} from "./setting_records.ts";
import { type Problem, problemOf } from "../setting_problems.ts";
import { isCertificatePem, isExtensionsJson } from "./setting_values.ts";

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

interface SettingWriterDeps {
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

  /** Saves values and targets in one commit with its audit record, and applies them. @throws NotUpgraded */
  async save(save: SettingsSave, { actor, source, version }: SaveOptions): Promise<SaveResult> {
    const { changes, targets = {} } = save;
    if (Object.keys(changes).length + Object.keys(targets).length === 0) return { ok: true, auditId: null };
    const { store, clock, settings } = this.#deps;
    requireUpgraded(store);
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

/** Values by key; `null` restores the default. */
export type SettingChanges = Readonly<Record<string, SettingValue | null>>;

/** One setting before and after a change. Values of secrets are not shown. */
export interface SettingDiff {
  readonly key: string;
  readonly isSecret: boolean;
  readonly before: SettingValue | null;
  readonly after: SettingValue | null;
}

/** What a save writes. `targets`: tables with their secrets; `null` removes. */
export interface SettingsSave {
  readonly changes: SettingChanges;
  readonly targets?: Readonly<Record<string, TomlTable | null>>;
  readonly audit: Omit<AuditEntry, "actor" | "source">;
  /** When the data of removed targets is deleted (milliseconds since the epoch). */
  readonly dataUntilMs?: number;
  /** Restores what was there before, so stored secrets stay. */
  readonly isUndo?: boolean;
  /** Further writes of the same commit. */
  readonly also?: readonly Mutation[];
}

const REFERENCE = /^(env|file):/;

/** A console administrator must not read files or the environment of the server. */
function hasReference(value: unknown): boolean {
  if (typeof value === "string") return REFERENCE.test(value);
  if (Array.isArray(value)) return value.some(hasReference);
  return isTable(value) && Object.values(value).some(hasReference);
}

/** Why keys cannot be changed, or have values that only the file can have. `null`: the default. */
export function changeFaults(
  changes: SettingChanges,
  settings: readonly SettingView[],
  { isUndo = false } = {},
): ConfigFault[] {
  const views = new Map(settings.map((view) => [view.key, view]));
  const ofKeys = Object.entries(changes).flatMap(([key, value]) => {
    const problem = changeProblem(views.get(key), value);
    return problem === null ? [] : [{ key, ...problem }];
  });
  return isUndo ? ofKeys : [...ofKeys, ...repeatedSecretFaults(changes, settings)];
}

/** The secrets that are sent to an address. */
const SECRETS_OF: Readonly<Record<string, readonly string[]>> = {
  "second_factor.url": ["second_factor.consumer_key", "second_factor.consumer_secret"],
  "telephony.url": ["telephony.auth_token"],
  "mail.host": ["mail.password"],
  "console.oidc.issuer": ["console.oidc.client_secret"],
  "radius.first_factor_server.address": ["radius.first_factor_server.secret"],
};

/** The keys that must not be undone alone: an earlier secret belongs to the address of its time. */
function partnersOf(key: string): readonly string[] {
  const pair = Object.entries(SECRETS_OF).find(([address, secrets]) =>
    address === key || secrets.includes(key)
  );
  return pair === undefined ? [] : [pair[0], ...pair[1]];
}

/** The addresses of a setting that has one, or several. */
function listOf(value: SettingValue | null | undefined): readonly unknown[] {
  return [value ?? ""].flat().filter((one) => one !== "");
}

/** A stored secret is never sent to a new address: otherwise, an administrator could read it by naming an address of theirs. */
function repeatedSecretFaults(changes: SettingChanges, settings: readonly SettingView[]): ConfigFault[] {
  const views = new Map(settings.map((view) => [view.key, view]));
  return Object.entries(SECRETS_OF).flatMap(([address, secrets]) => {
    const next = changes[address] ?? "";
    const known = listOf(views.get(address)?.value);
    if (listOf(next).every((one) => known.includes(one))) return [];
    return secrets.flatMap((key): ConfigFault[] => {
      const view = views.get(key);
      if (view === undefined || !view.isSet || typeof changes[key] === "string") return [];
      return view.source === "file"
        ? [{ key: address, ...problemOf("file_sets_secret", { key }) }]
        : [{ key, ...problemOf("repeat_for_key", { key: address }) }];
    });
  });
}

function changeProblem(view: SettingView | undefined, value: SettingValue | null): Problem | null {
  if (view === undefined) return problemOf("no_such_setting");
  if (view.locked === "file") return problemOf("in_file");
  if (view.locked === "restart") return problemOf("needs_restart");
  const isPath = view.key === "mail.ca" && typeof value === "string" && value !== "" &&
    !isCertificatePem(value);
  if (isPath) return problemOf("certificate_content");
  return hasReference(value) ? problemOf("reference") : null;
}

/** Faults of the table of a target that only the console has. */
export function targetReferenceFaults(path: string, table: TomlTable): ConfigFault[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    if (key === "ca_cert" && typeof value === "string" && value !== "" && !isCertificatePem(value)) {
      return [{ key: at, ...problemOf("certificate_content") }];
    }
    if (key === "extensions" && typeof value === "string" && value !== "" && !isExtensionsJson(value)) {
      return [{ key: at, ...problemOf("extensions_content") }];
    }
    if (isTable(value)) return targetReferenceFaults(at, value);
    return hasReference(value) ? [{ key: at, ...problemOf("reference") }] : [];
  });
}

/** The settings that differ. */
export function settingDiff(
  before: readonly SettingView[],
  after: readonly SettingView[],
  changes: SettingChanges,
): SettingDiff[] {
  const then = new Map(after.map((view) => [view.key, view]));
  return before.flatMap(({ key, isSecret, value }) => {
    if (!(key in changes)) return [];
    return [{ key, isSecret, before: value, after: then.get(key)?.value ?? null }];
  });
}

/** The values of a change for the audit log. Of a secret, only that it changed. */
function auditValues(
  diff: readonly SettingDiff[],
  { changes }: { changes: SettingChanges },
): { before: AuditValues; after: AuditValues } {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const { key, isSecret, ...values } of diff) {
    before[key] = isSecret ? "***" : auditText(values.before);
    after[key] = isSecret ? (changes[key] === null ? "removed" : "changed") : auditText(values.after);
  }
  return { before, after };
}

/** Lists and tables as text, because the audit log shows texts. */
function auditText(value: SettingValue | null): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

const MAX_AUDIT_CHARACTERS = 4000;

/** The values of a change of a target for the audit log. A record has no room for long ones, such as certificates. */
export function targetAuditValues(
  diff: readonly Omit<SettingDiff, "isSecret">[],
): { before: AuditValues; after: AuditValues } {
  const text = (value: SettingValue | null): unknown => {
    const whole = auditText(value);
    return typeof whole === "string" && whole.length > MAX_AUDIT_CHARACTERS
      ? `${whole.slice(0, MAX_AUDIT_CHARACTERS).toWellFormed()}… (${whole.length} characters)`
      : whole;
  };
  return {
    before: Object.fromEntries(diff.map(({ key, before }) => [key, text(before)])),
    after: Object.fromEntries(diff.map(({ key, after }) => [key, text(after)])),
  };
}

/** The rows of a table of a target, by path. Of secrets, it has whether they are set. */
export function flattenTarget(table: TomlTable | null, path = ""): Record<string, SettingValue> {
  const rows: Record<string, SettingValue> = {};
  for (const [key, value] of Object.entries(table ?? {})) {
    const at = path === "" ? key : `${path}.${key}`;
    if (isTable(value)) Object.assign(rows, flattenTarget(value, at));
    else rows[at] = isBackendSecret(key) ? (value === true ? "***" : "") : value as SettingValue;
  }
  return rows;
}

/** Deeply, for values of TOML. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
