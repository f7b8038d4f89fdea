// LDAP result codes and how the gateway handles them, one row per code (RFC 4511 appendix A). Why a server refused a bind: the codes of Active Directory,
// the words of other servers, and the password policy control (draft-behera-ldap-password-policy §6.2).

import type { BackendFault } from "../../backend_port.ts";
import { BackendError, foreignDetail } from "../backend_error.ts";
import type { AccountRefusal } from "../../../platform/account_refusals.ts";

interface CodeRow {
  readonly code: number;
  readonly kind: BackendFault["kind"];
  /** Whether a retry of the same request may succeed. */
  readonly retry: boolean;
  readonly text: string;
}

const LDAP_RESULT_CODES = {
  operationsError: {
    code: 1,
    kind: "refused",
    retry: true,
    text: "the directory reported an internal error",
  },
  protocolError: {
    code: 2,
    kind: "unsupported",
    retry: false,
    text: "the directory does not know the request",
  },
  timeLimitExceeded: { code: 3, kind: "busy", retry: true, text: "the request took the directory too long" },
  sizeLimitExceeded: {
    code: 4,
    kind: "refused",
    retry: true,
    text: "the directory does not return more entries",
  },
  authMethodNotSupported: {
    code: 7,
    kind: "refused",
    retry: true,
    text: "the directory does not accept a simple bind",
  },
  strongerAuthRequired: {
    code: 8,
    kind: "refused",
    retry: true,
    text: "the directory requires TLS or a bind",
  },
  referral: { code: 10, kind: "refused", retry: true, text: "the directory refers to another server" },
  adminLimitExceeded: { code: 11, kind: "busy", retry: true, text: "a limit of the directory is reached" },
  unavailableCriticalExtension: {
    code: 12,
    kind: "unsupported",
    retry: false,
    text: "the directory lacks an extension",
  },
  confidentialityRequired: { code: 13, kind: "refused", retry: true, text: "the directory requires TLS" },
  noSuchAttribute: {
    code: 16,
    kind: "refused",
    retry: true,
    text: "another client changed the entry meanwhile",
  },
  undefinedAttributeType: {
    code: 17,
    kind: "refused",
    retry: false,
    text: "the directory does not know an attribute",
  },
  inappropriateMatching: { code: 18, kind: "refused", retry: false, text: "an attribute cannot be searched" },
  constraintViolation: {
    code: 19,
    kind: "refused",
    retry: false,
    text: "the directory does not allow a value",
  },
  attributeOrValueExists: {
    code: 20,
    kind: "refused",
    retry: true,
    text: "the entry has the value already, or has it twice",
  },
  invalidAttributeSyntax: { code: 21, kind: "refused", retry: false, text: "a value has the wrong form" },
  noSuchObject: { code: 32, kind: "refused", retry: true, text: "the directory has no such base or entry" },
  invalidDNSyntax: {
    code: 34,
    kind: "refused",
    retry: false,
    text: "the directory does not accept the name",
  },
  inappropriateAuthentication: {
    code: 48,
    kind: "refused",
    retry: true,
    text: "the directory refused the bind",
  },
  invalidCredentials: {
    code: 49,
    kind: "refused",
    retry: true,
    text: "the directory refused the gateway's bind DN and password",
  },
  insufficientAccessRights: {
    code: 50,
    kind: "refused",
    retry: true,
    text: "the gateway's bind DN does not have the permission",
  },
  busy: { code: 51, kind: "busy", retry: true, text: "the directory is busy" },
  unavailable: {
    code: 52,
    kind: "unreachable",
    retry: true,
    text: "the directory is shutting down or offline",
  },
  unwillingToPerform: {
    code: 53,
    kind: "refused",
    retry: false,
    text: "the directory refused the operation",
  },
  loopDetect: { code: 54, kind: "refused", retry: true, text: "the referrals of the directory form a loop" },
  namingViolation: {
    code: 64,
    kind: "refused",
    retry: false,
    text: "the directory does not accept the name",
  },
  objectClassViolation: {
    code: 65,
    kind: "refused",
    retry: false,
    text: "the entry's object class does not allow it",
  },
  notAllowedOnNonLeaf: {
    code: 66,
    kind: "refused",
    retry: false,
    text: "the entry has entries below it",
  },
  notAllowedOnRDN: {
    code: 67,
    kind: "refused",
    retry: false,
    text: "the value is a part of the entry's name",
  },
  entryAlreadyExists: {
    code: 68,
    kind: "refused",
    retry: true,
    text: "the directory has another entry with that name",
  },
  affectsMultipleDSAs: { code: 71, kind: "refused", retry: false, text: "several servers store the entry" },
  other: { code: 80, kind: "refused", retry: true, text: "the directory reported an error" },
} as const satisfies Record<string, CodeRow>;

export type LdapCodeName = keyof typeof LDAP_RESULT_CODES;

const BY_CODE = new Map<number, readonly [LdapCodeName, CodeRow]>(
  (Object.keys(LDAP_RESULT_CODES) as LdapCodeName[]).map((
    name,
  ) => [LDAP_RESULT_CODES[name].code, [name, LDAP_RESULT_CODES[name]]]),
);

/** The directory answered with a result code other than success. */
export class LdapRefusal extends BackendError {
  readonly code: number;
  /** The server's own message. */
  readonly serverText: string;

  /** @param message the server's own message, without secrets. */
  constructor(code: number, message: string) {
    const [name, row] = BY_CODE.get(code) ?? ["unknown", LDAP_RESULT_CODES.other] as const;
    const words = foreignDetail(message);
    const detail = `${row.text} (${name} ${code}${words === "" ? "" : `: ${words}`})`;
    const isTaken = code === LDAP_RESULT_CODES.entryAlreadyExists.code || isNotUnique(code, message);
    super({ kind: row.kind, detail, unsure: false, retry: row.retry, ...isTaken ? { isTaken } : {} });
    this.name = "LdapRefusal";
    this.code = code;
    this.serverText = message;
  }
}

/** The words of OpenLDAP, 389 Directory Server and OpenDJ for an attribute that must be unique, and Active Directory's codes. */
function isNotUnique(code: number, message: string): boolean {
  return code === LDAP_RESULT_CODES.constraintViolation.code &&
    /\bunique\b|same attribute value|\b000021c[78]\b/i.test(message);
}

/** Whether `thrown` is a refusal with that code. */
export function isRefusal(thrown: unknown, name: LdapCodeName): thrown is LdapRefusal {
  return thrown instanceof LdapRefusal && thrown.code === LDAP_RESULT_CODES[name].code;
}

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
