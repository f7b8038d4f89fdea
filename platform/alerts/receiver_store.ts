// The receivers of alerts in the store. Every node reads and changes them, and each change is in the audit log.

import { auditEntry } from "../audit.ts";
import { createWebhookSecret } from "../log_export/webhook_sender.ts";
import type { Clock, Random } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import { MAX_RECEIVERS, type ReceiverSettings } from "./alert_kinds.ts";
import {
  openReceiver,
  readReceiver,
  receiverAddress,
  receiverKey,
  type ReceiverRecord,
  RECEIVERS,
  type ReceiverSecrets,
  receiverStateKey,
  sealReceiver,
} from "./receiver.ts";

export interface ReceiverStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  /** A receiver was created, changed or removed, here or by another node. */
  readonly onChange: () => void;
}

/** Who makes a change, for the audit log. */
export interface ReceiverActor {
  readonly actor: string;
  readonly source?: string | undefined;
}

type ReceiverAction = Extract<Parameters<typeof auditEntry>[0]["action"], `alert.receiver_${string}`>;

export interface ReceiverChange {
  /** The version that the administrator saw. */
  readonly version: number;
  readonly settings: ReceiverSettings;
  /** Those that change. */
  readonly secrets: Partial<ReceiverSecrets>;
  readonly action: ReceiverAction;
}

export class ReceiverStore {
  readonly #deps: ReceiverStoreDeps;
  readonly #records = new Map<string, ReceiverRecord>();

  constructor(deps: ReceiverStoreDeps) {
    this.#deps = deps;
    deps.store.follow(RECEIVERS, (entry) => this.#read(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(RECEIVERS, (entry) => this.#read(entry));
  }

  /** All receivers by name. */
  get all(): ReadonlyMap<string, ReceiverRecord> {
    return this.#records;
  }

  /** `null`: they cannot be read. */
  secretsOf(name: string, record: Pick<ReceiverRecord, "sealed">): ReceiverSecrets | null {
    try {
      return openReceiver(this.#deps.vault, name, record);
    } catch (_notReadable) {
      return null;
    }
  }

  /**
   * Creates a receiver. The caller checked its settings and its address.
   *
   * @returns the key of the signatures of a webhook, which is not shown again; "" for mail
   */
  async create(
    name: string,
    { settings, url }: { readonly settings: ReceiverSettings; readonly url: string },
    by: ReceiverActor,
  ): Promise<{ ok: true; webhookSecret: string } | { ok: false; reason: "taken" | "too_many" }> {
    const { store, vault, clock, random } = this.#deps;
    if (this.#records.size >= MAX_RECEIVERS) return { ok: false, reason: "too_many" };
    const webhookSecret = settings.kind === "webhook" ? createWebhookSecret(random) : "";
    const secrets = { url, webhookSecret };
    const sealed = sealReceiver(vault, name, secrets);
    const record: ReceiverRecord = { settings, sealed, createdMs: clock.nowMs(), version: 1 };
    const key = receiverKey(name);
    const { ok } = await store.commit({
      checks: [{ key, versionstamp: null }],
      mutations: [
        { type: "set", key, value: record },
        this.audit(name, by, { action: "alert.receiver_create", after: shownValues(settings, secrets) }),
      ],
    });
    if (!ok) return { ok: false, reason: "taken" };
    this.#apply(name, record);
    return { ok: true, webhookSecret };
  }

  /** Changes settings and secrets. @returns false if another change came first */
  async change(
    name: string,
    { version, settings, secrets, action }: ReceiverChange,
    by: ReceiverActor,
  ): Promise<boolean> {
    const { store, vault } = this.#deps;
    const { key, value, versionstamp } = await store.get<ReceiverRecord>(receiverKey(name));
    if (value === null || value.version !== version) return false;
    const before = readReceiver(value);
    const old = openReceiver(vault, name, before);
    const all = { ...old, ...secrets };
    const record = { ...before, settings, sealed: sealReceiver(vault, name, all), version: version + 1 };
    const change = differences(shownValues(before.settings, old), shownValues(settings, all));
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: record }, this.audit(name, by, { action, ...change })],
    });
    if (ok) this.#apply(name, record);
    return ok;
  }

  /** Creates a new key for the signatures of a webhook. @returns it, or `null` if another change came first */
  async renewSecret(name: string, version: number, by: ReceiverActor): Promise<string | null> {
    const record = this.#records.get(name);
    if (record === undefined) return null;
    const webhookSecret = createWebhookSecret(this.#deps.random);
    const { settings } = record;
    const change = {
      version,
      settings,
      secrets: { webhookSecret },
      action: "alert.receiver_secret",
    } as const;
    return await this.change(name, change, by) ? webhookSecret : null;
  }

  /** Removes a receiver. Messages that wait for it are removed by the node that delivers. */
  async remove(name: string, by: ReceiverActor): Promise<boolean> {
    const { store } = this.#deps;
    const { key, value, versionstamp } = await store.get<ReceiverRecord>(receiverKey(name));
    if (value === null) return false;
    const { settings } = readReceiver(value);
    const before = shownValues(settings, this.secretsOf(name, value));
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [
        { type: "delete", key },
        { type: "delete", key: receiverStateKey(name) },
        this.audit(name, by, { action: "alert.receiver_delete", before }),
      ],
    });
    if (ok) this.#apply(name, null);
    return ok;
  }

  audit(
    name: string,
    { actor, source }: ReceiverActor,
    entry: Pick<Parameters<typeof auditEntry>[0], "action" | "before" | "after">,
  ): Mutation {
    return auditEntry({ ...entry, actor, source, object: `alert-receiver:${name}` });
  }

  #read({ key, value }: { readonly key: Deno.KvKey; readonly value: unknown }): void {
    this.#apply(String(key[1]), value === null ? null : readReceiver(value));
  }

  #apply(name: string, record: ReceiverRecord | null): void {
    if (record === null) this.#records.delete(name);
    else this.#records.set(name, record);
    this.#deps.onChange();
  }
}

/** Settings for the audit log, without secrets. */
function shownValues(settings: ReceiverSettings, secrets: ReceiverSecrets | null): Record<string, unknown> {
  const { addresses: _addresses, ...others } = settings;
  return { ...others, address: receiverAddress(settings, secrets) };
}

/** What changed, before and after. */
function differences(old: Record<string, unknown>, now: Record<string, unknown>) {
  const isChanged = (field: string): boolean => JSON.stringify(old[field]) !== JSON.stringify(now[field]);
  const changed = Object.keys(now).filter(isChanged);
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(changed.map((field) => [field, from[field]]));
  return changed.length === 0 ? {} : { before: pick(old), after: pick(now) };
}
