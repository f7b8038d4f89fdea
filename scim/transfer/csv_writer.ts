// Writes resources as CSV: collects the columns, writes the cells, and lists the attributes that CSV cannot contain.

import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../schema/resource.ts";
import {
  findAttribute,
  isJsonArray,
  isJsonObject,
  property,
  readPath,
  SCIM_ATTRIBUTES,
  writePath,
} from "../schema/attributes.ts";
import { csvLine, isSplit, joinTexts, readHeader } from "./columns.ts";

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
    findAttribute(SCIM_ATTRIBUTES[kind], known.attribute) !== undefined ||
    known.sub === null;
  if (!isSame || !isHome) lost.add(path);
  else if (texts.some((text) => text !== "")) cells.set(path, texts.map((text) => text ?? ""));
}
