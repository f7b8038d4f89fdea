// The alerts of a gateway. With several nodes, one node watches and delivers (a lease); every node lists alerts and changes receivers.

import { auditEntry } from "../audit.ts";
import type { CallProblem } from "../call_fault.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { HOUR_MS } from "../durations.ts";
import type { Log } from "../log.ts";
import type { NodeMark } from "../log_export/record_reader.ts";
import type { WebhookSender } from "../log_export/webhook_sender.ts";
import { type MailQueue, MailRefusal } from "../mail/mail.ts";
import { hostName } from "../process.ts";
import type { Clock, Random } from "../runtime.ts";
import { type RowActor, SealedRows } from "../sealed_rows.ts";
import type { Mutation, Store } from "../store.ts";
import type { Vault } from "../vault.ts";
import { WorkLoop } from "../work_loop.ts";
import { AlertDelivery, pendingKey } from "./alert_delivery.ts";
import { RECEIVER_DEFAULTS, type ReceiverSettings } from "./alert_kinds.ts";
import {
  type Acknowledgement,
  acknowledgementKey,
  ALERT_RETENTION_MS,
  alertEndMs,
  alertKey,
  type AlertPage,
  listAlertPage,
  type ListedAlert,
  listOpenAlerts,
  readAlert,
  trimAlerts,
  validAcknowledgement,
} from "./alert_record.ts";
import type { AlertSettings, ObservedState } from "./alert_rules.ts";
import { renderMails, renderTestMails, renderTestWebhook, renderWebhook } from "./alert_texts.ts";
import { AlertWatcher } from "./alert_watcher.ts";
import {
  type AlertReceivers,
  RECEIVER_ROWS,
  receiverAddress,
  type ReceiverRecord,
  type ReceiverState,
  receiverStateKey,
  UNREADABLE_SECRETS,
} from "./receiver.ts";

interface AlertServiceDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly cluster: Pick<Cluster, "list" | "openLease">;
  readonly mail: Pick<MailQueue, "isConfigured" | "prepare" | "wake">;
  readonly webhooks: Pick<WebhookSender, "send">;
  readonly config: {
    readonly alerts: AlertSettings;
    readonly http: { readonly publicUrl: string };
  };
  /** The host of this node, for the messages. */
  readonly nodeName: string;
  /** Whether this process is a running gateway. A command delivers nothing. */
  readonly mayDeliver: () => boolean;
}

/** A receiver as administrators see it: no secret. */
interface ReceiverStatus extends Pick<ReceiverState, "lastSentMs" | "problem"> {
  readonly name: string;
  readonly settings: ReceiverSettings;
  readonly address: string;
  readonly createdMs: number;
  readonly version: number;
  readonly waiting: number;
}

/** The result of a test message. */
type AlertTestOutcome =
  | { readonly ok: true; readonly tookMs: number }
  | { readonly ok: false; readonly code: CallProblem; readonly detail: string };

interface AlertOverview extends AlertPage {
  readonly isEnabled: boolean;
  readonly open: readonly ListedAlert[];
}

/** `unknown`: there is no such open alert. `changed`: it has another count than the administrator saw. */
type AcknowledgeOutcome = "done" | "unknown" | "changed";

/** What is shown of a receiver whose stored settings cannot be read. */
const UNREADABLE_RECEIVER = {
  settings: { ...RECEIVER_DEFAULTS, kind: "webhook" },
  createdMs: 0,
  version: 0,
} as const satisfies Omit<ReceiverRecord, "sealed">;

/** How often the node with the lease looks for alerts. */
const CHECK_MS = 2000;
const TRIM_MS = HOUR_MS;

export class AlertService {
  readonly #deps: AlertServiceDeps;
  readonly #lease: ReturnType<Cluster["openLease"]>;
  readonly #delivery: AlertDelivery;
  readonly #watcher: AlertWatcher;
  readonly receivers: AlertReceivers;
  #readStates: (() => Promise<readonly ObservedState[]>) | null = null;
  readonly #loop: WorkLoop;
  #stopping: Promise<void> = Promise.resolve();
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AlertServiceDeps) {
    this.#deps = deps;
    const lease = this.#lease = deps.cluster.openLease("alerts", {
      onAcquired: () => Promise.resolve(this.#watcher.reset()),
      onLost: () => this.#lost(),
    });
    this.receivers = new SealedRows(deps, RECEIVER_ROWS);
    const render = {
      publicUrl: () => deps.config.http.publicUrl,
      nodeName: deps.nodeName,
      nowMs: () => deps.clock.nowMs(),
    };
    const { receivers } = this;
    const delivery = this.#delivery = new AlertDelivery({
      ...{ ...deps, lease, receivers },
      render: {
        mails: (name, record, message) => renderMails(render, name, { record, message }),
        webhook: (record, message) => renderWebhook(render, record, message),
      },
    });
    this.#watcher = new AlertWatcher({
      ...{ ...deps, lease, delivery, receivers },
      settings: () => deps.config.alerts,
      marks: () => this.#marks(),
      readStates: () => this.#readStates?.() ?? null,
    });
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: CHECK_MS,
      wakeDelayMs: CHECK_MS,
      pass: () => this.#check(),
      onFault: (fault) => deps.log.error("alerts cannot use the store", { fault: String(fault) }),
    });
  }

  /** Loads the receivers. The gateway watches from now on. */
  async start(): Promise<void> {
    await this.receivers.load();
    this.#loop.wake();
  }

  /** Sets what observes the states. */
  observe(readStates: () => Promise<readonly ObservedState[]>): void {
    this.#readStates = readStates;
  }

  get isMailConfigured(): boolean {
    return this.#deps.mail.isConfigured;
  }

  /** The open alerts, and a page of all alerts. @param after an id, or "" for the first page */
  async list(after: string): Promise<AlertOverview> {
    const { store, clock, config } = this.#deps;
    const nowMs = clock.nowMs();
    const [page, open] = await Promise.all([
      listAlertPage(store, { after, nowMs }),
      listOpenAlerts(store, nowMs),
    ]);
    return { isEnabled: config.alerts.enabled, open, ...page };
  }

  /** The open alerts, critical ones first. None while alerts are off, because no state ends then. */
  async listOpen(): Promise<ListedAlert[]> {
    const { store, clock, config } = this.#deps;
    return config.alerts.enabled ? await listOpenAlerts(store, clock.nowMs()) : [];
  }

  /**
   * Acknowledges an open alert as the administrator saw it, on every node, until another event. A second administrator changes nothing.
   *
   * @param seen the count on the page
   */
  async acknowledge(id: string, seen: number, by: RowActor & { name: string }): Promise<AcknowledgeOutcome> {
    const { store, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const alert = readAlert(id, (await store.get<unknown>(alertKey(id))).value);
    if (alert === null || alertEndMs(alert, nowMs) !== null) return "unknown";
    const { kind, about, count, severity, values: { users } } = alert;
    if (count !== seen) return "changed";
    const key = acknowledgementKey(id);
    const { value: known, versionstamp } = await store.get<unknown>(key);
    if (validAcknowledgement(alert, known) !== null) return "done";
    const value: Acknowledgement = { by: by.name, atMs: nowMs, count, severity };
    const { actor, source } = by;
    const subject = users === undefined ? about : users.join(", ");
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [
        { type: "set", key, value, expireInMs: ALERT_RETENTION_MS },
        auditEntry({
          action: "alert.acknowledge",
          actor,
          source,
          object: `alert:${kind}`,
          alert: id,
          subject,
          count,
        }),
      ],
    });
    return ok ? "done" : "changed";
  }

  async listReceivers(): Promise<ReceiverStatus[]> {
    const found = await Promise.all(this.receivers.names.map((name) => this.findReceiver(name)));
    return found.filter((one) => one !== null);
  }

  async findReceiver(name: string): Promise<ReceiverStatus | null> {
    const { store } = this.#deps;
    const record = this.receivers.all.get(name);
    if (record === undefined && !this.receivers.has(name)) return null;
    const { settings, createdMs, version } = record ?? UNREADABLE_RECEIVER;
    const { value } = await store.get<ReceiverState>(receiverStateKey(name));
    const { lastSentMs = null, problem: known = null } = value?.createdMs === createdMs ? value : {};
    const secrets = record === undefined ? null : this.receivers.secretsOf(name, record);
    const { code, detail } = UNREADABLE_SECRETS;
    const problem = secrets === null ? { code, detail, sinceMs: known?.sinceMs ?? createdMs } : known;
    let waiting = 0;
    for await (const _entry of store.list<unknown>(pendingKey(name))) waiting++;
    const address = receiverAddress(settings, secrets);
    return { name, settings, address, createdMs, version, lastSentMs, problem, waiting };
  }

  /** Sends a test message, from this node. `null`: there is no such receiver. */
  async test(name: string, by: RowActor): Promise<AlertTestOutcome | null> {
    const record = this.receivers.all.get(name);
    if (record === undefined) return null;
    const audit = this.receivers.audit(name, by, { action: "alert.receiver_test" });
    if (record.settings.kind === "mail") return await this.#testMail(name, { record, by, audit });
    await this.#deps.store.commit({ mutations: [audit] });
    return await this.#testWebhook(name, { record, by });
  }

  /** Ends the watch. What is not confirmed is sent again after the next start. */
  async close(): Promise<void> {
    await this.#loop.close();
    await this.#stopping;
    await this.#delivery.stop();
  }

  async #testMail(
    name: string,
    { record, by, audit }: {
      readonly record: ReceiverRecord;
      readonly by: RowActor;
      readonly audit: Mutation;
    },
  ): Promise<AlertTestOutcome> {
    const { store, mail, clock } = this.#deps;
    const startedMs = clock.nowMs();
    try {
      const mails = renderTestMails(this.#renderDeps, name, { record, by: by.actor })
        .flatMap((one) => mail.prepare(one).mutations);
      await store.commit({ mutations: [audit, ...mails] });
      mail.wake();
      return { ok: true, tookMs: clock.nowMs() - startedMs };
    } catch (fault) {
      if (!(fault instanceof MailRefusal)) throw fault;
      await store.commit({ mutations: [audit] });
      return { ok: false, code: fault.reason, detail: fault.message };
    }
  }

  async #testWebhook(
    name: string,
    { record, by }: { readonly record: ReceiverRecord; readonly by: RowActor },
  ): Promise<AlertTestOutcome> {
    const { clock, webhooks, random } = this.#deps;
    const startedMs = clock.nowMs();
    const secrets = this.receivers.secretsOf(name, record);
    if (secrets === null) {
      return { ok: false, code: UNREADABLE_SECRETS.code, detail: UNREADABLE_SECRETS.detail };
    }
    const { url, webhookSecret: secret } = secrets;
    const { allowsHttp } = record.settings;
    const id = `test-${random.bytes(8).toHex()}`;
    const body = renderTestWebhook(this.#renderDeps, record, { id, by: by.actor });
    const outcome = await webhooks.send({ id: `alerts-test:${name}`, url, allowsHttp, secret }, body);
    if (outcome.ok) return { ok: true, tookMs: clock.nowMs() - startedMs };
    const { code, detail } = outcome.problem;
    return { ok: false, code, detail };
  }

  get #renderDeps(): Parameters<typeof renderTestMails>[0] {
    const { config, nodeName, clock } = this.#deps;
    return { publicUrl: () => config.http.publicUrl, nodeName, nowMs: () => clock.nowMs() };
  }

  /** Watches and delivers if this node has the lease. */
  async #check(): Promise<void> {
    const { config, mayDeliver, clock, store } = this.#deps;
    if (!mayDeliver() || !await this.#lease.claim()) return;
    await this.#stopping;
    if (!config.alerts.enabled) return await this.#watcher.turnOff();
    await this.#watcher.run(() => this.#loop.isClosed || !this.#lease.isHeld);
    if (!this.#lease.isHeld) return;
    this.#delivery.run();
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - this.#trimmedMs) < TRIM_MS) return;
    this.#trimmedMs = nowMs;
    await trimAlerts(store, this.#lease.check);
  }

  #lost(): void {
    this.#watcher.reset();
    this.#stopping = this.#delivery.stop();
  }

  /** What the nodes say. */
  #marks(): NodeMark[] {
    return this.#deps.cluster.list().map(
      ({ node, isAlive, auditMark: mark, firstAuditMark: firstMark }) => ({ node, isAlive, mark, firstMark }),
    );
  }
}

/** Opens the alerts of a gateway. */
export async function openAlerts(host: Omit<AlertServiceDeps, "nodeName">): Promise<AlertService> {
  const alerts = new AlertService({ ...host, nodeName: hostName() });
  await alerts.start();
  return alerts;
}
