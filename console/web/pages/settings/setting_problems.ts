// The text of a problem of a setting: the server names it by a code with values, and has an English sentence for programs.

import { formatMessage } from "../../i18n/catalogue.ts";
import { findMessage, language } from "../../i18n/translate.ts";

interface ShownProblem {
  /** In English, without its capital letter and its full stop. */
  readonly problem: string;
  readonly code?: string;
  readonly values?: Values;
}
type Values = Readonly<Record<string, string | number | readonly string[]>>;

/** A sentence in the selected language. Keys of the settings file become the labels that the console shows. */
export function sentenceText(problem: ShownProblem): string {
  const named = translated(problem).replaceAll(/[a-z_]+(?:\.[a-z_0-9]+)+/g, (key) => {
    const label = keyLabel(key);
    return label === null ? key : `“${label}”`;
  });
  const text = named.slice(0, 1).toUpperCase() + named.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The server may be newer than this page: without a message for the code, its English text. */
function translated({ problem, code = "", values = {} }: ShownProblem): string {
  const message = messageOf(code);
  if (message === null) return problem;
  const means = messageOf(String(values.means));
  return filled(message, means === null ? values : { ...values, means: filled(means, values) });
}

const messageOf = (code: string) => findMessage(`problems.${code}`);

const filled = (message: string, values: Values) =>
  formatMessage(message, {
    language: language.value,
    values: Object.fromEntries(
      Object.entries(values).map(([name, value]) =>
        [name, typeof value === "object" ? value.join(", ") : value] as const
      ),
    ),
  });

/** The label of a key of the settings file, or `null`. */
const keyLabel = (key: string) => findMessage(`settings.name_${slugOf(key)}`);

/** A problem with the label of its key before it. */
export function faultText(fault: ShownProblem & { readonly key: string }): string {
  return `${keyLabel(fault.key) ?? fault.key}: ${sentenceText(fault)}`;
}

// The labels of settings and of their choices. Other pages use them too.

export const slugOf = (key: string) => key.replaceAll(".", "_");

/** The label of a setting. A setting of a newer server has its key. */
export function settingName({ key }: { readonly key: string }): string {
  return findMessage(`settings.name_${slugOf(key)}`) ?? key;
}

export function optionLabel({ key }: { readonly key: string }, choice: string): string {
  return findMessage(`settings.option_${slugOf(key)}_${choice}`) ?? choice;
}
