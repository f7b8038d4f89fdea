// Reads the seed file of a vendor: PSKC (RFC 6030), or CSV in the forms of vendors and of other servers, as rows. A form with a header is known by
// its column names, the others by the first cells.

import { CsvReader, type CsvRecord, detectSeparator, readCsvStart } from "../../../platform/csv_reader.ts";
import type { TokenKind } from "../token.ts";
import {
  checkSeedRow,
  decodeSeed,
  EMPTY_SEED_ROW,
  markRepeated,
  type RawSeedRow,
  readWholeNumber,
  type SeedEncoding,
  type SeedFileOptions,
  type SeedFileProblem,
  type SeedRow,
  type SeedRowProblem,
} from "./seed_rows.ts";
import { isXml, readPskc } from "./pskc.ts";

/** The forms of seed files, with the sources that write or read them. */
const SEED_CSV_FORMS = {
  /** Microsoft Entra ID ("Upload hardware OATH tokens in CSV format"); Token2, Deepnet SafeID, Protectimus and Feitian deliver it. */
  header: { title: "CSV with column names" },
  /** privacyIDEA ("OATH CSV"), NetIQ Advanced Authentication, Duo: serial, seed[, type[, digits[, time step or counter]]]. */
  oath: { title: "OATH CSV" },
  /** privacyIDEA's "# version: 2": user, resolver and realm come first. */
  oath_users: { title: "OATH CSV with users" },
  /** privacyIDEA's `pi-token-janitor find export --format csv`: login@realm or n/a, then as in "OATH CSV". */
  oath_owners: { title: "CSV of pi-token-janitor" },
  /** YubiKey Personalization Tool, "Traditional format": OATH-HOTP, time, slot, identifier, , seed, … */
  yubico_traditional: { title: "YubiKey Personalization Tool, traditional format" },
  /** YubiKey Personalization Tool, "Yubico format": serial, , 0, seed, access code, time. */
  yubico: { title: "YubiKey Personalization Tool, Yubico format" },
} as const satisfies Record<string, { title: string }>;
type SeedCsvForm = keyof typeof SEED_CSV_FORMS;

type Field =
  | "serial"
  | "seed"
  | "user"
  | "kind"
  | "digits"
  | "periodS"
  | "counter"
  | "algorithm"
  | "manufacturer"
  | "model";

/** Column names, without case, blanks, `_` and `-`. */
const COLUMNS: ReadonlyMap<string, Field> = new Map(
  ([
    ["serial", ["serialnumber", "serial", "serialno", "sn", "tokenserial", "token", "tokenid", "id"]],
    ["seed", [
      "secretkey",
      "secret",
      "seed",
      "key",
      "otpkey",
      "secrethex",
      "secretbase32",
      "hexseed",
      "base32seed",
    ]],
    ["user", ["upn", "user", "username", "userprincipalname", "assignedto", "login", "owner"]],
    ["kind", ["type", "tokentype", "kind", "otptype"]],
    ["digits", ["digits", "otplength", "length", "otplen", "passcodelength", "codelength", "responselength"]],
    ["periodS", ["timeinterval", "interval", "timestep", "period", "timeintervalinseconds", "otplifetime"]],
    ["counter", ["counter", "count", "movingfactor", "eventcounter"]],
    ["algorithm", ["algorithm", "hashfunction", "hash", "hashalgorithm", "hashlib"]],
    ["manufacturer", ["manufacturer", "vendor", "issuer"]],
    ["model", ["model", "description", "name", "productname"]],
  ] as const).flatMap(([field, names]) => names.map((name) => [name, field] as const)),
);

const YUBICO_MODES = new Set([
  "yubico otp",
  "oath-hotp",
  "static password",
  "challenge-response",
  "oath hotp",
]);

/** A row of cells with its line; a broken row has a problem. */
interface Line {
  readonly line: number;
  readonly cells: readonly string[];
  readonly isBroken: boolean;
}

const PIECE_CHARACTERS = 64 * 1024;
/** Rows after which logins continue. */
const ROWS_BETWEEN_PAUSES = 500;

interface SeedCsv {
  readonly form: SeedCsvForm;
  readonly rows: readonly SeedRow[];
}

/** Reads a table in pieces, so that logins continue meanwhile. `null`: its form is not known. `"too_many_tokens"`: it has more than `most` rows. */
async function readSeedCsv(
  text: string,
  { options, most, pause }: { options: SeedFileOptions; most: number; pause: () => Promise<void> },
): Promise<SeedCsv | "too_many_tokens" | null> {
  const beginning = text.slice(0, PIECE_CHARACTERS);
  const { separator, skip } = readCsvStart(beginning);
  const reader = new CsvReader(skip > 0 ? separator : detectSeparator(beginning), { skip });
  const lines: Line[] = [];
  const take = (records: readonly CsvRecord[]) => {
    for (const record of records) {
      const line = lineOf(record);
      if (!(line.cells[0] ?? "").startsWith("#")) lines.push(line);
    }
  };
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    take(reader.push(text.slice(at, at + PIECE_CHARACTERS)));
    // A row in memory is much larger than in the file.
    if (lines.length > most + 1) return "too_many_tokens";
    await pause();
  }
  take(reader.end());
  const hasUsers = /^#\s*version:\s*2\s*$/im.test(text.slice(0, 200));
  const first = lines.find(({ isBroken }) => !isBroken);
  const form = first === undefined ? null : formOf(first.cells, hasUsers);
  if (form === null || first === undefined) return null;
  const columns = form === "header" ? columnsOf(first.cells) : null;
  const body = columns === null ? lines : lines.filter((line) => line !== first);
  const cellsOf = (line: Line) => readCells(form, { line, columns, options });
  const drafts = body.map(cellsOf);
  if (drafts.length > most) return "too_many_tokens";
  const encoding = options.encoding === "auto" ? encodingOf(drafts) : options.encoding;
  const byDefault = defaultKind(form, columns);
  const rows: SeedRow[] = [];
  for (const [at, { seedText, ...raw }] of drafts.entries()) {
    const seed = seedText === "" ? null : decodeSeed(seedText, encoding);
    const problem: SeedRowProblem | null = raw.problem ??
      (seedText !== "" && seed === null ? "bad_seed" : null);
    rows.push(checkSeedRow({ ...raw, seed, problem }, options, byDefault));
    if (at % ROWS_BETWEEN_PAUSES === 0) await pause();
  }
  return { form, rows };
}

function lineOf(record: CsvRecord): Line {
  return record.ok
    ? { line: record.line, cells: record.cells.map((cell) => cell.trim()), isBroken: false }
    : { line: record.line, cells: [], isBroken: true };
}

function formOf(cells: readonly string[], hasUsers: boolean): SeedCsvForm | null {
  const columns = columnsOf(cells);
  if (columns.has("serial") && columns.has("seed")) return "header";
  if (isTraditional(cells)) return "yubico_traditional";
  if (cells.length >= 6 && /^\d+$/.test(cells[0] ?? "") && /^[0-9a-f]{32,}$/i.test(cells[3] ?? "")) {
    return "yubico";
  }
  if (/@|^n\/a$/i.test(cells[0] ?? "") && /^[ht]otp$/i.test(cells[3] ?? "")) return "oath_owners";
  const [serial = "", seed = ""] = hasUsers ? cells.slice(3) : cells;
  if (serial === "" || !/^(?:0x)?[0-9a-z+/=: -]{16,}$/i.test(seed)) return null;
  return hasUsers ? "oath_users" : "oath";
}

function isTraditional([mode = ""]: readonly string[]): boolean {
  return YUBICO_MODES.has(mode.toLowerCase());
}

function columnsOf(cells: readonly string[]): ReadonlyMap<Field, number> {
  const columns = new Map<Field, number>();
  for (const [at, cell] of cells.entries()) {
    const field = COLUMNS.get(cell.toLowerCase().replace(/^\ufeff/, "").replace(/[\s_()-]/g, ""));
    if (field !== undefined && !columns.has(field)) columns.set(field, at);
  }
  return columns;
}

type Draft = RawSeedRow & { readonly seedText: string };

function readCells(
  form: SeedCsvForm,
  { line: { line, cells, isBroken }, columns, options }: {
    line: Line;
    columns: ReadonlyMap<Field, number> | null;
    options: SeedFileOptions;
  },
): Draft {
  const head: Draft = { ...EMPTY_SEED_ROW, line, seedText: "" };
  if (isBroken) return { ...head, problem: "broken_row" };
  const cell = (at: number) => cells[at] ?? "";
  switch (form) {
    case "header": {
      const given = (field: Field) => {
        const at = columns?.get(field);
        return at === undefined ? "" : cell(at);
      };
      const { serial, kind, digits, periodS, counter, algorithm, manufacturer, model, user } = eachField(
        given,
      );
      return {
        ...head,
        serial,
        kind,
        digits,
        periodS,
        counter,
        algorithm,
        manufacturer,
        model,
        user,
        seedText: given("seed"),
      };
    }
    case "oath":
      return { ...head, ...oathCells(cells, options) };
    case "oath_users":
      return { ...head, ...oathCells(cells.slice(3), options), user: cell(0) };
    case "oath_owners": {
      const owner = cell(0);
      const user = owner.toLowerCase() === "n/a" ? "" : owner.replace(/@[^@]*$/, "");
      return { ...head, ...oathCells(cells.slice(1), options), user };
    }
    case "yubico_traditional":
    case "yubico":
      // The tool appends to a file in whichever form is set at that time.
      if (isTraditional(cells)) return { ...head, ...traditionalCells(cells), manufacturer: "Yubico" };
      // "0" in the third column is the OATH mode; the others are not HOTP.
      return {
        ...head,
        serial: cell(0),
        kind: cell(2) === "0" ? "hotp" : cell(2) === "" ? "static" : "yubico",
        seedText: cell(3),
        manufacturer: "Yubico",
      };
  }
}

function eachField(given: (field: Field) => string): Record<Field, string> {
  const fields = new Set(COLUMNS.values());
  return Object.fromEntries([...fields].map((field) => [field, given(field)])) as Record<Field, string>;
}

/** serial, seed[, type[, digits[, time step or counter]]]; Duo leaves out type and digits: serial, seed[, time step or counter]. */
function oathCells(cells: readonly string[], options: SeedFileOptions): Partial<Draft> {
  const [serial = "", seedText = "", third = "", digits = "", last = ""] = cells;
  const isDuo = readWholeNumber(third) !== null;
  const kind = isDuo ? "" : third;
  const factor = isDuo ? third : last;
  const isTime = kind === "" ? options.kind === "totp" : kind.toLowerCase().endsWith("totp");
  return {
    serial,
    seedText,
    kind,
    digits: isDuo ? "" : digits,
    ...(isTime ? { periodS: factor } : { counter: factor }),
  };
}

/** A key with an identifier types it before each code, so its codes have another form. */
function traditionalCells(cells: readonly string[]): Partial<Draft> {
  const [mode = "", , , identifier = "", , seedText = "", , , , , , digits = ""] = cells;
  const isHotp = /^oath[- ]hotp$/i.test(mode);
  const problem = isHotp && identifier !== "" ? "types_identifier" as const : null;
  const length = readWholeNumber(digits);
  return {
    serial: identifier,
    kind: isHotp ? "hotp" : mode,
    seedText,
    digits: length === 6 || length === 8 ? digits : "",
    problem,
  };
}

/** The seeds that decide about the encoding. A vendor uses one encoding in a file. */
const MAX_SAMPLED = 500;

/** Hexadecimal if most of the first seeds are, otherwise base32. */
function encodingOf(drafts: readonly { readonly seedText: string }[]): Exclude<SeedEncoding, "auto"> {
  const seeds = drafts.map(({ seedText }) => seedText).filter((text) => text !== "").slice(0, MAX_SAMPLED);
  const hex = seeds.filter((text) => decodeSeed(text, "hex") !== null).length;
  const base32 = seeds.filter((text) => decodeSeed(text, "base32") !== null).length;
  return hex >= base32 ? "hex" : "base32";
}

/** privacyIDEA and NetIQ take a token without a type for HOTP. A column of time intervals makes it TOTP, as in Entra ID. */
function defaultKind(form: SeedCsvForm, columns: ReadonlyMap<Field, number> | null): TokenKind {
  return form === "header" && columns?.has("counter") !== true ? "totp" : "hotp";
}

// Reads a seed file of either form. The result has the seeds; nothing here logs.

export type SeedFileForm = SeedCsvForm | "pskc";

type SeedFileOutcome =
  | {
    readonly ok: true;
    readonly form: SeedFileForm;
    readonly rows: readonly SeedRow[];
    /** It has a signature, which is not checked. */
    readonly isSigned: boolean;
  }
  | { readonly ok: false; readonly problem: SeedFileProblem };

/** Larger files are imported in parts. */
export const MAX_SEED_FILE_CHARACTERS = 16 * 1024 * 1024;
const MAX_SEED_ROWS = 20_000;

/** @param pause called often, so that logins continue meanwhile */
export async function readSeedFile(
  text: string,
  { options, pause }: { options: SeedFileOptions; pause: () => Promise<void> },
): Promise<SeedFileOutcome> {
  const refused = (problem: SeedFileProblem) => ({ ok: false, problem } as const);
  if (text.length > MAX_SEED_FILE_CHARACTERS) return refused("file_too_large");
  if (text.trim() === "") return refused("empty_file");
  if (isXml(text)) {
    const file = await readPskc(text, { options, most: MAX_SEED_ROWS, pause });
    if (typeof file === "string") return refused(file);
    return { ok: true, form: "pskc", rows: markRepeated(file.rows), isSigned: file.isSigned };
  }
  const table = await readSeedCsv(text, { options, most: MAX_SEED_ROWS, pause });
  if (table === null) return refused("unknown_format");
  if (table === "too_many_tokens") return refused(table);
  return { ok: true, form: table.form, rows: markRepeated(table.rows), isSigned: false };
}
