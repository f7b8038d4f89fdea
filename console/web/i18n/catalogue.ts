// Types of the message catalogues: one JSON file per language. English defines the keys.

import en from "./en.json" with { type: "json" };
import type { ERROR_CODES } from "../../api/error_codes.ts";

/** Each language by its own name. */
export const LANGUAGE_NAMES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGE_NAMES;
export const LANGUAGES = Object.keys(LANGUAGE_NAMES) as readonly Language[];

/** `area.name`, such as `users.edit`. The English messages of `errors` are those of the API's table. */
export type MessageKey = keyof typeof en | `errors.${TranslatedCode}`;
type TranslatedCode = {
  [Code in keyof typeof ERROR_CODES]: typeof ERROR_CODES[Code] extends { isDetailed: true } ? never : Code;
}[keyof typeof ERROR_CODES];

/** A message with a text for each plural form; the value `count` selects the form. */
interface PluralMessage {
  readonly one: string;
  readonly other: string;
}
export type Message = string | PluralMessage;
export type Catalogue = Readonly<Record<string, Message>>;

/** The file with messages in one language. `name` is that of an application or of a page, in the HTML. */
export function catalogueFile(name: string, language: Language): string {
  return `${name}-${language}.json`;
}

/** Values of the placeholders `{name}` in a message. */
export type MessageValues = Readonly<Record<string, string | number>>;

/** A placeholder without a value stays as it is, so that the mistake is visible. */
export function formatMessage(
  message: Message,
  { language, values }: { language: string; values: MessageValues },
): string {
  const text = typeof message === "string"
    ? message
    : message[pluralForm(Number(values.count ?? 0), language)];
  return text.replace(/\{(\w{1,20})\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) return placeholder;
    return typeof value === "number" ? new Intl.NumberFormat(language).format(value) : value;
  });
}

function pluralForm(count: number, language: string): "one" | "other" {
  return new Intl.PluralRules(language).select(count) === "one" ? "one" : "other";
}
