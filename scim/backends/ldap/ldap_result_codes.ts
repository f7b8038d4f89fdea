// What an LDAP result code means for the caller: one row for each code (RFC 4511 appendix A).

import type { BackendFault } from "../../backend_port.ts";
import { cleanDetail, Trouble } from "../backend_error.ts";

interface CodeRow {
  readonly code: number;
  readonly kind: BackendFault["kind"];
  /** Whether the same again may help later. */
  readonly retry: boolean;
  readonly says: string;
}

export const LDAP_CODES = {
  operationsError: { code: 1, kind: "refused", retry: true, says: "the directory could not do it" },
  protocolError: {
    code: 2,
    kind: "unsupported",
    retry: false,
    says: "the directory does not know the request",
  },
  timeLimitExceeded: { code: 3, kind: "busy", retry: true, says: "it took the directory too long" },
  sizeLimitExceeded: { code: 4, kind: "refused", retry: true, says: "the directory gives no more entries" },
  authMethodNotSupported: {
    code: 7,
    kind: "refused",
    retry: true,
    says: "the directory takes no simple bind",
  },
  strongerAuthRequired: {
    code: 8,
    kind: "refused",
    retry: true,
    says: "the directory demands TLS or a bind",
  },
  referral: { code: 10, kind: "refused", retry: true, says: "the directory refers to another server" },
  adminLimitExceeded: { code: 11, kind: "busy", retry: true, says: "a limit of the directory is reached" },
  unavailableCriticalExtension: {
    code: 12,
    kind: "unsupported",
    retry: false,
    says: "the directory lacks an extension",
  },
  confidentialityRequired: { code: 13, kind: "refused", retry: true, says: "the directory demands TLS" },
  noSuchAttribute: {
    code: 16,
    kind: "refused",
    retry: true,
    says: "another client changed the entry meanwhile",
  },
  undefinedAttributeType: {
    code: 17,
    kind: "refused",
    retry: false,
    says: "the directory does not know an attribute",
  },
  inappropriateMatching: { code: 18, kind: "refused", retry: false, says: "an attribute cannot be searched" },
  constraintViolation: {
    code: 19,
    kind: "refused",
    retry: false,
    says: "the directory does not allow a value",
  },
  attributeOrValueExists: {
    code: 20,
    kind: "refused",
    retry: true,
    says: "another client changed the entry meanwhile",
  },
  invalidAttributeSyntax: { code: 21, kind: "refused", retry: false, says: "a value has the wrong form" },
  noSuchObject: { code: 32, kind: "refused", retry: true, says: "the directory has no such base or entry" },
  invalidDNSyntax: { code: 34, kind: "refused", retry: false, says: "the directory does not take the name" },
  inappropriateAuthentication: {
    code: 48,
    kind: "refused",
    retry: true,
    says: "the directory refused the bind",
  },
  invalidCredentials: {
    code: 49,
    kind: "refused",
    retry: true,
    says: "the directory refused the gateway's own name and password",
  },
  insufficientAccessRights: {
    code: 50,
    kind: "refused",
    retry: true,
    says: "the gateway's name may not do that in the directory",
  },
  busy: { code: 51, kind: "busy", retry: true, says: "the directory is busy" },
  unavailable: {
    code: 52,
    kind: "unreachable",
    retry: true,
    says: "the directory is shutting down or offline",
  },
  unwillingToPerform: { code: 53, kind: "refused", retry: false, says: "the directory will not do that" },
  loopDetect: { code: 54, kind: "refused", retry: true, says: "the directory's references go in a circle" },
  namingViolation: { code: 64, kind: "refused", retry: false, says: "the directory does not take the name" },
  objectClassViolation: {
    code: 65,
    kind: "refused",
    retry: false,
    says: "the entry's object class does not allow it",
  },
  notAllowedOnNonLeaf: {
    code: 66,
    kind: "refused",
    retry: false,
    says: "other entries lie below the entry",
  },
  notAllowedOnRDN: { code: 67, kind: "refused", retry: false, says: "an entry is named by that value" },
  entryAlreadyExists: {
    code: 68,
    kind: "refused",
    retry: true,
    says: "the directory has another entry of that name",
  },
  affectsMultipleDSAs: { code: 71, kind: "refused", retry: false, says: "several servers hold the entry" },
  other: { code: 80, kind: "refused", retry: true, says: "the directory could not do it" },
} as const satisfies Record<string, CodeRow>;

export type LdapCodeName = keyof typeof LDAP_CODES;

const BY_CODE = new Map<number, readonly [LdapCodeName, CodeRow]>(
  (Object.keys(LDAP_CODES) as LdapCodeName[]).map((
    name,
  ) => [LDAP_CODES[name].code, [name, LDAP_CODES[name]]]),
);

/** The directory answered with a result code other than success. */
export class LdapRefusal extends Trouble {
  readonly code: number;

  /** @param said the server's own words, without secrets. */
  constructor(code: number, said: string) {
    const [name, row] = BY_CODE.get(code) ?? ["unknown", LDAP_CODES.other] as const;
    const words = cleanDetail(said);
    const detail = `${row.says} (${name} ${code}${words === "" ? "" : `: ${words}`})`;
    super({ kind: row.kind, detail, unsure: false, retry: row.retry });
    this.name = "LdapRefusal";
    this.code = code;
  }
}

/** Whether `thrown` is a refusal with that code. */
export function isRefusal(thrown: unknown, name: LdapCodeName): thrown is LdapRefusal {
  return thrown instanceof LdapRefusal && thrown.code === LDAP_CODES[name].code;
}
