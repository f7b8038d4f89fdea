// The orders to end sessions, in memory, as the store has them: by session, and the users who reported a login lately.

import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { DISCONNECT_RETENTION_MS, disconnectKey, type DisconnectRecord } from "./disconnect_record.ts";

export interface OrderMemoryDeps {
  readonly store: Pick<Store, "follow" | "load">;
  readonly clock: Pick<Clock, "nowMs">;
}

/** Orders in memory. The oldest ended one makes room. */
const MAX_RECORDS = 20_000;
/**
 * A login that was accepted just before a report can send its Accounting-Start after it. Such a session ends, too, while the user is locked. NASes
 * repeat a lost Start within this time.
 */
const LATE_MS = 2 * 60_000;
const REPORT_KEY = "session_report";
const ORDER_KEY = "session_disconnect";

/** The value under ["session_report", user]. */
interface SessionReport {
  readonly untilMs: number;
}

export class OrderMemory {
  readonly #deps: OrderMemoryDeps;
  readonly #records = new Map<string, DisconnectRecord>();
  readonly #pending = new Set<string>();
  /** Users (canonical names), with the end of {@link LATE_MS}. */
  readonly #reported = new Map<string, number>();

  constructor(deps: OrderMemoryDeps) {
    this.#deps = deps;
    deps.store.follow([ORDER_KEY], ({ key, value }) => this.put(String(key[1]), value));
    deps.store.follow([REPORT_KEY], ({ key, value }) => this.putReport(String(key[1]), value));
  }

  /** Reads the stored orders. Call it once. */
  async load(): Promise<void> {
    const { store } = this.#deps;
    await store.load([ORDER_KEY], ({ key, value }) => this.put(String(key[1]), value));
    await store.load([REPORT_KEY], ({ key, value }) => this.putReport(String(key[1]), value));
  }

  get(sessionId: string): DisconnectRecord | null {
    return this.#records.get(sessionId) ?? null;
  }

  all(): Iterable<readonly [string, DisconnectRecord]> {
    return this.#records;
  }

  /** Sessions whose order is not carried out. */
  get pending(): Iterable<string> {
    return this.#pending;
  }

  /** Takes over the stored order of a session; `null`: there is none. */
  put(sessionId: string, value: unknown): void {
    this.#records.delete(sessionId);
    this.#pending.delete(sessionId);
    if (value === null) return;
    const record = value as DisconnectRecord;
    if (typeof record.state !== "string" || typeof record.nextMs !== "number") {
      throw new TypeError("it is no order of this version");
    }
    this.#records.set(sessionId, record);
    if (record.state === "pending") this.#pending.add(sessionId);
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= MAX_RECORDS) break;
      if (!this.#pending.has(oldest)) this.#records.delete(oldest);
    }
  }

  /** Whether a user reported a login so lately that a new session can be of an earlier login. */
  isReported(user: string): boolean {
    return this.#deps.clock.nowMs() < (this.#reported.get(user) ?? 0);
  }

  /** Prepares the note that a user reported a login. */
  prepareReport(user: string): { readonly mutation: Mutation; done(): void } {
    const value: SessionReport = { untilMs: this.#deps.clock.nowMs() + LATE_MS };
    return {
      mutation: { type: "set", key: [REPORT_KEY, user], value, expireInMs: LATE_MS },
      done: () => this.putReport(user, value),
    };
  }

  putReport(user: string, value: unknown): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#reported.delete(user);
    const untilMs = (value as SessionReport | null)?.untilMs ?? 0;
    if (untilMs > nowMs) this.#reported.set(user, untilMs);
    for (const [oldest, endMs] of this.#reported) {
      if (endMs > nowMs && this.#reported.size <= MAX_RECORDS) break;
      this.#reported.delete(oldest);
    }
  }
}

/** The mutation that stores an order. */
export function writeOrder(sessionId: string, value: DisconnectRecord): Mutation {
  return { type: "set", key: disconnectKey(sessionId), value, expireInMs: DISCONNECT_RETENTION_MS };
}
