// Reads targets, with their mapping and backends.

import type { BackendSettings, TargetSettings } from "./config.ts";
import {
  isTable,
  joinKey,
  type ParseContext,
  parseTable,
  quoteValue,
  type ResolvedValue,
  resolveReferences,
  sortTable,
  type TomlTable,
} from "./parse_settings.ts";
import { type Meaning, meaning, type Problem, problemOf } from "../setting_problems.ts";
import { readCertificates, readExtensions } from "./parse_tables.ts";
import { isPlainName, isScimPath, NAME_MEANS } from "./setting_values.ts";
import { rowsByKey, type SettingTable } from "./setting_rows.ts";
import {
  BACKEND_ROWS,
  LDAP_BACKEND_SETTINGS,
  SCIM_BACKEND_SETTINGS,
  STORE_BACKEND_SETTINGS,
  TARGET_SETTINGS,
} from "./target_settings.ts";

const MAX_TARGETS = 100;
const MAX_BACKENDS = 20;

/** The target that always exists, and the backend of a target without backends. */
const DEFAULT_TARGET = "default";
const LOCAL: BackendSettings = { kind: "store", name: "local", mode: "sync" };

const TARGET_SHAPE = {
  keys: new Set(Object.keys(rowsByKey(TARGET_SETTINGS))),
  lists: new Set<string>(),
  maps: new Set(["mapping.user", "mapping.group", "backends"]),
};

/** The named tables of a table, each with its key. */
function* namedTables(
  table: TomlTable,
  { path, max, reading: { faults } }: { path: string; max: number; reading: ParseContext },
): Iterable<{ name: string; key: string; table: TomlTable }> {
  const entries = Object.entries(table);
  if (entries.length > max) {
    faults.push({ key: path, ...problemOf("too_many", { count: entries.length, max }) });
    return;
  }
  for (const [name, inner] of entries) {
    const key = joinKey(path, name);
    if (!isPlainName(name)) {
      faults.push({ key, ...problemOf("not_a_name", { value: quoteValue(name), means: NAME_MEANS }) });
    } else if (!isTable(inner)) faults.push({ key, ...problemOf("must_be_table", { table: key }) });
    else yield { name, key, table: inner };
  }
}

/** All targets; `default` comes first if the file does not name it. */
export function parseTargets(table: TomlTable, reading: ParseContext): TargetSettings[] {
  const targets: TargetSettings[] = [];
  for (const named of namedTables(table, { path: "targets", max: MAX_TARGETS, reading })) {
    targets.push(parseTarget(named, reading));
  }
  if (targets.some(({ name }) => name === DEFAULT_TARGET)) return targets;
  const key = `targets.${DEFAULT_TARGET}`;
  return [parseTarget({ name: DEFAULT_TARGET, key, table: {} }, reading), ...targets];
}

function parseTarget(
  { name, key, table }: { name: string; key: string; table: TomlTable },
  reading: ParseContext,
): TargetSettings {
  const { values, maps } = sortTable(table, {
    shape: TARGET_SHAPE,
    prefix: `${key}.`,
    faults: reading.faults,
  });
  const { extensions: given, ...own } = parseTable(TARGET_SETTINGS, reading, {
    found: values,
    keyPrefix: `${key}.`,
  });
  const extensions = given === "" ? "" : readExtensions(`${key}.extensions`, given, reading);
  const mapping = (kind: "user" | "group") =>
    parseMapping(maps.get(`mapping.${kind}`) ?? {}, { path: `${key}.mapping.${kind}`, kind, reading });
  const backends: BackendSettings[] = [];
  const path = `${key}.backends`;
  for (const named of namedTables(maps.get("backends") ?? {}, { path, max: MAX_BACKENDS, reading })) {
    const backend = parseBackend(named, reading);
    // JavaScript enumerates such keys first, but the order of backends matters.
    if (/^[0-9]+$/.test(named.name)) {
      reading.faults.push({ key: named.key, ...problemOf("connector_digits") });
    } else if (backend !== null) backends.push(backend);
  }
  return {
    name,
    ...own,
    mapping: { user: mapping("user"), group: mapping("group") },
    backends: backends.length === 0 ? [LOCAL] : backends,
    ...(extensions === "" ? {} : { extensions }),
  };
}

interface NamedTable {
  readonly name: string;
  readonly key: string;
  readonly table: TomlTable;
}

/** A backend by its kind; `null` and a fault if the kind is unknown. */
function parseBackend(named: NamedTable, reading: ParseContext): BackendSettings | null {
  const { key, table } = named;
  const resolved = resolveReferences(table.kind, reading.sources);
  const kind = resolved.ok ? resolved.raw : table.kind;
  if (kind === "store") return parseStoreBackend(named, reading);
  if (kind === "ldap") return parseLdapBackend(named, reading);
  if (kind === "scim") return parseScimBackend(named, reading);
  const means = meaning("means_choice", { choices: Object.keys(BACKEND_ROWS) });
  reading.faults.push({ key: `${key}.kind`, ...kindProblem(table.kind, resolved, means) });
  return null;
}

function kindProblem(given: unknown, resolved: ResolvedValue, means: Meaning): Problem {
  if (given === undefined) return problemOf("missing", { means });
  if (!resolved.ok) return { problem: resolved.problem };
  return resolved.isReference
    ? problemOf("value_not_allowed", { means })
    : problemOf("not_allowed", { value: quoteValue(resolved.raw), means });
}

function sortBackend(
  { key, table }: NamedTable,
  { keys, maps = [], reading }: { keys: SettingTable; maps?: readonly string[]; reading: ParseContext },
) {
  const shape = {
    keys: new Set(Object.keys(rowsByKey(keys))),
    lists: new Set<string>(),
    maps: new Set(maps),
  };
  return sortTable(table, { shape, prefix: `${key}.`, faults: reading.faults });
}

function parseStoreBackend(named: NamedTable, reading: ParseContext): BackendSettings {
  const { values } = sortBackend(named, { keys: STORE_BACKEND_SETTINGS, reading });
  return {
    name: named.name,
    ...parseTable(STORE_BACKEND_SETTINGS, reading, { found: values, keyPrefix: `${named.key}.` }),
  };
}

function parseLdapBackend(named: NamedTable, reading: ParseContext): BackendSettings {
  const { key, name } = named;
  const { values, maps } = sortBackend(named, { keys: LDAP_BACKEND_SETTINGS, maps: ["attributes"], reading });
  const { caCert, access, readOnly, ...own } = parseTable(LDAP_BACKEND_SETTINGS, reading, {
    found: values,
    keyPrefix: `${key}.`,
  });
  return {
    name,
    ...own,
    caPem: caCert === "" ? "" : readCertificates(`${key}.ca_cert`, caCert, reading),
    attributes: parseLdapAttributes(maps.get("attributes") ?? {}, { path: `${key}.attributes`, reading }),
    ...limitsOf({ access, readOnly }),
  };
}

function parseScimBackend(named: NamedTable, reading: ParseContext): BackendSettings {
  const { values } = sortBackend(named, { keys: SCIM_BACKEND_SETTINGS, reading });
  const { access, readOnly, ...own } = parseTable(SCIM_BACKEND_SETTINGS, reading, {
    found: values,
    keyPrefix: `${named.key}.`,
  });
  return { name: named.name, ...own, ...limitsOf({ access, readOnly }) };
}

function limitsOf({ access, readOnly }: { access: "read" | "write"; readOnly: readonly string[] }) {
  return {
    ...(readOnly.length === 0 ? {} : { readOnly }),
    ...(access === "write" ? {} : { access }),
  };
}

const MAX_ENTRIES = 200;

/** SCIM attributes that the default table maps to the name of a resource. They can share one front-end attribute. */
const NAMING = {
  user: { frontEnd: "userName", scim: ["id", "externalid", "username"] },
  group: { frontEnd: "groupName", scim: ["id", "externalid", "displayname"] },
} as const;

const isFrontEndName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name);
const isLdapName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name);

interface NameMap {
  readonly path: string;
  readonly reading: ParseContext;
  /** The allowed keys and values, with a description. */
  readonly key: { readonly fits: (key: string) => boolean; readonly means: Meaning };
  readonly value: { readonly fits: (value: string) => boolean; readonly means: Meaning };
}

/** The pairs of a table whose keys and values are names. */
function parseNames(
  table: TomlTable,
  { path, reading, key: keys, value: values }: NameMap,
): [string, string][] {
  const { faults, sources } = reading;
  const entries = Object.entries(table);
  if (entries.length > MAX_ENTRIES) {
    faults.push({ key: path, ...problemOf("too_many", { count: entries.length, max: MAX_ENTRIES }) });
    return [];
  }
  const pairs: [string, string][] = [];
  for (const [name, given] of entries) {
    const key = `${path}.${JSON.stringify(name)}`;
    const resolved = resolveReferences(given, sources);
    const raw = resolved.ok ? resolved.raw : null;
    const { means } = values;
    if (!keys.fits(name)) faults.push({ key, ...problemOf("not_of", { means: keys.means }) });
    else if (!resolved.ok) faults.push({ key, problem: resolved.problem });
    else if (typeof raw === "string" && values.fits(raw)) pairs.push([name, raw]);
    else if (resolved.isReference) faults.push({ key, ...problemOf("value_not_allowed", { means }) });
    else faults.push({ key, ...problemOf("not_allowed", { value: quoteValue(raw), means }) });
  }
  return pairs;
}

/** The mapping of a target for one kind of resource. Two SCIM attributes must not share a front-end attribute. */
function parseMapping(
  table: TomlTable,
  { path, kind, reading }: { path: string; kind: keyof typeof NAMING; reading: ParseContext },
): Record<string, string> {
  const pairs = parseNames(table, {
    path,
    reading,
    key: {
      fits: isScimPath,
      means: meaning("means_scim_attribute"),
    },
    value: { fits: isFrontEndName, means: meaning("means_front_end_name") },
  });
  const seen = new Map<string, string>();
  for (const [scim, frontEnd] of pairs) {
    const { frontEnd: name, scim: naming } = NAMING[kind];
    if (frontEnd === name && naming.some((one) => one === scim.toLowerCase())) continue;
    const other = seen.get(frontEnd.toLowerCase());
    if (other !== undefined) {
      reading.faults.push({
        key: `${path}.${JSON.stringify(scim)}`,
        ...problemOf("front_end_taken", { value: quoteValue(frontEnd), other: quoteValue(other) }),
      });
    }
    seen.set(frontEnd.toLowerCase(), scim);
  }
  return Object.fromEntries(pairs);
}

/** Front-end attribute → LDAP attribute. */
function parseLdapAttributes(
  table: TomlTable,
  { path, reading }: { path: string; reading: ParseContext },
): Record<string, string> {
  const pairs = parseNames(table, {
    path,
    reading,
    key: { fits: isFrontEndName, means: meaning("means_front_end_name") },
    value: { fits: isLdapName, means: meaning("means_ldap_name") },
  });
  return Object.fromEntries(pairs);
}
