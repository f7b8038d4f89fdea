// The columns of a CSV file: the attribute of each header, and the values of a cell.

import { FORMULA_START } from "../../platform/csv_reader.ts";
import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../schema/resource.ts";
import {
  type AttributePath,
  isJsonArray,
  isJsonObject,
  property,
  readPath,
  SCIM_ATTRIBUTES,
  writePath,
} from "../schema/attributes.ts";
import { ENTERPRISE_SCHEMA, findDefinition, findSub, subDefinitions } from "../schema/attribute_table.ts";

/** `plain`: a member of the body. `names`: a list of names. `paths`: attributes. `ignored`: an attribute that the server sets. */
type ColumnTarget =
  | {
    readonly to: "plain";
    readonly member: "userName" | "displayName" | "externalId" | "id" | "active" | "password";
  }
  | { readonly to: "names"; readonly member: "groups" | "members" }
  | { readonly to: "paths"; readonly paths: readonly AttributePath[] }
  | { readonly to: "ignored" };

export interface ImportColumn {
  readonly header: string;
  readonly target: ColumnTarget;
}

export interface ImportTable {
  readonly kind: ResourceKind;
  readonly columns: readonly ImportColumn[];
  /** The attributes of an existing resource that a row changes, in the format of `coveredAttributes`. */
  readonly covers: readonly string[];
  /** Warnings for the author of the table. */
  readonly notes: readonly string[];
}

type TableOutcome =
  | { readonly ok: true; readonly table: ImportTable }
  | { readonly ok: false; readonly problem: string };

const PLAIN: Readonly<Record<ResourceKind, ReadonlyMap<string, ColumnTarget>>> = {
  user: new Map<string, ColumnTarget>([
    ["username", { to: "plain", member: "userName" }],
    ["externalid", { to: "plain", member: "externalId" }],
    ["id", { to: "plain", member: "id" }],
    ["active", { to: "plain", member: "active" }],
    ["password", { to: "plain", member: "password" }],
    ["groups", { to: "names", member: "groups" }],
  ]),
  group: new Map<string, ColumnTarget>([
    ["groupname", { to: "plain", member: "displayName" }],
    ["displayname", { to: "plain", member: "displayName" }],
    ["externalid", { to: "plain", member: "externalId" }],
    ["id", { to: "plain", member: "id" }],
    ["member", { to: "names", member: "members" }],
    ["members", { to: "names", member: "members" }],
  ]),
};
/** Other common headers, without spaces, hyphens and underscores. The names of the mapping have priority. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["username", "userName"],
  ["login", "userName"],
  ["firstname", "name.givenName"],
  ["givenname", "name.givenName"],
  ["lastname", "name.familyName"],
  ["surname", "name.familyName"],
  ["familyname", "name.familyName"],
  ["displayname", "displayName"],
  ["email", "emails"],
  ["emailaddress", "emails"],
  ["mail", "emails"],
  ["mailaddress", "emails"],
  ["phone", "phoneNumbers"],
  ["phonenumber", "phoneNumbers"],
  ["telephone", "phoneNumbers"],
  ["mobile", "phoneNumbers"],
  ["jobtitle", "title"],
]);
const IDENTIFYING: ReadonlySet<string> = new Set(["userName", "displayName", "externalId", "id"]);
/** SCIM attributes of a mapping that are the name, or that are read separately. */
const APART: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["id", "externalId", "userName", "active"]),
  group: new Set(["id", "externalId", "displayName", "members"]),
};

/** Reads the header of a table. A table with groupName or members, and without userName, has groups. */
export function readHeader(headers: readonly string[], mapping: Mapping): TableOutcome {
  const given = headers.map((header) => unescapeFormula(header.trim()));
  const isOfGroups = !given.some((header) => header.toLowerCase() === "username") &&
    given.some((header) => namesGroup(header, mapping));
  const kind = isOfGroups ? "group" : "user";
  const columns: ImportColumn[] = [];
  for (const [at, header] of given.entries()) {
    const found = findColumn(header, { kind, mapping });
    if (typeof found === "string") return refuse(`Column ${at + 1} of the header: ${found}.`);
    columns.push({ header, target: found });
  }
  const twice = findTwice(columns);
  if (twice !== null) return refuse(`The header names ${JSON.stringify(twice)} twice.`);
  const isNamed = columns.some(({ target }) => target.to === "plain" && IDENTIFYING.has(target.member));
  if (!isNamed) return refuse("The header has no userName (for groups: no groupName).");
  return { ok: true, table: { kind, columns, covers: coversOf(columns), notes: notesOf(columns, kind) } };
}

/** Whether only tables of groups have this column. */
function namesGroup(header: string, mapping: Mapping): boolean {
  const isMapped = mapping.group.some(({ scim, frontEnd }) =>
    frontEnd === header && ["displayName", "members"].includes(readPath("group", scim).attribute)
  );
  return isMapped || ["groupname", "member", "members"].includes(header.toLowerCase());
}

function refuse(problem: string): TableOutcome {
  return { ok: false, problem };
}

/** The target of a header, or its problem as a text. */
function findColumn(
  header: string,
  { kind, mapping }: { kind: ResourceKind; mapping: Mapping },
): ColumnTarget | string {
  if (header === "") return "it is empty";
  if (header.length > 256) return "it is over 256 characters long";
  const plain = PLAIN[kind].get(header.toLowerCase());
  if (plain !== undefined) return plain;
  const named = mappedMember(header, { kind, mapping });
  if (named !== undefined) return named;
  const mapped = mappedPaths(header, { kind, mapping });
  if (mapped.length > 0) return { to: "paths", paths: mapped };
  const synonym = kind === "user" ? SYNONYMS.get(header.toLowerCase().replace(/[\s_-]/g, "")) : undefined;
  if (synonym !== undefined && synonym !== header) return findColumn(synonym, { kind, mapping });
  const path = readPath(kind, withEnterprise(kind, header));
  if (
    path.attribute === "" || path.attribute === "__proto__" || path.sub === "" || path.sub === "__proto__"
  ) {
    return `${JSON.stringify(header)} is not an attribute`;
  }
  const top = findDefinition(SCIM_ATTRIBUTES[kind], path.attribute);
  if (path.schema === null && top?.mutability === "readOnly") return { to: "ignored" };
  if (path.known?.type === "complex") {
    const parts = subDefinitions(path.known).map(({ name }) => name).slice(0, 3);
    return `${JSON.stringify(header)} has parts: ${parts.map((part) => `${header}.${part}`).join(", ")}…`;
  }
  return { to: "paths", paths: [path] };
}

/** The target of a front-end attribute that a mapping uses for the name, for `active`, or for the members. */
function mappedMember(
  header: string,
  { kind, mapping }: { kind: ResourceKind; mapping: Mapping },
): ColumnTarget | undefined {
  const row = mapping[kind].find(({ scim, frontEnd }) =>
    frontEnd === header && APART[kind].has(readPath(kind, scim).attribute)
  );
  return row === undefined ? undefined : PLAIN[kind].get(readPath(kind, row.scim).attribute.toLowerCase());
}

function mappedPaths(
  header: string,
  { kind, mapping }: { kind: ResourceKind; mapping: Mapping },
): AttributePath[] {
  const small = header.toLowerCase();
  const exact = mapping[kind].filter(({ frontEnd }) => frontEnd === header);
  const rows = exact.length > 0
    ? exact
    : mapping[kind].filter(({ frontEnd }) => frontEnd.toLowerCase() === small);
  return rows.map(({ scim }) => readPath(kind, scim)).filter(({ attribute }) => !APART[kind].has(attribute));
}

/** Adds the URN of the enterprise extension to the name of one of its attributes. */
function withEnterprise(kind: ResourceKind, header: string): string {
  const isOther = kind === "group" || findDefinition(SCIM_ATTRIBUTES.user, header) !== undefined;
  const extension = findDefinition(SCIM_ATTRIBUTES.user, ENTERPRISE_SCHEMA);
  const known = isOther ? undefined : findSub(extension, header);
  return known === undefined || known.type === "complex" ? header : `${ENTERPRISE_SCHEMA}:${known.name}`;
}

function findTwice(columns: readonly ImportColumn[]): string | null {
  const seen = new Set<string>();
  for (const { header, target } of columns) {
    for (const name of namesOf(target)) {
      if (seen.has(name)) return header;
      seen.add(name);
    }
  }
  return null;
}

function namesOf(target: ColumnTarget): string[] {
  if (target.to === "ignored") return [];
  return target.to === "paths" ? target.paths.map(writePath) : [target.member];
}

function coversOf(columns: readonly ImportColumn[]): string[] {
  const covers = new Set<string>();
  for (const { target } of columns) {
    if (target.to === "plain" || target.to === "names") covers.add(target.member);
    else if (target.to === "paths") {
      for (const path of target.paths) for (const name of coveredBy(path)) covers.add(name);
    }
  }
  return [...covers];
}

function coveredBy({ schema, attribute, sub }: AttributePath): string[] {
  if (schema !== null) return [schema, `${schema}:${attribute}`];
  return sub === null ? [attribute] : [attribute, `${attribute}.${sub}`];
}

function notesOf(columns: readonly ImportColumn[], kind: ResourceKind): string[] {
  const unknown = columns.filter(({ target }) =>
    target.to === "paths" &&
    target.paths.some(({ schema, attribute }) =>
      schema === null && findDefinition(SCIM_ATTRIBUTES[kind], attribute) === undefined
    )
  ).map(({ header }) => JSON.stringify(header));
  const ignored = columns.filter(({ target }) => target.to === "ignored").map(({ header }) =>
    JSON.stringify(header)
  );
  return [
    ...unknown.length === 0 ? [] : [`No schema has ${listed(unknown)}: stored unchanged.`],
    ...ignored.length === 0 ? [] : [`The server sets ${listed(ignored)}: ignored.`],
  ];
}

const MAX_LISTED = 10;

function listed(names: readonly string[]): string {
  const more = names.length - MAX_LISTED;
  return `${names.slice(0, MAX_LISTED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Whether a cell of this path can contain several texts. */
function isSplit({ multi, known }: AttributePath): boolean {
  return multi || known === null;
}

/** The texts of a cell of a path. Empty texts keep their positions. */
export function cellTexts(cell: string, path: AttributePath): string[] {
  return isSplit(path) ? splitTexts(cell) : [cell];
}

/** The beginning of a formula in a spreadsheet, after any number of apostrophes. */
const FORMULA = new RegExp(`^'*${FORMULA_START}`, "v");
const GUARDED = new RegExp(`^''*${FORMULA_START}`, "v");
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** A text for a cell, with an apostrophe if a spreadsheet would run it as a formula. {@link unescapeFormula} reverses it. */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

export function unescapeFormula(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** Joins texts with `|` between them. `\|` and `\\` are these characters themselves. */
export function joinTexts(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|")).join("|");
}

/** Reverses {@link joinTexts}. A backslash before any other character is a backslash. Empty texts keep their positions. */
export function splitTexts(joined: string): string[] {
  if (!joined.includes("\\")) return joined.split("|");
  const texts: string[] = [];
  let text = "";
  for (let at = 0; at < joined.length; at++) {
    const one = joined[at] ?? "";
    const next = joined[at + 1];
    if (one === "\\" && (next === "\\" || next === "|")) {
      text += next;
      at++;
    } else if (one === "|") {
      texts.push(text);
      text = "";
    } else text += one;
  }
  return [...texts, text];
}

/** A line of a table (RFC 4180), with its end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(escapeFormula(cell))).join(",")}\r\n`;
}

function quoted(cell: string): string {
  const isBare = !NEEDS_QUOTES.test(cell) && cell === cell.trim();
  return isBare ? cell : `"${cell.replaceAll('"', '""')}"`;
}

// Writes resources as CSV: collects the columns, writes the cells, and lists the attributes that CSV cannot contain.

export interface CsvWriter {
  /** Adds the columns of a resource, in the format of the interface. Call it for all resources before `header`. */
  addColumns(resource: JsonObject): void;
  /** The line of the column names. */
  header(): string;
  line(resource: JsonObject): string;
  /** Attributes that the table does not fully contain. */
  readonly lost: ReadonlySet<string>;
}

/** The texts of a resource, by path in the spelling of a mapping. */
type Cells = Map<string, string[]>;

const FIRST: Readonly<Record<ResourceKind, readonly string[]>> = {
  user: ["userName", "active", "name.familyName", "name.givenName"],
  group: ["displayName"],
};
const LAST: Readonly<Record<ResourceKind, readonly string[]>> = { user: ["groups"], group: ["members"] };
const LEFT_OUT: ReadonlySet<string> = new Set(["schemas", "id", "meta"]);
/** Spreadsheets and the import cannot handle more. */
const MAX_COLUMNS = 900;

/** @param mapping its front-end attributes are the names of the columns, if they map to exactly one attribute. */
export function createCsvWriter(kind: ResourceKind, mapping: Mapping): CsvWriter {
  const seen = new Set<string>();
  const lost = new Set<string>();
  const columns = (): string[] => {
    const ends = new Set([...FIRST[kind], ...LAST[kind]]);
    const between = [...seen].filter((path) => !ends.has(path)).sort().slice(0, MAX_COLUMNS);
    return [...FIRST[kind], ...between, ...LAST[kind]];
  };
  let final: string[] | null = null;

  return {
    lost,
    addColumns(resource) {
      for (const path of cellsOf(kind, resource, lost).keys()) {
        if (seen.size >= MAX_COLUMNS && !seen.has(path)) lost.add(path);
        else seen.add(path);
      }
    },
    header() {
      final = columns();
      return csvLine(final.map((path) => headerOf(path, { kind, mapping })));
    },
    line(resource) {
      final ??= columns();
      const cells = cellsOf(kind, resource, lost);
      return csvLine(final.map((path) => cellText(path, cells.get(path) ?? [], kind)));
    },
  };
}

function cellText(path: string, texts: readonly string[], kind: ResourceKind): string {
  if (texts.length === 0) return "";
  const isNames = LAST[kind].includes(path);
  return isNames || isSplit(readPath(kind, path)) ? joinTexts(texts) : texts[0] ?? "";
}

/** The front-end attribute of a path, if the import maps it to this path only. */
function headerOf(path: string, { kind, mapping }: { kind: ResourceKind; mapping: Mapping }): string {
  if (kind === "group" && path === "displayName") return "groupName";
  if (kind === "group" && path === "members") return "member";
  for (const { scim, frontEnd } of mapping[kind]) {
    if (scim !== path) continue;
    const read = readHeader([frontEnd, kind === "user" ? "userName" : "groupName"], mapping);
    const target = read.ok ? read.table.columns[0]?.target : undefined;
    if (
      target?.to === "paths" && target.paths.length === 1 &&
      target.paths.every((one) => writePath(one) === path)
    ) {
      return frontEnd;
    }
  }
  return path;
}

/** The texts of a resource by path. */
function cellsOf(kind: ResourceKind, resource: JsonObject, lost: Set<string>): Cells {
  const cells: Cells = new Map();
  const name = kind === "user" ? resource["userName"] : resource["displayName"];
  for (const [attribute, value] of Object.entries(resource)) {
    if (LEFT_OUT.has(attribute) || (attribute === "externalId" && value === name)) continue;
    if (attribute === "groups" || attribute === "members") cells.set(attribute, namesIn(value));
    else if (attribute.startsWith("urn:") && isJsonObject(value)) {
      for (const [inner, own] of Object.entries(value)) {
        fill(cells, `${attribute}:${inner}`, { value: own, kind, lost });
      }
    } else fill(cells, attribute, { value, kind, lost });
  }
  return cells;
}

function namesIn(value: JsonValue): string[] {
  const entries = isJsonArray(value) ? value : [];
  return entries.flatMap((entry) => {
    const name = isJsonObject(entry) ? property(entry, "display") : entry;
    return typeof name === "string" ? [name] : [];
  });
}

interface Filling {
  readonly value: JsonValue;
  readonly kind: ResourceKind;
  readonly lost: Set<string>;
}

function fill(cells: Cells, attribute: string, { value, kind, lost }: Filling): void {
  if (isJsonObject(value)) {
    for (const [sub, one] of Object.entries(value)) {
      put(cells, `${attribute}.${sub}`, { texts: [textOf(one)], kind, lost });
    }
  } else if (!isJsonArray(value)) put(cells, attribute, { texts: [textOf(value)], kind, lost });
  else if (value.every((one) => !isJsonObject(one))) {
    put(cells, `${attribute}[]`, { texts: value.map(textOf), kind, lost });
  } else fillEntries(cells, attribute, { value, kind, lost });
}

/** Each entry has the same position in every column of the attribute. */
function fillEntries(
  cells: Cells,
  attribute: string,
  { value, kind, lost }: { value: readonly JsonValue[]; kind: ResourceKind; lost: Set<string> },
): void {
  const subs = new Set(value.flatMap((entry) => isJsonObject(entry) ? Object.keys(entry) : []));
  for (const sub of subs) {
    const texts = value.map((entry) =>
      isJsonObject(entry) ? textOf(property(entry, sub) ?? "") : textOf(entry)
    );
    put(cells, `${attribute}[].${sub}`, { texts, kind, lost });
  }
}

/** A string or a boolean as text. `null` for other values. */
function textOf(value: JsonValue): string | null {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : null;
}

function put(
  cells: Cells,
  path: string,
  { texts, kind, lost }: { texts: readonly (string | null)[]; kind: ResourceKind; lost: Set<string> },
): void {
  const known = readPath(kind, path);
  // A path is a column only if the import reads exactly the same value back.
  const isSame = writePath(known) === path && (known.multi || texts.length === 1) &&
    texts.every((text) => text !== null);
  const isHome = known.schema !== null ||
    findDefinition(SCIM_ATTRIBUTES[kind], known.attribute) !== undefined ||
    known.sub === null;
  if (!isSame || !isHome) lost.add(path);
  else if (texts.some((text) => text !== "")) cells.set(path, texts.map((text) => text ?? ""));
}
