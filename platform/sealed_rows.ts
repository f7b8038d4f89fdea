// What administrators set up by name, such as receivers of alerts: a table of settings and sealed secrets, with an audit record in each commit. A
// change is merged into the row that the store has at the commit, never into the mirror.

import { auditEntry } from "./audit.ts";
import type { AuditAction } from "./audit_actions.ts";
import { createWebhookSecret } from "./log_export/webhook_sender.ts";
import {
  type AnyField,
  defaultsOf,
  type Fields,
  type OneChoice,
  type OneSecret,
  type SecretsOf,
  type ValuesOf,
} from "./fields.ts";
import type { Clock, Random } from "./runtime.ts";
import type { Mutation, Store } from "./store.ts";
import { commitChanges, Table, type TableChange } from "./table.ts";
import type { Vault } from "./vault.ts";

export interface SealedRecord<Settings> {
  readonly settings: Settings;
  readonly sealed: Uint8Array;
  readonly createdMs: number;
  /** Grows with each change. */
  readonly version: number;
}

type RowFields = Fields & { readonly kind: OneChoice };
type RowSettings<F extends Fields> = ValuesOf<F> & { readonly isPaused: boolean };
/** "": none. */
type RowSecrets<F extends Fields> = SecretsOf<F> & { readonly webhookSecret: string };

export interface SealedKind<F extends RowFields> {
  /** The first part of the keys. The second one is the name. */
  readonly prefix: Deno.KvKey;
  /** The type of the object in the audit log. */
  readonly object: string;
  readonly maxRows: number;
  readonly fields: F;
  /** Whether a row has a key for signatures. */
  readonly isSigned: (settings: RowSettings<F>) => boolean;
  /** Other entries of the store that are removed with a row. */
  readonly dependents: (name: string) => readonly Deno.KvKey[];
  readonly actions: Readonly<Record<"create" | "secret" | "remove", AuditAction>>;
  /** The values for the audit log, without secrets. @param secrets `null`: they cannot be read */
  readonly shown: (settings: RowSettings<F>, secrets: RowSecrets<F> | null) => Record<string, unknown>;
}

export interface SealedRowsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  /** A row was created, changed or removed, here or by another node. */
  readonly onChange?: () => void;
}

/** Who makes a change, for the audit log. */
export interface RowActor {
  readonly actor: string;
  readonly source?: string | undefined;
}

interface NewRow<F extends Fields> {
  readonly settings: RowSettings<F>;
  readonly secrets: Partial<RowSecrets<F>>;
  /** Part of the commit. */
  readonly also?: readonly Mutation[];
}

interface SealedChange<F extends Fields> {
  /** The version that the administrator saw. Absent: the change fits every version. */
  readonly version?: number;
  readonly action: AuditAction;
  /**
   * The settings and the secrets that change, from those that are stored now. May throw to refuse the change; nothing is written then. `null`: nothing
   * changes.
   */
  readonly merge: (
    stored: { readonly settings: RowSettings<F>; readonly secrets: RowSecrets<F> },
  ) => { readonly settings?: RowSettings<F>; readonly secrets?: Partial<RowSecrets<F>> } | null;
}

/** `changed`: another change came first. `unreadable`: the stored settings or secrets are damaged, or the master key is another one. */
export type SealedOutcome = "done" | "changed" | "unreadable";

type CreatedRow =
  /** The key of the signatures of a webhook, which is not shown again; "" for others. */
  | { readonly ok: true; readonly webhookSecret: string }
  | { readonly ok: false; readonly reason: "taken" | "too_many" };

/** The detail of a problem of a row that is damaged. */
export const UNREADABLE_ROW =
  "the stored settings or secrets cannot be read; remove this entry and add it again";
const ATTEMPTS = 5;

export class SealedRows<F extends RowFields> {
  readonly #deps: SealedRowsDeps;
  readonly #kind: SealedKind<F>;
  readonly #table: Table<SealedRecord<RowSettings<F>>>;
  #all: ReadonlyMap<string, SealedRecord<RowSettings<F>>> = new Map();

  constructor(deps: SealedRowsDeps, kind: SealedKind<F>) {
    this.#deps = deps;
    this.#kind = kind;
    const onForeignChange = () => this.#changed();
    const read = (value: unknown) => this.#read(value);
    this.#table = new Table({ store: deps.store, onForeignChange }, { prefix: kind.prefix, read });
  }

  async load(): Promise<void> {
    await this.#table.load();
    this.#changed();
  }

  /** All rows that can be used, by name. One that becomes unreadable stays as it was. */
  get all(): ReadonlyMap<string, SealedRecord<RowSettings<F>>> {
    return this.#all;
  }

  /** All names that are stored, also of rows that cannot be read. */
  get names(): readonly string[] {
    return [...new Set([...this.#all.keys(), ...this.#table.unreadable])].toSorted();
  }

  /** Whether the store has a row with the name. */
  has(name: string): boolean {
    return this.#all.has(name) || this.#table.unreadable.includes(name);
  }

  /** `null`: they cannot be read. */
  secretsOf(name: string, { sealed }: Pick<SealedRecord<RowSettings<F>>, "sealed">): RowSecrets<F> | null {
    try {
      const plain = this.#deps.vault.open(this.#keyOf(name), sealed);
      return plain && { ...noSecretsOf(this.#kind.fields), ...JSON.parse(new TextDecoder().decode(plain)) };
    } catch (_damaged) {
      return null;
    }
  }

  /** The caller checked settings and secrets. */
  async create(
    name: string,
    { settings, secrets: given, also = [] }: NewRow<F>,
    by: RowActor,
  ): Promise<CreatedRow> {
    const { clock, random } = this.#deps;
    const { maxRows, fields, isSigned, shown, actions } = this.#kind;
    if (this.names.length >= maxRows) return { ok: false, reason: "too_many" };
    const webhookSecret = isSigned(settings) ? createWebhookSecret(random) : "";
    const secrets = { ...noSecretsOf(fields), ...given, webhookSecret };
    const record = { settings, sealed: this.#seal(name, secrets), createdMs: clock.nowMs(), version: 1 };
    const audit = this.audit(name, by, { action: actions.create, after: shown(settings, secrets) });
    return await this.#commit(this.#table.add(name, record), [audit, ...also])
      ? { ok: true, webhookSecret }
      : { ok: false, reason: "taken" };
  }

  /** Changes settings and secrets of the row that the store has. @throws what `merge` throws */
  async change(
    name: string,
    { version, action, merge }: SealedChange<F>,
    by: RowActor,
  ): Promise<SealedOutcome> {
    const { shown } = this.#kind;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await this.#table.reread(name);
      if (this.#table.unreadable.includes(name)) return "unreadable";
      const row = this.#table.get(name);
      if (row === undefined) return "changed";
      const { value: stored } = row;
      const old = this.secretsOf(name, stored);
      if (old === null) return "unreadable";
      if (version !== undefined && stored.version !== version) return "changed";
      const merged = merge({ settings: stored.settings, secrets: old });
      if (merged === null) return "done";
      const { settings = stored.settings } = merged;
      const secrets = { ...old, ...merged.secrets };
      const sealed = this.#seal(name, secrets);
      const record = { ...stored, settings, sealed, version: stored.version + 1 };
      const changed = differences(shown(stored.settings, old), shown(settings, secrets));
      const also = [this.audit(name, by, { action, ...changed })];
      if (await this.#commit(this.#table.replace(row, record), also)) return "done";
    }
    return "changed";
  }

  /** Creates a new key for the signatures of a webhook. */
  async renewSecret(
    name: string,
    version: number,
    by: RowActor,
  ): Promise<{ readonly outcome: SealedOutcome; readonly webhookSecret: string }> {
    const webhookSecret = createWebhookSecret(this.#deps.random);
    const secrets = { webhookSecret } as Partial<RowSecrets<F>>;
    const { secret: action } = this.#kind.actions;
    return {
      outcome: await this.change(name, { version, action, merge: () => ({ secrets }) }, by),
      webhookSecret,
    };
  }

  /** Removes a row with its dependents, also one that cannot be read. @returns false if it changed meanwhile, or there is none */
  async remove(name: string, by: RowActor): Promise<boolean> {
    await this.#table.reread(name);
    const unreadable = this.#table.removeUnreadable(name);
    const row = this.#table.get(name);
    const removal = unreadable ?? (row && this.#table.remove(row));
    if (removal === undefined) return false;
    const { shown, actions, dependents } = this.#kind;
    const stored = unreadable === undefined ? row?.value : undefined;
    const before = stored === undefined
      ? {}
      : { before: shown(stored.settings, this.secretsOf(name, stored)) };
    const removed = dependents(name).map((key) => ({ type: "delete", key }) as const);
    const audit = this.audit(name, by, { action: actions.remove, ...before });
    return await this.#commit(removal, [...removed, audit]);
  }

  audit(
    name: string,
    { actor, source }: RowActor,
    entry: Pick<Parameters<typeof auditEntry>[0], "action" | "before" | "after">,
  ): Mutation {
    return auditEntry({ ...entry, actor, source, object: `${this.#kind.object}:${name}` });
  }

  /** @throws if the stored value is not one of this version, or damaged */
  #read(value: unknown): SealedRecord<RowSettings<F>> {
    const record = value as Partial<SealedRecord<RowSettings<F>>> | null;
    const { settings, sealed, createdMs, version } = record ?? {};
    const isRecord = typeof settings === "object" && settings !== null && sealed instanceof Uint8Array;
    if (!isRecord || typeof createdMs !== "number" || typeof version !== "number") {
      throw new TypeError(`Cannot read a row of the type ${this.#kind.object}`);
    }
    return { settings: readSettings(this.#kind.fields, settings), sealed, createdMs, version };
  }

  #changed(): void {
    this.#all = new Map(this.#table.all().map(({ id, value }) => [id, value]));
    this.#deps.onChange?.();
  }

  async #commit(change: TableChange, also: readonly Mutation[]): Promise<boolean> {
    const isDone = await commitChanges(this.#deps.store, [change], { also });
    if (isDone) this.#changed();
    return isDone;
  }

  #keyOf(name: string): Deno.KvKey {
    return [...this.#kind.prefix, name];
  }

  #seal(name: string, secrets: RowSecrets<F>): Uint8Array {
    return this.#deps.vault.seal(this.#keyOf(name), new TextEncoder().encode(JSON.stringify(secrets)));
  }
}

/** No secret is set. */
export function noSecretsOf<F extends Fields>(fields: F): RowSecrets<F> {
  const names = Object.keys(fields).filter((name) => fields[name]?.type === "secret");
  return Object.fromEntries([...names, "webhookSecret"].map((name) => [name, ""])) as RowSecrets<F>;
}

/**
 * Stored settings, with the defaults of fields that they do not have. A choice of another version is left out of several.
 *
 * @throws TypeError if a value has another type
 */
function readSettings<F extends Fields>(fields: F, stored: object): RowSettings<F> {
  const known: Record<string, unknown> = { ...defaultsOf(fields), isPaused: false, ...stored };
  for (const [name, field] of Object.entries(fields)) {
    const value = known[name];
    if (field.type !== "secret" && !hasTypeOf(field, value)) {
      throw new TypeError(`Cannot read the field "${name}"`);
    }
    if (field.type === "choices") known[name] = (value as string[]).filter((one) => field.of.includes(one));
  }
  return known as RowSettings<F>;
}

function hasTypeOf(field: Exclude<AnyField, OneSecret>, value: unknown): boolean {
  if (field.type === "choice") return field.of.some((one) => one === value);
  return Array.isArray(field.default) ? Array.isArray(value) : typeof value === typeof field.default;
}

/** What changed, before and after. */
function differences(old: Record<string, unknown>, now: Record<string, unknown>) {
  const isChanged = (field: string): boolean => JSON.stringify(old[field]) !== JSON.stringify(now[field]);
  const changed = Object.keys(now).filter(isChanged);
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(changed.map((field) => [field, from[field]]));
  return changed.length === 0 ? {} : { before: pick(old), after: pick(now) };
}
