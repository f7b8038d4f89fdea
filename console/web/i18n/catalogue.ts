// Types of the message catalogues: one JSON file per language. English defines the keys.

// Used as a type only, so it is not part of the script.
import en from "./en.json" with { type: "json" };

/** Each language by its own name. */
export const LANGUAGE_NAMES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGE_NAMES;
export const LANGUAGES = Object.keys(LANGUAGE_NAMES) as readonly Language[];

/** `area.name`, such as `people.title`. */
export type MessageKey = keyof typeof en;

/** A message with a text for each plural form; the value `count` selects the form. */
export interface PluralMessage {
  readonly one: string;
  readonly other: string;
}
export type Message = string | PluralMessage;
export type Catalogue = Readonly<Record<string, Message>>;

/** Values of the placeholders `{name}` in a message. */
export type MessageValues = Readonly<Record<string, string | number>>;
