// The settings of mail, and their value types.

import { type Mailbox, parseMailbox } from "../mail/mail_address.ts";
import { MAIL_LANGUAGES } from "../mail/mail_templates.ts";
import { meaning } from "../setting_problems.ts";
import * as directory from "./directory_value_types.ts";
import { settingRow, type SettingRows } from "./value_types.ts";
import * as value from "./value_types.ts";

/** A host name or an IP address. Empty: not set. */
const host = value.textType(meaning("means_host"), (text) => {
  if (text === "") return text;
  const host = URL.parse(`smtp://${text.includes(":") ? `[${text}]` : text}/`)?.hostname ?? "";
  const isHost = /^[A-Za-z0-9.:-]{1,253}$/.test(text) && host !== "";
  return isHost ? text.toLowerCase() : null;
});

/** A mail address with an optional name. Empty: not set. */
const mailbox = value.textType<Mailbox | "">(
  meaning("means_mailbox"),
  (text) => text === "" ? text : parseMailbox(text),
);

export const MAIL_ROWS = {
  "mail.host": settingRow(host, "", {
    doc: "the SMTP server that mails are sent through; empty: no mail is sent",
    example: "smtp.example.com",
  }),
  "mail.port": settingRow(value.integer({ min: 1, max: 65_535 }), 587, {
    doc: "587 with STARTTLS, 465 with TLS, 25 for a relay in your own network",
  }),
  "mail.security": settingRow(value.settingChoice(["starttls", "tls", "none"]), "starttls", {
    doc: "starttls | tls | none; starttls sends nothing if the server does not offer TLS",
  }),
  "mail.user": settingRow(value.settingLine({ max: 256 }), "", {
    doc: "for the sign-in at the server; empty: none",
  }),
  "mail.password": settingRow(value.settingSecret(), "", { doc: "for the sign-in at the server" }),
  "mail.ca": settingRow(directory.ownCertificates, "", {
    doc:
      "path of a PEM file with the authorities to trust instead of the host's, or the content of such a file",
  }),
  "mail.from": settingRow(mailbox, "", {
    doc: "the sender of all mails",
    example: "Countersign <no-reply@example.com>",
  }),
  "mail.reply_to": settingRow(mailbox, "", {
    doc: "where answers go, such as the help desk; empty: to the sender",
    example: "Help desk <helpdesk@example.com>",
  }),
  "mail.language": settingRow(value.settingChoice(MAIL_LANGUAGES), "en", {
    security: false,
    doc: "en | de; of mails to users whose language is not known, and to administrators",
  }),
  "mail.per_minute": settingRow(value.integer({ min: 1, max: 60_000 }), 30, {
    doc: "the most mails in a minute; Microsoft 365 accepts 30",
  }),
  "mail.timeout_ms": settingRow(value.milliseconds({ min: 1000, max: 300_000 }), 60_000, {
    security: false,
    doc: "deadline of one mail, from the connection to the last answer of the server",
  }),
} satisfies SettingRows;
