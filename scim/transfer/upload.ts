// Reads an uploaded file into rows with their cells, so that the console can correct a row and read it again.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Content, Mapping } from "../schema/resource.ts";
import { type ImportColumn, readHeader } from "./columns.ts";
import { CsvReader, readCsvStart } from "../../platform/csv_reader.ts";
import {
  bodyOfRow,
  type FileRow,
  JsonReader,
  jsonRow,
  type RowFile,
  type RowRead,
  toSentence,
} from "./row_reader.ts";
import { contactProblems } from "../schema/contact_values.ts";
import { parseResource } from "../schema/parse_resource.ts";
import { distinctNames, parseName } from "../schema/resource_name.ts";
import { NameHashSet } from "../directory/name_hashes.ts";

/** One row of the file. */
interface UploadedRow {
  readonly line: number;
  /** The cells as in the file. None if the row is JSON or cannot be split. */
  readonly cells: readonly string[];
  readonly read: RowRead;
}

export interface Upload {
  /** The names of the columns; `null` for JSON. */
  readonly headers: readonly string[] | null;
  /** Columns that contain passwords, counted from 0. */
  readonly secretColumns: ReadonlySet<number>;
  /** The attributes of an existing resource that a row changes. `null`: all. */
  readonly covers: readonly string[] | null;
  readonly notes: readonly string[];
  readonly rows: readonly UploadedRow[];
  /** Reads a row of a table with other cells. */
  reread(line: number, cells: readonly string[]): RowRead;
}

export type UploadOutcome =
  | { readonly ok: true; readonly upload: Upload }
  | { readonly ok: false; readonly problem: string };

/** The name of a valid row, or its problem. */
export type UploadedRowCheck =
  | { readonly ok: true; readonly name: string; readonly key: string }
  | { readonly ok: false; readonly problem: string };

const JSON_NAME = /\.(json|jsonl|ndjson)$/i;

/** Reads a whole file. The result has all rows, including those that cannot be imported. */
export function readUpload(
  file: { readonly name: string; readonly text: string },
  { mapping, mostRows }: { mapping: Mapping; mostRows: number },
): UploadOutcome {
  // A byte order mark is not a part of the header.
  const text = file.text.replace(/^\ufeff/, "");
  if (text.trim() === "") return refuse("The file is empty.");
  const isJson = JSON_NAME.test(file.name) || /^\s*[[{]/.test(text);
  const outcome = isJson ? readJson(text) : readTable(text, mapping);
  if (!outcome.ok) return outcome;
  const { length } = outcome.upload.rows;
  if (length === 0) return refuse("The file has no rows.");
  if (length > mostRows) return refuse(`The file has over ${mostRows.toLocaleString("en-US")} rows.`);
  return outcome;
}

/** Checks a row like the body of a POST. */
export function checkUploaded(row: FileRow, mapping: Mapping): UploadedRowCheck {
  const read = readRow(row, mapping);
  if (!read.ok) return read;
  const { name } = read.content;
  return { ok: true, name, key: `${row.kind} ${canonicalName(name)}` };
}

function refuse(problem: string): UploadOutcome {
  return { ok: false, problem };
}

function readTable(text: string, mapping: Mapping): UploadOutcome {
  const { separator, skip } = readCsvStart(text.slice(0, 65_536));
  const reader = new CsvReader(separator, { skip });
  const [header, ...records] = [...reader.push(text), ...reader.end()];
  if (header === undefined) return refuse("The file is empty.");
  if (!header.ok) return refuse(`The header cannot be read: ${header.problem}.`);
  const read = readHeader(header.cells, mapping);
  if (!read.ok) return refuse(read.problem);
  const { kind, columns, covers, notes } = read.table;
  const reread = (line: number, cells: readonly string[]): RowRead =>
    cells.length === columns.length
      ? { ok: true, row: { line, kind, ...bodyOfRow(columns, cells.map((cell) => cell.trim())) } }
      : { ok: false, line, problem: widthProblem(cells.length, columns.length) };
  const rows = records.map((record): UploadedRow => {
    const { line } = record;
    if (record.ok) return { line, cells: record.cells, read: reread(line, record.cells) };
    return { line, cells: [], read: { ok: false, line, problem: toSentence(record.problem) } };
  });
  const headers = columns.map((column) => column.header);
  return { ok: true, upload: { headers, secretColumns: secretsOf(columns), covers, notes, rows, reread } };
}

function widthProblem(has: number, wanted: number): string {
  return `It has ${has === 1 ? "one cell" : `${has} cells`}, and the header has ${wanted}.`;
}

function secretsOf(columns: readonly ImportColumn[]): Set<number> {
  return new Set(
    columns.flatMap(({ target }, at) => target.to === "plain" && target.member === "password" ? [at] : []),
  );
}

function readJson(text: string): UploadOutcome {
  const reader = new JsonReader();
  const encoder = new TextEncoder();
  const rows = [...reader.push(text), ...reader.end()].map((piece): UploadedRow => {
    const { line } = piece;
    const read: RowRead = piece.ok
      ? jsonRow(line, encoder.encode(piece.text))
      : { ok: false, line, problem: toSentence(piece.problem) };
    return { line, cells: [], read };
  });
  const reread = (line: number): RowRead => ({
    ok: false,
    line,
    problem: "Correct a JSON row in the file, and upload the file again.",
  });
  const none = { headers: null, secretColumns: new Set<number>(), covers: null, notes: [] };
  return { ok: true, upload: { ...none, rows, reread } };
}

// Checks a whole file before an import writes: each row like the body of a POST, contact values as in the console, and
// no user twice.

export interface FileCheck {
  readonly users: number;
  readonly groups: number;
  readonly passwords: number;
}

const TOO_LARGE_CHARACTERS = 1_048_576;

/**
 * Reads the file once, records each fault with its line, and counts the rows.
 *
 * @param options.contactRefusal returns why the target refuses the address or number of a row. `null` if the user already has it.
 */
export async function checkFile(
  file: RowFile,
  { mapping, faults, seed, onChecked, contactRefusal }: {
    mapping: Mapping;
    faults: { add(line: number, problem: string): void };
    seed: number;
    onChecked: (rows: number) => void;
    contactRefusal: (row: FileRow) => Promise<string | null>;
  },
): Promise<FileCheck> {
  const users = new NameHashSet(seed);
  const counts = { users: 0, groups: 0, passwords: 0 };
  let rows = 0;
  for await (const read of file.rows()) {
    onChecked(++rows);
    if (!read.ok) {
      faults.add(read.line, read.problem);
      continue;
    }
    const checked = checkRow(read.row, { mapping, users });
    const refusal = checked.ok && checked.hasContactProblem ? await contactRefusal(read.row) : null;
    if (!checked.ok) faults.add(read.row.line, checked.problem);
    else if (refusal !== null) faults.add(read.row.line, refusal);
    else if (read.row.kind === "group") counts.groups++;
    else {
      counts.users++;
      if (checked.hasPassword) counts.passwords++;
    }
  }
  return counts;
}

type ReadRow =
  | { readonly ok: true; readonly content: Content; readonly password: string | undefined }
  | RowProblem;

interface RowProblem {
  readonly ok: false;
  readonly problem: string;
}

const refuseRow = (problem: string): RowProblem => ({ ok: false, problem });

/** Reads a row like the body of a POST that must have a name. */
function readRow({ kind, body, groups }: FileRow, mapping: Mapping): ReadRow {
  const read = parseResource(kind, body, { mapping, newName: () => "" });
  if (!read.ok) return refuseRow(read.detail);
  if (read.content.name === "") {
    return refuseRow(`It has no ${kind === "user" ? "userName" : "groupName (displayName)"}.`);
  }
  if (JSON.stringify(read.content).length > TOO_LARGE_CHARACTERS) return refuseRow("It is over 1 MiB.");
  const wrong = groups.map(parseName).find((one) => !one.ok);
  return wrong === undefined || wrong.ok
    ? read
    : refuseRow(`A name in groups is not valid: ${wrong.problem}.`);
}

type RowCheck =
  | { readonly ok: true; readonly hasPassword: boolean; readonly hasContactProblem: boolean }
  | RowProblem;

function checkRow(row: FileRow, { mapping, users }: { mapping: Mapping; users: NameHashSet }): RowCheck {
  const read = readRow(row, mapping);
  if (!read.ok) return read;
  const { content, password } = read;
  // Further rows of a group add members.
  if (row.kind === "user" && !users.add(canonicalName(content.name))) {
    return refuseRow(`An earlier row contains the user ${JSON.stringify(content.name)}.`);
  }
  const hasContactProblem = row.kind === "user" && contactProblems(content.attributes).length > 0;
  return { ok: true, hasPassword: password !== undefined, hasContactProblem };
}

/** The names of the groups of a valid row, each once and in NFC. */
export function validNames(names: readonly string[]): readonly string[] {
  return distinctNames(names.flatMap((name) => {
    const read = parseName(name);
    return read.ok ? [read.name] : [];
  }));
}

export interface Identified {
  readonly name: string;
  /** The members of a group. Empty for a user. */
  readonly members: readonly string[];
}

/** The name in a row, and the members in the row of a group. `null` if the row is not valid. */
export function identifyRow(
  { kind, body }: Pick<FileRow, "kind" | "body">,
  mapping: Mapping,
): Identified | null {
  const read = parseResource(kind, body, { mapping, newName: () => "" });
  if (!read.ok || read.content.name === "") return null;
  const { content } = read;
  return { name: content.name, members: content.kind === "group" ? content.members : [] };
}
