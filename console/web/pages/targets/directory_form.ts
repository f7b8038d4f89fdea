// The settings of a directory as forms edit them: its table as in the settings file, and the drafts of its connectors. Pure functions.

import { rowsByKey, type SettingRow, type SettingTable } from "../../../../platform/config/setting_rows.ts";
import {
  LDAP_BACKEND_SETTINGS,
  SCIM_BACKEND_SETTINGS,
  TARGET_SETTINGS,
} from "../../../../platform/config/target_settings.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import type { DiffRow } from "../../components/diff_table.tsx";

type PlainValue = string | number | boolean | readonly string[];
/** A connector as in the settings file. A secret that is stored is absent. */
export type ConnectorTable = Readonly<Record<string, PlainValue | Readonly<Record<string, string>>>>;
/** A directory as in the settings file. */
export interface DirectoryTable {
  readonly page_size?: number;
  readonly max_drop_percent?: number;
  /** A list of schemas in JSON, or the path of its file. */
  readonly extensions?: string;
  readonly mapping?: {
    readonly user?: Readonly<Record<string, string>>;
    readonly group?: Readonly<Record<string, string>>;
  };
  /** In order. Absent: one embedded store. */
  readonly backends?: Readonly<Record<string, ConnectorTable>>;
}

/** The numbers among the settings of a directory, with their bounds and defaults. */
export const DIRECTORY_ROWS = Object.entries(rowsByKey(TARGET_SETTINGS)).flatMap(([name, row]) =>
  row.type === "number"
    ? [{
      name: name as keyof DirectoryTable & `${string}_${string}`,
      min: row.min,
      max: row.max,
      preset: row.default,
    }]
    : []
);

/** The schemas that a directory adds, for reading: their URNs, else the text as it is. */
export function extensionNames({ extensions = "" }: DirectoryTable): readonly string[] {
  if (extensions.trim() === "") return [];
  try {
    const schemas: unknown = JSON.parse(extensions);
    if (!Array.isArray(schemas)) return [extensions];
    return schemas.map((schema: unknown) =>
      typeof schema === "object" && schema !== null && "id" in schema ? String(schema.id) : "?"
    );
  } catch (_path) {
    return [extensions];
  }
}

type ConnectorKind = "store" | "ldap" | "scim";

/** What a new connector can be. A preset fills in what such servers have in common. */
export const CONNECTOR_PRESETS = {
  openldap: {
    kind: "ldap",
    name: "ldap",
    values: { schema: "openldap" },
    examples: {
      url: "ldap://ldap.example.com:389",
      bind_dn: "cn=countersign,dc=example,dc=com",
      users_dn: "ou=people,dc=example,dc=com",
      groups_dn: "ou=groups,dc=example,dc=com",
      user_filter: "(|(uid={account})(mail={name}))",
      user_domains: "CORP, corp.example.com",
    },
  },
  active_directory: {
    kind: "ldap",
    name: "ad",
    values: { schema: "active_directory" },
    examples: {
      url: "ldaps://dc1.example.com:636",
      bind_dn: "CN=Countersign,CN=Users,DC=example,DC=com",
      users_dn: "CN=Users,DC=example,DC=com",
      groups_dn: "OU=Groups,DC=example,DC=com",
      user_filter: "(|(sAMAccountName={account})(userPrincipalName={name}))",
      user_domains: "CORP, corp.example.com",
    },
  },
  scim: {
    kind: "scim",
    name: "scim",
    values: {},
    examples: { url: "https://saas.example.com/scim/v2" },
  },
  store: { kind: "store", name: "local", values: {}, examples: {} },
} as const satisfies Record<string, {
  kind: ConnectorKind;
  name: string;
  values: Readonly<Record<string, PlainValue>>;
  examples: Readonly<Record<string, string>>;
}>;
export type PresetName = keyof typeof CONNECTOR_PRESETS;
export const PRESET_NAMES = Object.keys(CONNECTOR_PRESETS) as readonly PresetName[];

/** The preset that a stored connector belongs to. */
export function connectorPreset({ kind, schema }: ConnectorTable): PresetName {
  if (kind !== "ldap") return kind === "scim" ? "scim" : "store";
  return schema === "active_directory" ? "active_directory" : "openldap";
}

export interface ConnectorField {
  /** The key in the settings file. */
  readonly name: string;
  readonly type: "text" | "secret" | "switch" | "number" | "choice" | "lines" | "pairs" | "words" | "writes";
  readonly isRequired?: true;
  readonly choices?: readonly string[];
  /** Used if the field is empty. */
  readonly preset?: PlainValue;
  /** Among the details that few directories need. */
  readonly isAdvanced?: true;
}

/** The order of the form. What is not listed comes last, among the details. */
const SHOWN = [
  "url",
  "start_tls",
  "token",
  "user_name",
  "password",
  "bind_dn",
  "bind_password",
  "users_dn",
  "groups_dn",
  "access",
  "mode",
];
const DETAILS = ["user_filter", "user_domains", "password_change", "connections", "timeout_ms", "ca_cert"];
/** What the preset decides, or another dialog. */
const NOT_IN_FORM: ReadonlySet<string> = new Set(["kind", "schema", "read_only"]);

function fieldOf(name: string, row: SettingRow): ConnectorField {
  const isSet = row.type === "flag" || row.type === "choice" || row.type === "number";
  return {
    name,
    type: typeOf(name, row),
    ...(row.mustBeGiven ? { isRequired: true } : {}),
    ...(row.type === "choice" ? { choices: row.of } : {}),
    ...(isSet ? { preset: row.default } : {}),
    ...(SHOWN.includes(name) ? {} : { isAdvanced: true }),
  };
}

function typeOf(name: string, row: SettingRow): ConnectorField["type"] {
  // Off for a new connector: it only reads.
  if (name === "access") return "writes";
  if (row.format === "certificates") return "lines";
  if (row.type === "flag") return "switch";
  if (row.type === "list") return "words";
  return row.type === "choice" || row.type === "number" || row.type === "secret" ? row.type : "text";
}

function connectorFields(table: SettingTable): readonly ConnectorField[] {
  const order = [...SHOWN, ...DETAILS];
  const place = (name: string) => order.indexOf(name) < 0 ? order.length : order.indexOf(name);
  return Object.entries(rowsByKey(table)).filter(([name]) => !NOT_IN_FORM.has(name))
    .toSorted(([a], [b]) => place(a) - place(b)).map(([name, row]) => fieldOf(name, row));
}

/** The fields of each kind, from the rows of its settings, in the order of the form. */
export const CONNECTOR_FIELDS: Readonly<Record<ConnectorKind, readonly ConnectorField[]>> = {
  store: [],
  ldap: [
    ...connectorFields(LDAP_BACKEND_SETTINGS),
    { name: "attributes", type: "pairs", isAdvanced: true },
  ],
  scim: connectorFields(SCIM_BACKEND_SETTINGS),
};

/** The keys of secrets in the tables of connectors. */
export const CONNECTOR_SECRETS: ReadonlySet<string> = new Set(
  Object.values(CONNECTOR_FIELDS).flat().filter(({ type }) => type === "secret").map(({ name }) => name),
);

/** The texts and switches of a connector's form. An empty secret keeps the stored one. */
export type ConnectorDraft = Readonly<Record<string, string | boolean>>;

export function fieldsOf(preset: PresetName): readonly ConnectorField[] {
  return CONNECTOR_FIELDS[CONNECTOR_PRESETS[preset].kind];
}

export function toConnectorDraft(preset: PresetName, table: ConnectorTable = {}): ConnectorDraft {
  return Object.fromEntries(
    fieldsOf(preset).map((field) => [
      field.name,
      field.type === "writes" ? mayWrite(table) : draftValue(field, table[field.name]),
    ]),
  );
}

/** Whether the gateway may write to a connector. A new one has no kind yet. */
function mayWrite({ kind, access }: ConnectorTable): boolean {
  return kind !== undefined && access !== "read";
}

function draftValue(
  { type, preset }: ConnectorField,
  value: ConnectorTable[string] | undefined,
): string | boolean {
  if (type === "switch") return value === true;
  if (type === "secret") return "";
  if (type === "choice") return String(value ?? preset ?? "");
  if (value === undefined) return "";
  return type === "pairs" ? pairsText(value) : [value].flat().join(", ");
}

function pairsText(value: ConnectorTable[string]): string {
  return Object.entries(value).map(([name, other]) => `${name} = ${other}`).join("\n");
}

/** Read pairs, or the line that is none. */
function readPairs(
  text: string,
): { readonly pairs: Record<string, string>; readonly bad: string | null } {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const [, name, value] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return { pairs, bad: line };
    pairs[name] = value;
  }
  return { pairs, bad: null };
}

/** The problem of a field that the form finds by itself; `null` if the server decides. */
export function fieldProblem(field: ConnectorField, draft: ConnectorDraft): string | null {
  const value = draft[field.name];
  if (typeof value !== "string") return null;
  if (field.isRequired && value.trim() === "") return t("targets.required");
  if (field.type === "number" && value.trim() !== "" && !/^\d{1,9}$/.test(value.trim())) {
    return t("common.not_whole");
  }
  const { bad } = field.type === "pairs" ? readPairs(value) : { bad: null };
  return bad === null ? null : t("targets.not_pair", { line: bad });
}

/**
 * The connector of a draft. Defaults are left out.
 *
 * @param stored the connector that is edited: what the form does not have stays.
 */
export function toConnector(
  { preset, draft }: { preset: PresetName; draft: ConnectorDraft },
  stored: ConnectorTable = {},
): ConnectorTable {
  const { kind, values } = CONNECTOR_PRESETS[preset];
  const table: Record<string, ConnectorTable[string]> = { ...stored, kind, ...values };
  if (preset === "openldap") delete table.schema;
  for (const field of fieldsOf(preset)) {
    const value = tableValue(field, draft[field.name] ?? "");
    if (value === null) delete table[field.name];
    else table[field.name] = value;
  }
  return table;
}

function tableValue(field: ConnectorField, value: string | boolean): ConnectorTable[string] | null {
  if (field.type === "writes") return value === true ? null : "read";
  if (typeof value === "boolean") return value === field.preset ? null : value;
  if (field.type === "pairs") {
    const { pairs } = readPairs(value);
    return Object.keys(pairs).length === 0 ? null : pairs;
  }
  if (field.type === "words") {
    const words = value.split(/[\s,]+/).filter((word) => word !== "");
    // One address is a text, as in most settings files.
    const [first = null] = words;
    return field.name === "url" && words.length < 2 ? first : words.length === 0 ? null : words;
  }
  const text = field.type === "secret" ? value : value.trim();
  if (text === "" || text === String(field.preset ?? "")) return null;
  return field.type === "number" ? Number(text) : text;
}

/** The connectors in order. A directory without any has an embedded store. */
export function connectorsOf(
  { backends = {} }: DirectoryTable,
): readonly (readonly [string, ConnectorTable])[] {
  const entries = Object.entries(backends);
  return entries.length > 0 ? entries : [["local", { kind: "store" }]];
}

/** Adds or replaces a connector. */
export function withConnector(
  table: DirectoryTable,
  { name, connector }: { name: string; connector: ConnectorTable },
): DirectoryTable {
  return { ...table, backends: { ...Object.fromEntries(connectorsOf(table)), [name]: connector } };
}

export function withoutConnector(table: DirectoryTable, name: string): DirectoryTable {
  return { ...table, backends: Object.fromEntries(connectorsOf(table).filter(([one]) => one !== name)) };
}

/** Moves a connector one place up (-1) or down (1). */
export function movedConnector(
  table: DirectoryTable,
  { name, by }: { name: string; by: -1 | 1 },
): DirectoryTable {
  const order = [...connectorsOf(table)];
  const at = order.findIndex(([one]) => one === name);
  const moved = order[at];
  if (moved === undefined) return table;
  order.splice(at, 1);
  order.splice(Math.max(0, at + by), 0, moved);
  return { ...table, backends: Object.fromEntries(order) };
}

/** A name for a new connector that no other one has. */
export function freeName(table: DirectoryTable, wanted: string): string {
  const taken = new Set(connectorsOf(table).map(([name]) => name));
  for (let number = 1;; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.has(name)) return name;
  }
}

/** Names of directories and connectors: parts of addresses and lists. */
export function nameProblem(name: string, taken: readonly string[]): string | null {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name) || /^[.\d]+$/.test(name)) return t("targets.bad_name");
  return taken.includes(name) ? t("targets.taken_name") : null;
}

export function connectorFieldLabel(name: string): string {
  return t(`targets.field_${name}` as MessageKey);
}

/** The rows of a connector for reading: label and value, without secrets and the mapping's attributes. */
export function connectorRows(
  table: ConnectorTable,
): readonly { readonly name: string; readonly value: string }[] {
  return fieldsOf(connectorPreset(table)).flatMap((field) => {
    const value = table[field.name];
    if (value === undefined || field.type === "secret" || field.type === "pairs" || field.type === "writes") {
      return [];
    }
    return [{ name: connectorFieldLabel(field.name), value: valueText(field, value) }];
  });
}

function valueText(field: ConnectorField, value: ConnectorTable[string]): string {
  if (field.type === "choice") return t(`targets.mode_${value}` as MessageKey);
  if (field.type === "lines") return t("common.is_set");
  return typeof value === "boolean" ? t(value ? "common.yes" : "common.no") : [value].flat().join(", ");
}

type Table = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export interface ThreeTables {
  /** What both changes began with. */
  readonly base: DirectoryTable;
  readonly mine: DirectoryTable;
  readonly theirs: DirectoryTable;
}

/** Their table with my changes. Where both changed a value, mine wins. */
export function mergeDirectories({ base, mine, theirs }: ThreeTables): DirectoryTable {
  return mergeTables(base as Table, mine as Table, theirs as Table) as DirectoryTable;
}

function mergeTables(base: Table, mine: Table, theirs: Table): Table {
  const merged: Record<string, unknown> = {};
  for (const key of orderOf(base, mine, theirs)) {
    const value = mergeValues(base[key], mine[key], theirs[key]);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function mergeValues(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(base, mine)) return theirs;
  if (!isTable(mine) || !isTable(theirs)) return mine;
  return mergeTables(isTable(base) ? base : {}, mine, theirs);
}

/** The order of connectors counts: mine if I changed it. */
function orderOf(base: Table, mine: Table, theirs: Table): string[] {
  const common = (table: Table) => Object.keys(table).filter((key) => key in base && key in mine);
  const [first, second] = isSame(common(base), common(mine)) ? [theirs, mine] : [mine, theirs];
  return [...new Set([...Object.keys(first), ...Object.keys(second)])];
}

const PRESETS: Readonly<Record<string, string>> = Object.fromEntries(
  DIRECTORY_ROWS.map(({ name, preset }) => [name, String(preset)]),
);

/** What the other administrator changed. A value that I changed too has a note. */
export function theirChanges({ base, mine, theirs }: ThreeTables): readonly DiffRow[] {
  const [before, own, after] = [base, mine, theirs].map((table) => ({
    ...PRESETS,
    ...flatten(table as Table),
  }));
  const paths = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...paths].flatMap((path): DiffRow[] => {
    const [was = null, is = null, my = null] = [before?.[path], after?.[path], own?.[path]];
    if (was === is) return [];
    const isBoth = my !== was && my !== is;
    return [{
      name: rowLabel(path),
      now: was,
      after: is,
      ...(isBoth ? { note: t("targets.conflict_yours", { value: my ?? t("common.none") }) } : {}),
    }];
  });
}

function flatten(table: Table, start = ""): Record<string, string> {
  const rows: Record<string, string> = {};
  for (const [key, value] of Object.entries(table)) {
    const path = start === "" ? key : `${start}\n${key}`;
    if (isTable(value)) Object.assign(rows, flatten(value, path));
    else rows[path] = Array.isArray(value) ? value.join(", ") : String(value);
  }
  const order = Object.keys(table).join(", ");
  if (start === "backends") rows.backends = order;
  return rows;
}

/** "ldap: Address", "Page size", "title" of a mapping. */
function rowLabel(path: string): string {
  const [area = "", ...rest] = path.split("\n");
  const key = rest.at(-1) ?? area;
  if (path === "backends") return t("common.connectors");
  const label = area === "mapping" ? key : findMessage(`targets.field_${key}`) ?? key;
  return area === "backends" ? `${rest[0] ?? ""}: ${label}` : label;
}
