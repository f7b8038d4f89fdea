// Sends mails to one SMTP server (RFC 5321) through nodemailer, over a few connections that are used again. The first message loads the library. Each wait has a deadline. Nothing is
// sent twice here: the queue decides about further attempts.

import { sanitizeDetail } from "../control_characters.ts";
import type { MailSettings } from "../config/config.ts";
import type { Clock } from "../runtime.ts";
import type { Mailbox } from "./mail_address.ts";
import { mailDomain } from "./mail_address.ts";
import type { MailProblemCode } from "./mail_records.ts";
import type { FilledMail } from "./mail_templates.ts";

/** A complete message to one recipient. */
export interface SmtpMessage extends FilledMail {
  readonly to: string;
  /** Without angle brackets. */
  readonly messageId: string;
  /** Texts that a reply must not bring into logs and lists: filters quote the links that they refuse. */
  readonly secrets: readonly string[];
}

/** The reply of the server, without secrets; or why the message was not accepted. */
export type SmtpOutcome =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly code: MailProblemCode; readonly detail: string };

export interface MailTransport {
  /** Ends within `timeoutMs` of the settings. Never rejects. */
  send(message: SmtpMessage): Promise<SmtpOutcome>;
  /** Connects and signs in, without a message. Never rejects. */
  verify(): Promise<SmtpOutcome>;
  /** Closes idle connections; one that is sending ends its message first. */
  close(): void;
}

/** Microsoft 365 accepts three connections at the same time. */
export const MAX_MAIL_CONNECTIONS = 3;
const MAX_MESSAGES_PER_CONNECTION = 100;
const IDLE_MS = 30_000;
/** Requeues of nodemailer: only of a message of which nothing was sent, because the server closed an idle connection. */
const MAX_REQUEUES = 2;
const MAX_RESPONSE_OCTETS = 16_384;
const MAX_DETAIL_CHARACTERS = 300;

/** The settings of a server and a sender that are configured. */
export interface SmtpSettings extends Omit<MailSettings, "from"> {
  readonly from: Mailbox;
}

export interface SmtpTransportOptions {
  readonly settings: SmtpSettings;
  readonly clock: Clock;
}

/** Opens no connection before the first message. */
export function createSmtpTransport({ settings, clock }: SmtpTransportOptions): MailTransport {
  let opened: ReturnType<typeof openMailer> | null = null;
  const mailer = () => opened ??= openMailer(settings);
  const outcomeOf = async (
    work: (signal: AbortSignal) => Promise<string>,
    texts: readonly string[] = [],
  ): Promise<SmtpOutcome> => {
    const secrets = [settings.password, ...texts];
    const ending = new AbortController();
    const { promise: outOfTime, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(settings.timeoutMs, () => {
      ending.abort();
      reject({ code: "EABORT" });
    });
    try {
      const detail = await Promise.race([work(ending.signal), outOfTime]);
      return { ok: true, detail: cleanDetail(detail, secrets) };
    } catch (thrown) {
      const fault = thrown as SmtpFault;
      return { ok: false, code: problemCodeOf(fault), detail: cleanDetail(detailOf(fault), secrets) };
    } finally {
      cancel();
    }
  };
  return {
    send: (message) =>
      outcomeOf(
        async (signal) =>
          (await (await mailer()).sendMail({ ...messageOf(message, settings), signal })).response,
        message.secrets,
      ),
    verify: () =>
      outcomeOf(async () => {
        await (await mailer()).verify();
        return "";
      }),
    close: () => void opened?.then((one) => one.close()),
  };
}

async function openMailer(settings: SmtpSettings) {
  const { default: nodemailer } = await import("nodemailer");
  return nodemailer.createTransport(poolOptions(settings));
}

function poolOptions(settings: SmtpSettings) {
  const { host, port, security, user, password, caPem, timeoutMs } = settings;
  return {
    pool: true as const,
    ...{ host, port, secure: security === "tls", requireTLS: security === "starttls" },
    // Without TLS, a server that offers STARTTLS must not lead to another choice than the settings.
    ignoreTLS: security === "none",
    tls: { minVersion: "TLSv1.2" as const, ...(caPem === "" ? {} : { ca: caPem }) },
    // A password that is configured is used, or the attempt fails.
    ...(user === "" ? {} : { auth: { user, pass: password }, forceAuth: true }),
    // The name of the host is not readable without a further permission, and would not be known outside.
    name: mailDomain(settings.from.address),
    ...{
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
    },
    ...{
      maxConnections: MAX_MAIL_CONNECTIONS,
      maxMessages: MAX_MESSAGES_PER_CONNECTION,
      maxRequeues: MAX_REQUEUES,
    },
    ...{ idleTimeout: IDLE_MS, maxResponseSize: MAX_RESPONSE_OCTETS },
    ...{ disableFileAccess: true, disableUrlAccess: true, logger: false as const },
  };
}

function messageOf({ to, messageId, subject, text, html }: SmtpMessage, { from, replyTo }: SmtpSettings) {
  return {
    from,
    to: { name: "", address: to },
    ...(replyTo === null ? {} : { replyTo }),
    ...{ subject, text, html, messageId: `<${messageId}>` },
    headers: {
      // RFC 3834 §5: automatic answers, such as absence notices, are not sent to it.
      "Auto-Submitted": "auto-generated",
      // The same for Exchange, which does not read it.
      "X-Auto-Response-Suppress": "All",
    },
  };
}

/** The members of an error of nodemailer that are read. */
interface SmtpFault {
  readonly code?: string;
  readonly originalCode?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly message?: string;
}

/** Codes of nodemailer. The first row that fits applies; those with `replies` before those without. */
const FAULT_CODES: Readonly<Record<string, MailProblemCode>> = {
  EAUTH: "sign_in",
  ENOAUTH: "sign_in",
  EDNS: "name_not_found",
  ETIMEDOUT: "timeout",
  EABORT: "timeout",
  ETLS: "tls",
  EMESSAGE: "content_refused",
};

const TLS_ERROR = /CERT|SSL|TLS|SIGNATURE|SELF_SIGNED|CRL|UNABLE_TO_/;
/** RFC 4954 §6: sign-in required, or refused. */
const SIGN_IN_REPLIES: ReadonlySet<number> = new Set([530, 534, 535, 538]);
/** Exchange: the account may not send as this address. */
const SENDER_STATUS = /\b5\.(?:7\.60|2\.252)\b/;

/** What a failed attempt means for the mail and for the queue. */
function problemCodeOf(fault: SmtpFault): MailProblemCode {
  const { code = "", originalCode = "", command = "", responseCode = 0, response = "" } = fault;
  if (code === "ETLS" && command === "STARTTLS" && responseCode !== 0) return "no_starttls";
  if (code === "ESOCKET" && TLS_ERROR.test(originalCode)) return "tls";
  if (responseCode === 421) return "busy";
  if (SIGN_IN_REPLIES.has(responseCode)) return "sign_in";
  if (code === "EAUTH" && responseCode >= 400 && responseCode < 500) return "busy";
  if (responseCode >= 400 && code !== "EAUTH") return replyCode(command, responseCode, response);
  if (code === "EENVELOPE") return "recipient_refused";
  return FAULT_CODES[code] ?? "unreachable";
}

function replyCode(command: string, reply: number, response: string): MailProblemCode {
  const isPermanent = reply >= 500 && reply !== 503;
  if (isPermanent && SENDER_STATUS.test(response)) return "sender_refused";
  if (command === "MAIL FROM") return isPermanent ? "sender_refused" : "busy";
  if (command === "RCPT TO") return isPermanent ? "recipient_refused" : "recipient_later";
  if (command === "DATA") return isPermanent ? "content_refused" : "content_later";
  return isPermanent ? "unreachable" : "busy";
}

function detailOf({ response, message, originalCode }: SmtpFault): string {
  return response ?? message ?? originalCode ?? "";
}

function cleanDetail(text: string, secrets: readonly string[]): string {
  return sanitizeDetail(text, { secrets, maxCharacters: MAX_DETAIL_CHARACTERS }).trim();
}
