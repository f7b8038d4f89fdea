// Reads the tables of the identity interface: targets with their mapping and backends, and credentials.

import type { BackendSettings, ScimCredentialSettings, TargetSettings } from "./config.ts";
import { isTable, joinKey, sortTable, type Table } from "./parse_toml.ts";
import { type Reading, readRows, shown } from "./parse_settings.ts";
import { resolveReferences } from "./secret_refs.ts";
import { readCertificates, readEach } from "./parse_tables.ts";
import {
  BACKEND_ROWS,
  CREDENTIAL_ROWS,
  LDAP_BACKEND_ROWS,
  SCIM_BACKEND_ROWS,
  STORE_BACKEND_ROWS,
  TARGET_ROWS,
} from "./target_settings.ts";
import { isPlainName, NAME_MEANS } from "./value_types.ts";
import { readLdapAttributes, readMapping } from "./mappings.ts";

const MAX_TARGETS = 100;
const MAX_BACKENDS = 20;

/** The target that is always there, and the backend of a target that names none. */
const DEFAULT_TARGET = "default";
const LOCAL: BackendSettings = { kind: "store", name: "local", mode: "sync" };

const TARGET_SHAPE = {
  keys: new Set(Object.keys(TARGET_ROWS)),
  lists: new Set<string>(),
  maps: new Set(["mapping.user", "mapping.group", "backends"]),
};

/** The named tables of a table, each with its key; a bad name and what is no table are faults. */
function* namedTables(
  table: Table,
  { path, most, reading: { faults } }: { path: string; most: number; reading: Reading },
): Iterable<{ name: string; key: string; table: Table }> {
  const entries = Object.entries(table);
  if (entries.length > most) {
    faults.push({ key: path, problem: `there are ${entries.length}; at most ${most} are allowed` });
    return;
  }
  for (const [name, inner] of entries) {
    const key = joinKey(path, name);
    if (!isPlainName(name)) {
      faults.push({ key, problem: `${shown(name)} is no name; it must be ${NAME_MEANS}` });
    } else if (!isTable(inner)) faults.push({ key, problem: `it must be a table: [${key}]` });
    else yield { name, key, table: inner };
  }
}

/** All targets, `default` first when the file does not name it. */
export function readTargets(table: Table, reading: Reading): TargetSettings[] {
  const targets: TargetSettings[] = [];
  for (const named of namedTables(table, { path: "targets", most: MAX_TARGETS, reading })) {
    targets.push(readTarget(named, reading));
  }
  if (targets.some(({ name }) => name === DEFAULT_TARGET)) return targets;
  const key = `targets.${DEFAULT_TARGET}`;
  return [readTarget({ name: DEFAULT_TARGET, key, table: {} }, reading), ...targets];
}

function readTarget(
  { name, key, table }: { name: string; key: string; table: Table },
  reading: Reading,
): TargetSettings {
  const { values, maps } = sortTable(table, {
    shape: TARGET_SHAPE,
    prefix: `${key}.`,
    faults: reading.faults,
  });
  const rows = readRows(TARGET_ROWS, reading, { found: values, keyPrefix: `${key}.` });
  const mapping = (kind: "user" | "group") =>
    readMapping(maps.get(`mapping.${kind}`) ?? {}, { path: `${key}.mapping.${kind}`, kind, reading });
  const backends: BackendSettings[] = [];
  const path = `${key}.backends`;
  for (const named of namedTables(maps.get("backends") ?? {}, { path, most: MAX_BACKENDS, reading })) {
    const backend = readBackend(named, reading);
    // JavaScript enumerates such keys first, whatever their order in the file; and the order of backends matters.
    if (/^[0-9]+$/.test(named.name)) {
      reading.faults.push({ key: named.key, problem: "a backend's name must not be digits alone" });
    } else if (backend !== null) backends.push(backend);
  }
  return {
    name,
    pageSize: rows.page_size,
    maxDropPercent: rows.max_drop_percent,
    mapping: { user: mapping("user"), group: mapping("group") },
    backends: backends.length === 0 ? [LOCAL] : backends,
  };
}

interface Named {
  readonly name: string;
  readonly key: string;
  readonly table: Table;
}

/** A backend by its kind; `null` when it has none that is known, which is a fault. */
function readBackend(named: Named, reading: Reading): BackendSettings | null {
  const { key, table } = named;
  const resolved = resolveReferences(table.kind, reading.sources);
  const kind = resolved.ok ? resolved.raw : table.kind;
  if (kind === "store") return readStore(named, reading);
  if (kind === "ldap") return readLdap(named, reading);
  if (kind === "scim") return readScim(named, reading);
  const means = `it must be ${Object.keys(BACKEND_ROWS).map((word) => JSON.stringify(word)).join(", ")}`;
  reading.faults.push({
    key: `${key}.kind`,
    problem: table.kind === undefined
      ? `it is missing; ${means}`
      : resolved.ok
      ? `${resolved.borrowed ? "its value" : shown(kind)} is not allowed; ${means}`
      : resolved.problem,
  });
  return null;
}

function sortBackend(
  { key, table }: Named,
  { keys, maps = [], reading }: { keys: object; maps?: readonly string[]; reading: Reading },
) {
  const shape = { keys: new Set(Object.keys(keys)), lists: new Set<string>(), maps: new Set(maps) };
  return sortTable(table, { shape, prefix: `${key}.`, faults: reading.faults });
}

function readStore(named: Named, reading: Reading): BackendSettings {
  const { values } = sortBackend(named, { keys: STORE_BACKEND_ROWS, reading });
  const { kind, mode } = readRows(STORE_BACKEND_ROWS, reading, { found: values, keyPrefix: `${named.key}.` });
  return { kind, name: named.name, mode };
}

function readLdap(named: Named, reading: Reading): BackendSettings {
  const { key, name } = named;
  const { values, maps } = sortBackend(named, { keys: LDAP_BACKEND_ROWS, maps: ["attributes"], reading });
  const rows = readRows(LDAP_BACKEND_ROWS, reading, { found: values, keyPrefix: `${key}.` });
  return {
    kind: rows.kind,
    name,
    mode: rows.mode,
    url: rows.url,
    startTls: rows.start_tls,
    caPem: rows.ca_cert === "" ? "" : readCertificates(`${key}.ca_cert`, rows.ca_cert, reading),
    bindDn: rows.bind_dn,
    bindPassword: rows.bind_password,
    usersDn: rows.users_dn,
    groupsDn: rows.groups_dn,
    schema: rows.schema,
    attributes: readLdapAttributes(maps.get("attributes") ?? {}, { path: `${key}.attributes`, reading }),
    connections: rows.connections,
    timeoutMs: rows.timeout_ms,
    ...(rows.read_only.length === 0 ? {} : { readOnly: rows.read_only }),
  };
}

function readScim(named: Named, reading: Reading): BackendSettings {
  const { values } = sortBackend(named, { keys: SCIM_BACKEND_ROWS, reading });
  const rows = readRows(SCIM_BACKEND_ROWS, reading, { found: values, keyPrefix: `${named.key}.` });
  return {
    kind: rows.kind,
    name: named.name,
    mode: rows.mode,
    url: rows.url,
    token: rows.token,
    userName: rows.user_name,
    password: rows.password,
    connections: rows.connections,
    timeoutMs: rows.timeout_ms,
    ...(rows.read_only.length === 0 ? {} : { readOnly: rows.read_only }),
  };
}

export function readCredentials(tables: readonly Table[], reading: Reading): ScimCredentialSettings[] {
  return readEach(CREDENTIAL_ROWS, "scim.credential", tables, reading);
}
