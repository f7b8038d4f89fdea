// The messages of the approval page, which the server renders.

import de from "../web/i18n/de.json" with { type: "json" };
import en from "../web/i18n/en.json" with { type: "json" };
import { formatMessage } from "../web/i18n/format_message.ts";
import type { Language, MessageKey, MessageValues } from "../web/i18n/catalogue.ts";

/** The type requires that each language has every key of the English catalogue. */
const CATALOGUES: Readonly<Record<Language, Readonly<typeof en>>> = { en, de };

export type ApproveKey = Extract<MessageKey, `approve.${string}`>;

/** Returns the message of a key in one language. */
export type ApproveText = (key: ApproveKey, values?: MessageValues) => string;

export function createApproveText(language: Language): ApproveText {
  return (key, values = {}) => formatMessage(CATALOGUES[language][key], { language, values });
}
