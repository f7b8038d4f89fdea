// The templates of mails: one row for each, with its placeholders and its default texts. Administrators can change the texts. Also the checks of
// changed texts, and how a text is filled. A placeholder is `{{name}}`. A value is text: it never becomes a header, HTML or a placeholder.

export type MailLanguage = "en" | "de";
export const MAIL_LANGUAGES: readonly MailLanguage[] = ["en", "de"];

/** A text with placeholders, such as `{{link}}`. A line whose placeholder is empty is left out. */
export interface MailText {
  readonly subject: string;
  readonly body: string;
}

interface TemplateRow {
  readonly placeholders: readonly string[];
  /** The texts must contain them, and a mail must have their values. */
  readonly required: readonly string[];
  /** Sent after the others: a campaign does not delay a mail that a user waits for. */
  readonly isBulk: boolean;
  readonly texts: Readonly<Record<MailLanguage, MailText>>;
}

/** The gateway fills these in each mail. */
const COMMON_PLACEHOLDERS = ["organization"] as const;

export const MAIL_TEMPLATES = {
  invitation: {
    placeholders: ["userName", "displayName", "link", "until", "deadline", "helpText"],
    required: ["link"],
    isBulk: true,
    texts: {
      en: {
        subject: "Set up your sign-in with {{organization}}",
        body: `Hello {{displayName}},

{{organization}} protects your sign-in with a second step. Set it up on your phone or computer:

{{link}}

User name: {{userName}}
The link works until {{until}}. Do not forward it: it belongs to you.
From {{deadline}}, you need the second step to sign in.

{{helpText}}`,
      },
      de: {
        subject: "Richten Sie Ihre Anmeldung bei {{organization}} ein",
        body: `Hallo {{displayName}},

{{organization}} schützt Ihre Anmeldung mit einem zweiten Schritt. Richten Sie ihn auf Ihrem Telefon oder Computer ein:

{{link}}

Benutzername: {{userName}}
Der Link gilt bis {{until}}. Leiten Sie ihn nicht weiter: Er gehört Ihnen.
Ab {{deadline}} benötigen Sie den zweiten Schritt, um sich anzumelden.

{{helpText}}`,
      },
    },
  },
  reminder: {
    placeholders: ["userName", "displayName", "link", "until", "deadline", "helpText"],
    required: ["link"],
    isBulk: true,
    texts: {
      en: {
        subject: "Reminder: set up your sign-in with {{organization}}",
        body: `Hello {{displayName}},

You have not set up the second step of your sign-in yet. It takes a few minutes:

{{link}}

User name: {{userName}}
The link works until {{until}}.
From {{deadline}}, you need the second step to sign in.

{{helpText}}`,
      },
      de: {
        subject: "Erinnerung: Richten Sie Ihre Anmeldung bei {{organization}} ein",
        body: `Hallo {{displayName}},

Sie haben den zweiten Schritt Ihrer Anmeldung noch nicht eingerichtet. Es dauert wenige Minuten:

{{link}}

Benutzername: {{userName}}
Der Link gilt bis {{until}}.
Ab {{deadline}} benötigen Sie den zweiten Schritt, um sich anzumelden.

{{helpText}}`,
      },
    },
  },
  bypass: {
    placeholders: ["userName", "displayName", "administrator", "until", "uses", "helpText"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "A bypass code was created for your account",
        body: `Hello {{displayName}},

{{administrator}} created a bypass code for your account {{userName}}. You can sign in with it instead of your phone.

It works until {{until}}.
Number of sign-ins: {{uses}}

If you did not ask for it, tell your help desk at once.

{{helpText}}`,
      },
      de: {
        subject: "Für Ihr Konto wurde ein Ersatzcode erstellt",
        body: `Hallo {{displayName}},

{{administrator}} hat einen Ersatzcode für Ihr Konto {{userName}} erstellt. Sie können sich damit statt mit Ihrem Telefon anmelden.

Er gilt bis {{until}}.
Anzahl der Anmeldungen: {{uses}}

Wenn Sie nicht darum gebeten haben, informieren Sie sofort Ihren Helpdesk.

{{helpText}}`,
      },
    },
  },
  factor_removed: {
    placeholders: ["userName", "displayName", "factor", "time", "helpText"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "A sign-in method was removed from your account",
        body: `Hello {{displayName}},

A sign-in method was removed from your account {{userName}}: {{factor}}

Time: {{time}}

If this was not you, tell your help desk at once.

{{helpText}}`,
      },
      de: {
        subject: "Eine Anmeldemethode wurde von Ihrem Konto entfernt",
        body: `Hallo {{displayName}},

Von Ihrem Konto {{userName}} wurde eine Anmeldemethode entfernt: {{factor}}

Zeit: {{time}}

Wenn Sie das nicht waren, informieren Sie sofort Ihren Helpdesk.

{{helpText}}`,
      },
    },
  },
  alert: {
    placeholders: ["title", "details", "time", "node", "link"],
    required: ["title"],
    isBulk: false,
    texts: {
      en: {
        subject: "[{{organization}}] {{title}}",
        body: `{{title}}

{{details}}

Time: {{time}}
Node: {{node}}
Console: {{link}}`,
      },
      de: {
        subject: "[{{organization}}] {{title}}",
        body: `{{title}}

{{details}}

Zeit: {{time}}
Knoten: {{node}}
Konsole: {{link}}`,
      },
    },
  },
  test: {
    placeholders: ["administrator", "time"],
    required: [],
    isBulk: false,
    texts: {
      en: {
        subject: "Test message of {{organization}}",
        body: `This is a test message. Mail works.

Sent by: {{administrator}}
Time: {{time}}`,
      },
      de: {
        subject: "Testnachricht von {{organization}}",
        body: `Das ist eine Testnachricht. Der Mailversand funktioniert.

Gesendet von: {{administrator}}
Zeit: {{time}}`,
      },
    },
  },
} as const satisfies Record<string, TemplateRow>;

export type MailTemplateName = keyof typeof MAIL_TEMPLATES;

/** The row of a template, as the same type for all. */
export function mailTemplateRow(name: MailTemplateName): TemplateRow {
  return MAIL_TEMPLATES[name];
}

const MAX_SUBJECT_CHARACTERS = 200;
const MAX_BODY_CHARACTERS = 8000;
/** Of all values of one mail. */
export const MAX_VALUES_CHARACTERS = 8000;

export interface FilledMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Why a text of a template is refused. `placeholder` is the one that is unknown, missing or misplaced. */
export interface TemplateProblem {
  readonly field: "subject" | "body";
  readonly code:
    | "empty"
    | "too_long"
    | "unknown_placeholder"
    | "missing_placeholder"
    | "bad_braces"
    /** Mail servers log subjects, and a link is a secret. */
    | "link_in_subject"
    | "control_characters";
  readonly placeholder?: string;
}

type Values = Readonly<Record<string, string>>;

const PLACEHOLDER = /\{\{([A-Za-z]{1,40})\}\}/g;
const CONTROL_BUT_LINE_FEED = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const EACH_CONTROL_BUT_LINE_FEED = new RegExp(CONTROL_BUT_LINE_FEED.source, "gu");

/** Values of several lines. Others are one line, so that a name cannot add paragraphs. */
const SEVERAL_LINES: ReadonlySet<string> = new Set(["helpText", "details"]);
/** Values that become links. */
const LINKS: ReadonlySet<string> = new Set(["link"]);
/** Values of the settings may contain addresses, such as that of the help desk. */
const OF_SETTINGS: ReadonlySet<string> = new Set(["helpText", "organization"]);
/** Names that people choose. A user name or the name of a server may look like an address, and has to be readable as it is. */
const CHOSEN_NAMES: ReadonlySet<string> = new Set(["displayName", "administrator", "factor"]);
/** Words that mail programs show as a link: a scheme, `www.`, a host with a path. */
const LINKED = /:\/\/|www\.|\b(?:mailto|tel|sms):|[.。．｡]\p{L}[\p{L}\p{N}-]+\.?(?::\d+)?[/?#]/iu;
/** In names, also a host or a mail address. */
const LINKED_IN_NAMES = /@\S|[\p{L}\p{N}][.。．｡]\p{L}[\p{L}\p{N}-]/u;

/** The names of the placeholders that a template allows. */
export function placeholdersOf(name: MailTemplateName): readonly string[] {
  return [...mailTemplateRow(name).placeholders, ...COMMON_PLACEHOLDERS];
}

/** The problems of a changed template; none: it can be saved. */
export function templateProblems(name: MailTemplateName, text: MailText): TemplateProblem[] {
  const problems = (["subject", "body"] as const).flatMap((field) => [...fieldProblems(name, text, field)]);
  for (const placeholder of mailTemplateRow(name).required) {
    const isInSubject = !LINKS.has(placeholder) && text.subject.includes(`{{${placeholder}}}`);
    if (isInSubject || text.body.includes(`{{${placeholder}}}`)) continue;
    problems.push({ field: "body", code: "missing_placeholder", placeholder });
  }
  return problems;
}

function* fieldProblems(
  name: MailTemplateName,
  text: MailText,
  field: "subject" | "body",
): Generator<TemplateProblem> {
  const value = text[field];
  const limit = field === "subject" ? MAX_SUBJECT_CHARACTERS : MAX_BODY_CHARACTERS;
  if (value.trim() === "") yield { field, code: "empty" };
  if (value.length > limit) yield { field, code: "too_long" };
  const hasBreak = field === "subject" && value.includes("\n");
  if (hasBreak || CONTROL_BUT_LINE_FEED.test(value)) yield { field, code: "control_characters" };
  const allowed = placeholdersOf(name);
  const unknown = new Set([...value.matchAll(PLACEHOLDER)].map(([, found = ""]) => found));
  for (const placeholder of unknown) {
    if (!allowed.includes(placeholder)) yield { field, code: "unknown_placeholder", placeholder };
    else if (field === "subject" && LINKS.has(placeholder)) {
      yield { field, code: "link_in_subject", placeholder };
    }
  }
  if (/\{\{|\}\}/.test(value.replace(PLACEHOLDER, ""))) yield { field, code: "bad_braces" };
}

/** Fills a template. A value on the subject's line has no line feeds. */
export function fillMail({ subject, body }: MailText, values: Values): FilledMail {
  const clean = Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const isName = CHOSEN_NAMES.has(name) && value !== values["userName"];
      const text = unlinked(name, { value: value.replace(EACH_CONTROL_BUT_LINE_FEED, " ").trim(), isName });
      return [name, SEVERAL_LINES.has(name) ? text : text.replaceAll("\n", " ")];
    }),
  );
  const lines = body.split("\n").filter((line) => !hasEmptyPlaceholder(line, clean));
  const paragraphs = lines.join("\n").replace(/\n{3,}/g, "\n\n").trim().split("\n\n");
  return {
    subject: fillLine(subject, clean).replaceAll("\n", " ").replace(/\s+/g, " ").trim().slice(
      0,
      MAX_SUBJECT_CHARACTERS,
    ),
    text: `${paragraphs.map((paragraph) => fillLine(paragraph, clean)).join("\n\n")}\n`,
    html: htmlOf(paragraphs, clean),
  };
}

/** The value with blanks in words that mail programs would show as links: a name must not lead a user to another site. */
function unlinked(name: string, { value, isName }: { value: string; isName: boolean }): string {
  if (LINKS.has(name) || OF_SETTINGS.has(name)) return value;
  return value.replace(/\S+/gu, (word) => {
    if (!LINKED.test(word) && !(isName && LINKED_IN_NAMES.test(word))) return word;
    return word.replace(/[.。．｡](?=[\p{L}\p{N}])/gu, "$& ").replace(/:(?=\S)/g, ": ").replaceAll("@", " @ ");
  });
}

/** A line with a link stays: without it, the mail would be useless. */
function hasEmptyPlaceholder(line: string, values: Values): boolean {
  const names = [...line.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  const hasLink = names.some((name) => LINKS.has(name) && valueOf(values, name) !== "");
  return !hasLink && names.some((name) => valueOf(values, name) === "");
}

function fillLine(line: string, values: Values): string {
  return line.replace(PLACEHOLDER, (_whole, name: string) => valueOf(values, name));
}

function valueOf(values: Values, name: string): string {
  return Object.hasOwn(values, name) ? values[name] ?? "" : "";
}

const STYLE =
  "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:15px;line-height:1.5;color:#1b1f24";

/** Paragraphs, with a link for `{{link}}`. Without images, scripts and style sheets, so that all mail programs show it. */
function htmlOf(paragraphs: readonly string[], values: Values): string {
  const body = paragraphs.map((paragraph) => `<p>${htmlLines(paragraph, values)}</p>`).join("\n");
  return `<!doctype html>\n<html><head><meta charset="utf-8"></head><body style="${STYLE}">\n${body}\n</body></html>\n`;
}

function htmlLines(paragraph: string, values: Values): string {
  let html = "";
  let at = 0;
  for (const match of paragraph.matchAll(PLACEHOLDER)) {
    const [, name = ""] = match;
    html += escapeHtml(paragraph.slice(at, match.index)) + htmlValue(name, valueOf(values, name));
    at = match.index + match[0].length;
  }
  return (html + escapeHtml(paragraph.slice(at))).replaceAll("\n", "<br>\n");
}

function htmlValue(name: string, value: string): string {
  const escaped = escapeHtml(value);
  return LINKS.has(name) && isWebAddress(value) ? `<a href="${escaped}">${escaped}</a>` : escaped;
}

function isWebAddress(value: string): boolean {
  const protocol = /^https?:\/\/\S+$/.test(value) ? URL.parse(value)?.protocol : undefined;
  return protocol === "https:" || protocol === "http:";
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ESCAPES[character] ?? character);
}

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

export const DEFAULT_HELP_TEXT: Readonly<Record<MailLanguage, string>> = {
  en: "If you need help or a new link, ask your administrator.",
  de: "Wenn Sie Hilfe oder einen neuen Link brauchen, fragen Sie Ihre Administration.",
};

/** The help text of a mail. */
export function helpTextIn(language: MailLanguage, helpText: string): string {
  return helpText === DEFAULT_HELP_TEXT.en ? DEFAULT_HELP_TEXT[language] : helpText;
}
