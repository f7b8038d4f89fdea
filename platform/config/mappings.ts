// Reads the tables that map names: SCIM attributes to front-end attributes (RFC 7643 §2.1), and those to LDAP attributes (RFC 4512 §2.5).

import type { Table } from "./parse_toml.ts";
import { type Reading, shown } from "./parse_settings.ts";
import { resolveReferences } from "./secret_refs.ts";
import { isScimPath } from "./value_types.ts";

const MAX_ENTRIES = 200;

/** SCIM attributes that the default table maps to the name of a resource: several may stay one front-end attribute. */
const NAMING = {
  user: { frontEnd: "userName", scim: ["id", "externalid", "username"] },
  group: { frontEnd: "groupName", scim: ["id", "externalid", "displayname"] },
} as const;

const isFrontEndName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name);
const isLdapName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name);

interface NameMap {
  readonly path: string;
  readonly reading: Reading;
  /** What a key and a value must be, and its name in words. */
  readonly key: { readonly fits: (key: string) => boolean; readonly means: string };
  readonly value: { readonly fits: (value: string) => boolean; readonly means: string };
}

/** The pairs of a table whose keys and values are names. */
function readNames(table: Table, { path, reading, key: keys, value: values }: NameMap): [string, string][] {
  const { faults, sources } = reading;
  const entries = Object.entries(table);
  if (entries.length > MAX_ENTRIES) {
    faults.push({ key: path, problem: `there are ${entries.length}; at most ${MAX_ENTRIES} are allowed` });
    return [];
  }
  const pairs: [string, string][] = [];
  for (const [name, given] of entries) {
    const key = `${path}.${JSON.stringify(name)}`;
    const resolved = resolveReferences(given, sources);
    const raw = resolved.ok ? resolved.raw : null;
    if (!keys.fits(name)) faults.push({ key, problem: `it is not ${keys.means}` });
    else if (!resolved.ok) faults.push({ key, problem: resolved.problem });
    else if (typeof raw === "string" && values.fits(raw)) pairs.push([name, raw]);
    else {
      const what = resolved.borrowed ? "its value" : shown(raw);
      faults.push({ key, problem: `${what} is not allowed; it must be ${values.means}` });
    }
  }
  return pairs;
}

/** What a target's mapping changes for one kind of resource. Two SCIM attributes that become one front-end attribute are a fault. */
export function readMapping(
  table: Table,
  { path, kind, reading }: { path: string; kind: keyof typeof NAMING; reading: Reading },
): Record<string, string> {
  const pairs = readNames(table, {
    path,
    reading,
    key: {
      fits: isScimPath,
      means: 'a SCIM attribute, as in "title", "name.familyName", "emails[].value" or with its schema\'s URN',
    },
    value: { fits: isFrontEndName, means: "the name of a front-end attribute: letters, digits, _ and -" },
  });
  const seen = new Map<string, string>();
  for (const [scim, frontEnd] of pairs) {
    const { frontEnd: name, scim: naming } = NAMING[kind];
    if (frontEnd === name && naming.some((one) => one === scim.toLowerCase())) continue;
    const other = seen.get(frontEnd.toLowerCase());
    if (other !== undefined) {
      reading.faults.push({
        key: `${path}.${JSON.stringify(scim)}`,
        problem: `${shown(frontEnd)} belongs to ${
          shown(other)
        } already; each needs a front-end attribute of its own`,
      });
    }
    seen.set(frontEnd.toLowerCase(), scim);
  }
  return Object.fromEntries(pairs);
}

/** Front-end attribute → LDAP attribute. */
export function readLdapAttributes(
  table: Table,
  { path, reading }: { path: string; reading: Reading },
): Record<string, string> {
  const pairs = readNames(table, {
    path,
    reading,
    key: { fits: isFrontEndName, means: "the name of a front-end attribute: letters, digits, _ and -" },
    value: { fits: isLdapName, means: "the name of an LDAP attribute: letters, digits and -" },
  });
  return Object.fromEntries(pairs);
}
