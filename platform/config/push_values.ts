// The value types of the settings of push messages.

import { isHostPattern } from "../host_patterns.ts";
import { meaning } from "../setting_problems.ts";
import { settingList, textType, type ValueType } from "./value_types.ts";

/** Patterns of host names, in lower case. */
export const hostPatterns: ValueType<readonly string[]> = settingList(
  meaning("means_host_patterns"),
  (entry) => isHostPattern(entry.toLowerCase()) ? entry.toLowerCase() : null,
  100,
);

/** Where an operator of another service can reach this one. Empty: not set. */
export const contact = textType(meaning("means_contact"), (text) => {
  const isMail = /^mailto:[^\s@<>"]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(text);
  const isPage = /^https:\/\/[\x21-\x7e]{1,1000}$/.test(text) && URL.canParse(text);
  return text === "" || isMail || isPage ? text : null;
});
