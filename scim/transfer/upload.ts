// Reads an uploaded file into rows with their cells, so that the console can correct a row and read it again.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mapping } from "../schema/resource.ts";
import { type ImportColumn, readHeader } from "./columns.ts";
import { CsvReader, readCsvStart } from "../../platform/csv_reader.ts";
import { bodyOfRow, type FileRow, jsonRow, type RowRead, toSentence } from "./row_reader.ts";
import { JsonReader } from "./json_reader.ts";
import { readRow } from "./validate_rows.ts";

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
