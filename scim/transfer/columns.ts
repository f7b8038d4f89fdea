// The columns of a CSV file: the attribute of each header, and the values of a cell.

import { FORMULA_START } from "../../platform/csv_reader.ts";
import type { Mapping, ResourceKind } from "../schema/resource.ts";
import {
  type AttributePath,
  findAttribute,
  readPath,
  SCIM_ATTRIBUTES,
  writePath,
} from "../schema/attributes.ts";
import { ENTERPRISE_SCHEMA } from "../schema/attribute_table.ts";

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
  const top = findAttribute(SCIM_ATTRIBUTES[kind], path.attribute);
  if (path.schema === null && top?.mutability === "readOnly") return { to: "ignored" };
  if (path.known?.type === "complex") {
    const parts = [...new Set([...path.known.sub.values()].map(({ name }) => name))].slice(0, 3);
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
  const isOther = kind === "group" || findAttribute(SCIM_ATTRIBUTES.user, header) !== undefined;
  const extension = findAttribute(SCIM_ATTRIBUTES.user, ENTERPRISE_SCHEMA)?.sub ?? new Map<string, never>();
  const known = isOther ? undefined : findAttribute(extension, header);
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
      schema === null && findAttribute(SCIM_ATTRIBUTES[kind], attribute) === undefined
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
export function isSplit({ multi, known }: AttributePath): boolean {
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
