// The rows of a seed file: what a file says about one token, checked and completed with the options of the import. No message has a seed.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { CodeAlgorithm } from "../../factors/totp.ts";
import {
  MAX_SEED_OCTETS,
  MAX_TOKEN_COUNTER,
  MAX_TOKEN_DIGITS,
  MAX_TOKEN_PERIOD_S,
  MIN_SEED_OCTETS,
  MIN_TOKEN_DIGITS,
  MIN_TOKEN_PERIOD_S,
  type NewToken,
  tokenId,
  type TokenKind,
} from "../token.ts";

/** Why a row cannot be imported, in English. The pages have translations. */
export const SEED_ROW_PROBLEMS = {
  broken_row: "the row cannot be read",
  no_serial: "the serial number is missing",
  bad_serial: "the serial number is not valid",
  no_seed: "the seed is missing",
  bad_seed: "the seed cannot be read in this encoding",
  short_seed: "the seed has less than 80 bits",
  long_seed: "the seed has more than 128 octets",
  other_kind: "neither HOTP nor TOTP",
  bad_digits: "codes must have 6 to 8 digits",
  bad_period: "the time step must have 10 to 300 seconds",
  bad_counter: "the counter is not valid",
  bad_algorithm: "unknown hash function",
  start_time: "the time steps do not begin in 1970",
  not_decimal: "the codes are not decimal, or they have a check digit",
  key_usage: "the file does not allow the key for codes",
  other_policy: "the file has a policy that is not supported, such as a PIN in the code",
  bad_validity: "the validity period cannot be read",
  types_identifier: "the key types an identifier before the code; program it without one",
  no_mac: "the encrypted seed has no MAC",
  wrong_mac: "the MAC of the seed is wrong",
  not_decrypted: "the seed cannot be decrypted",
  repeated: "the serial number is in the file more than once",
} as const satisfies Record<string, string>;
export type SeedRowProblem = keyof typeof SEED_ROW_PROBLEMS;

/** Why a file cannot be imported at all. */
export const SEED_FILE_PROBLEMS = {
  empty_file: "The file has no tokens.",
  file_too_large: "The file is larger than 16 MiB. Split it.",
  too_many_tokens: "The file has more than 20,000 tokens. Split it.",
  unknown_format: "The format is not known. See docs/hardware-tokens.md for the supported files.",
  broken_xml: "The file is not valid XML, or its structure is too large.",
  has_doctype: "The file has a document type definition, which is not allowed.",
  needs_key: "The file is encrypted. Enter its pre-shared key.",
  needs_password: "The file is encrypted. Enter its password.",
  wrong_key: "The key or the password is wrong.",
  bad_key: "The key is not valid. Enter 32, 48 or 64 hexadecimal digits.",
  unknown_encryption:
    "The file uses an encryption that is not supported. Ask the vendor for AES-CBC with a key or a password.",
  too_much_derivation: "The file requires too many iterations to derive its key.",
} as const satisfies Record<string, string>;
export type SeedFileProblem = keyof typeof SEED_FILE_PROBLEMS;

export type SeedEncoding = "auto" | "hex" | "base32" | "base64";

/** What the administrator says about a file. `null`: what the file says, or the default. */
export interface SeedFileOptions {
  readonly kind: TokenKind | null;
  readonly algorithm: CodeAlgorithm | null;
  readonly digits: number | null;
  readonly periodS: number | null;
  readonly manufacturer: string;
  readonly encoding: SeedEncoding;
  /** Tokens are accepted outside the validity period of the file. */
  readonly ignoreValidity: boolean;
  /** The pre-shared key of a PSKC file, in hexadecimal. */
  readonly key: string;
  /** The password of a PSKC file. */
  readonly password: string;
}

/** What a row of a file says, as text. An empty text is absent. */
export interface RawSeedRow {
  /** The line, or the number of the key package. */
  readonly line: number;
  readonly serial: string;
  readonly seed: Uint8Array | null;
  readonly kind: string;
  readonly algorithm: string;
  readonly digits: string;
  readonly periodS: string;
  readonly counter: string;
  readonly drift: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly user: string;
  readonly validFrom: string;
  readonly validTo: string;
  readonly problem: SeedRowProblem | null;
}

export const EMPTY_SEED_ROW: Omit<RawSeedRow, "line"> = {
  serial: "",
  seed: null,
  kind: "",
  algorithm: "",
  digits: "",
  periodS: "",
  counter: "",
  drift: "",
  manufacturer: "",
  model: "",
  user: "",
  validFrom: "",
  validTo: "",
  problem: null,
};

export interface SeedRow {
  readonly line: number;
  readonly serial: string;
  /** The user that the file names, or "". */
  readonly user: string;
  /** `null` if the row has a problem. */
  readonly token: NewToken | null;
  readonly problem: SeedRowProblem | null;
}

const DEFAULT_DIGITS = 6;
const DEFAULT_PERIOD_S = 30;
const MAX_TEXT = 100;
const MAX_DRIFT = 1000;

/** Checks a row. @param byDefault the kind of tokens whose file does not say it */
export function checkSeedRow(raw: RawSeedRow, options: SeedFileOptions, byDefault: TokenKind): SeedRow {
  const head = { line: raw.line, serial: shownText(raw.serial), user: shownText(raw.user) };
  const checked = raw.problem ?? tokenOf(raw, options, byDefault);
  return typeof checked === "string"
    ? { ...head, token: null, problem: checked }
    : { ...head, serial: checked.serial, token: checked, problem: null };
}

function tokenOf(
  raw: RawSeedRow,
  options: SeedFileOptions,
  byDefault: TokenKind,
): NewToken | SeedRowProblem {
  const serial = raw.serial.trim();
  if (serial === "") return "no_serial";
  if (tokenId(serial) === null || isLikeSeed(serial)) return "bad_serial";
  const kind = raw.kind === "" ? options.kind ?? byDefault : readKind(raw.kind);
  if (kind === null) return "other_kind";
  const { seed } = raw;
  if (seed === null) return "no_seed";
  if (seed.length < MIN_SEED_OCTETS) return "short_seed";
  if (seed.length > MAX_SEED_OCTETS) return "long_seed";
  const algorithm = raw.algorithm === "" ? options.algorithm ?? "SHA1" : readAlgorithm(raw.algorithm);
  if (algorithm === null) return "bad_algorithm";
  const digits = raw.digits === "" ? options.digits ?? DEFAULT_DIGITS : readWholeNumber(raw.digits);
  if (digits === null || digits < MIN_TOKEN_DIGITS || digits > MAX_TOKEN_DIGITS) return "bad_digits";
  const periodS = raw.periodS === "" ? options.periodS ?? DEFAULT_PERIOD_S : readWholeNumber(raw.periodS);
  if (kind === "totp" && (periodS === null || periodS < MIN_TOKEN_PERIOD_S || periodS > MAX_TOKEN_PERIOD_S)) {
    return "bad_period";
  }
  const counter = raw.counter === "" || kind === "totp" ? 0 : readWholeNumber(raw.counter);
  if (counter === null || counter > MAX_TOKEN_COUNTER) return "bad_counter";
  const [validFromMs, validToMs] = options.ignoreValidity
    ? [null, null]
    : [readTime(raw.validFrom), readTime(raw.validTo)];
  if (validFromMs === undefined || validToMs === undefined) return "bad_validity";
  return {
    ...{ serial, kind, algorithm, digits, counter, seed },
    periodS: kind === "totp" ? periodS ?? DEFAULT_PERIOD_S : 0,
    drift: kind === "totp" ? readDrift(raw.drift) : 0,
    manufacturer: shortText(raw.manufacturer) || shortText(options.manufacturer),
    model: shortText(raw.model),
    validFromMs,
    validToMs,
  };
}

/** Marks rows whose serial number an earlier row has. */
export function markRepeated(rows: readonly SeedRow[]): SeedRow[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    const id = row.token === null ? null : canonicalName(row.serial);
    if (id === null) return row;
    if (seen.has(id)) return { ...row, token: null, problem: "repeated" };
    seen.add(id);
    return row;
  });
}

function readKind(text: string): TokenKind | null {
  const kind = text.trim().toLowerCase().replace(/^oath[-_ ]/, "");
  return kind === "hotp" || kind === "totp"
    ? kind
    : kind === "event"
    ? "hotp"
    : kind === "time"
    ? "totp"
    : null;
}

function readAlgorithm(text: string): CodeAlgorithm | null {
  const match = /^(?:hmac[-_]?)?sha-?(1|256|512)$/i.exec(text.trim());
  return match === null ? null : `SHA${match[1] as "1" | "256" | "512"}`;
}

/** A number without a sign; `null` if it is none, or has over ten digits. */
export function readWholeNumber(text: string): number | null {
  const clean = text.trim();
  return /^[0-9]{1,10}$/.test(clean) ? Number(clean) : null;
}

function readDrift(text: string): number {
  const match = /^-?[0-9]{1,6}$/.exec(text.trim());
  return match === null ? 0 : Math.max(-MAX_DRIFT, Math.min(MAX_DRIFT, Number(match[0])));
}

/** A time of XML schema, in UTC without a zone (RFC 6030 §5). `null`: none. `undefined`: it cannot be read, so it must not be ignored. */
function readTime(text: string): number | null | undefined {
  const clean = text.trim();
  if (clean === "") return null;
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(Z|[+-]\d{2}:\d{2})?$/.exec(clean);
  const ms = match === null ? NaN : Date.parse(`${match[1]}${match[2] ?? "Z"}`);
  return Number.isFinite(ms) ? ms : undefined;
}

/** Whether a part of the text has the form of a seed. In a file with other columns than expected, a seed can be where the serial number should be. It must not be shown. */
function isLikeSeed(text: string): boolean {
  return /[0-9a-f]{24}/i.test(text) || /[a-z2-7]{26}/i.test(text);
}

function shownText(text: string): string {
  const short = shortText(text);
  return isLikeSeed(short) ? "" : short;
}

/** A text for display: without control and format characters, and not long. */
function shortText(text: string): string {
  return text.trim().slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Cf}]/gu, "");
}

/** The octets of a seed that is written as text; `null` if it is not in the encoding. */
export function decodeSeed(text: string, encoding: Exclude<SeedEncoding, "auto">): Uint8Array | null {
  const clean = text.trim().replace(/^0x/i, "").replace(/[\s:-]/g, "");
  if (clean === "" || clean.length > 4 * MAX_SEED_OCTETS) return null;
  try {
    if (encoding === "hex") return /^(?:[0-9a-f]{2})+$/i.test(clean) ? Uint8Array.fromHex(clean) : null;
    if (encoding === "base64") return Uint8Array.fromBase64(text.trim());
    return fromBase32(clean);
  } catch (_notInTheEncoding) {
    return null;
  }
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 4648 §6, any length. Bits after the last whole octet are ignored, as in authenticator apps. */
function fromBase32(text: string): Uint8Array | null {
  const clean = text.toUpperCase().replace(/=+$/, "");
  const octets = new Uint8Array(Math.floor(clean.length * 5 / 8));
  let bits = 0;
  let value = 0;
  let at = 0;
  for (const letter of clean) {
    const five = BASE32.indexOf(letter);
    if (five < 0) return null;
    value = (value << 5 | five) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    octets[at++] = value >> bits & 0xff;
  }
  return octets;
}
