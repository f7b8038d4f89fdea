// Times and dates in mails, in the language of the mail and with their time zone.

import type { MailLanguage } from "./mail_templates.ts";

const LOCALES: Readonly<Record<MailLanguage, string>> = { en: "en-GB", de: "de-DE" };

/**
 * A time as text, such as "24 November 2026 at 10:30 CET".
 *
 * @param timeZone the default is that of the host.
 */
export function mailTime(
  atMs: number,
  language: MailLanguage,
  { timeZone }: { timeZone?: string } = {},
): string {
  return new Intl.DateTimeFormat(LOCALES[language], {
    ...{ day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit" },
    timeZoneName: "short",
    ...(timeZone === undefined ? {} : { timeZone }),
  }).format(atMs);
}
