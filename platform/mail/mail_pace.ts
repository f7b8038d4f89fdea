// How fast mails are sent: the limit per minute, and pauses after problems of the server.

import { MINUTE_MS } from "../durations.ts";
import { type Backoff, backoffMs } from "../backoff.ts";
import type { Clock, Random } from "../runtime.ts";
import type { MailProblemCode } from "./mail_problems.ts";

/** Attempts that a late timer missed are made up for within this time. */
const MAX_LAG_MS = 1000;

const PAUSES: Backoff = { firstMs: 5000, longestMs: 5 * MINUTE_MS, factors: [0.75, 1] };
/** A wrong password is not tried often: the server could lock the account. */
const CONFIGURATION_PAUSES: Backoff = { ...PAUSES, firstMs: MINUTE_MS, longestMs: 15 * MINUTE_MS };
/** Problems that last until an administrator changes something. */
const CONFIGURATION_PROBLEMS: ReadonlySet<MailProblemCode> = new Set([
  "sign_in",
  "sender_refused",
  "tls",
  "no_starttls",
  "refuses_all",
]);
/** Greylisting accepts a second attempt after a few minutes. */
const RETRY_MS = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * MINUTE_MS);

/** When a mail is tried again that its recipient's server refused for now. @param attempts those that failed, this one included */
export function retryAfterMs(attempts: number): number {
  return RETRY_MS[Math.min(attempts, RETRY_MS.length) - 1] ?? MINUTE_MS;
}

/** A new sender of mails starts without a pause. */
export class MailPace {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #random: Random;
  readonly #perMinute: () => number;
  #nextSlotMs = 0;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(
    { clock, random, perMinute }: { clock: Pick<Clock, "nowMs">; random: Random; perMinute: () => number },
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#perMinute = perMinute;
  }

  /** From when the next mail may be sent. */
  get nextMs(): number {
    return Math.max(this.#nextSlotMs, this.#pausedUntilMs);
  }

  /** The end of the pause; `null` without one. */
  get pausedUntilMs(): number | null {
    return this.#pausedUntilMs > this.#clock.nowMs() ? this.#pausedUntilMs : null;
  }

  /** Whether the last attempt failed because of the server. One mail at a time is tried then. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** A mail is sent now. */
  take(): void {
    const slotMs = Math.max(this.#nextSlotMs, this.#clock.nowMs() - MAX_LAG_MS);
    this.#nextSlotMs = slotMs + MINUTE_MS / this.#perMinute();
  }

  /** The server answered as it should. */
  succeeded(): void {
    this.#failures = 0;
    this.#pausedUntilMs = 0;
  }

  /** The server failed. Failures of mails that were sent at the same time count once. */
  failed(code: MailProblemCode): void {
    if (this.pausedUntilMs !== null) return;
    const pauses = CONFIGURATION_PROBLEMS.has(code) ? CONFIGURATION_PAUSES : PAUSES;
    this.#pausedUntilMs = this.#clock.nowMs() + backoffMs(pauses, ++this.#failures, this.#random);
  }

  /** The settings changed, or an administrator wants an attempt now. */
  reset(): void {
    this.#pausedUntilMs = 0;
  }
}
