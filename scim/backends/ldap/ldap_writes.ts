// Writes to an LDAP directory: adds entries, or modifies only the attributes that differ.

import { EqualityFilter, PresenceFilter } from "ldapts";
import { type Random, toBase64Url } from "../../../platform/runtime.ts";
import { type DesiredResource, membersNotStored, type PutResult } from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { type LdapEntry, MAX_LIST_OCTETS } from "./ldap_client.ts";
import { activeChange, entryChanges, entryRemoteId, findEntry, newEntry } from "./ldap_entries.ts";
import {
  chunkMembers,
  dnsOfNames,
  MAX_MEMBERS_PER_CHANGE,
  planMemberChanges,
  readMemberDns,
} from "./ldap_members.ts";
import { makeDn } from "./ldap_dn.ts";
import { setPassword } from "./ldap_passwords.ts";
import type { LdapLayout } from "./ldap_schemas.ts";
import { withTakenName, writeValues } from "./ldap_values.ts";
import { unsupportedError } from "../backend_error.ts";

export interface LdapWriter {
  readonly layout: LdapLayout;
  readonly mapping: Mapping;
  readonly random: Random;
  /** Whether the settings require TLS. */
  readonly isSecure: boolean;
}

/** The groups that one search returns for a deleted user. The next round handles the rest. */
const MAX_GROUPS_PER_ROUND = 200;
const MAX_ROUNDS = 100;

/** Adds or changes an entry. `remoteId` is the directory's ID of the entry. */
export async function putEntry(
  connection: LdapConnection,
  { desired, writer, id }: { desired: DesiredResource; writer: LdapWriter; id?: string | undefined },
): Promise<PutResult> {
  const { content } = desired;
  checkPassword(desired, writer);
  const wanted = { kind: content.kind, name: content.name, layout: writer.layout, id };
  const entry = await findEntry(connection, wanted);
  if (entry !== null) return await changeEntry(connection, { entry, desired, writer });
  const { naming, rdn } = writer.layout[content.kind];
  for (let count = 1;; count++) {
    try {
      return await addEntry(connection, { desired, writer, rdnValue: numberedName(content.name, count) });
    } catch (thrown) {
      if (!isRefusal(thrown, "entryAlreadyExists")) throw thrown;
      // Another client may have added it in the meantime. Otherwise another object has the DN, and stays.
      const other = await findEntry(connection, wanted);
      if (other !== null) return await changeEntry(connection, { entry: other, desired, writer });
      if (naming === rdn || count === MAX_NUMBERED) throw withTakenName(thrown, content.kind);
    }
  }
}

/** The CNs that are tried for a new entry. In Active Directory, an entry may have another name than its CN. */
const MAX_NUMBERED = 20;

/** `ann`, `ann (2)`. */
function numberedName(name: string, count: number): string {
  return count === 1 ? name : `${name} (${count})`;
}

/** Runs before anything is written. */
function checkPassword({ password }: DesiredResource, { layout, isSecure }: LdapWriter): void {
  if (password !== undefined && layout.schema.password === "unicode_pwd" && !isSecure) {
    throw unsupportedError("Active Directory accepts passwords only over TLS: use ldaps or StartTLS");
  }
}

async function addEntry(
  connection: LdapConnection,
  { desired, writer, rdnValue }: { desired: DesiredResource; writer: LdapWriter; rdnValue: string },
): Promise<PutResult> {
  const { content } = desired;
  const { layout, mapping } = writer;
  const { rdn, baseDn } = layout[content.kind];
  const dn = makeDn({ attribute: rdn, value: rdnValue }, baseDn);
  const { dns: members, unknown } = await dnsOfNames(connection, {
    names: content.kind === "group" ? content.members : [],
    layout,
  });
  const memberDns = members.slice(0, MAX_MEMBERS_PER_CHANGE);
  const entry = newEntry(content, { layout, mapping, memberDns, rdnValue });
  const attributes = [...entry.keys()].filter((name) => name !== "objectClass");
  await writeValues(connection.add(dn, entry), { kind: content.kind, layout, mapping, attributes });
  for (const values of chunkMembers(members.slice(MAX_MEMBERS_PER_CHANGE))) {
    await connection.modify(dn, [{ operation: "add", attribute: layout.group.member, values }]);
  }
  await finishAccount(connection, { dn, entry: null, desired, writer });
  return putResult(await idOf(connection, { dn, layout }), unknown);
}

function putResult(remoteId: string, unknown: readonly string[]): PutResult {
  const notStored = membersNotStored(unknown);
  return { remoteId, ...notStored === undefined ? {} : { notStored } };
}

/** The directory has assigned the ID only now. */
async function idOf(
  connection: LdapConnection,
  { dn, layout }: { dn: string; layout: LdapLayout },
): Promise<string> {
  const { attribute, form } = layout.schema.id;
  const [entry] = await connection.search({
    baseDn: dn,
    scope: "base",
    filter: new PresenceFilter({ attribute: "objectClass" }),
    attributes: [attribute],
    octets: form === "octets" ? [attribute] : [],
  });
  return entry === undefined ? dn : entryRemoteId(entry, layout);
}

async function changeEntry(
  connection: LdapConnection,
  { entry, desired, writer }: { entry: LdapEntry; desired: DesiredResource; writer: LdapWriter },
): Promise<PutResult> {
  const { content } = desired;
  const { layout, mapping } = writer;
  const changes = entryChanges(entry, { content, layout, mapping });
  if (changes.length > 0) {
    const attributes = changes.map(({ attribute }) => attribute);
    await writeValues(connection.modify(entry.dn, changes), {
      kind: content.kind,
      layout,
      mapping,
      attributes,
    });
  }
  const members = content.kind === "group"
    ? await planMemberChanges(connection, { entry, names: content.members, layout })
    : { changes: [], unknown: [] };
  for (const one of members.changes) await connection.modify(entry.dn, [one]);
  await finishAccount(connection, { dn: entry.dn, entry, desired, writer });
  return putResult(entryRemoteId(entry, layout), members.unknown);
}

/** Sets the password, then the active state, because an account without a password cannot be enabled. */
async function finishAccount(
  connection: LdapConnection,
  { dn, entry, desired: { content, password }, writer }: {
    dn: string;
    entry: LdapEntry | null;
    desired: DesiredResource;
    writer: LdapWriter;
  },
): Promise<void> {
  if (content.kind === "group") return;
  const { layout, mapping, isSecure, random } = writer;
  const switched = activeChange(entry, { content, layout });
  const isNew = entry === null && switched !== null;
  if (password !== undefined) {
    const written = { kind: content.kind, layout, mapping, attributes: null };
    await writeValues(setPassword(connection, { dn, password, layout }), written);
  } else if (isNew && isSecure) {
    // An account that is created without a password gets a random one.
    const unknown = `${toBase64Url(random.bytes(48))}aA1!`;
    await setPassword(connection, { dn, password: unknown, layout });
  }
  if (switched !== null) await connection.modify(dn, [switched]);
}

/** Removes an entry, and a user from the groups. A missing entry counts as removed. */
export async function removeEntry(
  connection: LdapConnection,
  { kind, name, id, writer: { layout } }: {
    kind: ResourceKind;
    name: string;
    id: string | undefined;
    writer: LdapWriter;
  },
): Promise<void> {
  const entry = await findEntry(connection, { kind, name, id, layout });
  const { rdn, baseDn } = layout[kind];
  const dn = entry?.dn ?? makeDn({ attribute: rdn, value: name }, baseDn);
  if (entry !== null) await removeIfThere(connection, dn);
  if (kind === "user" && layout.schema.danglingMembers && layout.group.baseDn !== "") {
    await removeFromGroups(connection, { dn, layout });
  }
}

async function removeIfThere(connection: LdapConnection, dn: string): Promise<void> {
  try {
    await connection.remove(dn);
  } catch (thrown) {
    if (!isRefusal(thrown, "noSuchObject")) throw thrown;
  }
}

/** Some directories do not do this by themselves. The next user with the name must not inherit the groups. */
async function removeFromGroups(
  connection: LdapConnection,
  { dn, layout }: { dn: string; layout: LdapLayout },
): Promise<void> {
  const attribute = layout.group.member;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const groups = await connection.search({
      baseDn: layout.group.baseDn,
      scope: "sub",
      filter: new EqualityFilter({ attribute, value: dn }),
      attributes: [attribute],
      sizeLimit: MAX_GROUPS_PER_ROUND,
      maxOctets: MAX_LIST_OCTETS,
    });
    for (const entry of groups) await removeMember(connection, { entry, dn, layout });
    if (groups.length < MAX_GROUPS_PER_ROUND) return;
  }
}

async function removeMember(
  connection: LdapConnection,
  { entry, dn, layout }: { entry: LdapEntry; dn: string; layout: LdapLayout },
): Promise<void> {
  const attribute = layout.group.member;
  const { emptyMember } = layout.schema;
  const members = await readMemberDns(connection, { entry, layout });
  const isLast = members.length === 1 && emptyMember !== null;
  await connection.modify(entry.dn, [
    ...isLast ? [{ operation: "add" as const, attribute, values: [emptyMember] }] : [],
    { operation: "delete", attribute, values: [dn] },
  ]);
}
