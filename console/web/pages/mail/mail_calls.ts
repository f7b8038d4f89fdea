// Calls of the Mail page, and texts about templates. A change waits for a sign-in or a recent factor.

import type {
  MailAnswer,
  MailLanguage,
  MailList,
  MailRow,
  MailTemplateName,
  MailTest,
  TemplatePreview,
  TemplateProblem,
  TemplateView,
} from "../../../api/mail/mail_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";

type Calls = Pick<Models, "api" | "session">;
export type MailState = MailRow["state"];

export const fetchMail = ({ api }: Calls): Promise<MailAnswer> => take(api.mail.$get());

export const fetchMails = ({ api }: Calls, state: MailState, after = ""): Promise<MailList> =>
  take(api.mail.list.$get({ query: { state, after } }));

export const fetchTemplates = ({ api }: Calls): Promise<{ templates: TemplateView[] }> =>
  take(api.mail.templates.$get());

/** The part of a row that names the mail. */
const nameOf = ({ about, id }: MailRow) => ({ about, id });

export const sendAgain = ({ api, session }: Calls, rows: readonly MailRow[]): Promise<{ sent: number }> =>
  session.whileSignedIn(() => take(api.mail["send-again"].$post({ json: { mails: rows.map(nameOf) } })));

export const removeMails = (
  { api, session }: Calls,
  { state, rows }: { state: MailState; rows: readonly MailRow[] },
): Promise<{ removed: number }> =>
  session.whileSignedIn(() => take(api.mail.remove.$post({ json: { state, mails: rows.map(nameOf) } })));

export const sendTestMail = (
  { api, session }: Calls,
  json: { to: string; language: MailLanguage },
): Promise<MailTest> => session.whileSignedIn(() => take(api.mail.test.$post({ json })));

/** A text of a template that is not saved. */
interface TemplateDraft {
  readonly name: MailTemplateName;
  readonly language: MailLanguage;
  readonly subject: string;
  readonly body: string;
}

export const previewTemplate = ({ api, session }: Calls, json: TemplateDraft): Promise<TemplatePreview> =>
  session.whileSignedIn(() => take(api.mail.templates.preview.$post({ json })));

export const saveTemplate = (
  { api, session }: Calls,
  { name, language, ...json }: TemplateDraft,
): Promise<{ templates: TemplateView[] }> =>
  session.whileSignedIn(() =>
    take(api.mail.templates[":name"][":language"].$put({ param: escapeParams({ name, language }), json }))
  );

export const resetTemplate = (
  { api, session }: Calls,
  template: { name: MailTemplateName; language: MailLanguage },
): Promise<{ templates: TemplateView[] }> =>
  session.whileSignedIn(() =>
    take(api.mail.templates[":name"][":language"].$delete({ param: escapeParams(template) }))
  );

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
