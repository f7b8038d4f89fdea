// Mails of the help desk to a user: a bypass code was issued, and the link for a new phone. A mail never contains the code. The user is helped
// also if no mail can be sent.

import { helpTextIn } from "../../../platform/mail/help_text.ts";
import { type MailQueue, MailRefusal, type NewMail } from "../../../platform/mail/mail.ts";
import type { MailLanguage } from "../../../platform/mail/mail_templates.ts";
import { mailTime } from "../../../platform/mail/mail_time.ts";
import { type UserMailAddress, userMailAddress } from "../../../platform/mail/user_mail.ts";
import type { Mutation } from "../../../platform/store.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { Refusal } from "../errors.ts";
import { displayNameOf } from "../users/user_views.ts";

export interface HelpDeskMailDeps {
  /** Absent: the console runs without the gateway. */
  readonly mail?: MailQueue | undefined;
  readonly settings: {
    readonly config: {
      readonly mail: { readonly language: MailLanguage };
      readonly enrolment: { readonly helpText: string };
    };
  };
}

/** A mail for the commit of its reason. */
interface QueuedMail {
  readonly address: string;
  readonly mutations: readonly Mutation[];
}

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
    return content === null || this.#deps.mail?.isConfigured !== true ? null : userMailAddress(content);
  }

  /** Tells the user about a bypass code. `null` if no mail can be sent: the notices on the user's pages tell it, too. */
  bypass(
    content: Content | null,
    { by, uses, expiresMs }: { by: string; uses: number | null; expiresMs: number },
  ): QueuedMail | null {
    return this.#prepare("bypass", content, (language) => ({
      administrator: by,
      until: mailTime(expiresMs, language),
      uses: uses === null ? ANY_USES[language] : String(uses),
    }));
  }

  /** Mails a link instead of showing it. @throws Refusal `no_mail_address`. */
  invitation(
    content: Content | null,
    { link, deadlineMs }: { link: string; deadlineMs: number },
  ): QueuedMail {
    const values = (language: MailLanguage) => ({
      link,
      until: mailTime(deadlineMs, language),
      deadline: "",
    });
    const mail = this.#prepare("invitation", content, values, { expiresMs: deadlineMs });
    if (mail === null) throw new Refusal("no_mail_address");
    return mail;
  }

  /** Call it after the commit. */
  wake(): void {
    this.#deps.mail?.wake();
  }

  #prepare(
    template: "bypass" | "invitation",
    content: Content | null,
    valuesIn: (language: MailLanguage) => Readonly<Record<string, string>>,
    more: Pick<NewMail, "expiresMs"> = {},
  ): QueuedMail | null {
    const { mail, settings: { config } } = this.#deps;
    const to = this.addressOf(content);
    if (to === null || content === null || mail === undefined) return null;
    const language = to.language ?? config.mail.language;
    const values = {
      userName: content.name,
      displayName: displayNameOf(content) || content.name,
      helpText: helpTextIn(language, config.enrolment.helpText),
      ...valuesIn(language),
    };
    const about = `user:${content.name}`;
    try {
      const { mutations } = mail.prepare({ template, language, to: to.address, about, values, ...more });
      return { address: to.address, mutations };
    } catch (fault) {
      if (fault instanceof MailRefusal) return null;
      throw fault;
    }
  }
}
