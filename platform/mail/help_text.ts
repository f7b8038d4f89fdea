// The default of `enrolment.help_text`. Mails translate it; a text of the operator stays as it is.

import type { MailLanguage } from "./mail_templates.ts";

export const DEFAULT_HELP_TEXT: Readonly<Record<MailLanguage, string>> = {
  en: "If you need help or a new link, ask your administrator.",
  de: "Wenn Sie Hilfe oder einen neuen Link brauchen, fragen Sie Ihre Administration.",
};

/** The help text of a mail. */
export function helpTextIn(language: MailLanguage, helpText: string): string {
  return helpText === DEFAULT_HELP_TEXT.en ? DEFAULT_HELP_TEXT[language] : helpText;
}
