// Maps group members between DNs in the directory and names elsewhere.

import { EqualityFilter, OrFilter, PresenceFilter } from "ldapts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { parseName } from "../../schema/resource_name.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { type LdapChange, type LdapEntry, MAX_MEMBER_OCTETS } from "./ldap_client.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import { entryName, hasName } from "./ldap_entries.ts";
import { dnKey, firstRdn, makeDn } from "./ldap_dn.ts";
import type { LdapLayout } from "./ldap_schemas.ts";
import { malformedError } from "../backend_error.ts";

/** The number of names in one search. */
const MAX_NAMES_PER_SEARCH = 100;
/** DNs that are looked up one at a time for one group, because the directory cannot search for several. */
const MAX_SINGLE_LOOKUPS = 5000;
/** Members that one request adds or removes. */
export const MAX_MEMBERS_PER_CHANGE = 500;
const MAX_CACHED = 50_000;
const MAX_RANGES = 1000;
const RANGE = /^(.+);range=(\d+)-(\d+|\*)$/;

/** Names of DNs that were looked up, for the duration of one operation. */
export type NameCache = Map<string, string>;

/** All member DNs of a group, without the placeholder. Active Directory returns long lists in ranges. */
export async function readMemberDns(
  connection: LdapConnection,
  { entry, layout }: { entry: LdapEntry; layout: LdapLayout },
): Promise<string[]> {
  const attribute = layout.group.member;
  const dns = [...entry.texts.get(attribute.toLowerCase()) ?? []];
  let range = rangeOf(entry, attribute);
  for (let count = 0; range !== null; count++) {
    if (count === MAX_RANGES) throw malformedError("the directory's list of members does not end");
    dns.push(...range.values);
    if (range.next === null) break;
    const [more] = await connection.search({
      baseDn: entry.dn,
      scope: "base",
      filter: new PresenceFilter({ attribute: "objectClass" }),
      attributes: [`${attribute};range=${range.next}-*`],
      maxOctets: MAX_MEMBER_OCTETS,
    });
    range = more === undefined ? null : rangeOf(more, attribute);
  }
  const { emptyMember } = layout.schema;
  return emptyMember === null ? dns : dns.filter((dn) => dnKey(dn) !== dnKey(emptyMember));
}

/** `member;range=0-1499` of [MS-ADTS] §3.1.1.3.1.3.3. `next` is where the following range starts. */
function rangeOf(
  entry: LdapEntry,
  attribute: string,
): { values: readonly string[]; next: number | null } | null {
  for (const [name, values] of entry.texts) {
    const [, base, , last] = RANGE.exec(name) ?? [];
    if (base !== attribute.toLowerCase() || last === undefined) continue;
    return { values, next: last === "*" ? null : Number(last) + 1 };
  }
  return null;
}

/** The name of each DN: from its RDN if that contains the name, otherwise by a search. For a DN that is not a user, the value of its RDN. */
async function namesOfDns(
  connection: LdapConnection,
  { dns, layout, cache }: { dns: readonly string[]; layout: LdapLayout; cache: NameCache },
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const unknown: string[] = [];
  for (const dn of dns) {
    const name = nameInRdn(dn, layout) ?? cache.get(dnKey(dn));
    if (name === undefined) unknown.push(dn);
    else names.set(dn, name);
  }
  await lookUpDns(connection, { dns: unknown, layout, cache });
  for (const dn of unknown) {
    const name = cache.get(dnKey(dn)) ?? firstRdn(dn)?.value;
    if (name !== undefined) names.set(dn, name);
  }
  return names;
}

function nameInRdn(dn: string, layout: LdapLayout): string | undefined {
  const rdn = firstRdn(dn);
  return rdn !== null && rdn.attribute === layout.user.naming.toLowerCase() ? rdn.value : undefined;
}

async function lookUpDns(
  connection: LdapConnection,
  { dns, layout, cache }: { dns: readonly string[]; layout: LdapLayout; cache: NameCache },
): Promise<void> {
  for (let from = 0; from < dns.length; from += MAX_NAMES_PER_SEARCH) {
    const filters = dns.slice(from, from + MAX_NAMES_PER_SEARCH)
      .map((value) => new EqualityFilter({ attribute: layout.schema.dnAttribute, value }));
    const found = await connection.search({
      baseDn: layout.user.baseDn,
      scope: "sub",
      filter: new OrFilter({ filters }),
      attributes: [layout.user.naming],
      maxOctets: MAX_MEMBER_OCTETS,
    });
    for (const entry of found) cacheName(cache, { entry, layout });
  }
  let single = 0;
  for (const dn of dns) {
    if (cache.has(dnKey(dn))) continue;
    if (++single > MAX_SINGLE_LOOKUPS) {
      throw malformedError("too many members of a group are not users of this directory");
    }
    const entry = await readDn(connection, { dn, attribute: layout.user.naming });
    if (entry !== null) cacheName(cache, { entry, layout, dn });
  }
}

function cacheName(
  cache: NameCache,
  { entry, layout, dn = entry.dn }: { entry: LdapEntry; layout: LdapLayout; dn?: string },
): void {
  const name = entryName(entry, layout.user);
  if (cache.size >= MAX_CACHED) cache.clear();
  if (name !== null) cache.set(dnKey(dn), name);
}

async function readDn(
  connection: LdapConnection,
  { dn, attribute }: { dn: string; attribute: string },
): Promise<LdapEntry | null> {
  const filter = new PresenceFilter({ attribute: "objectClass" });
  try {
    const [entry = null] = await connection.search({
      baseDn: dn,
      scope: "base",
      filter,
      attributes: [attribute],
    });
    return entry;
  } catch (thrown) {
    // Members need not be entries of this server.
    const isElsewhere = isRefusal(thrown, "noSuchObject") || isRefusal(thrown, "referral") ||
      isRefusal(thrown, "invalidDNSyntax");
    if (isElsewhere) return null;
    throw thrown;
  }
}

/** The names of a group's members, without names that the SCIM interface would refuse. */
export async function readMemberNames(
  connection: LdapConnection,
  { entry, layout, cache }: { entry: LdapEntry; layout: LdapLayout; cache: NameCache },
): Promise<string[]> {
  const dns = await readMemberDns(connection, { entry, layout });
  const names = await namesOfDns(connection, { dns, layout, cache });
  const seen = new Map<string, string>();
  for (const dn of dns) {
    const read = parseName(names.get(dn) ?? "");
    if (read.ok && !seen.has(canonicalName(read.name))) seen.set(canonicalName(read.name), read.name);
  }
  return [...seen.values()];
}

/** Members in the format of the directory. */
interface MemberDns {
  readonly dns: string[];
  /** Names without a user, if the directory accepts only members with an entry. */
  readonly unknown: string[];
}

/** The DN of each name, in order: the DN of the user's entry, or the DN that it would have if the directory accepts such members. */
export async function dnsOfNames(
  connection: LdapConnection,
  { names, layout }: { names: readonly string[]; layout: LdapLayout },
): Promise<MemberDns> {
  const found = new Map<string, string>();
  for (let from = 0; from < names.length; from += MAX_NAMES_PER_SEARCH) {
    const asked = names.slice(from, from + MAX_NAMES_PER_SEARCH);
    const entries = await connection.search({
      baseDn: layout.user.baseDn,
      scope: "sub",
      filter: new OrFilter({
        filters: asked.map((value) => new EqualityFilter({ attribute: layout.user.naming, value })),
      }),
      attributes: [layout.user.naming],
      maxOctets: MAX_MEMBER_OCTETS,
    });
    for (const entry of entries) {
      for (const name of asked) {
        if (hasName(entry, name, layout.user)) found.set(canonicalName(name), entry.dn);
      }
    }
  }
  const { rdn, naming, baseDn } = layout.user;
  const isFree = layout.schema.danglingMembers && rdn === naming;
  const members: MemberDns = { dns: [], unknown: [] };
  for (const name of names) {
    const dn = found.get(canonicalName(name));
    if (dn !== undefined) members.dns.push(dn);
    else if (isFree) members.dns.push(makeDn({ attribute: rdn, value: name }, baseDn));
    else members.unknown.push(name);
  }
  return members;
}

/**
 * The changes that make a group have exactly `names`, each of at most {@link MAX_MEMBERS_PER_CHANGE} members, without the names that the directory
 * does not know. Additions come first.
 */
export async function planMemberChanges(
  connection: LdapConnection,
  { entry, names, layout }: { entry: LdapEntry; names: readonly string[]; layout: LdapLayout },
): Promise<{ changes: LdapChange[]; unknown: readonly string[] }> {
  const attribute = layout.group.member;
  const { emptyMember } = layout.schema;
  const held = await readMemberDns(connection, { entry, layout });
  const heldNames = await namesOfDns(connection, { dns: held, layout, cache: new Map() });
  const wanted = new Set(names.map(canonicalName));
  const has = new Set([...heldNames.values()].map(canonicalName));
  const { dns: add, unknown } = await dnsOfNames(connection, {
    names: names.filter((name) => !has.has(canonicalName(name))),
    layout,
  });
  const remove = held.filter((dn) => !wanted.has(canonicalName(heldNames.get(dn) ?? "")));
  if (emptyMember !== null) {
    const isFilled = (entry.texts.get(attribute.toLowerCase()) ?? []).length > held.length;
    const staysEmpty = held.length - remove.length + add.length === 0;
    if (staysEmpty && !isFilled) add.push(emptyMember);
    if (!staysEmpty && isFilled) remove.push(emptyMember);
  }
  const changes = [
    ...chunkMembers(add).map((values): LdapChange => ({ operation: "add", attribute, values })),
    ...chunkMembers(remove).map((values): LdapChange => ({ operation: "delete", attribute, values })),
  ];
  return { changes, unknown };
}

export function chunkMembers(dns: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let from = 0; from < dns.length; from += MAX_MEMBERS_PER_CHANGE) {
    chunks.push(dns.slice(from, from + MAX_MEMBERS_PER_CHANGE));
  }
  return chunks;
}
