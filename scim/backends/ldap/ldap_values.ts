// Values that an LDAP directory takes for the same, and what it says about a value that it refuses. Pure.

import type { BackendFault } from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { BackendError } from "../backend_error.ts";
import { isRefusal, type LdapCodeName, type LdapRefusal } from "./ldap_result_codes.ts";
import type { LdapLayout } from "./ldap_schemas.ts";

/** telephoneNumberMatch of RFC 4517 §4.2.29: without case, spaces and hyphens. */
const TELEPHONE = new Set([
  ...["telephonenumber", "hometelephonenumber", "homephone", "mobiletelephonenumber", "mobile", "pager"],
  ...["pagertelephonenumber", "othertelephone", "otherhomephone", "othermobile", "otherpager"],
  ...["facsimiletelephonenumber", "fax", "internationalisdnnumber"],
]);
/** Rules with case, or for octets. */
const EXACT = new Set([
  ...["labeleduri", "sshpublickey", "usercertificate", "usersmimecertificate", "jpegphoto", "homedirectory"],
  ...["loginshell", "memberuid", "userpassword"],
]);

/** Each value once, by the matching rule of the attribute; the first spelling counts. Other attributes match without case (caseIgnoreMatch). */
export function distinctValues(attribute: string, values: readonly string[]): string[] {
  const name = attribute.toLowerCase();
  const seen = new Map<string, string>();
  for (const value of values) {
    const key = matchingKey(name, value);
    if (!seen.has(key)) seen.set(key, value);
  }
  return [...seen.values()];
}

function matchingKey(name: string, value: string): string {
  if (EXACT.has(name)) return value;
  const folded = value.normalize("NFKC").toLowerCase();
  return TELEPHONE.has(name) ? folded.replaceAll(/[\s-]/g, "") : folded.trim().replaceAll(/\s+/g, " ");
}

/** Refusals that concern a value which the client sent. */
const VALUE_CODES: readonly LdapCodeName[] = [
  "constraintViolation",
  "attributeOrValueExists",
  "invalidAttributeSyntax",
  "invalidDNSyntax",
  "namingViolation",
  "objectClassViolation",
];
/** For a password, directories also refuse the operation. */
const PASSWORD_CODES: readonly LdapCodeName[] = [...VALUE_CODES, "unwillingToPerform"];
/** Attributes that a refusal names if the directory does not. */
const MAX_NAMED = 5;

/** The values that a request writes. */
export interface WrittenValues {
  readonly kind: ResourceKind;
  readonly layout: LdapLayout;
  readonly mapping: Mapping;
  /** LDAP attributes. `null`: the password. */
  readonly attributes: readonly string[] | null;
}

/** Runs `task`. A refusal of a value becomes an error of the client, which names the attribute: a provider repeats an error of the gateway for ever. */
export async function writeValues(task: Promise<void>, written: WrittenValues): Promise<void> {
  try {
    await task;
  } catch (thrown) {
    const codes = written.attributes === null ? PASSWORD_CODES : VALUE_CODES;
    const code = codes.find((one) => isRefusal(thrown, one));
    if (code === undefined) throw thrown;
    throw refusedValueError(thrown as LdapRefusal, written);
  }
}

/** If another entry has the DN, `thrown` with the attribute of the name. */
export function withTakenName(thrown: unknown, kind: ResourceKind): unknown {
  if (!isRefusal(thrown, "entryAlreadyExists")) return thrown;
  const name = kind === "user" ? "userName" : "displayName";
  return new BackendError({ ...thrown.fault, detail: `${name}: ${thrown.fault.detail}` }, { cause: thrown });
}

function refusedValueError(refusal: LdapRefusal, written: WrittenValues): BackendError {
  const { attributes } = written;
  const names = attributes === null ? ["password"] : refusedAttributes(refusal, attributes).map((ldap) => {
    const scim = scimName(ldap, written);
    return scim === null ? ldap : `${scim} (${ldap})`;
  });
  const fault: BackendFault = {
    ...refusal.fault,
    detail: `${names.join(", ")}: ${refusal.fault.detail}`,
    retry: false,
    ...refusal.fault.isTaken === true ? {} : { isInvalidValue: true },
  };
  return new BackendError(fault, { cause: refusal });
}

/** The attribute that the directory names, otherwise all of the request. */
function refusedAttributes({ serverText }: LdapRefusal, attributes: readonly string[]): readonly string[] {
  const words = new Set(serverText.toLowerCase().split(/[^a-z0-9;-]+/));
  const named = attributes.filter((name) => words.has(name.toLowerCase()));
  return named.length > 0 ? named : attributes.slice(0, MAX_NAMED);
}

function scimName(ldap: string, { kind, layout, mapping }: WrittenValues): string | null {
  const name = ldap.toLowerCase();
  const { naming, rdn, rows } = layout[kind];
  if (name === layout.group.member.toLowerCase() && kind === "group") return "members";
  const row = rows.find((one) => one.ldap.toLowerCase() === name || one.more?.toLowerCase() === name);
  const scim = mapping[kind].find(({ frontEnd }) => frontEnd === row?.frontEnd)?.scim;
  if (scim !== undefined) return scim.replaceAll("[]", "");
  const isName = name === naming.toLowerCase() || name === rdn.toLowerCase();
  if (isName) return kind === "user" ? "userName" : "displayName";
  return name === layout.activeText?.toLowerCase() ? "active" : null;
}
