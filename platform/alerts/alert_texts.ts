// The texts of messages about alerts. Names come from outside, so they are made harmless: no control character, no link, and no mention of a chat.

import { blankControlCharacters } from "../control_characters.ts";
import type { MailLanguage } from "../mail/mail_templates.ts";
import { mailTime } from "../mail/mail_time.ts";
import type { AlertKind, AlertValues } from "./alert_kinds.ts";
import type { KnownAlert } from "./alert_record.ts";
import type { AlertMessage } from "./alert_rules.ts";
import {
  ALERT_SENTENCES,
  MESSAGE_PREFIXES,
  PART_TEXTS,
  type SentenceTexts,
  SEVERITY_PREFIXES,
} from "./alert_sentences.ts";

export interface AlertText {
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
export function testText(administrator: string, language: MailLanguage): AlertText {
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
