// The sentences of alerts in both languages, and the mails and webhook bodies that have them. Names come from outside, so they are made harmless: no control character, no link, and no mention of a chat.

import { blankControlCharacters } from "../control_characters.ts";
import type { WebhookMessage } from "../log_export/webhook_sender.ts";
import type { NewMail } from "../mail/mail.ts";
import { type MailLanguage, mailTime } from "../mail/mail_templates.ts";
import type { RenderedMessage } from "./alert_delivery.ts";
import type { AlertKind, AlertSeverity, AlertValues } from "./alert_kinds.ts";
import type { KnownAlert } from "./alert_record.ts";
import type { AlertMessage } from "./alert_rules.ts";
import type { ReceiverRecord } from "./receiver.ts";

interface AlertText {
  readonly title: string;
  /** What to do next, and the details of the problem. */
  readonly details: string;
}

/** The text of a message about an alert. */
export function alertText(
  alert: KnownAlert,
  { message, language, nowMs }: {
    readonly message: AlertMessage;
    readonly language: MailLanguage;
    readonly nowMs: number;
  },
): AlertText {
  const { kind, severity } = alert;
  const { title, next } = ALERT_SENTENCES[language][kind];
  const isEnd = message === "ended";
  const prefix = (isEnd ? "" : SEVERITY_PREFIXES[language][severity]) + MESSAGE_PREFIXES[language][message];
  const lines = [isEnd ? "" : next, ...detailLines(alert, language)];
  return {
    title: prefix + title(textsOf(alert, { language, nowMs })),
    details: lines.filter((line) => line !== "").join("\n"),
  };
}

/** The text of the message that says how many messages were left out. */
export function leftOutText(
  { kind, count }: { readonly kind: AlertKind | "warning"; readonly count: number },
  language: MailLanguage,
): AlertText {
  if (language === "de") {
    return {
      title: kind === "warning"
        ? `${count} weitere Warnungen wurden nicht gesendet`
        : `Kritisch: ${count} weitere Alarme der Art ${kind} wurden nicht gesendet`,
      details: "Das Limit je Stunde (alerts.per_hour) war erreicht. Die Konsole zeigt alle Alarme.",
    };
  }
  return {
    title: kind === "warning"
      ? `${count} more warnings were not sent`
      : `Critical: ${count} more alerts of the kind ${kind} were not sent`,
    details: "The limit for an hour (alerts.per_hour) was reached. The console shows all alerts.",
  };
}

/** The text of a test message. */
function testText(administrator: string, language: MailLanguage): AlertText {
  const by = safeName(administrator);
  return language === "de"
    ? { title: "Test-Alarm: Dieser Empfänger funktioniert", details: `Gesendet von: ${by}` }
    : { title: "Test alert: this receiver works", details: `Sent by: ${by}` };
}

const MAX_NAME_CHARACTERS = 100;
const MAX_DETAIL_CHARACTERS = 300;

/** A name of outside in a text that a mail or chat program shows: one line, no link, and no mention. */
export function safeName(name: string, maxCharacters = MAX_NAME_CHARACTERS): string {
  // Mail and chat programs make links of "://", "www." and "](". Mentions are an "@" that begins a word; Mattermost splits words at dots.
  const safe = blankControlCharacters(name.toWellFormed()).replaceAll("://", ": //").replaceAll("](", "] (")
    .replaceAll(/\bwww\.(?=\S)/gi, "$& ").replaceAll(/(?<![\p{L}\p{N}])@/gu, "(at)");
  // Cut last: a mail refuses values that are too long.
  const [...characters] = safe;
  return characters.length <= maxCharacters ? safe : `${characters.slice(0, maxCharacters).join("")}…`;
}

/** A text of a chat: Slack reads "<!channel>" and "&amp;" as markup. */
export function chatText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function textsOf(
  { values, count, about }: KnownAlert,
  { language, nowMs }: { readonly language: MailLanguage; readonly nowMs: number },
): SentenceTexts {
  const { untilMs, average, changes, inTenMinutes, since } = values;
  const ellipsis = (values.users?.length ?? 0) < count ? ", …" : "";
  return {
    user: safeName(values.user ?? about),
    users: values.users === undefined ? "" : values.users.map((name) => safeName(name)).join(", ") + ellipsis,
    count: String(changes ?? inTenMinutes ?? since ?? count),
    name: safeName(values.name ?? about),
    of: PART_TEXTS[language].get(values.of ?? "") ?? safeName(values.of ?? ""),
    until: untilMs === undefined ? "" : mailTime(untilMs, language),
    isPast: (untilMs ?? Infinity) <= nowMs,
    average: average === undefined || average === null ? "" : average.toFixed(1),
    client: safeName(values.client ?? "–"),
  };
}

const LABELS: Readonly<
  Record<
    MailLanguage,
    Readonly<Record<"detail" | "address" | "client" | "nas" | "session" | "since", string>>
  >
> = {
  en: {
    detail: "Problem",
    address: "Address",
    client: "RADIUS client",
    nas: "NAS",
    session: "Session",
    since: "Number since the last message",
  },
  de: {
    detail: "Problem",
    address: "Adresse",
    client: "RADIUS-Client",
    nas: "NAS",
    session: "Sitzung",
    since: "Anzahl seit der letzten Nachricht",
  },
};

function detailLines({ values }: Pick<KnownAlert, "values">, language: MailLanguage): string[] {
  const labels = LABELS[language];
  const { since, users }: AlertValues = values;
  const lines = (["detail", "address", "client", "nas", "session"] as const).flatMap((name) => {
    const text = values[name] ?? "";
    return text === "" ? [] : [`${labels[name]}: ${safeName(text, MAX_DETAIL_CHARACTERS)}`];
  });
  return since === undefined || users !== undefined ? lines : [...lines, `${labels.since}: ${since}`];
}

/** The parameters of a sentence, as texts. */
interface SentenceTexts {
  readonly user: string;
  /** The names of a flood; "": the alert is about one object. */
  readonly users: string;
  readonly count: string;
  readonly name: string;
  readonly of: string;
  readonly until: string;
  readonly isPast: boolean;
  readonly average: string;
  readonly client: string;
}

interface KindTexts {
  readonly title: (texts: SentenceTexts) => string;
  /** What the administrator does next. */
  readonly next: string;
}

type Sentences = Readonly<Record<AlertKind, KindTexts>>;

const ENGLISH: Sentences = {
  user_locked: {
    title: ({ user, users, count }) =>
      users === "" ? `User ${user} is locked` : `${count} lockouts: ${users}`,
    next: "Ask the user whether the failed sign-ins were theirs, then unlock the user in the console.",
  },
  rejection_spike: {
    title: ({ count, average }) =>
      `${count} rejected sign-ins in ten minutes${average === "" ? "" : ` (average: ${average})`}`,
    next: "Check in the history which users and addresses they concern.",
  },
  fraud_reported: {
    title: ({ user, users, count }) =>
      users === ""
        ? `${user} reports a sign-in that was not theirs`
        : `${count} reports of sign-ins by others: ${users}`,
    next:
      "The user is locked. The password is probably known to others: change it before you unlock the user.",
  },
  disconnect_manually: {
    title: ({ user, users, client, count }) =>
      users === ""
        ? `Disconnect the session of ${user} at ${client} by hand`
        : `Disconnect ${count} sessions by hand: ${users}`,
    next: "The user reported a sign-in by others, and the gateway could not end the session.",
  },
  backend_failing: {
    title: ({ name }) => `The connector ${name} fails`,
    next: "Sign-ins and changes that need it fail. Check the server and System status.",
  },
  service_failing: {
    title: ({ of, name }) => `${of} fails${name === "" ? "" : `: ${name}`}`,
    next: "Check it on the page System status.",
  },
  changes_undelivered: {
    title: ({ name, count }) => `${count} changes of the directory ${name} could not be delivered`,
    next: "Correct the cause, then retry them on the page of the directory.",
  },
  node_down: {
    title: ({ name }) => `The node ${name} does not answer`,
    next: "The other nodes continue. Check the host.",
  },
  certificate_expiring: {
    title: ({ of, name, until, isPast }) =>
      `The certificate for ${of} (${name}) ${isPast ? "expired on" : "expires on"} ${until}`,
    next: "Install a new certificate.",
  },
  credential_expiring: {
    title: ({ of, name, until, isPast }) => `${of} ${name} ${isPast ? "expired on" : "expires on"} ${until}`,
    next: "Create a new one, and use it in the system that signs in with it.",
  },
};

const GERMAN: Sentences = {
  user_locked: {
    title: ({ user, users, count }) =>
      users === "" ? `Benutzer ${user} ist gesperrt` : `${count} Sperren: ${users}`,
    next:
      "Fragen Sie den Benutzer, ob die Fehlversuche von ihm waren, und entsperren Sie ihn dann in der Konsole.",
  },
  rejection_spike: {
    title: ({ count, average }) =>
      `${count} abgelehnte Anmeldungen in zehn Minuten${average === "" ? "" : ` (Durchschnitt: ${average})`}`,
    next: "Prüfen Sie im Verlauf, welche Benutzer und Adressen betroffen sind.",
  },
  fraud_reported: {
    title: ({ user, users, count }) =>
      users === ""
        ? `${user} meldet eine fremde Anmeldung`
        : `${count} Meldungen fremder Anmeldungen: ${users}`,
    next:
      "Der Benutzer ist gesperrt. Das Passwort ist vermutlich anderen bekannt: Ändern Sie es, bevor Sie den Benutzer entsperren.",
  },
  disconnect_manually: {
    title: ({ user, users, client, count }) =>
      users === ""
        ? `Trennen Sie die Sitzung von ${user} an ${client} von Hand`
        : `Trennen Sie ${count} Sitzungen von Hand: ${users}`,
    next:
      "Der Benutzer hat eine fremde Anmeldung gemeldet, und das Gateway konnte die Sitzung nicht beenden.",
  },
  backend_failing: {
    title: ({ name }) => `Der Konnektor ${name} ist gestört`,
    next:
      "Anmeldungen und Änderungen, die ihn benötigen, schlagen fehl. Prüfen Sie den Server und den Systemstatus.",
  },
  service_failing: {
    title: ({ of, name }) => `${of} ist gestört${name === "" ? "" : `: ${name}`}`,
    next: "Prüfen Sie dies auf der Seite Systemstatus.",
  },
  changes_undelivered: {
    title: ({ name, count }) => `${count} Änderungen des Verzeichnisses ${name} wurden nicht zugestellt`,
    next: "Beheben Sie die Ursache, und wiederholen Sie sie auf der Seite des Verzeichnisses.",
  },
  node_down: {
    title: ({ name }) => `Der Knoten ${name} antwortet nicht`,
    next: "Die anderen Knoten arbeiten weiter. Prüfen Sie den Host.",
  },
  certificate_expiring: {
    title: ({ of, name, until, isPast }) =>
      `Das Zertifikat für ${of} (${name}) ${isPast ? `ist am ${until} abgelaufen` : `läuft am ${until} ab`}`,
    next: "Installieren Sie ein neues Zertifikat.",
  },
  credential_expiring: {
    title: ({ of, name, until, isPast }) =>
      `${of} ${name} ${isPast ? `ist am ${until} abgelaufen` : `läuft am ${until} ab`}`,
    next: "Erstellen Sie neue Zugangsdaten, und verwenden Sie sie in dem System, das sich damit anmeldet.",
  },
};

/** By language and kind. */
const ALERT_SENTENCES: Readonly<Record<MailLanguage, Sentences>> = { en: ENGLISH, de: GERMAN };

/** Before a title, by language. */
const MESSAGE_PREFIXES: Readonly<Record<MailLanguage, Readonly<Record<AlertMessage, string>>>> = {
  en: { opened: "", again: "Again: ", reminder: "Still: ", ended: "Resolved: " },
  de: { opened: "", again: "Erneut: ", reminder: "Weiterhin: ", ended: "Behoben: " },
};
/** Before a title, by language. */
const SEVERITY_PREFIXES: Readonly<Record<MailLanguage, Readonly<Record<AlertSeverity, string>>>> = {
  en: { critical: "Critical: ", warning: "" },
  de: { critical: "Kritisch: ", warning: "" },
};

/** What a part, a certificate or a credential is, by its code. */
const PART_TEXTS: Readonly<Record<MailLanguage, ReadonlyMap<string, string>>> = {
  en: new Map([
    ["first_factor", "The first-factor server"],
    ["second_factor", "The second-factor service"],
    ["telephony", "The telephony service"],
    ["push", "The push service"],
    ["push_host", "The push service"],
    ["mail", "Mail"],
    ["log_export", "The log export"],
    ["alerts", "The receiver of alerts"],
    ["store", "The data store"],
    ["http", "the console"],
    ["radius_tls", "RADIUS over TLS"],
    ["log_export_client", "the log export"],
    ["log_export_authority", "the receiver of the log export"],
    ["directory_authority", "the directory"],
    ["scim", "The SCIM credential"],
    ["token", "The API token"],
  ]),
  de: new Map([
    ["first_factor", "Der Server für den ersten Faktor"],
    ["second_factor", "Der Zwei-Faktor-Dienst"],
    ["telephony", "Der Telefonie-Dienst"],
    ["push", "Der Push-Dienst"],
    ["push_host", "Der Push-Dienst"],
    ["mail", "Der Mailversand"],
    ["log_export", "Der Protokoll-Export"],
    ["alerts", "Der Alarm-Empfänger"],
    ["store", "Der Datenspeicher"],
    ["http", "die Konsole"],
    ["radius_tls", "RADIUS über TLS"],
    ["log_export_client", "den Protokoll-Export"],
    ["log_export_authority", "den Empfänger des Protokoll-Exports"],
    ["directory_authority", "das Verzeichnis"],
    ["scim", "Das SCIM-Geheimnis"],
    ["token", "Das API-Token"],
  ]),
};

interface AlertRenderDeps {
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
