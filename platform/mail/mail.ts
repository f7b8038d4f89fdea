// Mail to users and administrators: the interface of the queue, and the checks of a new mail. docs/mail.md describes the delivery.

import type { Mutation } from "../store.ts";
import { parseMailAddress } from "./mail_address.ts";
import type { MailProblem } from "./mail_records.ts";
import {
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
  MAX_VALUES_CHARACTERS,
} from "./mail_templates.ts";

export interface NewMail {
  readonly template: MailTemplateName;
  readonly language: MailLanguage;
  readonly to: string;
  /** The placeholders of the template. One that is absent is empty. */
  readonly values: Readonly<Record<string, string>>;
  /** What the mail is about, as in the audit log: `user:ada`. A mail about a user is not sent after the user was deleted or deactivated. */
  readonly about: string;
  /** A mail about the same object with the same key replaces one that waits. */
  readonly key?: string;
  /** The mail is not sent after it (milliseconds since the epoch), such as the end of an invitation. */
  readonly expiresMs?: number;
}

/** A mail that the queue accepted. */
export interface PreparedMail {
  readonly id: string;
  /** They queue the mail in the commit of its reason. */
  readonly mutations: readonly Mutation[];
}

export interface MailStatus {
  readonly isConfigured: boolean;
  readonly waiting: number;
  readonly failed: number;
  /** When the oldest mail that waits was queued; `null` without one. */
  readonly oldestMs: number | null;
  readonly lastSentMs: number | null;
  /** The last problem that concerns all mails; `null` after a mail was accepted. */
  readonly lastProblem: MailProblem | null;
  /** Until when nothing is sent, after a problem of the server; `null`: no pause. */
  readonly pausedUntilMs: number | null;
}

export interface MailQueue {
  /** Whether the settings name a server and a sender. */
  readonly isConfigured: boolean;
  /**
   * Makes the mutations that queue a mail: without the commit there is no mail. The content is sealed at rest.
   *
   * @throws MailRefusal
   */
  prepare(mail: NewMail): PreparedMail;
  /** The mutations that remove the mail about an object with this key, if it waits or failed. One that is being sent is still sent. */
  prepareRemoval(mail: { readonly about: string; readonly key: string }): readonly Mutation[];
  /** Call it after the commit, so that the sender does not wait for its timer. */
  wake(): void;
  status(): MailStatus;
}

/**
 * Why a mail was not queued. `mail_off`: no server is configured. `bad_mail_address`: the address is not valid. `mail_queue_full`: too many mails
 * wait or failed. `bad_mail_values`: a required placeholder is absent, or a value is too long.
 */
type MailRefusalReason = "mail_off" | "bad_mail_address" | "mail_queue_full" | "bad_mail_values";

export class MailRefusal extends Error {
  readonly reason: MailRefusalReason;

  constructor(reason: MailRefusalReason, detail: string) {
    super(`Cannot queue a mail: ${detail}`);
    this.reason = reason;
  }
}

/** The address of the recipient. @throws MailRefusal */
export function checkedAddress({ to }: Pick<NewMail, "to">): string {
  const address = parseMailAddress(to);
  if (address === null) {
    throw new MailRefusal("bad_mail_address", "the address of the recipient is not valid");
  }
  return address;
}

/** The values of the placeholders of the template. @throws MailRefusal */
export function checkedValues({ template, values }: NewMail): Readonly<Record<string, string>> {
  const { placeholders, required } = mailTemplateRow(template);
  const used: Record<string, string> = {};
  let characters = 0;
  for (const name of placeholders) {
    const value = Object.hasOwn(values, name) ? values[name] ?? "" : "";
    characters += value.length;
    if (value !== "") used[name] = value;
    else if (required.includes(name)) {
      throw new MailRefusal("bad_mail_values", `the value of ${name} is missing`);
    }
  }
  if (characters > MAX_VALUES_CHARACTERS) throw new MailRefusal("bad_mail_values", "the values are too long");
  return used;
}
