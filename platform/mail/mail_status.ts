// The last delivery and the last problem of the queue. The node that sends stores them, so that every node shows them, also after a restart.

import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";
import { MAIL_PROBLEMS, type MailProblem } from "./mail_problems.ts";

/** The value under ["mail_status"]. */
interface StatusRecord {
  readonly lastSentMs: number | null;
  readonly lastProblem: MailProblem | null;
  readonly pausedUntilMs: number | null;
}

export interface MailStatusDeps {
  readonly store: Pick<Store, "follow" | "get" | "commit">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
}

const KEY: Deno.KvKey = ["mail_status"];
/** Deliveries without a problem are stored this often. */
const STORE_EVERY_MS = 60_000;

export class MailStatusRecord {
  readonly #deps: MailStatusDeps;
  #record: StatusRecord = { lastSentMs: null, lastProblem: null, pausedUntilMs: null };
  #storedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: MailStatusDeps) {
    this.#deps = deps;
    deps.store.follow(KEY, ({ value }) => this.#read(value));
  }

  async load(): Promise<void> {
    this.#read((await this.#deps.store.get<unknown>(KEY)).value);
  }

  get lastSentMs(): number | null {
    return this.#record.lastSentMs;
  }

  /** The last problem that concerns all mails; `null` after a mail was accepted. */
  get lastProblem(): MailProblem | null {
    return this.#record.lastProblem;
  }

  /** The end of the pause of the node that sends; `null` without one. */
  get pausedUntilMs(): number | null {
    const { pausedUntilMs } = this.#record;
    return pausedUntilMs !== null && pausedUntilMs > this.#deps.clock.nowMs() ? pausedUntilMs : null;
  }

  /** A mail was accepted. */
  sent(): void {
    const hadProblem = this.lastProblem !== null;
    const nowMs = this.#deps.clock.nowMs();
    this.#record = { lastSentMs: nowMs, lastProblem: null, pausedUntilMs: null };
    if (hadProblem || nowMs - this.#storedMs >= STORE_EVERY_MS) this.#write();
  }

  failed(lastProblem: MailProblem, pausedUntilMs: number | null): void {
    this.#record = { ...this.#record, lastProblem, pausedUntilMs };
    this.#write();
  }

  /** The settings changed, or a test succeeded. */
  clear(): void {
    if (this.lastProblem === null) return;
    this.#record = { ...this.#record, lastProblem: null, pausedUntilMs: null };
    this.#write();
  }

  #write(): void {
    const { store, clock, log } = this.#deps;
    this.#storedMs = clock.nowMs();
    store.commit({ mutations: [{ type: "set", key: KEY, value: this.#record }] }).catch((fault: unknown) =>
      log.warn("the state of mail was not stored", {
        fault: fault instanceof Error ? fault.message : "unknown",
      })
    );
  }

  #read(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    const { lastSentMs, lastProblem, pausedUntilMs } = value as StatusRecord;
    const isKnown = lastProblem === null || Object.hasOwn(MAIL_PROBLEMS, lastProblem?.code);
    this.#record = { lastSentMs, pausedUntilMs, lastProblem: isKnown ? lastProblem : null };
  }
}
