// The labels of settings and of their choices. Other pages use them too.

import { findMessage } from "../../i18n/translate.ts";

export const slugOf = (key: string) => key.replaceAll(".", "_");

/** The label of a setting. A setting of a newer server has its key. */
export function settingName({ key }: { readonly key: string }): string {
  return findMessage(`settings.name_${slugOf(key)}`) ?? key;
}

export function optionLabel({ key }: { readonly key: string }, choice: string): string {
  return findMessage(`settings.option_${slugOf(key)}_${choice}`) ?? choice;
}
