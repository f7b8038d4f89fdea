// Texts about templates.

import type { MailLanguage, TemplateProblem } from "../../../api/mail/mail_types.ts";
import { t } from "../../i18n/translate.ts";

/** Each language in its own words, as in the menu of languages. */
const LANGUAGE_NAMES: Readonly<Record<MailLanguage, string>> = { en: "English", de: "Deutsch" };

export const languageName = (language: MailLanguage): string => LANGUAGE_NAMES[language];

/** Why a field of a template is refused; `null` if it is not. */
export function templateFieldProblem(
  problems: readonly TemplateProblem[],
  field: TemplateProblem["field"],
): string | null {
  const texts = problems.filter((one) => one.field === field)
    .map(({ code, placeholder = "" }) => t(`mail.template_${code}`, { name: `{{${placeholder}}}` }));
  return texts.length === 0 ? null : texts.join(" ");
}
