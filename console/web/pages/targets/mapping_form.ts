// The mapping of a directory as a form: attributes in groups and in a fixed order, and the changes of a draft. Pure functions.

import type { OneTarget } from "../../../api/targets/target_types.ts";
import { findMessage } from "../../i18n/translate.ts";
import { connectorsOf, type DirectoryTable } from "./directory_form.ts";

type MappingRow = OneTarget["mapping"][number];
/** SCIM attribute → name at the connectors. */
export type MappingValues = Readonly<Record<string, string>>;
/** By connector: the SCIM attributes that the gateway only reads there. */
export type ReadOnlyByConnector = Readonly<Record<string, readonly string[]>>;

/** The groups in the order of the form, with the attributes that start them. */
const GROUPS = {
  name: ["name", "displayName", "nickName"],
  contact: ["emails", "phoneNumbers", "addresses", "ims", "imgs", "photos", "profileUrl"],
  organisation: [
    "title",
    "userType",
    "employeeNumber",
    "organization",
    "division",
    "department",
    "costCenter",
    "manager",
    "roles",
    "entitlements",
  ],
  account: [
    "userName",
    "id",
    "externalId",
    "active",
    "preferredLanguage",
    "locale",
    "timezone",
    "x509Certificates",
  ],
} as const;
const NAMES = Object.keys(GROUPS) as (keyof typeof GROUPS)[];
type MappingGroup = keyof typeof GROUPS | "other";
/** Within an attribute: the more usual part first. */
const PARTS = ["givenName", "familyName", "formatted", "middleName", "honorificPrefix", "honorificSuffix"];

/** Every write contains these, so no connector can have its own values for them. */
const ALWAYS_WRITTEN: readonly string[] = ["id", "externalId", "userName", "active"];

export const canBeReadOnly = (scim: string): boolean => !ALWAYS_WRITTEN.includes(scim);

/** `emails` of `emails[].value`; a schema's URN does not count. */
function attributeOf(scim: string): { readonly attribute: string; readonly part: string } {
  const path = scim.toLowerCase().startsWith("urn:") ? scim.slice(scim.lastIndexOf(":") + 1) : scim;
  const [attribute = "", part = ""] = path.split(/\[\]\.?|\./, 2);
  return { attribute, part };
}

function groupOf(scim: string): MappingGroup {
  const { attribute } = attributeOf(scim);
  return NAMES.find((name) => (GROUPS[name] as readonly string[]).includes(attribute)) ?? "other";
}

/** The rows by group, each group in its order. Groups without rows are left out. */
export function groupRows(
  rows: readonly MappingRow[],
): readonly (readonly [MappingGroup, readonly MappingRow[]])[] {
  const names: readonly MappingGroup[] = [...NAMES, "other"];
  return names.flatMap((name) => {
    const mine = rows.filter(({ scim }) => groupOf(scim) === name);
    const order = name === "other" ? [] : GROUPS[name] as readonly string[];
    const rank = (scim: string) => {
      const { attribute, part } = attributeOf(scim);
      const at = PARTS.indexOf(part);
      return order.indexOf(attribute) * 100 + (at < 0 ? PARTS.length : at);
    };
    const sorted = mine.toSorted((a, b) => rank(a.scim) - rank(b.scim));
    return sorted.length === 0 ? [] : [[name, sorted] as const];
  });
}

/** "Last name" for `name.familyName`; the path itself if there is no better name. */
export function attributeLabel(scim: string): string {
  const { attribute, part } = attributeOf(scim);
  const named = part === "" || part === "value" ? attribute : `${attribute}_${part}`;
  return findMessage(`targets.attribute_${named}`) ?? scim;
}

/** Two names of the interface specification are misspelled, and clients rely on them. */
export function isMisspelled(frontEnd: string): boolean {
  return frontEnd === "honirificSuffix" || frontEnd === "postralCode";
}

/** The read-only attributes of each connector that is written; the embedded store is the directory itself. */
export function readOnlyOf(table: DirectoryTable): ReadOnlyByConnector {
  return Object.fromEntries(
    connectorsOf(table).filter(([, { kind, access }]) => kind !== "store" && access !== "read")
      .map(([name, { read_only: paths }]) =>
        [name, Array.isArray(paths) ? paths as readonly string[] : []] as const
      ),
  );
}

/** The directory with another mapping of users. Rows that equal the default table are left out. */
export function withMapping(
  table: DirectoryTable,
  { values, readOnly }: { values: MappingValues; readOnly: ReadOnlyByConnector },
): DirectoryTable {
  const backends = connectorsOf(table).map(([name, connector]) => {
    const paths = readOnly[name];
    if (paths === undefined) return [name, connector] as const;
    const { read_only: _before, ...rest } = connector;
    return [name, paths.length === 0 ? rest : { ...rest, read_only: paths }] as const;
  });
  return {
    ...table,
    mapping: { ...table.mapping, user: values },
    ...(table.backends === undefined ? {} : { backends: Object.fromEntries(backends) }),
  };
}

/** The rows of a settings file for a mapping, for a directory that only the file can change. */
export function mappingToml(
  directory: string,
  { table, values, readOnly }: {
    table: DirectoryTable;
    values: MappingValues;
    readOnly: ReadOnlyByConnector;
  },
): string {
  const before = readOnlyOf(table);
  const lines = Object.entries(values).map(([scim, name]) =>
    `${JSON.stringify(scim)} = ${JSON.stringify(name)}`
  );
  const isChanged = JSON.stringify(values) !== JSON.stringify(table.mapping?.user ?? {});
  return [
    ...(isChanged ? [[`[targets.${directory}.mapping.user]`, ...lines].join("\n")] : []),
    ...Object.entries(readOnly)
      .filter(([name, paths]) => paths.join() !== before[name]?.join())
      .map(([name, paths]) =>
        `[targets.${directory}.backends.${name}]\nread_only = ${JSON.stringify(paths)}`
      ),
  ].join("\n\n");
}
