// Mails to a user about the user's own account, for the commit of their reason.

import {
  helpTextIn,
  type MailLanguage,
  type MailTemplateName,
} from "../../../platform/mail/mail_templates.ts";
import { type MailQueue, MailRefusal, type NewMail } from "../../../platform/mail/mail.ts";
import { type UserMailAddress, userMailAddress } from "../../../platform/mail/mail_address.ts";
import type { Mutation } from "../../../platform/store.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { displayNameOf } from "../users/user_views.ts";

export interface UserMailDeps {
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
export interface PreparedUserMail {
  readonly address: string;
  readonly mutations: readonly Mutation[];
}

/** The address to which mails of this user go; `null` if no mail can be sent. */
export function userMailAddressOf(
  { mail }: Pick<UserMailDeps, "mail">,
  content: Content | null,
): UserMailAddress | null {
  return content === null || mail?.isConfigured !== true ? null : userMailAddress(content);
}

/** `null` if no mail can be sent. @param wish.valuesIn the values of the template in the language of the user */
export function prepareUserMail(
  deps: UserMailDeps,
  content: Content | null,
  { template, valuesIn, ...more }: Pick<NewMail, "expiresMs"> & {
    readonly template: MailTemplateName;
    readonly valuesIn: (language: MailLanguage) => Readonly<Record<string, string>>;
  },
): PreparedUserMail | null {
  const { mail, settings: { config } } = deps;
  const to = userMailAddressOf(deps, content);
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
