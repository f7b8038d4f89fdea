// Finds users of an LDAP directory by what they type at a login: by their name, or by the filter of the settings.

import {
  AndFilter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  NotFilter,
  OrFilter,
  PresenceFilter,
} from "ldapts";
import { fillValue, readTypedName, type TypedName, type UserFilter } from "../../../platform/user_filter.ts";
import { refusedError } from "../backend_error.ts";
import type { LdapEntry } from "./ldap_client.ts";
import type { LdapConnection } from "./ldap_connection.ts";
import { entryName, findEntry, hasName, userSearch } from "./ldap_entries.ts";
import { isRefusal } from "./ldap_result_codes.ts";
import type { LdapLayout } from "./ldap_schemas.ts";

/** How typed names find users. `filter: null`: by the name alone. */
export interface UserSearch {
  readonly layout: LdapLayout;
  readonly filter: UserFilter | null;
  /** The names of the directory's domain. */
  readonly domains: readonly string[];
}

const several = () => refusedError("the directory has several users with that name", { retry: true });

/** The entry of a user by the user's name; `null` without one. The filter must find the user, too. Throws if it finds several. */
export async function findUser(
  connection: LdapConnection,
  name: string,
  { layout, filter, domains }: UserSearch,
): Promise<LdapEntry | null> {
  if (filter === null) return await findEntry(connection, { kind: "user", name, layout });
  const [entry = null, ...others] = await search(connection, readTypedName(name, domains), {
    layout,
    filter,
  });
  if (others.length > 0) throw several();
  return entry !== null && hasName(entry, name, layout.user) ? entry : null;
}

/** The names of the users that a typed name finds with the filter, at most two. */
export async function findUserNames(
  connection: LdapConnection,
  typed: string,
  { layout, filter, domains }: UserSearch,
): Promise<readonly string[]> {
  if (filter === null) return [];
  const entries = await search(connection, readTypedName(typed, domains), { layout, filter });
  return entries.slice(0, 2).map((entry) => entryName(entry, layout.user) ?? "");
}

async function search(
  connection: LdapConnection,
  typed: TypedName,
  { layout, filter }: { layout: LdapLayout; filter: UserFilter },
): Promise<readonly LdapEntry[]> {
  try {
    return await connection.search(userSearch(layout, toLdapFilter(filter, typed)));
  } catch (thrown) {
    // The server has more than the few that were requested.
    if (isRefusal(thrown, "sizeLimitExceeded")) throw several();
    throw thrown;
  }
}

/** The typed name is the value of a comparison, so it needs no escaping (RFC 4511 §4.5.1.7). */
function toLdapFilter(filter: UserFilter, typed: TypedName): Filter {
  switch (filter.kind) {
    case "and":
      return new AndFilter({ filters: filter.of.map((one) => toLdapFilter(one, typed)) });
    case "or":
      return new OrFilter({ filters: filter.of.map((one) => toLdapFilter(one, typed)) });
    case "not":
      return new NotFilter({ filter: toLdapFilter(filter.of, typed) });
    case "present":
      return new PresenceFilter({ attribute: filter.attribute });
    case "equals":
      return new EqualityFilter({ attribute: filter.attribute, value: fillValue(filter.value, typed) });
    case "matches": {
      const { attribute: matchType, rule, value } = filter;
      return new ExtensibleFilter({ matchType, rule, value });
    }
  }
}
