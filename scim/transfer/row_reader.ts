// The rows of a file of users or groups, CSV or JSON, in bounded memory: each with its line, as the body of a POST.

import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../schema/resource.ts";
import { GROUP_SCHEMA, USER_SCHEMA } from "../schema/attribute_table.ts";
import { isArray, isObject, parseBody } from "../schema/json_limits.ts";
import { readHeader, type Table } from "./columns.ts";
import { createCsvReader, type CsvReader, type CsvRecord, detectSeparator } from "./csv_reader.ts";
import { createJsonReader } from "./json_reader.ts";
import { bodyOfRow } from "./row_to_resource.ts";

/** One row. `groups`: the names of groups that the user is to be in. */
export interface FileRow {
  readonly line: number;
  readonly kind: ResourceKind;
  readonly body: JsonObject;
  readonly groups: readonly string[];
}

export type RowRead =
  | { readonly ok: true; readonly row: FileRow }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** A file that can be read as often as is wanted. */
export interface RowFile {
  /** What a row reaches of a resource that is there already; `null`: all of it. */
  readonly covers: readonly string[] | null;
  readonly notes: readonly string[];
  /** Throws a {@link FileFault} when it can no longer be read. */
  rows(): AsyncGenerator<RowRead>;
}

/** Why a file cannot be read, as a sentence. */
export class FileFault extends Error {
  override readonly name = "FileFault";
}

const CHUNK_OCTETS = 256 * 1024;
const FORMATS: ReadonlyMap<string, "csv" | "json"> = new Map([
  ["csv", "csv"],
  ["tsv", "csv"],
  ["txt", "csv"],
  ["json", "json"],
  ["jsonl", "json"],
  ["ndjson", "json"],
]);

/**
 * Looks at the beginning of a file.
 *
 * @throws FileFault when it cannot be read, or its header names what no attribute is.
 */
export async function openRowFile(path: string, { mapping }: { mapping: Mapping }): Promise<RowFile> {
  const head = await firstOf(textOf(path)) ?? "";
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const format = FORMATS.get(ending) ?? (/^\s*[[{]/.test(head) ? "json" : "csv");
  if (format === "json") return { covers: null, notes: [], rows: () => jsonRows(path) };
  const separator = detectSeparator(head.split(/\r|\n/, 1)[0] ?? "");
  const header = await firstOf(recordsOf(path, createCsvReader(separator)));
  if (header === null) throw new FileFault("Cannot import the file: it is empty.");
  if (!header.ok) throw new FileFault(`Cannot read the header of the file: ${header.problem}.`);
  const read = readHeader(header.cells, mapping);
  if (!read.ok) throw new FileFault(`Cannot import the file. ${read.problem}`);
  const { table } = read;
  return { covers: table.covers, notes: table.notes, rows: () => tableRows(path, { separator, table }) };
}

async function firstOf<T>(things: AsyncGenerator<T>): Promise<T | null> {
  for await (const thing of things) return thing;
  return null;
}

async function* textOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    using file = await Deno.open(path, { read: true });
    const buffer = new Uint8Array(CHUNK_OCTETS);
    for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
      const text = decoder.decode(buffer.subarray(0, count), { stream: true });
      if (text !== "") yield text;
    }
    decoder.decode();
  } catch (fault) {
    if (fault instanceof TypeError) {
      throw new FileFault("Cannot read the file: it is not UTF-8. In a spreadsheet, save it as CSV UTF-8.");
    }
    if (fault instanceof Deno.errors.NotFound) throw new FileFault("Cannot read the file: it is not there.");
    if (fault instanceof Error && fault.name in Deno.errors) {
      throw new FileFault(`Cannot read the file (${fault.name}).`, { cause: fault });
    }
    throw fault;
  }
}

async function* recordsOf(path: string, reader: CsvReader): AsyncGenerator<CsvRecord> {
  for await (const text of textOf(path)) yield* reader.push(text);
  yield* reader.end();
}

async function* tableRows(
  path: string,
  { separator, table: { kind, columns } }: { separator: string; table: Table },
): AsyncGenerator<RowRead> {
  let isHeader = true;
  for await (const record of recordsOf(path, createCsvReader(separator))) {
    const wasHeader = isHeader;
    isHeader = false;
    if (wasHeader) continue;
    const { line } = record;
    if (!record.ok) yield { ok: false, line, problem: sentence(record.problem) };
    else if (record.cells.length !== columns.length) {
      const { length } = record.cells;
      const problem = `It has ${
        length === 1 ? "one cell" : `${length} cells`
      }, and the header has ${columns.length}.`;
      yield { ok: false, line, problem };
    } else yield { ok: true, row: { line, kind, ...bodyOfRow(columns, record.cells) } };
  }
}

async function* jsonRows(path: string): AsyncGenerator<RowRead> {
  const reader = createJsonReader();
  const encoder = new TextEncoder();
  for await (const text of textOf(path)) {
    for (const piece of reader.push(text)) {
      const { line } = piece;
      if (!piece.ok) yield { ok: false, line, problem: sentence(piece.problem) };
      else yield jsonRow(line, encoder.encode(piece.text));
    }
  }
  for (const { line, ...piece } of reader.end()) {
    if (!piece.ok) yield { ok: false, line, problem: sentence(piece.problem) };
  }
}

export function sentence(problem: string): string {
  return `${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}.`;
}

export function jsonRow(line: number, octets: Uint8Array): RowRead {
  const parsed = parseBody(octets);
  if (!parsed.ok) return { ok: false, line, problem: parsed.problem.replace(/^The body/, "It") };
  const kind = kindOf(parsed.value);
  const { groups: given, ...body } = parsed.value;
  if (kind === "group") return { ok: true, row: { line, kind, body, groups: [] } };
  const groups = groupNames(given);
  if (groups === null) {
    return { ok: false, line, problem: "An entry of groups has neither display nor value." };
  }
  return { ok: true, row: { line, kind, body, groups } };
}

/** By its schemas; without them, by what only one of the two has. */
function kindOf({ schemas, userName, members, meta }: JsonObject): ResourceKind {
  const named = isArray(schemas)
    ? schemas.map((one) => typeof one === "string" ? one.toLowerCase() : "")
    : [];
  if (named.includes(GROUP_SCHEMA.toLowerCase())) return "group";
  if (named.includes(USER_SCHEMA.toLowerCase()) || userName !== undefined) return "user";
  const isGroup = members !== undefined || (isObject(meta) && meta["resourceType"] === "Group");
  return isGroup ? "group" : "user";
}

/** `display` first, as for the members of a group; `null` for what names nothing. */
function groupNames(value: JsonValue | undefined): string[] | null {
  if (value === undefined || value === null) return [];
  const names: string[] = [];
  for (const entry of isArray(value) ? value : [value]) {
    const texts = isObject(entry) ? [entry["display"], entry["value"]] : [entry];
    const name = texts.find((text) => typeof text === "string" && text !== "");
    if (typeof name !== "string") return null;
    names.push(name);
  }
  return names;
}
