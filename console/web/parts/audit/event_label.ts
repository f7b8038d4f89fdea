// The label of an audit action, in the reader's language.

import { readable } from "../../words.ts";
import { findMessage } from "../../i18n/translate.ts";

/** An action without a label is shown by its name. */
export function deedText(action: string): string {
  const name = action.replaceAll(".", "_");
  return findMessage(`govern.deed_${name}`) ?? readable(name);
}
