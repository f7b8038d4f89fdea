// Types of the mail API.

import type { MailStatus } from "../../../platform/mail/mail.ts";
import type { MailRow } from "../../../platform/mail/mail_admin.ts";
import type { MailProblemCode } from "../../../platform/mail/mail_records.ts";
import type {
  MailLanguage,
  MailTemplateName,
  TemplateProblem,
} from "../../../platform/mail/mail_templates.ts";

export type { MailLanguage, MailRow, MailStatus, MailTemplateName, TemplateProblem };

/** The state of the queue. */
export interface MailAnswer {
  readonly nowMs: number;
  readonly status: MailStatus;
  /** `null`: no mail is sent. */
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly security: "starttls" | "tls" | "none";
    readonly from: string;
    readonly perMinute: number;
  } | null;
  /** The language of the settings. */
  readonly language: MailLanguage;
}

export interface MailList {
  readonly nowMs: number;
  readonly rows: readonly MailRow[];
  /** The `after` of the next page; `null` on the last one. */
  readonly next: string | null;
}

/** A template in one language. */
export interface TemplateView {
  readonly name: MailTemplateName;
  readonly language: MailLanguage;
  readonly subject: string;
  readonly body: string;
  /** Who changed it, and when; `null`: the default. */
  readonly changed: { readonly atMs: number; readonly by: string } | null;
  readonly placeholders: readonly string[];
  readonly required: readonly string[];
}

export interface TemplatePreview {
  readonly problems: readonly TemplateProblem[];
  /** With sample values. */
  readonly subject: string;
  readonly text: string;
}

/** The result of a test message. */
export interface MailTest {
  readonly ok: boolean;
  /** `null` if the server accepted it. */
  readonly problem: MailProblemCode | null;
  /** What the server answered. */
  readonly detail: string;
  readonly tookMs: number;
}
