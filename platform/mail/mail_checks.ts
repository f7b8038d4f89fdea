// The checks of a new mail.

import { MailRefusal, type NewMail } from "./mail.ts";
import { parseMailAddress } from "./mail_address.ts";
import { mailTemplateRow } from "./mail_templates.ts";
import { MAX_VALUES_CHARACTERS } from "./mail_text.ts";

/** The address of the recipient. @throws MailRefusal */
export function checkedAddress({ to }: Pick<NewMail, "to">): string {
  const address = parseMailAddress(to);
  if (address === null) {
    throw new MailRefusal("bad_mail_address", "the address of the recipient is not valid");
  }
  return address;
}

/** The values of the placeholders of the template. @throws MailRefusal */
export function checkedValues({ template, values }: NewMail): Readonly<Record<string, string>> {
  const { placeholders, required } = mailTemplateRow(template);
  const used: Record<string, string> = {};
  let characters = 0;
  for (const name of placeholders) {
    const value = Object.hasOwn(values, name) ? values[name] ?? "" : "";
    characters += value.length;
    if (value !== "") used[name] = value;
    else if (required.includes(name)) {
      throw new MailRefusal("bad_mail_values", `the value of ${name} is missing`);
    }
  }
  if (characters > MAX_VALUES_CHARACTERS) throw new MailRefusal("bad_mail_values", "the values are too long");
  return used;
}
