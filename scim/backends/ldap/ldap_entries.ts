// Maps LDAP entries to users and groups and back, and computes the modifications of an entry. Pure.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Content, Mapping, ResourceKind, UserContent } from "../../schema/resource.ts";
import { fromFrontEnd, toFrontEnd } from "../../schema/mapping.ts";
import { isUuid } from "../../schema/attributes.ts";
import {
  type LdapChange,
  type LdapEntry,
  type LdapSearch,
  type LdapValues,
  MAX_MEMBER_OCTETS,
} from "./ldap_client.ts";
import { firstRdn } from "./ldap_dn.ts";
import type { LdapKind, LdapLayout, LdapRow } from "./ldap_schemas.ts";
import { Buffer } from "node:buffer";
import { AndFilter, EqualityFilter, type Filter, NotFilter, OrFilter, PresenceFilter } from "ldapts";
import type { LdapConnection } from "./ldap_connection.ts";
import { BackendError, refusedError } from "../backend_error.ts";
import type { BackendFault } from "../../backend_port.ts";
import { isRefusal, type LdapCodeName, type LdapRefusal } from "./ldap_result_codes.ts";

const CONTROL = "userAccountControl";
const NORMAL_ACCOUNT = 0x200;
const DISABLED = 0x2;

/** The attributes to request, so that an entry contains all managed attributes. */
function attributesToRead(kind: ResourceKind, layout: LdapLayout): string[] {
  const { naming, rows } = layout[kind];
  const names = [
    naming,
    ...rows.flatMap((row) => row.more === undefined ? [row.ldap] : [row.ldap, row.more]),
  ];
  if (kind === "group") names.push(layout.group.member);
  if (kind === "user" && layout.activeText !== null) names.push(layout.activeText);
  else if (kind === "user" && layout.schema.active === "bit") names.push(CONTROL);
  names.push(layout.schema.id.attribute);
  return [...new Set(names)];
}

/** The name of an entry: the value in its RDN if the attribute has that value, otherwise the first value. `null` without a value. */
export function entryName(entry: LdapEntry, { naming }: LdapKind): string | null {
  const values = entry.texts.get(naming.toLowerCase()) ?? [];
  const rdn = firstRdn(entry.dn);
  if (rdn !== null && rdn.attribute === naming.toLowerCase()) {
    const own = values.find((value) => value.toLowerCase() === rdn.value.toLowerCase());
    if (own !== undefined) return own;
  }
  return values[0] ?? null;
}

/** Whether the entry has the name `name`. Directories also ignore differences that the gateway does not, such as trailing blanks. */
export function hasName(entry: LdapEntry, name: string, kind: LdapKind): boolean {
  const canonical = canonicalName(name);
  return (entry.texts.get(kind.naming.toLowerCase()) ?? []).some((one) => canonicalName(one) === canonical);
}

export function entryRemoteId(entry: LdapEntry, layout: LdapLayout): string {
  const name = layout.schema.id.attribute.toLowerCase();
  return entry.octets.get(name) ?? entry.texts.get(name)?.[0] ?? entry.dn;
}

/** Reads the content of an entry. @param members names; empty for a user. */
export function entryContent(
  entry: LdapEntry,
  { kind, layout, mapping, name, members = [] }: {
    kind: ResourceKind;
    layout: LdapLayout;
    mapping: Mapping;
    name: string;
    members?: readonly string[];
  },
): Content {
  const frontEnd = new Map<string, readonly string[]>();
  const { rows, required } = layout[kind];
  for (const row of rows) {
    const values = valuesOf(entry, row);
    const shown = required.includes(row.ldap.toLowerCase()) ? values.filter((one) => one !== name) : values;
    if (shown.length > 0) frontEnd.set(row.frontEnd, row.single === true ? shown.slice(0, 1) : shown);
  }
  const content = fromFrontEnd(frontEnd, { kind, name, mapping });
  return content.kind === "group" ? { ...content, members } : { ...content, active: isActive(entry, layout) };
}

function valuesOf(entry: LdapEntry, row: LdapRow): readonly string[] {
  const values = entry.texts.get(row.ldap.toLowerCase()) ?? [];
  return row.more === undefined ? values : [...values, ...entry.texts.get(row.more.toLowerCase()) ?? []];
}

function isActive(entry: LdapEntry, layout: LdapLayout): boolean {
  if (layout.activeText !== null) {
    return entry.texts.get(layout.activeText.toLowerCase())?.[0]?.toLowerCase() !== "false";
  }
  if (layout.schema.active === "none") return true;
  return (controlOf(entry) & DISABLED) === 0;
}

function controlOf(entry: LdapEntry): number {
  const value = Number(entry.texts.get(CONTROL.toLowerCase())?.[0] ?? "");
  return Number.isSafeInteger(value) && value > 0 ? value : NORMAL_ACCOUNT;
}

/**
 * The desired values of managed attributes, by attribute. An empty list: no value. Without the name, the members and the active state.
 *
 * @param name as spelled in the entry.
 */
function desiredValues(
  content: Content,
  { layout, mapping, name }: { layout: LdapLayout; mapping: Mapping; name: string },
): Map<string, readonly string[]> {
  const frontEnd = toFrontEnd(content, mapping);
  const { rows, required, naming, readOnly } = layout[content.kind];
  const desired = new Map<string, readonly string[]>();
  for (const row of rows) {
    if (readOnly?.has(row.ldap.toLowerCase())) continue;
    const given = (frontEnd.get(row.frontEnd) ?? []).filter((one) => one !== "");
    const values = distinctValues(row.ldap, given);
    const [first, ...others] = values;
    const isOne = row.single === true || row.more !== undefined;
    desired.set(row.ldap, isOne && first !== undefined ? [first] : values);
    if (row.more !== undefined) desired.set(row.more, others);
  }
  const set = new Map([...desired].map(([attribute, values]) => [attribute.toLowerCase(), values]));
  for (const attribute of required) {
    if (attribute !== naming.toLowerCase() && (set.get(attribute)?.length ?? 0) === 0) {
      const spelled = [...desired.keys()].find((one) => one.toLowerCase() === attribute) ?? attribute;
      desired.set(spelled, [name]);
    }
  }
  return desired;
}

/** The attributes of a new entry. @param memberDns of a group. */
export function newEntry(
  content: Content,
  { layout, mapping, memberDns, rdnValue = content.name }: {
    layout: LdapLayout;
    mapping: Mapping;
    memberDns: readonly string[];
    /** The value in the DN, where that is not the name. */
    rdnValue?: string;
  },
): Map<string, LdapValues> {
  const kind = layout[content.kind];
  const { name } = content;
  const entry = new Map<string, LdapValues>([["objectClass", kind.classes], [kind.naming, [name]]]);
  if (kind.rdn !== kind.naming) entry.set(kind.rdn, [rdnValue]);
  for (const [attribute, values] of desiredValues(content, { layout, mapping, name })) {
    if (values.length > 0 && attribute !== kind.rdn) entry.set(attribute, values);
  }
  if (content.kind === "group") {
    const { emptyMember } = layout.schema;
    const members = memberDns.length === 0 && emptyMember !== null ? [emptyMember] : memberDns;
    if (members.length > 0) entry.set(layout.group.member, members);
  } else if (layout.activeText !== null) entry.set(layout.activeText, [activeText(content)]);
  // A new account has no password, and an enabled account must have one. So it starts disabled.
  else if (layout.schema.active === "bit") entry.set(CONTROL, [String(NORMAL_ACCOUNT | DISABLED)]);
  return entry;
}

/** The modifications that make an entry equal to `content`. Never changes the attribute that names the entry. */
export function entryChanges(
  entry: LdapEntry,
  { content, layout, mapping }: { content: Content; layout: LdapLayout; mapping: Mapping },
): LdapChange[] {
  const name = entryName(entry, layout[content.kind]) ?? content.name;
  const rdn = firstRdn(entry.dn)?.attribute;
  const changes: LdapChange[] = [];
  for (const [attribute, values] of desiredValues(content, { layout, mapping, name })) {
    if (attribute.toLowerCase() === rdn || layout[content.kind].readOnly?.has(attribute.toLowerCase())) {
      continue;
    }
    const held = entry.texts.get(attribute.toLowerCase()) ?? [];
    if (!isSameSet(held, values)) changes.push({ operation: "replace", attribute, values });
  }
  if (content.kind === "user" && layout.activeText !== null) {
    const values = [activeText(content)];
    const held = entry.texts.get(layout.activeText.toLowerCase()) ?? [];
    if (!isSameSet(held, values)) {
      changes.push({ operation: "replace", attribute: layout.activeText, values });
    }
  }
  return changes;
}

/** The change that enables or disables an account by a bit. `null` if the bit is correct already, or if the schema has no bit. */
export function activeChange(
  entry: LdapEntry | null,
  { content, layout }: { content: UserContent; layout: LdapLayout },
): LdapChange | null {
  if (layout.activeText !== null || layout.schema.active !== "bit") return null;
  const held = entry === null ? NORMAL_ACCOUNT | DISABLED : controlOf(entry);
  const wanted = content.active ? held & ~DISABLED : held | DISABLED;
  return held === wanted ? null : { operation: "replace", attribute: CONTROL, values: [String(wanted)] };
}

function activeText({ active }: UserContent): string {
  return active ? "TRUE" : "FALSE";
}

/** The values of an attribute have no order in a directory. */
function isSameSet(held: readonly string[], wanted: readonly string[]): boolean {
  if (held.length !== wanted.length) return false;
  const known = new Set(held);
  return wanted.every((value) => known.has(value));
}

/** The maximum number of entries for one name. More are not needed to find that the name is ambiguous. */
const MAX_MATCHES = 10;

function classFilter(kind: LdapKind): Filter[] {
  const filters: Filter[] = [new EqualityFilter({ attribute: "objectClass", value: kind.find })];
  if (kind.not !== null) {
    filters.push(
      new NotFilter({ filter: new EqualityFilter({ attribute: "objectClass", value: kind.not }) }),
    );
  }
  return filters;
}

/** The search for one name, or for an entry with a permanent ID. */
function nameSearch(
  kind: ResourceKind,
  { name, layout, id }: { name: string; layout: LdapLayout; id?: string | undefined },
): LdapSearch {
  const row = layout[kind];
  const named = new EqualityFilter({ attribute: row.naming, value: name });
  const known = idFilter(id, layout);
  return {
    baseDn: row.baseDn,
    scope: "sub",
    filter: new AndFilter({
      filters: [...classFilter(row), known === null ? named : new OrFilter({ filters: [named, known] })],
    }),
    ...whatToRead(kind, layout),
    sizeLimit: MAX_MATCHES,
    ...kind === "group" ? { maxOctets: MAX_MEMBER_OCTETS } : {},
  };
}

const GUID = /^[0-9a-f]{32}$/;

/** `null` for a DN, which is no permanent ID: another entry may have it by now. */
function idFilter(id: string | undefined, { schema }: LdapLayout): Filter | null {
  const { attribute, form } = schema.id;
  if (id === undefined || !(form === "text" ? isUuid(id) : GUID.test(id))) return null;
  const value = form === "text" ? id : Buffer.from(id, "hex");
  return new EqualityFilter({ attribute, value });
}

/** The search for users by a filter. */
export function userSearch(layout: LdapLayout, filter: Filter): LdapSearch {
  return {
    baseDn: layout.user.baseDn,
    scope: "sub",
    filter: new AndFilter({ filters: [...classFilter(layout.user), filter] }),
    ...whatToRead("user", layout),
    sizeLimit: MAX_MATCHES,
  };
}

/** The search for all resources of one kind. */
export function listSearch(kind: ResourceKind, layout: LdapLayout): LdapSearch {
  const row = layout[kind];
  const filters = [...classFilter(row), new PresenceFilter({ attribute: row.naming })];
  return {
    baseDn: row.baseDn,
    scope: "sub",
    filter: new AndFilter({ filters }),
    ...whatToRead(kind, layout),
  };
}

function whatToRead(kind: ResourceKind, layout: LdapLayout): Pick<LdapSearch, "attributes" | "octets"> {
  const { id } = layout.schema;
  return { attributes: attributesToRead(kind, layout), octets: id.form === "octets" ? [id.attribute] : [] };
}

/** The entry with that permanent ID, otherwise the one with that name, or `null`. Throws when several entries have the name, because it is ambiguous. */
export async function findEntry(
  connection: LdapConnection,
  { kind, name, layout, id }: {
    kind: ResourceKind;
    name: string;
    layout: LdapLayout;
    id?: string | undefined;
  },
): Promise<LdapEntry | null> {
  const found = await connection.search(nameSearch(kind, { name, layout, id }));
  const same = id === undefined ? undefined : found.find((one) => entryRemoteId(one, layout) === id);
  if (same !== undefined) return same;
  const [entry = null, ...others] = found.filter((one) => hasName(one, name, layout[kind]));
  if (others.length > 0) {
    throw refusedError("the directory has several entries with that name", { retry: true });
  }
  return entry;
}

// Values that an LDAP directory takes for the same, and what it says about a value that it refuses. Pure.

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
function distinctValues(attribute: string, values: readonly string[]): string[] {
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
