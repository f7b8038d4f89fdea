// The waiting and failed mails in memory, so that the next mail is found without reading the store.

import { type MailHead, type MailName, mailNameText } from "./mail_records.ts";
import { mailTemplateRow } from "./mail_templates.ts";

/** A mail that waits. */
export interface WaitingMail {
  readonly name: MailName;
  readonly head: MailHead;
}

interface KnownMail extends WaitingMail {
  /** How often the server failed while this mail was tried. Others are tried first, so that a mail that the server cannot take does not stop the queue. */
  failures: number;
  /** The value of {@link MailIndex.additions} when it was added; 0 if it was read from the store. */
  readonly addedAs: number;
}

export class MailIndex {
  #waiting = new Map<string, KnownMail>();
  #failed = new Map<string, MailName>();
  /** The mails that are due, in the order in which they are sent, from `#nextReady` on. May contain mails that were removed. */
  #ready: KnownMail[] = [];
  #nextReady = 0;
  #isSorted = false;
  #additions = 0;
  /** When the first mail is due that was not due at the last sort. */
  #laterMs = Number.POSITIVE_INFINITY;

  get waiting(): number {
    return this.#waiting.size;
  }

  get failed(): number {
    return this.#failed.size;
  }

  /** When the oldest mail that waits was queued; `null` without one. */
  get oldestMs(): number | null {
    let oldest: number | null = null;
    for (const { head: { queuedMs } } of this.#waiting.values()) {
      oldest = Math.min(oldest ?? queuedMs, queuedMs);
    }
    return oldest;
  }

  /** The mails about an object: `user:ada`, canonical. */
  hasAbout(about: string): boolean {
    const isOfIt = (name: MailName) => name.about === about;
    return this.#waiting.values().some(({ name }) => isOfIt(name)) || this.#failed.values().some(isOfIt);
  }

  /** Adds a mail that waits, or replaces it. */
  add(name: MailName, head: MailHead): void {
    const key = mailNameText(name);
    this.#waiting.set(key, {
      name,
      head,
      failures: this.#waiting.get(key)?.failures ?? 0,
      addedAs: ++this.#additions,
    });
    this.#failed.delete(key);
    this.#isSorted = false;
  }

  addFailed(name: MailName): void {
    this.remove(name);
    this.#failed.set(mailNameText(name), name);
  }

  /** Forgets a mail that waits. */
  remove(name: MailName): void {
    this.#waiting.delete(mailNameText(name));
  }

  removeFailed(name: MailName): void {
    this.#failed.delete(mailNameText(name));
  }

  /** How many mails were added. */
  get additions(): number {
    return this.#additions;
  }

  /** Replaces everything by what was read from the store, except the mails that were added after the first `since` additions. */
  replace(waiting: Iterable<WaitingMail>, failed: Iterable<MailName>, since: number): void {
    const before = this.#waiting;
    this.#waiting = new Map();
    for (const { name, head } of waiting) {
      const key = mailNameText(name);
      this.#waiting.set(key, { name, head, failures: before.get(key)?.failures ?? 0, addedAs: 0 });
    }
    for (const [key, mail] of before) {
      if (mail.addedAs > since) this.#waiting.set(key, mail);
    }
    this.#failed = new Map();
    for (const name of failed) this.#failed.set(mailNameText(name), name);
    this.#isSorted = false;
  }

  /** The server failed while this mail was tried. */
  postpone(name: MailName): void {
    const known = this.#waiting.get(mailNameText(name));
    if (known === undefined) return;
    known.failures++;
    this.#isSorted = false;
  }

  /** The next mail that is due and for which `isBusy` is false; `null` without one. */
  next(nowMs: number, isBusy: (name: MailName) => boolean): WaitingMail | null {
    if (this.#isSorted && nowMs < this.#laterMs) return this.#nextOfReady(nowMs, isBusy);
    this.#sort(nowMs);
    return this.#nextOfReady(nowMs, isBusy);
  }

  /** When the next mail is due of those that were not due at the last call of {@link next}; infinite without one. */
  get nextDueMs(): number {
    return this.#laterMs;
  }

  #nextOfReady(nowMs: number, isBusy: (name: MailName) => boolean): WaitingMail | null {
    while (this.#nextReady < this.#ready.length) {
      const known = this.#ready[this.#nextReady++];
      if (known === undefined || this.#waiting.get(mailNameText(known.name)) !== known) continue;
      if (dueMsOf(known.head) <= nowMs && !isBusy(known.name)) return known;
    }
    return null;
  }

  #sort(nowMs: number): void {
    this.#ready = [...this.#waiting.values()].filter(({ head }) => dueMsOf(head) <= nowMs).sort(compareMails);
    this.#nextReady = 0;
    this.#isSorted = true;
    this.#laterMs = Number.POSITIVE_INFINITY;
    for (const { head } of this.#waiting.values()) {
      const dueMs = dueMsOf(head);
      if (dueMs > nowMs) this.#laterMs = Math.min(this.#laterMs, dueMs);
    }
  }
}

/** A mail is due when it can be tried, and when its time ends. */
function dueMsOf({ nextMs, untilMs }: MailHead): number {
  return Math.min(nextMs, untilMs);
}

function compareMails(a: KnownMail, b: KnownMail): number {
  return a.failures - b.failures || bulkOf(a) - bulkOf(b) || a.head.queuedMs - b.head.queuedMs;
}

const bulkOf = ({ head }: KnownMail): number => mailTemplateRow(head.template).isBulk ? 1 : 0;
