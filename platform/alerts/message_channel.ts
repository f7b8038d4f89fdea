// The two ways of a message to its receiver: as mails in the mail queue, and as a webhook.

import type { WebhookMessage, WebhookSender } from "../log_export/webhook_sender.ts";
import { type MailQueue, MailRefusal, type NewMail } from "../mail/mail.ts";
import type { Mutation } from "../store.ts";
import type { AlertProblem } from "./alert_kinds.ts";
import type { PendingMessage } from "./alert_messages.ts";
import type { KnownAlert } from "./alert_record.ts";
import { type AlertReceivers, type ReceiverRecord, UNREADABLE_SECRETS } from "./receiver.ts";

export interface MessageChannelDeps {
  readonly mail: Pick<MailQueue, "prepare" | "wake">;
  readonly webhooks: Pick<WebhookSender, "send">;
  readonly receivers: Pick<AlertReceivers, "all" | "secretsOf">;
  /** Makes the mails of a message, and the body of a webhook. */
  readonly render: {
    readonly mails: (
      receiver: string,
      record: ReceiverRecord,
      message: RenderedMessage,
    ) => readonly NewMail[];
    readonly webhook: (record: ReceiverRecord, message: RenderedMessage) => WebhookMessage;
  };
}

/** A message with its alert. */
export interface RenderedMessage {
  readonly id: string;
  readonly pending: PendingMessage;
  readonly alert: KnownAlert | null;
}

export interface DeliveryProblem {
  readonly code: AlertProblem;
  readonly detail: string;
  readonly retryAfterMs: number;
  /** The same message fails again until an administrator changes something. */
  readonly isPermanent: boolean;
}

export type MessageOutcome = { readonly ok: true; readonly mutations: readonly Mutation[] } | {
  readonly ok: false;
  readonly problem: DeliveryProblem;
};

interface MessageFor {
  readonly record: ReceiverRecord;
  readonly message: RenderedMessage;
}

/** The mails of a message, for the commit that removes it. One address that cannot be used does not stop the others. */
export function queueMails(
  { mail, render }: MessageChannelDeps,
  receiver: string,
  { record, message }: MessageFor,
): MessageOutcome {
  const mutations: Mutation[] = [];
  let refusal: MailRefusal | null = null;
  for (const one of render.mails(receiver, record, message)) {
    try {
      mutations.push(...mail.prepare(one).mutations);
    } catch (fault) {
      if (!(fault instanceof MailRefusal)) throw fault;
      refusal = fault;
    }
  }
  if (mutations.length > 0) return { ok: true, mutations };
  const { reason: code = "bad_mail_address", message: detail = "no address" } = refusal ?? {};
  return { ok: false, problem: { code, detail, retryAfterMs: 0, isPermanent: false } };
}

/** Sends a message once. */
export async function sendAlertWebhook(
  { receivers, webhooks, render }: MessageChannelDeps,
  receiver: string,
  { record, message, signal }: MessageFor & { readonly signal: AbortSignal },
): Promise<MessageOutcome> {
  const secrets = receivers.secretsOf(receiver, record);
  if (secrets === null) return { ok: false, problem: UNREADABLE_SECRETS };
  const { url, webhookSecret: secret } = secrets;
  const { allowsHttp } = record.settings;
  const target = { id: `alerts:${receiver}`, url, allowsHttp, secret };
  const outcome = await webhooks.send(target, render.webhook(record, message), { signal });
  return outcome.ok ? { ok: true, mutations: [] } : outcome;
}
