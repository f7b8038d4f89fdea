// The destinations of the log export in the store: every node reads and changes them, and each change is in the audit log.

import { auditEntry } from "../audit.ts";
import type { Clock, Random } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import {
  addressOf,
  cursorKey,
  type DestinationCursor,
  destinationKey,
  type DestinationRecord,
  DESTINATIONS,
  type DestinationSecrets,
  openSecrets,
  sealSecrets,
} from "./destination.ts";
import { type DestinationSettings, MAX_DESTINATIONS, type RecordKind } from "./destination_choices.ts";
import { type NodeMark, positionAt } from "./export_position.ts";
import { createWebhookSecret } from "./webhook_sender.ts";

export interface DestinationStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly marks: () => readonly NodeMark[];
  /** A destination was created, changed or removed, here or by another node. */
  readonly onChange: () => void;
}

/** Who makes a change, for the audit log. */
export interface DestinationActor {
  readonly actor: string;
  readonly source?: string | undefined;
}

export interface DestinationChange {
  /** The version that the administrator saw. */
  readonly version: number;
  readonly settings: DestinationSettings;
  /** Those that change. */
  readonly secrets: Partial<DestinationSecrets>;
  readonly action: "log_export.change" | "log_export.pause" | "log_export.resume" | "log_export.secret";
}

export class DestinationStore {
  readonly #deps: DestinationStoreDeps;
  readonly #records = new Map<string, DestinationRecord>();

  constructor(deps: DestinationStoreDeps) {
    this.#deps = deps;
    deps.store.follow(DESTINATIONS, (entry) => this.#read(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(DESTINATIONS, (entry) => this.#read(entry));
  }

  /** All destinations by name. */
  get all(): ReadonlyMap<string, DestinationRecord> {
    return this.#records;
  }

  /** Whether any destination wants records of a kind. */
  wants(kind: RecordKind): boolean {
    return [...this.#records.values()].some(({ settings }) => settings.records.includes(kind));
  }

  secretsOf(name: string, record: DestinationRecord): DestinationSecrets {
    return openSecrets(this.#deps.vault, name, record);
  }

  async cursorOf(name: string): Promise<DestinationCursor | null> {
    return (await this.#deps.store.get<DestinationCursor>(cursorKey(name))).value;
  }

  /**
   * Creates a destination that receives the records from `fromMs` on. The caller checked settings and secrets.
   *
   * @returns the secret of a webhook, which is not shown again; "" for syslog
   */
  async create(
    name: string,
    { settings, secrets, fromMs }: {
      readonly settings: DestinationSettings;
      readonly secrets: DestinationSecrets;
      readonly fromMs: number;
    },
    by: DestinationActor,
  ): Promise<{ ok: true; webhookSecret: string } | { ok: false; reason: "taken" | "too_many" }> {
    const { store, vault, clock, random, marks } = this.#deps;
    if (this.#records.size >= MAX_DESTINATIONS) return { ok: false, reason: "too_many" };
    const webhookSecret = settings.kind === "webhook" ? createWebhookSecret(random) : "";
    const record: DestinationRecord = {
      settings,
      sealed: sealSecrets(vault, name, { ...secrets, webhookSecret }),
      createdMs: clock.nowMs(),
      version: 1,
    };
    const position = positionAt(Math.min(fromMs, clock.nowMs()), marks());
    const cursor: DestinationCursor = {
      ...{ position, sent: 0, skipped: 0, lastSentMs: null, problem: null },
      backlog: { count: 0, position, oldestMs: null },
    };
    const key = destinationKey(name);
    const { ok } = await store.commit({
      checks: [{ key, versionstamp: null }],
      mutations: [
        { type: "set", key, value: record },
        { type: "set", key: cursorKey(name), value: cursor },
        this.audit(name, by, { action: "log_export.create", after: shownSettings(settings) }),
      ],
    });
    if (!ok) return { ok: false, reason: "taken" };
    this.#apply(name, record);
    return { ok: true, webhookSecret };
  }

  /** Changes settings and secrets. @returns false if another change came first */
  async change(
    name: string,
    { version, settings, secrets, action }: DestinationChange,
    by: DestinationActor,
  ): Promise<boolean> {
    const { store, vault } = this.#deps;
    const key = destinationKey(name);
    const { value: before, versionstamp } = await store.get<DestinationRecord>(key);
    if (before === null || before.version !== version) return false;
    const all = { ...openSecrets(vault, name, before), ...secrets };
    const record = { ...before, settings, sealed: sealSecrets(vault, name, all), version: version + 1 };
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [
        { type: "set", key, value: record },
        this.audit(name, by, { action, ...differences(before.settings, settings) }),
      ],
    });
    if (ok) this.#apply(name, record);
    return ok;
  }

  /** Creates a new key for the signatures of a webhook. @returns it, or `null` if another change came first */
  async renewSecret(name: string, version: number, by: DestinationActor): Promise<string | null> {
    const record = this.#records.get(name);
    if (record === undefined) return null;
    const webhookSecret = createWebhookSecret(this.#deps.random);
    const { settings } = record;
    const isDone = await this.change(
      name,
      { version, settings, secrets: { webhookSecret }, action: "log_export.secret" },
      by,
    );
    return isDone ? webhookSecret : null;
  }

  /** Removes a destination and its position. */
  async remove(name: string, by: DestinationActor): Promise<boolean> {
    const key = destinationKey(name);
    const { value, versionstamp } = await this.#deps.store.get<DestinationRecord>(key);
    if (value === null) return false;
    const { ok } = await this.#deps.store.commit({
      checks: [{ key, versionstamp }],
      mutations: [
        { type: "delete", key },
        { type: "delete", key: cursorKey(name) },
        this.audit(name, by, { action: "log_export.remove", before: shownSettings(value.settings) }),
      ],
    });
    if (ok) this.#apply(name, null);
    return ok;
  }

  /** Removes a position that a delivery wrote while its destination was removed. */
  async removeCursor(name: string): Promise<void> {
    await this.#deps.store.commit({
      checks: [{ key: destinationKey(name), versionstamp: null }],
      mutations: [{ type: "delete", key: cursorKey(name) }],
    });
  }

  audit(
    name: string,
    { actor, source }: DestinationActor,
    entry: Pick<Parameters<typeof auditEntry>[0], "action" | "before" | "after">,
  ): Mutation {
    return auditEntry({ ...entry, actor, source, object: `log-export:${name}` });
  }

  #read({ key, value }: { readonly key: Deno.KvKey; readonly value: unknown }): void {
    this.#apply(String(key[1]), value as DestinationRecord | null);
  }

  #apply(name: string, record: DestinationRecord | null): void {
    if (record === null) this.#records.delete(name);
    else this.#records.set(name, record);
    this.#deps.onChange();
  }
}

/** Settings for the audit log. */
function shownSettings(settings: DestinationSettings): Record<string, unknown> {
  const { ca, certificate, url: _url, host: _host, port: _port, ...others } = settings;
  return { ...others, address: addressOf(settings), ca: ca !== "", certificate: certificate !== "" };
}

/** What changed, before and after. */
function differences(before: DestinationSettings, after: DestinationSettings) {
  const [old, now] = [shownSettings(before), shownSettings(after)];
  const changed = Object.keys(now).filter((field) =>
    JSON.stringify(old[field]) !== JSON.stringify(now[field])
  );
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(changed.map((field) => [field, from[field]]));
  return changed.length === 0 ? {} : { before: pick(old), after: pick(now) };
}
