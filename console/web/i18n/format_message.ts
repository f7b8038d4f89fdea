// Formats a message: selects the plural form and replaces the placeholders. The server and the browser use it.

import type { Message, MessageValues } from "./catalogue.ts";

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
