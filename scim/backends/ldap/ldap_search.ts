// Finding entries of users and groups: by name, and all of them. Names go into filters as octets of the protocol, never as text (RFC 4511 §4.5.1.7).

import { AndFilter, EqualityFilter, type Filter, NotFilter, PresenceFilter } from "ldapts";
import type { ResourceKind } from "../../schema/resource.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import type { LdapEntry, LdapSearch } from "./ldap_records.ts";
import { attributesToRead, isNamed } from "./ldap_entries.ts";
import type { LdapKind, LdapLayout } from "./ldap_schemas.ts";
import { refused } from "../backend_error.ts";

/** Entries that a directory may take for the same name; more than these are no use. */
const MAX_LOOKALIKES = 10;

export function classFilter(kind: LdapKind): Filter[] {
  const filters: Filter[] = [new EqualityFilter({ attribute: "objectClass", value: kind.find })];
  if (kind.not !== null) {
    filters.push(
      new NotFilter({ filter: new EqualityFilter({ attribute: "objectClass", value: kind.not }) }),
    );
  }
  return filters;
}

/** The search for one name. */
export function searchForName(
  kind: ResourceKind,
  { name, layout }: { name: string; layout: LdapLayout },
): LdapSearch {
  const row = layout[kind];
  return {
    baseDn: row.baseDn,
    scope: "sub",
    filter: new AndFilter({
      filters: [...classFilter(row), new EqualityFilter({ attribute: row.naming, value: name })],
    }),
    ...whatToRead(kind, layout),
    sizeLimit: MAX_LOOKALIKES,
  };
}

/** The search for everything of one kind. */
export function searchForAll(kind: ResourceKind, layout: LdapLayout): LdapSearch {
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
  const { idAttribute } = layout.schema;
  return { attributes: attributesToRead(kind, layout), octets: idAttribute === null ? [] : [idAttribute] };
}

/** The one entry of that name, or `null`. Throws when several entries have it, because it is ambiguous. */
export async function findEntry(
  connection: LdapConnection,
  { kind, name, layout }: { kind: ResourceKind; name: string; layout: LdapLayout },
): Promise<LdapEntry | null> {
  const found = await connection.search(searchForName(kind, { name, layout }));
  const [entry = null, ...others] = found.filter((one) => isNamed(one, name, layout[kind]));
  if (others.length > 0) throw refused("the directory has several entries of that name", { retry: true });
  return entry;
}
