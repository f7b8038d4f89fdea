// The waiting and failed mails in memory, so that the next mail is found without reading the store.

import { BinaryHeap } from "@std/data-structures/binary-heap";
import { type MailHead, type MailName, mailNameText } from "./mail_records.ts";
import { mailTemplateRow } from "./mail_templates.ts";

/** A mail that waits. */
export interface WaitingMail {
  readonly name: MailName;
  readonly head: MailHead;
}

interface KnownMail extends WaitingMail {
  /** How often the server failed while this mail was tried. Others are tried first, so that a mail that the server cannot take does not stop the queue. */
  readonly failures: number;
  /** The value of {@link MailIndex.additions} when it was added; 0 if it was read from the store. */
  readonly addedAs: number;
  /** Mails that were queued in the same millisecond keep their order. */
  readonly order: number;
}

export class MailIndex {
  #waiting = new Map<string, KnownMail>();
  #failed = new Map<string, MailName>();
  /** The mails that are due, the next one first. Both heaps may contain mails that were removed or replaced. */
  readonly #due = new BinaryHeap<KnownMail>(compareMails);
  /** The others, the one that is due next first. */
  readonly #later = new BinaryHeap<KnownMail>((a: KnownMail, b: KnownMail) =>
    dueMsOf(a.head) - dueMsOf(b.head)
  );
  #additions = 0;
  #order = 0;

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
    const failures = this.#waiting.get(mailNameText(name))?.failures ?? 0;
    this.#put({ name, head, failures, addedAs: ++this.#additions, order: ++this.#order });
    this.#failed.delete(mailNameText(name));
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
    this.#due.clear();
    this.#later.clear();
    for (const { name, head } of waiting) {
      this.#put({
        name,
        head,
        failures: before.get(mailNameText(name))?.failures ?? 0,
        addedAs: 0,
        order: ++this.#order,
      });
    }
    for (const mail of before.values()) if (mail.addedAs > since) this.#put(mail);
    this.#failed = new Map();
    for (const name of failed) this.#failed.set(mailNameText(name), name);
  }

  /** The server failed while this mail was tried. */
  postpone(name: MailName): void {
    const known = this.#waiting.get(mailNameText(name));
    if (known !== undefined) this.#put({ ...known, failures: known.failures + 1 });
  }

  /** The next mail that is due and for which `isBusy` is false; `null` without one. It stays the next one until it changes or is busy. */
  next(nowMs: number, isBusy: (name: MailName) => boolean): WaitingMail | null {
    for (let mail = this.#firstOf(this.#later); mail !== null; mail = this.#firstOf(this.#later)) {
      if (dueMsOf(mail.head) > nowMs) break;
      this.#later.pop();
      this.#due.push(mail);
    }
    const busy: KnownMail[] = [];
    let found: KnownMail | null = null;
    for (
      let mail = this.#firstOf(this.#due);
      found === null && mail !== null;
      mail = this.#firstOf(this.#due)
    ) {
      if (dueMsOf(mail.head) <= nowMs && !isBusy(mail.name)) found = mail;
      else {
        this.#due.pop();
        // The clock of the host can go back.
        if (dueMsOf(mail.head) > nowMs) this.#later.push(mail);
        else busy.push(mail);
      }
    }
    this.#due.push(...busy);
    return found;
  }

  /** When the next mail is due of those that were not due at the last call of {@link next}; infinite without one. */
  get nextDueMs(): number {
    const mail = this.#firstOf(this.#later);
    return mail === null ? Number.POSITIVE_INFINITY : dueMsOf(mail.head);
  }

  #put(mail: KnownMail): void {
    this.#waiting.set(mailNameText(mail.name), mail);
    this.#later.push(mail);
  }

  /** The first mail of a heap that still waits as it is. */
  #firstOf(heap: BinaryHeap<KnownMail>): KnownMail | null {
    for (let mail = heap.peek(); mail !== undefined; mail = heap.peek()) {
      if (this.#waiting.get(mailNameText(mail.name)) === mail) return mail;
      heap.pop();
    }
    return null;
  }
}

/** A mail is due when it can be tried, and when its time ends. */
function dueMsOf({ nextMs, untilMs }: MailHead): number {
  return Math.min(nextMs, untilMs);
}

function compareMails(a: KnownMail, b: KnownMail): number {
  return a.failures - b.failures || bulkOf(a) - bulkOf(b) || a.head.queuedMs - b.head.queuedMs ||
    a.order - b.order;
}

const bulkOf = ({ head }: KnownMail): number => mailTemplateRow(head.template).isBulk ? 1 : 0;
