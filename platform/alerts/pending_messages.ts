// The messages that wait for each receiver, in memory on the node that delivers, as they are in the store.

import type { KvMutation } from "../commit_batch.ts";
import type { Store } from "../store.ts";
import type { BudgetName } from "./alert_budget.ts";
import { ALERT_RETENTION_MS } from "./alert_record.ts";
import { type PendingMessage, readPending } from "./alert_messages.ts";

/** Names a message: an alert, or a count of messages that were left out. */
export interface MessageName {
  readonly receiver: string;
  readonly id: string;
}

export const PENDING_MESSAGES: Deno.KvKey = ["alert_pending"];

export function pendingKey(receiver: string, ...id: readonly string[]): Deno.KvKey {
  return [...PENDING_MESSAGES, receiver, ...id];
}

export function pendingMutation({ receiver, id }: MessageName, pending: PendingMessage): KvMutation {
  return { type: "set", key: pendingKey(receiver, id), value: pending, expireInMs: ALERT_RETENTION_MS };
}

export class PendingMessages {
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

/** The pause of a message. After the clock was set back, it is not longer than this. */
const MAX_PAUSE_MS = 2 * 3_600_000;

function isDue({ nextMs }: PendingMessage, nowMs: number): boolean {
  return nextMs <= nowMs || nextMs > nowMs + MAX_PAUSE_MS;
}

function isBefore(one: PendingMessage, other: PendingMessage): boolean {
  if (one.severity !== other.severity) return one.severity === "critical";
  return one.queuedMs < other.queuedMs;
}
