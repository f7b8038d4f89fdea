// The real content of a slapd of the tests, read with an LDAP client of the test.

import { Attribute, Change, Client } from "ldapts";
import type { Slapd } from "../../support/slapd.ts";

/** Values by attribute, without the DN. */
export type LdapEntry = Readonly<Record<string, readonly string[]>>;

export interface LdapView extends AsyncDisposable {
  /** `null` when there is no entry. */
  entry(dn: string): Promise<LdapEntry | null>;
  /** All entries below a DN, by DN. */
  below(dn: string): Promise<Record<string, LdapEntry>>;
  /** Replaces the values of an attribute. */
  replace(dn: string, attribute: string, values: readonly string[]): Promise<void>;
  add(dn: string, entry: LdapEntry): Promise<void>;
  remove(dn: string): Promise<void>;
  /** A new RDN, or a new DN. */
  rename(dn: string, to: string): Promise<void>;
}

/** Each call has its own connection, so that it works after slapd was stopped. */
export function viewOf(slapd: Slapd): LdapView {
  const as = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ url: slapd.url, timeout: 5000, connectTimeout: 5000 });
    try {
      await client.bind(slapd.bindDn, slapd.bindPassword);
      return await work(client);
    } finally {
      await client.unbind();
    }
  };
  const search = (base: string, scope: "base" | "one") =>
    as(async (client) => {
      const { searchEntries } = await client.search(base, { scope, filter: "(objectClass=*)" });
      return searchEntries.map(({ dn, ...rest }) => [dn, textsOf(rest)] as const);
    });
  return {
    async entry(dn) {
      const found = await search(dn, "base").catch(nothingThere);
      return found[0]?.[1] ?? null;
    },
    below: async (dn) => Object.fromEntries(await search(dn, "one")),
    replace: (dn, type, values) =>
      as((client) =>
        client.modify(
          dn,
          new Change({ operation: "replace", modification: new Attribute({ type, values: [...values] }) }),
        )
      ),
    add: (dn, entry) =>
      as((client) =>
        client.add(dn, Object.fromEntries(Object.entries(entry).map(([name, values]) => [name, [...values]])))
      ),
    remove: (dn) => as((client) => client.del(dn)),
    rename: (dn, to) => as((client) => client.modifyDN(dn, to)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const NO_SUCH_OBJECT = 32;

function nothingThere(fault: unknown): (readonly [string, LdapEntry])[] {
  const isAbsent = typeof fault === "object" && fault !== null && "code" in fault &&
    fault.code === NO_SUCH_OBJECT;
  if (!isAbsent) throw fault;
  return [];
}

function textsOf(attributes: Readonly<Record<string, unknown>>): LdapEntry {
  const texts = Object.entries(attributes).map(([name, value]) =>
    [name, (Array.isArray(value) ? value : [value]).map(String).sort()] as const
  );
  return Object.fromEntries(texts);
}
