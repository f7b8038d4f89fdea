// The help text of mails: the default is translated, a text of the operator is not.

import { assertEquals } from "@std/assert";
import { DEFAULT_HELP_TEXT, helpTextIn } from "../../../platform/mail/mail_templates.ts";

// [language of the mail, setting, text in the mail]
const ROWS = [
  ["en", DEFAULT_HELP_TEXT.en, DEFAULT_HELP_TEXT.en],
  ["de", DEFAULT_HELP_TEXT.en, DEFAULT_HELP_TEXT.de],
  ["de", "Call 4711.", "Call 4711."],
  ["de", "", ""],
] as const;

for (const [language, configured, expected] of ROWS) {
  Deno.test(`the help text ${JSON.stringify(configured)} in a mail in ${language}`, () => {
    assertEquals(helpTextIn(language, configured), expected);
  });
}
