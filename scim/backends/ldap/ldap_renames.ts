// Renames in an LDAP directory: ModifyDN if the DN contains the name (RFC 4511 §4.9), otherwise a modification. The members of groups follow.

import { EqualityFilter } from "ldapts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { DesiredResource, PutResult } from "../../backend_port.ts";
import { refusedError } from "../backend_error.ts";
import type { LdapEntry } from "./ldap_client.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { dnKey, firstRdn, makeDn, makeRdn, parentDn } from "./ldap_dn.ts";
import { findEntry } from "./ldap_entries.ts";
import { readMemberDns } from "./ldap_members.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapKind, LdapLayout } from "./ldap_schemas.ts";
import { type LdapWriter, putEntry } from "./ldap_writes.ts";

interface LdapRename {
  readonly from: string;
  readonly desired: DesiredResource;
  readonly writer: LdapWriter;
}

/** The groups that one search returns. The next round handles the rest. */
const MAX_GROUPS_PER_ROUND = 200;
const MAX_ROUNDS = 100;

/** Renames an entry and writes its attributes. Without an entry `from`, an earlier attempt may have renamed it. */
export async function renameEntry(
  connection: LdapConnection,
  { from, desired, writer }: LdapRename,
): Promise<PutResult> {
  const { layout } = writer;
  const { kind, name } = desired.content;
  const row = layout[kind];
  const entry = await findEntry(connection, { kind, name: from, layout });
  const named = await findEntry(connection, { kind, name, layout });
  if (entry !== null && named !== null && dnKey(entry.dn) !== dnKey(named.dn)) {
    throw refusedError("the directory has another entry with the new name");
  }
  if (entry !== null) await moveEntry(connection, { entry, from, name, row });
  // Without an entry of either name, no group can have the former DN of one.
  const place = entry ?? named;
  if (kind === "user" && place !== null && hasNameInDn(place, row)) {
    const parent = parentDn(place.dn);
    const to = makeDn({ attribute: row.naming, value: name }, parent);
    await moveReferences(connection, {
      from: entry?.dn ?? makeDn({ attribute: row.naming, value: from }, parent),
      to,
      layout,
    });
  }
  return await putEntry(connection, { desired, writer });
}

function hasNameInDn({ dn }: LdapEntry, { naming }: LdapKind): boolean {
  return firstRdn(dn)?.attribute === naming.toLowerCase();
}

async function moveEntry(
  connection: LdapConnection,
  { entry, from, name, row }: { entry: LdapEntry; from: string; name: string; row: LdapKind },
): Promise<void> {
  const { naming } = row;
  if (!hasNameInDn(entry, row)) {
    return await connection.modify(entry.dn, [{ operation: "replace", attribute: naming, values: [name] }]);
  }
  const rdn = makeRdn({ attribute: naming, value: name });
  await connection.rename(entry.dn, rdn);
  // An entry can have several names, of which the DN contains one.
  const canonical = canonicalName(from);
  const inDn = firstRdn(entry.dn)?.value.toLowerCase();
  const others = (entry.texts.get(naming.toLowerCase()) ?? [])
    .filter((value) => value.toLowerCase() !== inDn && canonicalName(value) === canonical);
  if (others.length === 0) return;
  const dn = `${rdn},${parentDn(entry.dn)}`;
  await connection.modify(dn, [{ operation: "delete", attribute: naming, values: others }]);
}

/** Some directories do not do this by themselves. */
async function moveReferences(
  connection: LdapConnection,
  { from, to, layout }: { from: string; to: string; layout: LdapLayout },
): Promise<void> {
  if (!layout.schema.danglingMembers || layout.group.baseDn === "") return;
  const attribute = layout.group.member;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const groups = await connection.search({
      baseDn: layout.group.baseDn,
      scope: "sub",
      filter: new EqualityFilter({ attribute, value: from }),
      attributes: [attribute],
      sizeLimit: MAX_GROUPS_PER_ROUND,
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
