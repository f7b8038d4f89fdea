// Writing to a directory: an entry is added, or only what differs in it is changed; what is not managed stays as it is.

import { EqualityFilter } from "ldapts";
import { type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Desired, PutResult } from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { membersNotStored } from "../../schema/members_not_stored.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import type { LdapEntry } from "./ldap_records.ts";
import { activeChange, changesTo, newEntry, remoteIdOf } from "./ldap_entries.ts";
import { dnsOfNames, inChunks, memberChanges, memberDns, MEMBERS_A_CHANGE } from "./ldap_members.ts";
import { makeDn } from "./ldap_dn.ts";
import { encodePasswordModify, encodeUnicodePassword, PASSWORD_MODIFY_OID } from "./ldap_passwords.ts";
import type { LdapLayout } from "./ldap_schemas.ts";
import { findEntry } from "./ldap_search.ts";
import { unsupported } from "../backend_error.ts";

export interface LdapWriter {
  readonly layout: LdapLayout;
  readonly mapping: Mapping;
  readonly random: Random;
  /** Whether the settings demand TLS. */
  readonly isSecure: boolean;
}

/** Groups that one leaver is taken out of by one request; what is left over comes next. */
const GROUPS_A_ROUND = 200;
const MAX_ROUNDS = 100;

/** Adds or changes. `remoteId` is the directory's id of the entry. */
export async function putEntry(
  connection: LdapConnection,
  { desired, writer }: { desired: Desired; writer: LdapWriter },
): Promise<PutResult> {
  const { content } = desired;
  checkPassword(desired, writer);
  const wanted = { kind: content.kind, name: content.name, layout: writer.layout };
  const entry = await findEntry(connection, wanted);
  if (entry !== null) return await change(connection, { entry, desired, writer });
  try {
    return await add(connection, { desired, writer });
  } catch (thrown) {
    if (!isRefusal(thrown, "entryAlreadyExists")) throw thrown;
    // Another client may have added it meanwhile; otherwise another object has the name, and that object stays.
    const other = await findEntry(connection, wanted);
    if (other === null) throw thrown;
    return await change(connection, { entry: other, desired, writer });
  }
}

/** Before anything is written. */
function checkPassword({ password }: Desired, { layout, isSecure }: LdapWriter): void {
  if (password !== undefined && layout.schema.password === "unicode_pwd" && !isSecure) {
    throw unsupported("Active Directory takes passwords over TLS only: use ldaps or StartTLS");
  }
}

async function add(
  connection: LdapConnection,
  { desired, writer }: { desired: Desired; writer: LdapWriter },
): Promise<PutResult> {
  const { content } = desired;
  const { layout } = writer;
  const { rdn, baseDn } = layout[content.kind];
  const dn = makeDn({ attribute: rdn, value: content.name }, baseDn);
  const { dns: members, unknown } = await dnsOfNames(connection, {
    names: content.kind === "group" ? content.members : [],
    layout,
  });
  await connection.add(
    dn,
    newEntry(content, { layout, mapping: writer.mapping, memberDns: members.slice(0, MEMBERS_A_CHANGE) }),
  );
  for (const values of inChunks(members.slice(MEMBERS_A_CHANGE))) {
    await connection.modify(dn, [{ operation: "add", attribute: layout.group.member, values }]);
  }
  await finishAccount(connection, { dn, entry: null, desired, writer });
  return putResult(await idOf(connection, { dn, desired, writer }), unknown);
}

function putResult(remoteId: string, unknown: readonly string[]): PutResult {
  const notStored = membersNotStored(unknown);
  return { remoteId, ...notStored === undefined ? {} : { notStored } };
}

/** A directory that names entries by a number of its own has given one only now. */
async function idOf(
  connection: LdapConnection,
  { dn, desired: { content }, writer: { layout } }: { dn: string; desired: Desired; writer: LdapWriter },
): Promise<string> {
  if (layout.schema.idAttribute === null) return dn;
  const entry = await findEntry(connection, { kind: content.kind, name: content.name, layout });
  return entry === null ? dn : remoteIdOf(entry, layout);
}

async function change(
  connection: LdapConnection,
  { entry, desired, writer }: { entry: LdapEntry; desired: Desired; writer: LdapWriter },
): Promise<PutResult> {
  const { content } = desired;
  const { layout, mapping } = writer;
  const changes = changesTo(entry, { content, layout, mapping });
  if (changes.length > 0) await connection.modify(entry.dn, changes);
  const members = content.kind === "group"
    ? await memberChanges(connection, { entry, names: content.members, layout })
    : { changes: [], unknown: [] };
  for (const one of members.changes) await connection.modify(entry.dn, [one]);
  await finishAccount(connection, { dn: entry.dn, entry, desired, writer });
  return putResult(remoteIdOf(entry, layout), members.unknown);
}

/** The password, and then whether the account is active: one without a password cannot be switched on. */
async function finishAccount(
  connection: LdapConnection,
  { dn, entry, desired: { content, password }, writer }: {
    dn: string;
    entry: LdapEntry | null;
    desired: Desired;
    writer: LdapWriter;
  },
): Promise<void> {
  if (content.kind === "group") return;
  const { layout, isSecure, random } = writer;
  const switched = activeChange(entry, { content, layout });
  const isNew = entry === null && switched !== null;
  if (password !== undefined) await setPassword(connection, { dn, password, layout });
  // An account that is created without a password gets a random one, never none.
  else if (isNew && isSecure) {
    const unknown = `${toBase64Url(random.bytes(48))}aA1!`;
    await setPassword(connection, { dn, password: unknown, layout });
  }
  if (switched !== null) await connection.modify(dn, [switched]);
}

async function setPassword(
  connection: LdapConnection,
  { dn, password, layout }: { dn: string; password: string; layout: LdapLayout },
): Promise<void> {
  if (layout.schema.password === "password_modify") {
    return await connection.extended(PASSWORD_MODIFY_OID, encodePasswordModify(dn, password));
  }
  await connection.modify(dn, [
    { operation: "replace", attribute: "unicodePwd", values: [encodeUnicodePassword(password)] },
  ]);
}

/** Removes an entry, and a user's entry from the groups. What is not there is removed already. */
export async function removeEntry(
  connection: LdapConnection,
  { kind, name, writer: { layout } }: { kind: ResourceKind; name: string; writer: LdapWriter },
): Promise<void> {
  const entry = await findEntry(connection, { kind, name, layout });
  const { rdn, baseDn } = layout[kind];
  const dn = entry?.dn ?? makeDn({ attribute: rdn, value: name }, baseDn);
  if (entry !== null) await removeIfThere(connection, dn);
  if (kind === "user" && layout.schema.danglingMembers && layout.group.baseDn !== "") {
    await leaveGroups(connection, { dn, layout });
  }
}

async function removeIfThere(connection: LdapConnection, dn: string): Promise<void> {
  try {
    await connection.remove(dn);
  } catch (thrown) {
    if (!isRefusal(thrown, "noSuchObject")) throw thrown;
  }
}

/** Where the directory does not do it by itself: the next user of the name must not inherit the leaver's groups. */
async function leaveGroups(
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
      sizeLimit: GROUPS_A_ROUND,
    });
    for (const entry of groups) await leave(connection, { entry, dn, layout });
    if (groups.length < GROUPS_A_ROUND) return;
  }
}

async function leave(
  connection: LdapConnection,
  { entry, dn, layout }: { entry: LdapEntry; dn: string; layout: LdapLayout },
): Promise<void> {
  const attribute = layout.group.member;
  const { emptyMember } = layout.schema;
  const members = await memberDns(connection, { entry, layout });
  const isLast = members.length === 1 && emptyMember !== null;
  await connection.modify(entry.dn, [
    ...isLast ? [{ operation: "add" as const, attribute, values: [emptyMember] }] : [],
    { operation: "delete", attribute, values: [dn] },
  ]);
}
