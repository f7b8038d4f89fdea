// The mails and the webhook bodies of messages about alerts.

import type { WebhookMessage } from "../log_export/webhook_sender.ts";
import type { NewMail } from "../mail/mail.ts";
import type { MailLanguage } from "../mail/mail_templates.ts";
import { mailTime } from "../mail/mail_time.ts";
import { type AlertText, alertText, chatText, leftOutText, testText } from "./alert_texts.ts";
import type { RenderedMessage } from "./message_channel.ts";
import type { ReceiverRecord } from "./receiver.ts";

export interface AlertRenderDeps {
  /** `http.public_url`. */
  readonly publicUrl: () => string;
  /** The host of this node. */
  readonly nodeName: string;
  readonly nowMs: () => number;
}

/** The mails of a message: one for each address. */
export function renderMails(
  deps: AlertRenderDeps,
  receiver: string,
  { record: { settings }, message }: { readonly record: ReceiverRecord; readonly message: RenderedMessage },
): NewMail[] {
  const { language, addresses } = settings;
  const text = textOf(deps, message, language);
  const atMs = message.alert?.lastMs ?? message.pending.queuedMs;
  return addresses.map((to) => ({
    ...mailOf(deps, { text, language, atMs }),
    ...{ to, about: `alert-receiver:${receiver}`, key: `${receiver} ${message.id} ${to}` },
  }));
}

/** The test mails of a receiver. */
export function renderTestMails(
  deps: AlertRenderDeps,
  receiver: string,
  { record: { settings }, by }: { readonly record: ReceiverRecord; readonly by: string },
): NewMail[] {
  const { language, addresses } = settings;
  const text = testText(by, language);
  const mail = mailOf(deps, { text, language, atMs: deps.nowMs() });
  return addresses.map((to) => ({ ...mail, to, about: `alert-receiver:${receiver}`, key: `test ${to}` }));
}

function mailOf(
  { nodeName, publicUrl }: AlertRenderDeps,
  { text: { title, details }, language, atMs }: {
    readonly text: AlertText;
    readonly language: MailLanguage;
    readonly atMs: number;
  },
): Pick<NewMail, "template" | "language" | "values"> {
  const values = {
    title,
    details,
    time: mailTime(atMs, language),
    node: nodeName,
    link: linkOf(publicUrl()),
  };
  return { template: "alert", language, values };
}

/**
 * The body of a webhook (docs/alerts.md). `text` is what Slack and Mattermost show; programs read the other members. The id is the same for each
 * try of one message.
 */
export function renderWebhook(
  deps: AlertRenderDeps,
  { settings: { language } }: Pick<ReceiverRecord, "settings">,
  message: RenderedMessage,
): WebhookMessage {
  const { id, pending, alert } = message;
  const text = textOf(deps, message, language);
  const data = alert === null ? { count: pending.count, limit: pending.budget } : {
    ...{ id, kind: alert.kind, severity: alert.severity, about: alert.about, count: alert.count },
    values: alert.values,
    openedAt: isoTime(alert.openedMs),
    lastAt: isoTime(alert.lastMs),
    endedAt: alert.endedMs === null ? null : isoTime(alert.endedMs),
  };
  return bodyOf(deps, { id: `${id}.${pending.queuedMs}`, type: `alert.${pending.message}`, text, data });
}

/** The body of a test message. */
export function renderTestWebhook(
  deps: AlertRenderDeps,
  { settings: { language } }: Pick<ReceiverRecord, "settings">,
  { id, by }: { readonly id: string; readonly by: string },
): WebhookMessage {
  return bodyOf(deps, { id, type: "alert.test", text: testText(by, language), data: {} });
}

function bodyOf(
  { nodeName: node, publicUrl, nowMs }: AlertRenderDeps,
  { id, type, text: { title, details }, data }: {
    readonly id: string;
    readonly type: string;
    readonly text: AlertText;
    readonly data: object;
  },
): WebhookMessage {
  const link = linkOf(publicUrl());
  const text = [chatText(title), chatText(details), link].filter((line) => line !== "").join("\n");
  const body = { type, timestamp: isoTime(nowMs()), text, title, details, node, link, data };
  return { id, body: JSON.stringify(body) };
}

function textOf(
  { nowMs }: AlertRenderDeps,
  { pending, alert }: RenderedMessage,
  language: MailLanguage,
): AlertText {
  const { message, budget, count } = pending;
  if (alert === null || message === "left_out") return leftOutText({ kind: budget, count }, language);
  return alertText(alert, { message, language, nowMs: nowMs() });
}

/** The page of the alerts. */
function linkOf(publicUrl: string): string {
  return publicUrl === "" ? "" : `${publicUrl}/alerts`;
}

/** A time as text; "" for one that no calendar has. */
function isoTime(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
