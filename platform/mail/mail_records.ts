// The records of queued mails: a small head, which is also in memory so that the next mail is found without reading the store, and the sealed
// content. Also why a mail was not delivered yet, or failed.

import { BinaryHeap } from "@std/data-structures/binary-heap";
import { canonicalName } from "../canonical_name.ts";
import type { KvMutation } from "../commit_queue.ts";
import { DAY_MS } from "../durations.ts";
import type { Random } from "../runtime.ts";
import type { Vault } from "../vault.ts";
import {
  MAIL_TEMPLATES,
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
} from "./mail_templates.ts";

/** `server`: nothing can be sent at the moment. `recipient`: one mail waits and is tried again. `final`: one mail failed. */
type ProblemScope = "server" | "recipient" | "final";

/** Each row has its label in both catalogues: `mail.problem_<code>`. */
export const MAIL_PROBLEMS = {
  /** The server cannot be reached, or it closed the connection. */
  unreachable: { scope: "server" },
  name_not_found: { scope: "server" },
  timeout: { scope: "server" },
  /** The certificate is not trusted, or TLS failed in another way. */
  tls: { scope: "server" },
  /** The server does not offer STARTTLS (RFC 3207). */
  no_starttls: { scope: "server" },
  /** RFC 4954 §6: 535 and 530. */
  sign_in: { scope: "server" },
  /** The server refuses the sender's address, or its account may not use it. */
  sender_refused: { scope: "server" },
  /** A temporary refusal before the recipient was given (RFC 5321 §4.2.1, 4yz), such as 421. */
  busy: { scope: "server" },
  /** Many recipients in a row were refused, so the cause is probably not the recipients. */
  refuses_all: { scope: "server" },
  /** 4yz for the recipient: greylisting, a full mailbox. */
  recipient_later: { scope: "recipient" },
  content_later: { scope: "recipient" },
  /** 5yz for the recipient. */
  recipient_refused: { scope: "final" },
  content_refused: { scope: "final" },
  /** Its time ended before it could be sent. */
  expired: { scope: "final" },
  /** Seven days of attempts. */
  gave_up: { scope: "final" },
  /** The content cannot be decrypted: the master key changed. */
  unreadable: { scope: "final" },
} as const satisfies Record<string, { readonly scope: ProblemScope }>;

export type MailProblemCode = keyof typeof MAIL_PROBLEMS;

export interface MailProblem {
  readonly code: MailProblemCode;
  /** The reply of the server, without secrets; "" without one. */
  readonly detail: string;
  readonly atMs: number;
}

/** A mail that was not accepted within this time is listed as failed. */
export const MAX_WAITING_MS = 7 * DAY_MS;
/** A failed mail is removed after this time. */
const FAILED_RETENTION_MS = 30 * DAY_MS;
/** So that nothing remains if no node sends. */
const RETENTION_MS = MAX_WAITING_MS + FAILED_RETENTION_MS;

export const WAITING_PREFIX: Deno.KvKey = ["mail", "waiting"];
export const FAILED_PREFIX: Deno.KvKey = ["mail", "failed"];

/** Names a mail: what it is about, canonical, and an id. */
export interface MailName {
  readonly about: string;
  readonly id: string;
}

/** The value under ["mail", "waiting" | "failed", kind, name, id]. */
export interface MailHead {
  readonly template: MailTemplateName;
  readonly language: MailLanguage;
  /** As given, for the list and the audit log. */
  readonly about: string;
  readonly queuedMs: number;
  /** The mail fails at this time. */
  readonly untilMs: number;
  /** The end of its content, such as an invitation. It cannot be sent again after it. */
  readonly expiresMs: number | null;
  readonly attempts: number;
  readonly nextMs: number;
  readonly problem: MailProblem | null;
}

/** The sealed part. */
export interface MailContent {
  readonly to: string;
  readonly values: Readonly<Record<string, string>>;
  /** Without angle brackets. The same for each attempt, so that a mail server can recognise a second copy. */
  readonly messageId: string;
}

const ID_CHARACTERS = 32;
const MAX_ABOUT_CHARACTERS = 300;
const CANONICAL_KINDS = /^(?:user|group):/;

/** The part of a key that says what a mail is about. */
function canonicalAbout(about: string): string {
  return CANONICAL_KINDS.test(about) ? canonicalName(about) : about;
}

/** The name of a new mail. With a key, it is always the same for one object. */
export function newMailName(
  { about, key }: { readonly about: string; readonly key?: string | undefined },
  { vault, random }: { readonly vault: Vault; readonly random: Random },
): MailName {
  const id = key === undefined
    ? random.bytes(ID_CHARACTERS / 2).toHex()
    : vault.digest("mail key", key).slice(0, ID_CHARACTERS);
  return { about: canonicalAbout(about.slice(0, MAX_ABOUT_CHARACTERS)), id };
}

/** Remove a mail, whatever its state. */
export function removalMutations(name: MailName): KvMutation[] {
  return [headKey("waiting", name), headKey("failed", name), contentKey(name)]
    .map((key) => ({ type: "delete", key }));
}

export function headKey(state: "waiting" | "failed", { about, id }: MailName): Deno.KvKey {
  return [...aboutKey(state, about), id];
}

/** The prefix of the mails about an object (canonical). */
export function aboutKey(state: "waiting" | "failed" | "content", about: string): Deno.KvKey {
  const [, kind = "", name = ""] = /^([^:]*):?(.*)$/s.exec(about) ?? [];
  return ["mail", state, kind, name];
}

export function contentKey({ about, id }: MailName): Deno.KvKey {
  return [...aboutKey("content", about), id];
}

/** The name in a head's key. */
export function mailNameOf([, , kind, name, id]: Deno.KvKey): MailName {
  return { about: name === "" ? String(kind) : `${String(kind)}:${String(name)}`, id: String(id) };
}

/** One text for each mail, for maps. */
export function mailNameText({ about, id }: MailName): string {
  return `${id} ${about}`;
}

export function headMutation(name: MailName, head: MailHead): KvMutation {
  return { type: "set", key: headKey("waiting", name), value: head, expireInMs: RETENTION_MS };
}

export function failedMutation(name: MailName, head: MailHead): KvMutation {
  return { type: "set", key: headKey("failed", name), value: head, expireInMs: FAILED_RETENTION_MS };
}

export function contentMutation(vault: Vault, name: MailName, content: MailContent): KvMutation {
  const key = contentKey(name);
  const plain = new TextEncoder().encode(JSON.stringify(content));
  return { type: "set", key, value: vault.seal(key, plain), expireInMs: RETENTION_MS };
}

/** The content as it is, with a new lifetime. */
export function renewedContent(name: MailName, sealed: unknown): KvMutation {
  return { type: "set", key: contentKey(name), value: sealed, expireInMs: RETENTION_MS };
}

/** The content of a mail, or `null` if it cannot be read. */
export function openContent(vault: Vault, name: MailName, sealed: unknown): MailContent | null {
  if (!(sealed instanceof Uint8Array)) return null;
  const plain = vault.open(contentKey(name), sealed);
  return plain === null ? null : JSON.parse(new TextDecoder().decode(plain)) as MailContent;
}

/** A head as stored; `null` if it is not one of this version. */
export function readHead(value: unknown): MailHead | null {
  if (typeof value !== "object" || value === null) return null;
  const head = value as MailHead;
  return Object.hasOwn(MAIL_TEMPLATES, head.template) && typeof head.nextMs === "number" ? head : null;
}

export interface WaitingMail {
  readonly name: MailName;
  readonly head: MailHead;
}

interface KnownMail extends WaitingMail {
  /** How often the server failed while this mail was tried. Others are tried first, so that a mail that the server cannot take does not stop the queue. */
  readonly failures: number;
  /** The number of its addition to this index, from 1; 0: it was read from the store. */
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

  add(name: MailName, head: MailHead): void {
    const failures = this.#waiting.get(mailNameText(name))?.failures ?? 0;
    this.#put({ name, head, failures, addedAs: ++this.#additions, order: ++this.#order });
    this.#failed.delete(mailNameText(name));
  }

  addFailed(name: MailName): void {
    this.remove(name);
    this.#failed.set(mailNameText(name), name);
  }

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
    for (const mail of before.values()) {
      if (mail.addedAs > since) this.#put(mail);
    }
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
