// What the console stored about settings: ["setting", key] and ["setting_target", name]. Secrets are sealed. Each record has the revision
// of its last change, so that a later save notices what changed meanwhile.

import type { KvMutation } from "../commit_queue.ts";
import type { Store, StoreEntry } from "../store.ts";
import type { Vault } from "../vault.ts";
import { ALL_SETTINGS, type SettingChange, type SettingValue } from "./list_settings.ts";
import { isTable, type TomlTable } from "./parse_settings.ts";
import { BACKEND_ROWS } from "./target_settings.ts";

const SETTING = "setting";
const TARGET = "setting_target";

/** Grows with each save. All saves check it, so that values which must fit together are checked together. */
export const SETTING_HEAD_KEY: Deno.KvKey = ["setting_head"];

export const settingKey = (key: string): Deno.KvKey => [SETTING, key];
export const settingTargetKey = (name: string): Deno.KvKey => [TARGET, name];

export const settingUndoKey = (revision: number): Deno.KvKey => ["setting_undo", revision];

interface RecordHead extends SettingChange {
  readonly revision: number;
}

/** Without `value` and `sealed`: the default was restored. */
interface SettingRecord extends RecordHead {
  readonly value?: SettingValue;
  readonly sealed?: Uint8Array;
}

/** `table`: null if the target was removed. */
export interface SettingTargetRecord extends RecordHead {
  readonly table: TomlTable | null;
  /** Secrets of its backends, by `<backend>.<key>`. */
  readonly sealed: Readonly<Record<string, Uint8Array>>;
  /** Of a removed target: when its data is deleted. Absent: it was deleted. */
  readonly dataUntilMs?: number;
}

/** What a save replaced. `null`: nothing was stored. */
export interface SettingUndo {
  readonly values: readonly (readonly [key: string, record: SettingRecord | null])[];
  readonly targets: readonly (readonly [name: string, record: SettingTargetRecord | null])[];
}

/** The keys of secrets in the tables of backends. */
const BACKEND_SECRETS: ReadonlySet<string> = new Set(
  Object.values(BACKEND_ROWS).flatMap((rows) =>
    Object.entries(rows).flatMap(([key, { type }]) => type === "secret" ? [key] : [])
  ),
);

export const isBackendSecret = (key: string): boolean => BACKEND_SECRETS.has(key);

const decoder = new TextDecoder();
const encoder = new TextEncoder();

type SettingStore = Pick<Store, "follow" | "load" | "onRunEnd">;
type SettingVault = Pick<Vault, "open" | "seal">;

export class SettingRecords {
  readonly #vault: SettingVault;
  readonly #store: SettingStore;
  readonly #values = new Map<string, SettingRecord>();
  readonly #targets = new Map<string, SettingTargetRecord>();
  #revision = 0;

  /** @param changed is called after other nodes changed records. */
  constructor(
    { store, vault, changed }: { store: SettingStore; vault: SettingVault; changed: () => void },
  ) {
    this.#vault = vault;
    this.#store = store;
    let isChanged = false;
    for (const prefix of [SETTING, TARGET]) {
      store.follow([prefix], (entry) => {
        isChanged = true;
        this.#remember(entry);
      });
    }
    // All keys of one save take effect together.
    store.onRunEnd(() => {
      if (isChanged) changed();
      return isChanged = false;
    });
  }

  /** Reads all records. Call it once, before anything else. */
  async load(): Promise<void> {
    for (const prefix of [SETTING, TARGET]) {
      await this.#store.load([prefix], (entry) => this.#remember(entry));
    }
  }

  /** The revision of the newest change that this node knows. */
  get revision(): number {
    return this.#revision;
  }

  value(key: string): SettingRecord | null {
    return this.#values.get(key) ?? null;
  }

  target(name: string): SettingTargetRecord | null {
    return this.#targets.get(name) ?? null;
  }

  targets(): Iterable<[name: string, record: SettingTargetRecord]> {
    return this.#targets;
  }

  /** The stored values with their secrets, oldest change first. `unreadable` receives the keys of secrets that cannot be decrypted. */
  open(unreadable: (key: string) => void): {
    values: Map<string, unknown>;
    targets: Map<string, TomlTable>;
  } {
    const values = new Map<string, unknown>();
    const targets = new Map<string, TomlTable>();
    for (const [key, record] of inOrder(this.#values)) {
      const value = this.openValue(key, record);
      if (value === undefined) unreadable(key);
      else if (value !== null) values.set(key, value);
    }
    for (const [name, record] of inOrder(this.#targets)) {
      const table = this.openTarget(name, record);
      if (table === undefined) unreadable(`targets.${name}`);
      else if (table !== null) targets.set(name, table);
    }
    return { values, targets };
  }

  /** The value of a record; `null`: the default; `undefined`: a secret cannot be decrypted. */
  openValue(key: string, { value, sealed }: SettingRecord): SettingValue | null | undefined {
    if (sealed === undefined) return value ?? null;
    return this.#unseal(settingKey(key), sealed) ?? undefined;
  }

  /** The table of a record with its secrets; `null`: it was removed; `undefined`: a secret cannot be decrypted. */
  openTarget(name: string, { table, sealed }: SettingTargetRecord): TomlTable | null | undefined {
    if (table === null) return null;
    let opened = table;
    for (const [path, octets] of Object.entries(sealed)) {
      const text = this.#unseal([...settingTargetKey(name), path], octets);
      if (text === null) return undefined;
      opened = withBackendValue(opened, path, text);
    }
    return opened;
  }

  /** Whether a secret is stored for a backend of a target. */
  hasSecret(target: string, path: string): boolean {
    return this.#targets.get(target)?.sealed[path] !== undefined;
  }

  /** The record of a change. `null`: the default. */
  toRecord(key: string, value: SettingValue | null, head: RecordHead): SettingRecord {
    if (value === null) return head;
    if (ALL_SETTINGS.get(key)?.type !== "secret") return { ...head, value };
    return { ...head, sealed: this.#vault.seal(settingKey(key), encoder.encode(String(value))) };
  }

  /** The record of a target with its secrets in clear text. `null`: it is removed. */
  toTargetRecord(
    name: string,
    table: TomlTable | null,
    { dataUntilMs, ...head }: RecordHead & { dataUntilMs?: number | undefined },
  ): SettingTargetRecord {
    const sealed: Record<string, Uint8Array> = {};
    const plain = table === null ? null : mapSecrets(table, (path, text) => {
      if (text !== "") {
        sealed[path] = this.#vault.seal([...settingTargetKey(name), path], encoder.encode(text));
      }
      return undefined;
    });
    const removed = table === null && dataUntilMs !== undefined ? { dataUntilMs } : {};
    return { ...head, ...removed, table: plain, sealed };
  }

  /** Takes over records that were committed. */
  committed(mutations: readonly KvMutation[]): void {
    for (const mutation of mutations) {
      if (mutation.type === "set") {
        this.#remember({ key: mutation.key, value: mutation.value, versionstamp: null });
      }
    }
  }

  #remember({ key: [prefix, name], value }: StoreEntry<unknown>): void {
    const records: Map<string, RecordHead> | null = prefix === SETTING
      ? this.#values
      : prefix === TARGET
      ? this.#targets
      : null;
    if (records === null || typeof name !== "string") return;
    if (value === null) return void records.delete(name);
    if (!isHead(value)) throw new TypeError("it has no revision");
    if (!(prefix === SETTING ? isValueRecord(value) : isTargetRecord(value))) {
      throw new TypeError("it is no record of a setting");
    }
    if ((records.get(name)?.revision ?? 0) > value.revision) return;
    records.set(name, value);
    this.#revision = Math.max(this.#revision, value.revision);
  }

  #unseal(key: Deno.KvKey, sealed: Uint8Array): string | null {
    const octets = this.#vault.open(key, sealed);
    return octets === null ? null : decoder.decode(octets);
  }
}

function isHead(value: unknown): value is RecordHead & Readonly<Record<string, unknown>> {
  return isTable(value) && Number.isSafeInteger(value.revision) && typeof value.atMs === "number" &&
    typeof value.by === "string";
}

const isSealed = (value: unknown): boolean => value instanceof Uint8Array;

function isValueRecord({ value, sealed }: Readonly<Record<string, unknown>>): boolean {
  return isPlain(value) && (sealed === undefined || isSealed(sealed));
}

function isTargetRecord({ table, sealed, dataUntilMs }: Readonly<Record<string, unknown>>): boolean {
  return (table === null || (isTable(table) && isPlain(table))) &&
    isTable(sealed) && Object.values(sealed).every(isSealed) &&
    (dataUntilMs === undefined || typeof dataUntilMs === "number");
}

/** Whether a value can be one of a settings file: of its types, at any depth. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isPlain);
  if (typeof value === "object") return isTable(value) && Object.values(value).every(isPlain);
  return value === undefined || ["string", "number", "boolean"].includes(typeof value);
}

function inOrder<R extends RecordHead>(records: ReadonlyMap<string, R>): [string, R][] {
  return [...records].sort(([, a], [, b]) => a.revision - b.revision);
}

/** A copy of the table of a target, in which `replace` gives the value of each secret; `undefined` removes it. */
export function mapSecrets(
  table: TomlTable,
  replace: (path: string, text: string) => string | undefined,
): TomlTable {
  if (!isTable(table.backends)) return table;
  const backends = Object.entries(table.backends).map(([backend, inner]) => {
    if (!isTable(inner)) return [backend, inner];
    const entries = Object.entries(inner).flatMap(([key, value]) => {
      if (!isBackendSecret(key) || typeof value !== "string") return [[key, value]];
      const text = replace(`${backend}.${key}`, value);
      return text === undefined ? [] : [[key, text]];
    });
    return [backend, Object.fromEntries(entries)];
  });
  return { ...table, backends: Object.fromEntries(backends) };
}

/** A copy of the table of a target with a value of a backend. `path`: `<backend>.<key>`. */
function withBackendValue(table: TomlTable, path: string, value: string): TomlTable {
  const dot = path.lastIndexOf(".");
  const [backend, key] = [path.slice(0, dot), path.slice(dot + 1)];
  const backends = isTable(table.backends) ? table.backends : {};
  const inner = backends[backend];
  if (!isTable(inner)) return table;
  return { ...table, backends: { ...backends, [backend]: { ...inner, [key]: value } } };
}
