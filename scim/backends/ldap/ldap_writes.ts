// Writes to an LDAP directory: adds entries, or modifies only the attributes that differ. Renames by ModifyDN if the DN contains the name (RFC 4511 §4.9),
// otherwise by a modification. The members of groups follow.

import { EqualityFilter, PresenceFilter } from "ldapts";
import { type Random, toBase64Url } from "../../../platform/runtime.ts";
import {
  type DesiredResource,
  membersNotStored,
  type PasswordChange,
  type PasswordChangeRequest,
  type PutResult,
} from "../../backend_port.ts";
import type { Mapping, ResourceKind } from "../../schema/resource.ts";
import { isRefusal, LdapRefusal } from "./ldap_result_codes.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { type LdapEntry, MAX_LIST_OCTETS } from "./ldap_client.ts";
import {
  activeChange,
  entryChanges,
  entryRemoteId,
  findEntry,
  newEntry,
  withTakenName,
  writeValues,
  type WrittenValues,
} from "./ldap_entries.ts";
import {
  chunkMembers,
  dnsOfNames,
  MAX_MEMBERS_PER_CHANGE,
  planMemberChanges,
  readMemberDns,
} from "./ldap_members.ts";
import { dnKey, firstRdn, makeDn, makeRdn, parentDn } from "./ldap_dn.ts";
import type { LdapKind, LdapLayout } from "./ldap_schemas.ts";
import { refusedError, unsupportedError } from "../backend_error.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { isAccountRefusal } from "../../../platform/account_refusals.ts";
import type { LdapPool } from "./ldap_pool.ts";

export interface LdapWriter {
  readonly layout: LdapLayout;
  readonly mapping: Mapping;
  readonly random: Random;
  /** Whether the settings require TLS. */
  readonly isSecure: boolean;
}

/** The groups that one search returns. The next round handles the rest. */
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
  if (kind === "user" && layout.schema.danglingMembers) {
    await changeGroupsOf(connection, { dn, layout }, (group) => {
      return removeMember(connection, { entry: group, dn, layout });
    });
  }
}

async function removeIfThere(connection: LdapConnection, dn: string): Promise<void> {
  try {
    await connection.remove(dn);
  } catch (thrown) {
    if (!isRefusal(thrown, "noSuchObject")) throw thrown;
  }
}

/**
 * Changes the groups that have a user as a member. Some directories do not do this by themselves: the next user with the name must not inherit the
 * groups.
 */
async function changeGroupsOf(
  connection: LdapConnection,
  { dn, layout: { group: { baseDn, member: attribute } } }: { dn: string; layout: LdapLayout },
  changeGroup: (entry: LdapEntry) => Promise<void>,
): Promise<void> {
  if (baseDn === "") return;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const groups = await connection.search({
      baseDn,
      scope: "sub",
      filter: new EqualityFilter({ attribute, value: dn }),
      attributes: [attribute],
      sizeLimit: MAX_GROUPS_PER_ROUND,
      maxOctets: MAX_LIST_OCTETS,
    });
    for (const entry of groups) await changeGroup(entry);
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

interface LdapRename {
  readonly from: string;
  readonly id: string | undefined;
  readonly desired: DesiredResource;
  readonly writer: LdapWriter;
}

/** The entry that has the name `from`, and its next name. */
interface EntryMove {
  readonly entry: LdapEntry;
  readonly from: string;
  readonly name: string;
  readonly row: LdapKind;
  readonly written: WrittenValues;
}

/** Renames an entry and writes its attributes. Without an entry `from`, an earlier attempt may have renamed it. */
export async function renameEntry(
  connection: LdapConnection,
  { from, id, desired, writer }: LdapRename,
): Promise<PutResult> {
  const { layout, mapping } = writer;
  const { kind, name } = desired.content;
  const row = layout[kind];
  const entry = await findEntry(connection, { kind, name: from, id, layout });
  const named = await findEntry(connection, { kind, name, layout });
  if (entry !== null && named !== null && dnKey(entry.dn) !== dnKey(named.dn)) {
    throw refusedError("the directory has another entry with the new name");
  }
  const written = { kind, layout, mapping, attributes: [row.naming] };
  const moved = entry === null ? null : await moveEntry(connection, { entry, from, name, row, written });
  if (kind === "user") {
    const references = movedReferences({ entry, moved, named, from, layout });
    if (references !== null) {
      await changeGroupsOf(connection, { dn: references.from, layout }, (group) => {
        return moveMember(connection, { entry: group, ...references, layout });
      });
    }
  }
  return await putEntry(connection, { desired, writer });
}

/** The DN that groups may still have, and the present one. `null`: none. Without an entry of either name, no group can have the former DN of one. */
function movedReferences(
  { entry, moved, named, from, layout }: {
    entry: LdapEntry | null;
    /** The DN of `entry` after its rename. */
    moved: string | null;
    named: LdapEntry | null;
    from: string;
    layout: LdapLayout;
  },
): { from: string; to: string } | null {
  const { rdn, naming } = layout.user;
  if (entry !== null && moved !== null) {
    return dnKey(entry.dn) === dnKey(moved) ? null : { from: entry.dn, to: moved };
  }
  // An earlier attempt renamed the entry. Only a DN with the name tells what the former one was: a CN may belong to another user by now.
  if (named === null || rdn !== naming || !hasNameInDn(named, layout.user)) return null;
  return { from: makeDn({ attribute: naming, value: from }, parentDn(named.dn)), to: named.dn };
}

function hasNameInDn({ dn }: LdapEntry, { naming }: LdapKind): boolean {
  return firstRdn(dn)?.attribute === naming.toLowerCase();
}

/** Returns the new DN. */
async function moveEntry(
  connection: LdapConnection,
  move: EntryMove,
): Promise<string> {
  const { entry, from, name, row, written } = move;
  const { naming } = row;
  if (!hasNameInDn(entry, row)) {
    const dn = await moveCommonName(connection, move);
    const change = { operation: "replace", attribute: naming, values: [name] } as const;
    await writeValues(connection.modify(dn, [change]), written);
    return dn;
  }
  const rdn = makeRdn({ attribute: naming, value: name });
  await writeValues(connection.rename(entry.dn, rdn), written).catch((thrown) => {
    throw withTakenName(thrown, written.kind);
  });
  const dn = `${rdn},${parentDn(entry.dn)}`;
  // An entry can have several names, of which the DN contains one.
  const canonical = canonicalName(from);
  const inDn = firstRdn(entry.dn)?.value.toLowerCase();
  const others = (entry.texts.get(naming.toLowerCase()) ?? [])
    .filter((value) => value.toLowerCase() !== inDn && canonicalName(value) === canonical);
  if (others.length > 0) {
    await connection.modify(dn, [{ operation: "delete", attribute: naming, values: others }]);
  }
  return dn;
}

/**
 * In Active Directory, the DN has a CN apart from the name. If it is the earlier name, as for entries that the gateway created, it follows: the next
 * entry with the earlier name needs it. Returns the DN.
 */
async function moveCommonName(
  connection: LdapConnection,
  { entry, from, name, row, written }: EntryMove,
): Promise<string> {
  const held = firstRdn(entry.dn);
  const isOwn = row.rdn !== row.naming && held?.attribute === row.rdn.toLowerCase() &&
    canonicalName(held.value.replace(/ \(\d{1,2}\)$/, "")) === canonicalName(from);
  if (!isOwn) return entry.dn;
  const rdn = makeRdn({ attribute: row.rdn, value: name });
  try {
    await writeValues(connection.rename(entry.dn, rdn), written);
  } catch (thrown) {
    // Another entry has the CN. A new entry with the earlier name takes another one, too.
    if (!isRefusal(thrown, "entryAlreadyExists")) throw thrown;
    return entry.dn;
  }
  return `${rdn},${parentDn(entry.dn)}`;
}

async function moveMember(
  connection: LdapConnection,
  { entry, from, to, layout }: { entry: LdapEntry; from: string; to: string; layout: LdapLayout },
): Promise<void> {
  const attribute = layout.group.member;
  const members = await readMemberDns(connection, { entry, layout });
  const removal = { operation: "delete", attribute, values: [from] } as const;
  const has = members.some((dn) => dnKey(dn) === dnKey(to));
  if (has) return await connection.modify(entry.dn, [removal]);
  try {
    await connection.modify(entry.dn, [{ operation: "add", attribute, values: [to] }, removal]);
  } catch (thrown) {
    // The directory compares DNs better.
    if (!isRefusal(thrown, "attributeOrValueExists")) throw thrown;
    await connection.modify(entry.dn, [removal]);
  }
}

// Passwords of users in an LDAP directory: set by the gateway, or changed by the user in a login (RFC 3062, [MS-ADTS] §3.1.1.3.1.5).

/** RFC 3062 §2. */
const PASSWORD_MODIFY_OID = "1.3.6.1.4.1.4203.1.11.1";
const UNICODE_PASSWORD = "unicodePwd";

/** Replaces a password without its old one. */
async function setPassword(
  connection: LdapConnection,
  { dn, password, layout }: { dn: string; password: string; layout: LdapLayout },
): Promise<void> {
  if (layout.schema.password === "password_modify") {
    return await connection.extended(PASSWORD_MODIFY_OID, encodePasswordModify(dn, { next: password }));
  }
  await connection.modify(dn, [
    { operation: "replace", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(password)] },
  ]);
}

interface ChangeDeps {
  /** Connections that are bound as the gateway's account. */
  readonly bound: LdapPool;
  /** Connections without a bind. */
  readonly unbound: LdapPool;
  readonly layout: LdapLayout;
  readonly find: (connection: LdapConnection) => Promise<LdapEntry | null>;
}

/** Changes a password by its old one, so that the directory's policy for users applies. Throws if the directory does not answer. */
export async function changePassword(
  { bound, unbound, layout, find }: ChangeDeps,
  { old, next }: PasswordChangeRequest,
  deadlineMs: number,
): Promise<PasswordChange> {
  if (old === "" || next === "") throw unsupportedError("a password change needs both passwords");
  const entry = await bound.use(find, deadlineMs);
  if (entry === null || entry.dn === "") return "wrong";
  const { dn } = entry;
  if (layout.schema.password === "unicode_pwd") {
    // A user whose password is over cannot bind. Everyone may change a password by its old one, so the gateway's account does.
    const changes = [
      { operation: "delete", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(old)] },
      { operation: "add", attribute: UNICODE_PASSWORD, values: [encodeUnicodePassword(next)] },
    ] as const;
    return await bound.use((connection) => resultOf(connection.modify(dn, changes)), deadlineMs);
  }
  const request = encodePasswordModify(dn, { old, next });
  const modify = (connection: LdapConnection) => resultOf(connection.extended(PASSWORD_MODIFY_OID, request));
  const asUser = await unbound.use(async (connection) => {
    const refusal = await connection.bindUser(dn, old);
    if (refusal !== null && !isAccountRefusal(refusal)) return refusal;
    return connection.isBound() ? await modify(connection) : null;
  }, deadlineMs);
  return asUser ?? await bound.use(modify, deadlineMs);
}

/** Windows: "0000052D: SvcErr: …" is the policy, and "00000056: AtrErr: …" is a wrong old password (Microsoft, "System Error Codes"). */
const WRONG_OLD_PASSWORD = /\b0*56:/;
const POLICY = /\b0*52d:/i;

async function resultOf(change: Promise<void>): Promise<PasswordChange> {
  try {
    await change;
    return "changed";
  } catch (thrown) {
    if (!(thrown instanceof LdapRefusal)) throw thrown;
    const { serverText } = thrown;
    if (WRONG_OLD_PASSWORD.test(serverText) || isRefusal(thrown, "invalidCredentials")) return "wrong";
    if (POLICY.test(serverText) || isRefusal(thrown, "constraintViolation")) return "refused";
    throw thrown;
  }
}

const SEQUENCE = 0x30;
const USER_IDENTITY = 0x80;
const OLD_PASSWORD = 0x81;
const NEW_PASSWORD = 0x82;

/** PasswdModifyRequestValue of RFC 3062 §2. The server hashes the new password. */
export function encodePasswordModify(
  dn: string,
  { old, next }: { readonly old?: string; readonly next: string },
): Uint8Array {
  const text = new TextEncoder();
  return tagged(SEQUENCE, [
    ...tagged(USER_IDENTITY, text.encode(dn)),
    ...(old === undefined ? [] : tagged(OLD_PASSWORD, text.encode(old))),
    ...tagged(NEW_PASSWORD, text.encode(next)),
  ]);
}

/** X.690 §8.1.3, definite lengths. */
function tagged(tag: number, content: Uint8Array | readonly number[]): Uint8Array {
  const { length } = content;
  const head = length < 0x80
    ? [tag, length]
    : length < 0x1_0000
    ? [tag, 0x82, length >> 8, length & 0xff]
    : [tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Uint8Array.from([...head, ...content]);
}

/** `unicodePwd` of [MS-ADTS] §3.1.1.3.1.5: in quotes, UTF-16, low octet first. */
export function encodeUnicodePassword(password: string): Uint8Array {
  const quoted = `"${password}"`;
  const octets = new Uint8Array(quoted.length * 2);
  const view = new DataView(octets.buffer);
  for (let at = 0; at < quoted.length; at++) view.setUint16(at * 2, quoted.charCodeAt(at), true);
  return octets;
}
