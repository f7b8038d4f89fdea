// Reads the rows of a CSV or JSON file in bounded memory, each with its line and as the body of a POST.

import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../schema/resource.ts";
import { GROUP_SCHEMA, USER_SCHEMA } from "../schema/attribute_table.ts";
import {
  type AttributePath,
  finishGrowing,
  type Growing,
  growingList,
  growingObject,
  isJsonArray,
  isJsonObject,
  parseJsonObject,
} from "../schema/attributes.ts";
import {
  cellTexts,
  type ImportColumn,
  type ImportTable,
  readHeader,
  splitTexts,
  unescapeFormula,
} from "./columns.ts";
import { CsvReader, type CsvRecord, readCsvStart } from "../../platform/csv_reader.ts";

/** One row. `groups`: the names of groups that the user joins. */
export interface FileRow {
  readonly line: number;
  readonly kind: ResourceKind;
  readonly body: JsonObject;
  readonly groups: readonly string[];
}

export type RowRead =
  | { readonly ok: true; readonly row: FileRow }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** A file that can be read several times. */
export interface RowFile {
  /** The attributes of an existing resource that a row changes; `null`: all. */
  readonly covers: readonly string[] | null;
  readonly notes: readonly string[];
  /** Throws a {@link FileError} if the file can no longer be read. */
  rows(): AsyncGenerator<RowRead>;
}

/** Why a file cannot be read, as a sentence. */
export class FileError extends Error {
  override readonly name = "FileError";
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
 * Opens a file and reads its beginning.
 *
 * @throws FileError if it cannot be read, or if its header has an unknown column.
 */
export async function openRowFile(path: string, { mapping }: { mapping: Mapping }): Promise<RowFile> {
  const head = await firstOf(textOf(path)) ?? "";
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const format = FORMATS.get(ending) ?? (/^\s*[[{]/.test(head) ? "json" : "csv");
  if (format === "json") return { covers: null, notes: [], rows: () => jsonRows(path) };
  const { separator, skip } = readCsvStart(head);
  const header = await firstOf(recordsOf(path, new CsvReader(separator, { skip })));
  if (header === null) throw new FileError("Cannot import the file: it is empty.");
  if (!header.ok) throw new FileError(`Cannot read the header of the file: ${header.problem}.`);
  const read = readHeader(header.cells, mapping);
  if (!read.ok) throw new FileError(`Cannot import the file. ${read.problem}`);
  const { table } = read;
  return {
    covers: table.covers,
    notes: table.notes,
    rows: () => tableRows(path, { separator, skip, table }),
  };
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
      throw new FileError("Cannot read the file: it is not UTF-8. In a spreadsheet, save it as CSV UTF-8.");
    }
    if (fault instanceof Deno.errors.NotFound) throw new FileError("Cannot read the file: it is not there.");
    if (fault instanceof Error && fault.name in Deno.errors) {
      throw new FileError(`Cannot read the file (${fault.name}).`, { cause: fault });
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
  { separator, skip, table: { kind, columns } }: { separator: string; skip: number; table: ImportTable },
): AsyncGenerator<RowRead> {
  let isHeader = true;
  for await (const record of recordsOf(path, new CsvReader(separator, { skip }))) {
    const wasHeader = isHeader;
    isHeader = false;
    if (wasHeader) continue;
    const { line } = record;
    if (!record.ok) yield { ok: false, line, problem: toSentence(record.problem) };
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
  const reader = new JsonReader();
  const encoder = new TextEncoder();
  for await (const text of textOf(path)) {
    for (const piece of reader.push(text)) {
      const { line } = piece;
      if (!piece.ok) yield { ok: false, line, problem: toSentence(piece.problem) };
      else yield jsonRow(line, encoder.encode(piece.text));
    }
  }
  for (const { line, ...piece } of reader.end()) {
    if (!piece.ok) yield { ok: false, line, problem: toSentence(piece.problem) };
  }
}

export function toSentence(problem: string): string {
  return `${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}.`;
}

export function jsonRow(line: number, octets: Uint8Array): RowRead {
  const parsed = parseJsonObject(octets, { uniqueNames: "anyCase" });
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

/** Decides by the schemas, or without them by attributes that only one kind has. */
function kindOf({ schemas, userName, members, meta }: JsonObject): ResourceKind {
  const named = isJsonArray(schemas)
    ? schemas.map((one) => typeof one === "string" ? one.toLowerCase() : "")
    : [];
  if (named.includes(GROUP_SCHEMA.toLowerCase())) return "group";
  if (named.includes(USER_SCHEMA.toLowerCase()) || userName !== undefined) return "user";
  const isGroup = members !== undefined || (isJsonObject(meta) && meta["resourceType"] === "Group");
  return isGroup ? "group" : "user";
}

/** Reads `display` first, as for the members of a group. `null` if an entry has no name. */
function groupNames(value: JsonValue | undefined): string[] | null {
  if (value === undefined || value === null) return [];
  const names: string[] = [];
  for (const entry of isJsonArray(value) ? value : [value]) {
    const texts = isJsonObject(entry) ? [entry["display"], entry["value"]] : [entry];
    const name = texts.find((text) => typeof text === "string" && text !== "");
    if (typeof name !== "string") return null;
    names.push(name);
  }
  return names;
}

interface TableRow {
  readonly body: JsonObject;
  /** The groups of a user, as given. */
  readonly groups: readonly string[];
}

/** @param cells one for each column. Empty cells are ignored. */
export function bodyOfRow(columns: readonly ImportColumn[], cells: readonly string[]): TableRow {
  const body: Growing = new Map();
  let groups: readonly string[] = [];
  for (const [at, { target }] of columns.entries()) {
    const cell = unescapeFormula(cells[at] ?? "");
    if (cell === "" || target.to === "ignored") continue;
    if (target.to === "plain") body.set(target.member, cell);
    else if (target.to === "paths") {
      for (const path of target.paths) put(body, path, cellTexts(cell, path));
    } else {
      const names = splitTexts(cell).filter((name) => name !== "");
      if (target.member === "groups") groups = names;
      else body.set("members", names.map((display) => ({ display })));
    }
  }
  return { body: finishGrowing(body), groups };
}

function put(body: Growing, path: AttributePath, texts: readonly string[]): void {
  const { schema, attribute, sub, multi, known } = path;
  const holder = schema === null ? body : growingObject(body, schema);
  if (sub === null) {
    const isList = multi || (known === null && texts.length > 1);
    holder.set(attribute, isList ? texts.filter((text) => text !== "") : texts[0] ?? "");
  } else if (multi) {
    const entries = growingList(holder, attribute);
    for (const [at, text] of texts.entries()) {
      const entry = entries[at] ?? new Map();
      entries[at] = entry;
      if (text !== "") entry.set(sub, text);
    }
  } else {growingObject(holder, attribute).set(
      sub,
      known === null && texts.length > 1 ? [...texts] : texts[0] ?? "",
    );}
}

// Splits JSON into resources in pieces: an array, a ListResponse (RFC 7644 §3.4.2), or a sequence of objects.

export type JsonPiece =
  | { readonly ok: true; readonly line: number; readonly text: string }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** The limit of a request body. */
const MAX_CHARACTERS = 1_048_576;
const LIST_MEMBER = '"resources"';

const TOO_LONG = "it is over 1 MiB, or it is never closed";
const NOT_JSON = "expected a JSON object here";
const UNFINISHED = "the file ends before this object or list is complete";

/** `seek`: between resources. `resource`: within one. `beside`: within a ListResponse, outside of its resources. */
type Mode = "seek" | "resource" | "beside";
/** The container of the resources. */
type Around = "nothing" | "array" | "list";

const BLANK = new Set([" ", "\t", "\r", "\n", ","]);

export class JsonReader {
  #mode: Mode = "seek";
  #around: Around = "nothing";
  /** Open brackets of the resource, or of the ListResponse outside of its resources. */
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #kept: string[] = [];
  #characters = 0;
  #line = 1;
  #firstLine = 1;
  /** The beginning of the last text among the members of the outermost object, in lower case. */
  #name = "";
  /** After a fault, nothing more can be read. */
  #isOver = false;
  #pieces: JsonPiece[] = [];

  /** The resources that end in the text so far. The caller must parse each one. */
  push(text: string): JsonPiece[] {
    this.#pieces = [];
    for (let at = 0; at < text.length && !this.#isOver;) {
      const to = this.#runEnd(text, at);
      if (to > at) this.#takeRun(text.slice(at, to));
      else this.#takeOne(text[at] ?? "");
      at = Math.max(to, at + 1);
    }
    return this.#pieces;
  }

  /** The fault at the end, if there is one. */
  end(): JsonPiece[] {
    if (this.#isOver || (this.#mode === "seek" && this.#around === "nothing")) return [];
    const line = this.#mode === "resource" ? this.#firstLine : this.#line;
    return [{ ok: false, line, problem: UNFINISHED }];
  }

  /** The end of a run of characters without a special meaning. */
  #runEnd(text: string, start: number): number {
    const marks = this.#isText ? TEXT_MARKS : MARKS;
    let to = start;
    if (this.#mode !== "seek" && !this.#isEscaped) {
      while (to < text.length && !marks.has(text[to] ?? "")) to++;
    }
    return to;
  }

  #takeRun(text: string): void {
    this.#keep(text);
    if (this.#isText && this.#depth === 1) {
      const name = this.#name + text.slice(0, LIST_MEMBER.length);
      this.#name = name.slice(0, LIST_MEMBER.length).toLowerCase();
    }
  }

  #takeOne(one: string): void {
    if (one === "\n") this.#line++;
    if (this.#isText) this.#inText(one);
    else if (this.#mode === "seek") this.#seek(one);
    else this.#within(one);
    if (one === '"' && !this.#isText && this.#depth === 1) this.#name += one;
  }

  #inText(one: string): void {
    this.#keep(one);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (one === "\\") this.#isEscaped = true;
    else if (one === '"') this.#isText = false;
  }

  #seek(one: string): void {
    if (BLANK.has(one)) return;
    if (one === "{") {
      this.#begin();
      this.#within(one);
    } else if (one === "[" && this.#around === "nothing") this.#around = "array";
    else if (one === "]" && this.#around === "array") this.#around = "nothing";
    else if (one === "]" && this.#around === "list") {
      this.#mode = "beside";
      this.#depth = 1;
    } else this.#fail(this.#line, NOT_JSON);
  }

  #begin(): void {
    this.#mode = "resource";
    this.#depth = 0;
    this.#firstLine = this.#line;
    this.#kept = [];
    this.#characters = 0;
    this.#name = "";
  }

  #within(one: string): void {
    const mayBeList = this.#mode === "beside" || this.#around === "nothing";
    if (one === "[" && this.#depth === 1 && mayBeList && this.#name === LIST_MEMBER) {
      // The text so far is the head of a ListResponse.
      this.#mode = "seek";
      this.#around = "list";
      return;
    }
    this.#keep(one);
    if (one === '"') {
      this.#isText = true;
      if (this.#depth === 1) this.#name = one;
    } else if (one === "{" || one === "[") this.#depth++;
    else if (one === "}" || one === "]") this.#depth--;
    if (this.#depth > 0) return;
    if (this.#mode === "resource") {
      this.#pieces.push({ ok: true, line: this.#firstLine, text: this.#kept.join("") });
    } else this.#around = "nothing";
    this.#mode = "seek";
  }

  #keep(text: string): void {
    if (this.#mode !== "resource") return;
    this.#kept.push(text);
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS) this.#fail(this.#firstLine, TOO_LONG);
  }

  #fail(line: number, problem: string): void {
    this.#pieces.push({ ok: false, line, problem });
    this.#isOver = true;
  }
}

const MARKS = new Set(['"', "{", "}", "[", "]", "\n"]);
const TEXT_MARKS = new Set(['"', "\\", "\n"]);
