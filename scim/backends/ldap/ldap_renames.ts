// Renames in an LDAP directory: ModifyDN if the DN contains the name (RFC 4511 §4.9), otherwise a modification. The members of groups follow.

import { EqualityFilter } from "ldapts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { DesiredResource, PutResult } from "../../backend_port.ts";
import { refusedError } from "../backend_error.ts";
import { type LdapEntry, MAX_LIST_OCTETS } from "./ldap_client.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { dnKey, firstRdn, makeDn, makeRdn, parentDn } from "./ldap_dn.ts";
import { findEntry } from "./ldap_entries.ts";
import { readMemberDns } from "./ldap_members.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapKind, LdapLayout } from "./ldap_schemas.ts";
import { withTakenName, writeValues, type WrittenValues } from "./ldap_values.ts";
import { type LdapWriter, putEntry } from "./ldap_writes.ts";

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

/** The groups that one search returns. The next round handles the rest. */
const MAX_GROUPS_PER_ROUND = 200;
const MAX_ROUNDS = 100;

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
    if (references !== null) await moveReferences(connection, { ...references, layout });
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

/** Some directories do not do this by themselves. */
async function moveReferences(
  connection: LdapConnection,
  { from, to, layout }: { from: string; to: string; layout: LdapLayout },
): Promise<void> {
  if (layout.group.baseDn === "") return;
  const attribute = layout.group.member;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const groups = await connection.search({
      baseDn: layout.group.baseDn,
      scope: "sub",
      filter: new EqualityFilter({ attribute, value: from }),
      attributes: [attribute],
      sizeLimit: MAX_GROUPS_PER_ROUND,
      maxOctets: MAX_LIST_OCTETS,
    });
    for (const entry of groups) await moveMember(connection, { entry, from, to, layout });
    if (groups.length < MAX_GROUPS_PER_ROUND) return;
  }
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
