// Delivers the messages that wait: mails into the mail queue, webhooks to their receivers. The result of each try is one commit, which removes the
// message only if no newer one replaced it. So each message is delivered at least once.

import { auditEntry } from "../audit.ts";
import { retryPauseMs } from "../backoff.ts";
import type { CallFault, CallProblem } from "../call_fault.ts";
import type { WriteLease } from "../cluster/lease.ts";
import type { KvMutation } from "../commit_queue.ts";
import { HOUR_MS } from "../durations.ts";
import type { Log } from "../log.ts";
import type { WebhookMessage, WebhookSender } from "../log_export/webhook_sender.ts";
import { type MailQueue, MailRefusal, type NewMail } from "../mail/mail.ts";
import type { Clock, Random } from "../runtime.ts";
import type { Check, Mutation, Store, StoreEntry } from "../store.ts";
import { type BudgetName, MAX_MESSAGE_AGE_MS, type PendingMessage, readPending } from "./alert_messages.ts";
import {
  ALERT_RETENTION_MS,
  alertKey,
  deliveryMutation,
  type DeliveryRecord,
  type KnownAlert,
  readAlert,
} from "./alert_record.ts";
import {
  type AlertReceivers,
  type ReceiverRecord,
  type ReceiverState,
  receiverStateKey,
  UNREADABLE_SECRETS,
} from "./receiver.ts";

interface AlertDeliveryDeps extends MessageChannelDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lease: Pick<WriteLease, "check">;
}

interface Line {
  /** The receiver that its state belongs to. */
  readonly createdMs: number;
  readonly version: number;
  failures: number;
  pausedUntilMs: number;
  /** As stored. */
  state: ReceiverState | null;
}

const STORE_PAUSE_MS = 5000;

export class AlertDelivery {
  readonly #deps: AlertDeliveryDeps;
  readonly #lines = new Map<string, Line>();
  readonly #running = new Map<string, Promise<void>>();
  readonly pending = new PendingMessages();
  #stop = new AbortController();

  constructor(deps: AlertDeliveryDeps) {
    this.#deps = deps;
  }

  /** Starts the deliveries that are due. Each receiver has at most one. */
  run(): void {
    const { all } = this.#deps.receivers;
    for (const receiver of this.pending.receivers) {
      if (this.#running.has(receiver)) continue;
      const record = all.get(receiver);
      if (record?.settings.isPaused === true) continue;
      const { signal } = this.#stop;
      const work = record === undefined ? this.#forget(receiver) : this.#deliver(receiver, signal);
      const done = work.catch((fault: unknown) => {
        this.#pause(receiver, STORE_PAUSE_MS);
        this.#deps.log.error("alerts cannot use the store", { receiver, fault: String(fault) });
      }).finally(() => this.#running.delete(receiver));
      this.#running.set(receiver, done);
    }
  }

  /** Ends the tries in progress. What was not confirmed is sent again. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
    this.#stop = new AbortController();
    this.#lines.clear();
    this.pending.clear();
  }

  async #deliver(receiver: string, signal: AbortSignal): Promise<void> {
    const { clock, receivers } = this.#deps;
    while (!signal.aborted) {
      const record = receivers.all.get(receiver);
      if (record === undefined || record.settings.isPaused) return;
      const line = await this.#lineOf(receiver, record);
      const nowMs = clock.nowMs();
      const next = this.pending.next(receiver, nowMs);
      if (next === null || isWaiting(line, nowMs)) return;
      // After a lost race, another node may have the lease.
      if (!await this.#try({ receiver, id: next.id }, { record, line, signal })) return;
    }
  }

  async #lineOf(receiver: string, { createdMs, version }: ReceiverRecord): Promise<Line> {
    const known = this.#lines.get(receiver);
    if (known?.createdMs === createdMs && known.version === version) return known;
    const { value } = await this.#deps.store.get<ReceiverState>(receiverStateKey(receiver));
    const state = value?.createdMs === createdMs ? value : null;
    const line: Line = { createdMs, version, failures: 0, pausedUntilMs: 0, state };
    if (known !== undefined) this.pending.retryNow(receiver);
    this.#lines.set(receiver, line);
    return line;
  }

  #pause(receiver: string, pauseMs: number): void {
    const line = this.#lines.get(receiver);
    if (line !== undefined) line.pausedUntilMs = this.#deps.clock.nowMs() + pauseMs;
  }

  /** `false`: the result could not be stored. */
  async #try(
    name: MessageName,
    { record, line, signal }: {
      readonly record: ReceiverRecord;
      readonly line: Line;
      readonly signal: AbortSignal;
    },
  ): Promise<boolean> {
    const { store } = this.#deps;
    const entry = await store.get<unknown>(pendingKey(name.receiver, name.id));
    const pending = readPending(entry.value);
    if (pending === null) {
      this.pending.delete(name);
      return true;
    }
    const isLeftOut = pending.message === "left_out";
    const alert = isLeftOut ? null : readAlert(name.id, (await store.get<unknown>(alertKey(name.id))).value);
    if (alert === null && !isLeftOut) return await this.#remove(name, entry);
    const message = { id: name.id, pending, alert };
    const outcome = await this.#send(name, { record, message, signal });
    if (outcome.ok) return await this.#sent(name, { entry, line, message, mutations: outcome.mutations });
    if (signal.aborted) return false;
    return await this.#failed(name, { entry, line, message, problem: outcome.problem });
  }

  /** A message that cannot be made, such as one of another version, fails like any other, so that it does not stop the rest. */
  async #send(
    { receiver, id }: MessageName,
    { record, message, signal }: {
      readonly record: ReceiverRecord;
      readonly message: RenderedMessage;
      readonly signal: AbortSignal;
    },
  ): Promise<MessageOutcome> {
    try {
      return record.settings.kind === "mail"
        ? queueMails(this.#deps, receiver, { record, message })
        : await sendAlertWebhook(this.#deps, receiver, { record, message, signal });
    } catch (fault) {
      this.#deps.log.error("the message of an alert cannot be made", {
        ...{ receiver, alert: id },
        fault: String(fault),
      });
      const detail = "the message cannot be made";
      return { ok: false, problem: { code: "failed", detail, retryAfterMs: 0, isPermanent: true } };
    }
  }

  async #sent(
    name: MessageName,
    { entry, line, message, mutations }: Attempt & { readonly mutations: readonly Mutation[] },
  ): Promise<boolean> {
    const { clock, mail, log } = this.#deps;
    const atMs = clock.nowMs();
    if (line.state?.problem) log.info("alerts are delivered again", { receiver: name.receiver });
    line.failures = 0;
    line.pausedUntilMs = 0;
    const state = { createdMs: line.createdMs, lastSentMs: atMs, problem: null };
    const isDone = await this.#commit(name, entry, [
      { type: "delete", key: pendingKey(name.receiver, name.id) },
      ...mutations,
      ...resultOf(name, message, { state: "sent", atMs, problem: null }),
      ...this.#stateOf(name.receiver, line, state),
    ]);
    if (isDone) this.pending.delete(name);
    if (mutations.length > 0) mail.wake();
    return isDone;
  }

  async #failed(
    name: MessageName,
    { entry, line, message, problem }: Attempt & { readonly problem: CallFault },
  ): Promise<boolean> {
    const { clock, random, log } = this.#deps;
    const atMs = clock.nowMs();
    const { pending } = message;
    const { code, detail } = problem;
    line.failures++;
    const pauseMs = retryPauseMs({ failures: line.failures, retryAfterMs: problem.retryAfterMs }, random);
    line.pausedUntilMs = atMs + pauseMs;
    const before = line.state?.problem ?? null;
    if (before === null) {
      log.warn("an alert cannot be delivered", { receiver: name.receiver, problem: code, detail });
    }
    const state: ReceiverState = {
      createdMs: line.createdMs,
      lastSentMs: line.state?.lastSentMs ?? null,
      problem: { code, detail, sinceMs: before?.sinceMs ?? atMs },
    };
    const isOver = atMs - pending.queuedMs >= MAX_MESSAGE_AGE_MS;
    const next: PendingMessage = {
      ...pending,
      attempts: pending.attempts + 1,
      nextMs: atMs + (problem.isPermanent ? HOUR_MS : pauseMs),
    };
    const record: DeliveryRecord = { state: isOver ? "failed" : "pending", atMs, problem: { code, detail } };
    const isDone = await this.#commit(name, entry, [
      ...isOver ? this.#giveUp(name, next, code) : [pendingMutation(name, next)],
      ...resultOf(name, message, record),
      ...this.#stateOf(name.receiver, line, state),
    ]);
    if (isDone && isOver) this.pending.delete(name);
    else if (isDone) this.pending.set(name, next);
    return isDone;
  }

  #giveUp({ receiver, id }: MessageName, { attempts }: PendingMessage, problem: CallProblem): Mutation[] {
    const object = `alert-receiver:${receiver}`;
    return [
      { type: "delete", key: pendingKey(receiver, id) },
      auditEntry({ action: "alert.delivery_failed", actor: "radius", object, problem, attempts, alert: id }),
    ];
  }

  /** The state of a receiver that still exists. */
  #stateOf(receiver: string, line: Line, state: ReceiverState): Mutation[] {
    line.state = state;
    if (this.#deps.receivers.all.get(receiver)?.createdMs !== line.createdMs) return [];
    return [{ type: "set", key: receiverStateKey(receiver), value: state }];
  }

  async #remove(name: MessageName, entry: StoreEntry<unknown>): Promise<boolean> {
    const key = pendingKey(name.receiver, name.id);
    const isDone = await this.#commit(name, entry, [{ type: "delete", key }]);
    if (isDone) this.pending.delete(name);
    return isDone;
  }

  /** Removes the messages of a receiver that was removed. */
  async #forget(receiver: string): Promise<void> {
    const ids = this.pending.idsOf(receiver).slice(0, MAX_REMOVED);
    const { store, lease } = this.#deps;
    const { ok } = await store.commit({
      checks: lease.check === null ? [] : [lease.check],
      mutations: ids.map((id) => ({ type: "delete", key: pendingKey(receiver, id) })),
    });
    if (!ok) return;
    for (const id of ids) this.pending.delete({ receiver, id });
    this.#lines.delete(receiver);
  }

  /** `false`: a newer message replaced this one, or another node has the lease. */
  async #commit(
    name: MessageName,
    { key, versionstamp }: StoreEntry<unknown>,
    mutations: readonly Mutation[],
  ): Promise<boolean> {
    const { store, lease } = this.#deps;
    const checks: Check[] = [{ key, versionstamp }, ...lease.check === null ? [] : [lease.check]];
    const { ok } = await store.commit({ checks, mutations });
    if (ok) return true;
    const pending = readPending((await store.get<unknown>(key)).value);
    if (pending === null) this.pending.delete(name);
    else this.pending.set(name, pending);
    return false;
  }
}

interface Attempt {
  readonly entry: StoreEntry<unknown>;
  readonly line: Line;
  readonly message: RenderedMessage;
}

/** Entries that one commit removes. */
const MAX_REMOVED = 500;
/** No pause of a receiver or a message is longer; one that is was made before the clock was set back. */
const MAX_PAUSE_MS = 2 * HOUR_MS;

function isWaiting({ pausedUntilMs }: Line, nowMs: number): boolean {
  return pausedUntilMs > nowMs && pausedUntilMs <= nowMs + MAX_PAUSE_MS;
}

function resultOf(
  { receiver, id }: MessageName,
  { alert }: RenderedMessage,
  record: DeliveryRecord,
): Mutation[] {
  return alert === null ? [] : [deliveryMutation(id, receiver, record)];
}

/** Names a message: an alert, or a count of messages that were left out. */
interface MessageName {
  readonly receiver: string;
  readonly id: string;
}

const PENDING_MESSAGES: Deno.KvKey = ["alert_pending"];

export function pendingKey(receiver: string, ...id: readonly string[]): Deno.KvKey {
  return [...PENDING_MESSAGES, receiver, ...id];
}

export function pendingMutation({ receiver, id }: MessageName, pending: PendingMessage): KvMutation {
  return { type: "set", key: pendingKey(receiver, id), value: pending, expireInMs: ALERT_RETENTION_MS };
}

/** The messages that wait for each receiver, in memory on the node that delivers, as they are in the store. */
class PendingMessages {
  readonly #byReceiver = new Map<string, Map<string, PendingMessage>>();

  async load(store: Pick<Store, "list">): Promise<void> {
    this.clear();
    for await (const { key, value } of store.list<unknown>(PENDING_MESSAGES)) {
      const pending = readPending(value);
      if (pending !== null) this.set({ receiver: String(key[1]), id: String(key[2]) }, pending);
    }
  }

  clear(): void {
    this.#byReceiver.clear();
  }

  set({ receiver, id }: MessageName, pending: PendingMessage): void {
    const own = this.#byReceiver.get(receiver) ?? new Map<string, PendingMessage>();
    this.#byReceiver.set(receiver, own);
    own.set(id, pending);
  }

  delete({ receiver, id }: MessageName): void {
    const own = this.#byReceiver.get(receiver);
    own?.delete(id);
    if (own?.size === 0) this.#byReceiver.delete(receiver);
  }

  get receivers(): readonly string[] {
    return [...this.#byReceiver.keys()];
  }

  idsOf(receiver: string): readonly string[] {
    return [...this.#byReceiver.get(receiver)?.keys() ?? []];
  }

  /** Messages of one limit that wait for a receiver. */
  waiting(receiver: string, budget: BudgetName): number {
    return this.#byReceiver.get(receiver)?.values().filter((one) => one.budget === budget).toArray().length ??
      0;
  }

  /** The next message that is due: critical ones first, then the oldest. */
  next(receiver: string, nowMs: number): { readonly id: string; readonly pending: PendingMessage } | null {
    let best: { readonly id: string; readonly pending: PendingMessage } | null = null;
    for (const [id, pending] of this.#byReceiver.get(receiver) ?? []) {
      if (!isDue(pending, nowMs)) continue;
      if (best === null || isBefore(pending, best.pending)) best = { id, pending };
    }
    return best;
  }

  /** The administrator changed the receiver: everything is tried again. */
  retryNow(receiver: string): void {
    const own = this.#byReceiver.get(receiver);
    for (const [id, pending] of own ?? []) own?.set(id, { ...pending, nextMs: 0 });
  }
}

function isDue({ nextMs }: PendingMessage, nowMs: number): boolean {
  return nextMs <= nowMs || nextMs > nowMs + MAX_PAUSE_MS;
}

function isBefore(one: PendingMessage, other: PendingMessage): boolean {
  if (one.severity !== other.severity) return one.severity === "critical";
  return one.queuedMs < other.queuedMs;
}

interface MessageChannelDeps {
  readonly mail: Pick<MailQueue, "prepare" | "wake">;
  readonly webhooks: Pick<WebhookSender, "send">;
  readonly receivers: Pick<AlertReceivers, "all" | "secretsOf">;
  /** Makes the mails of a message, and the body of a webhook. */
  readonly render: {
    readonly mails: (
      receiver: string,
      record: ReceiverRecord,
      message: RenderedMessage,
    ) => readonly NewMail[];
    readonly webhook: (record: ReceiverRecord, message: RenderedMessage) => WebhookMessage;
  };
}

/** A message with its alert. */
export interface RenderedMessage {
  readonly id: string;
  readonly pending: PendingMessage;
  readonly alert: KnownAlert | null;
}

type MessageOutcome = { readonly ok: true; readonly mutations: readonly Mutation[] } | {
  readonly ok: false;
  readonly problem: CallFault;
};

interface MessageFor {
  readonly record: ReceiverRecord;
  readonly message: RenderedMessage;
}

/** The mails of a message, for the commit that removes it. One address that cannot be used does not stop the others. */
function queueMails(
  { mail, render }: MessageChannelDeps,
  receiver: string,
  { record, message }: MessageFor,
): MessageOutcome {
  const mutations: Mutation[] = [];
  let refusal: MailRefusal | null = null;
  for (const one of render.mails(receiver, record, message)) {
    try {
      mutations.push(...mail.prepare(one).mutations);
    } catch (fault) {
      if (!(fault instanceof MailRefusal)) throw fault;
      refusal = fault;
    }
  }
  if (mutations.length > 0) return { ok: true, mutations };
  const { reason: code = "bad_mail_address", message: detail = "no address" } = refusal ?? {};
  return { ok: false, problem: { code, detail, retryAfterMs: 0, isPermanent: false } };
}

/** Sends a message once. */
async function sendAlertWebhook(
  { receivers, webhooks, render }: MessageChannelDeps,
  receiver: string,
  { record, message, signal }: MessageFor & { readonly signal: AbortSignal },
): Promise<MessageOutcome> {
  const secrets = receivers.secretsOf(receiver, record);
  if (secrets === null) return { ok: false, problem: UNREADABLE_SECRETS };
  const { url, webhookSecret: secret } = secrets;
  const { allowsHttp } = record.settings;
  const target = { id: `alerts:${receiver}`, url, allowsHttp, secret };
  const outcome = await webhooks.send(target, render.webhook(record, message), { signal });
  return outcome.ok ? { ok: true, mutations: [] } : outcome;
}
