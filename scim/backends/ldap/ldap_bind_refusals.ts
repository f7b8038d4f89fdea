// Why an LDAP server refused a bind: the codes of Active Directory, the words of other servers, and the password policy control
// (draft-behera-ldap-password-policy §6.2).

import type { AccountRefusal } from "../../../platform/account_refusals.ts";

/**
 * Active Directory and Samba: "80090308: LdapErr: …, comment: AcceptSecurityContext error, data 532, v3839". The code is a Windows error in
 * hexadecimal (Microsoft, "System Error Codes 1300-1699"). 525 and 52e are a wrong name and a wrong password.
 */
const WINDOWS_CODES: Readonly<Record<string, AccountRefusal>> = {
  "530": "sign_in_hours",
  "531": "sign_in_place",
  "532": "password_expired",
  "533": "account_disabled",
  "701": "account_expired",
  "773": "password_must_change",
  "775": "account_locked",
};

/** Words of 389 Directory Server, OpenDJ, Oracle, eDirectory and Samba, each for one refusal. */
const WORDS: readonly (readonly [words: RegExp, refusal: AccountRefusal])[] = [
  [/must (?:be )?change|must reset|PASSWORD_MUST_CHANGE/i, "password_must_change"],
  [/password (?:has |is )?expired|PASSWORD_EXPIRED|expired password|-223\b/i, "password_expired"],
  [/account (?:has |is )?expired|ACCOUNT_EXPIRED/i, "account_expired"],
  [/account (?:has been |is )?locked|locked out|ACCOUNT_LOCKED|retry limit|-197\b/i, "account_locked"],
  [
    /account (?:has been |is )?(?:inactivated|disabled|inactive)|ACCOUNT_DISABLED|administratively disabled|-220\b/i,
    "account_disabled",
  ],
  [/INVALID_LOGON_HOURS|-218\b/i, "sign_in_hours"],
  [/INVALID_WORKSTATION/i, "sign_in_place"],
];

/** The errors of the password policy control that a bind can have. */
const POLICY_ERRORS: readonly (AccountRefusal | undefined)[] = [
  "password_expired",
  "account_locked",
  "password_must_change",
];

/** @param policyError the error of the password policy control, if the server sent one. `null`: the server gave no reason. */
export function readBindRefusal(serverText: string, policyError: number | undefined): AccountRefusal | null {
  const byPolicy = policyError === undefined ? undefined : POLICY_ERRORS[policyError];
  if (byPolicy !== undefined) return byPolicy;
  const [, code] = /\bdata ([0-9a-f]{3,4})\b/i.exec(serverText) ?? [];
  if (code !== undefined) return WINDOWS_CODES[code.toLowerCase()] ?? null;
  return WORDS.find(([words]) => words.test(serverText))?.[1] ?? null;
}
