// What administrators set up by name, such as receivers of alerts: a table of settings and sealed secrets, with an audit record in each commit. A
// change is merged into the row that the store has at the commit, never into the mirror.

import { auditEntry } from "./audit.ts";
import type { AuditAction } from "./audit_actions.ts";
import { createWebhookSecret } from "./log_export/webhook_sender.ts";
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

/** What the rows are. */
export interface SealedKind<Settings, Secrets> {
  /** The first part of the keys. The second one is the name. */
  readonly prefix: Deno.KvKey;
  /** The type of the object in the audit log. */
  readonly object: string;
  readonly maxRows: number;
  readonly noSecrets: Secrets;
  /** @throws TypeError if the settings are not those of this version */
  readonly read: (settings: Settings) => Settings;
  /** Other entries of the store that are removed with a row. */
  readonly dependents: (name: string) => readonly Deno.KvKey[];
  readonly actions: Readonly<Record<"create" | "secret" | "remove", AuditAction>>;
  /** The values for the audit log, without secrets. @param secrets `null`: they cannot be read */
  readonly shown: (settings: Settings, secrets: Secrets | null) => Record<string, unknown>;
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

export interface NewRow<Settings, Secrets> {
  readonly settings: Settings;
  readonly secrets: Partial<Secrets>;
  /** Part of the commit. */
  readonly also?: readonly Mutation[];
}

export interface SealedChange<Settings, Secrets> {
  /** The version that the administrator saw. Absent: the change fits every version. */
  readonly version?: number;
  readonly action: AuditAction;
  /**
   * The settings and the secrets that change, from those that are stored now. May throw to refuse the change; nothing is written then. `null`: nothing
   * changes.
   */
  readonly merge: (
    stored: { readonly settings: Settings; readonly secrets: Secrets },
  ) => { readonly settings?: Settings; readonly secrets?: Partial<Secrets> } | null;
}

/** `changed`: another change came first. `unreadable`: the stored settings or secrets are damaged, or the master key is another one. */
export type SealedOutcome = "done" | "changed" | "unreadable";

export type CreatedRow =
  /** The key of the signatures of a webhook, which is not shown again; "" for others. */
  | { readonly ok: true; readonly webhookSecret: string }
  | { readonly ok: false; readonly reason: "taken" | "too_many" };

/** The detail of a problem of a row that is damaged. */
export const UNREADABLE_ROW =
  "the stored settings or secrets cannot be read; remove this entry and add it again";
const ATTEMPTS = 5;

export class SealedRows<Settings extends { kind: string }, Secrets extends { webhookSecret: string }> {
  readonly #deps: SealedRowsDeps;
  readonly #kind: SealedKind<Settings, Secrets>;
  readonly #table: Table<SealedRecord<Settings>>;
  #all: ReadonlyMap<string, SealedRecord<Settings>> = new Map();

  constructor(deps: SealedRowsDeps, kind: SealedKind<Settings, Secrets>) {
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
  get all(): ReadonlyMap<string, SealedRecord<Settings>> {
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
  secretsOf(name: string, { sealed }: Pick<SealedRecord<Settings>, "sealed">): Secrets | null {
    try {
      const plain = this.#deps.vault.open(this.#keyOf(name), sealed);
      return plain && { ...this.#kind.noSecrets, ...JSON.parse(new TextDecoder().decode(plain)) };
    } catch (_damaged) {
      return null;
    }
  }

  /** The caller checked settings and secrets. */
  async create(
    name: string,
    { settings, secrets: given, also = [] }: NewRow<Settings, Secrets>,
    by: RowActor,
  ): Promise<CreatedRow> {
    const { clock, random } = this.#deps;
    const { maxRows, noSecrets, shown, actions } = this.#kind;
    if (this.names.length >= maxRows) return { ok: false, reason: "too_many" };
    const webhookSecret = settings.kind === "webhook" ? createWebhookSecret(random) : "";
    const secrets = { ...noSecrets, ...given, webhookSecret };
    const record = { settings, sealed: this.#seal(name, secrets), createdMs: clock.nowMs(), version: 1 };
    const audit = this.audit(name, by, { action: actions.create, after: shown(settings, secrets) });
    return await this.#commit(this.#table.add(name, record), [audit, ...also])
      ? { ok: true, webhookSecret }
      : { ok: false, reason: "taken" };
  }

  /** Changes settings and secrets of the row that the store has. @throws what `merge` throws */
  async change(
    name: string,
    { version, action, merge }: SealedChange<Settings, Secrets>,
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
    const secrets = { webhookSecret } as Partial<Secrets>;
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
  #read(value: unknown): SealedRecord<Settings> {
    const record = value as Partial<SealedRecord<Settings>> | null;
    const { settings, sealed, createdMs, version } = record ?? {};
    const isRecord = typeof settings === "object" && settings !== null && sealed instanceof Uint8Array;
    if (!isRecord || typeof createdMs !== "number" || typeof version !== "number") {
      throw new TypeError(`Cannot read a row of the type ${this.#kind.object}`);
    }
    return { settings: this.#kind.read(settings), sealed, createdMs, version };
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

  #seal(name: string, secrets: Secrets): Uint8Array {
    return this.#deps.vault.seal(this.#keyOf(name), new TextEncoder().encode(JSON.stringify(secrets)));
  }
}

/** What changed, before and after. */
function differences(old: Record<string, unknown>, now: Record<string, unknown>) {
  const isChanged = (field: string): boolean => JSON.stringify(old[field]) !== JSON.stringify(now[field]);
  const changed = Object.keys(now).filter(isChanged);
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(changed.map((field) => [field, from[field]]));
  return changed.length === 0 ? {} : { before: pick(old), after: pick(now) };
}
