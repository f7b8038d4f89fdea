// Mails of the help desk to a user: a bypass code was issued, and the link for a new phone. A mail never contains the code. The user is helped
// also if no mail can be sent.

import { type MailLanguage, mailTime } from "../../../platform/mail/mail_templates.ts";
import type { UserMailAddress } from "../../../platform/mail/mail_address.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { Refusal } from "../errors.ts";
import {
  type PreparedUserMail,
  prepareUserMail,
  userMailAddressOf,
  type UserMailDeps,
} from "../mail/user_mails.ts";

export type HelpDeskMailDeps = UserMailDeps;

const ANY_USES: Readonly<Record<MailLanguage, string>> = {
  en: "any number, until it ends",
  de: "beliebig viele, bis zum Ende",
};

export class HelpDeskMails {
  readonly #deps: HelpDeskMailDeps;

  constructor(deps: HelpDeskMailDeps) {
    this.#deps = deps;
  }

  /** The address to which mails of this user go; `null` if no mail can be sent. */
  addressOf(content: Content | null): UserMailAddress | null {
    return userMailAddressOf(this.#deps, content);
  }

  /** Tells the user about a bypass code. `null` if no mail can be sent: the notices on the user's pages tell it, too. */
  bypass(
    content: Content | null,
    { by, uses, expiresMs }: { by: string; uses: number | null; expiresMs: number },
  ): PreparedUserMail | null {
    return prepareUserMail(this.#deps, content, {
      template: "bypass",
      valuesIn: (language) => ({
        administrator: by,
        until: mailTime(expiresMs, language),
        uses: uses === null ? ANY_USES[language] : String(uses),
      }),
    });
  }

  /** Mails a link instead of showing it. @throws Refusal `no_mail_address`. */
  invitation(
    content: Content | null,
    { link, deadlineMs }: { link: string; deadlineMs: number },
  ): PreparedUserMail {
    const mail = prepareUserMail(this.#deps, content, {
      template: "invitation",
      valuesIn: (language) => ({ link, until: mailTime(deadlineMs, language), deadline: "" }),
      expiresMs: deadlineMs,
    });
    if (mail === null) throw new Refusal("no_mail_address");
    return mail;
  }

  /** Call it after the commit. */
  wake(): void {
    this.#deps.mail?.wake();
  }
}
