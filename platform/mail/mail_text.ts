// Fills templates, and checks changed ones. A placeholder is `{{name}}`. A value is text: it never becomes a header, HTML or a placeholder.

import {
  COMMON_PLACEHOLDERS,
  type MailTemplateName,
  mailTemplateRow,
  type MailText,
} from "./mail_templates.ts";

export const MAX_SUBJECT_CHARACTERS = 200;
export const MAX_BODY_CHARACTERS = 8000;
/** Of all values of one mail. */
export const MAX_VALUES_CHARACTERS = 8000;

/** A filled template. */
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
