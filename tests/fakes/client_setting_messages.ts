// The messages that the console takes from the table of client settings: labels, hints and choices.

import { CLIENT_SETTINGS, type ClientSettingRow } from "../../platform/client_settings.ts";

/** The keys of the messages, by setting. */
export function clientSettingMessages(): Readonly<Record<string, readonly string[]>> {
  const rows = Object.entries<ClientSettingRow>(CLIENT_SETTINGS);
  return Object.fromEntries(rows.map(([name, row]) => [name, messagesOf(row)]));
}

function messagesOf({ type, choices, console }: ClientSettingRow): string[] {
  if (console === undefined) return [];
  const { label, question = label, hasHint, choices: offered = choices ?? [] } = console;
  const ofChoices = type === "choice" ? offered.map((choice) => `${label}_${choice}`) : [];
  return [label, question, ...(hasHint ? [`${question}_hint`] : []), ...ofChoices];
}
