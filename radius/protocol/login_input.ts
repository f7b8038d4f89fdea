// Reads typed input: user names (refused names, removed domains and realms, names similar to an unknown one), passwords, the text that append
// mode appends to them, answers, and codes.

import { decodeText, isUtf8, typedOctets } from "./attributes.ts";
import { plainTyped } from "../../platform/typed_text.ts";
import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";

/** Whether a text can be the domain or the realm of a user name. */
export function isDomainOrRealm(text: string): boolean {
  return /^[^\\@\s\p{C}]{1,253}$/u.test(text);
}

/** Whether a text can be a user name in a list of names. */
export function isListedUserName(text: string): boolean {
  return /^[^\s,\p{C}]{1,253}$/u.test(text);
}

interface Stripping {
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
}

/**
 * The name without a listed domain (`CORP\alice`) and a listed realm (`alice@corp.example`), each removed at most once. Domains and realms
 * that are not listed stay part of the name.
 */
export function stripUserName(name: string, { stripDomains, stripRealms }: Stripping): string {
  if (stripDomains.length === 0 && stripRealms.length === 0) return name;
  const afterDomain = name.indexOf("\\") + 1;
  const isDomain = afterDomain > 0 && isListed(stripDomains, name.slice(0, afterDomain - 1));
  const user = isDomain ? name.slice(afterDomain) : name;
  const realmAt = user.lastIndexOf("@");
  return realmAt >= 0 && isListed(stripRealms, user.slice(realmAt + 1)) ? user.slice(0, realmAt) : user;
}

function isListed(list: readonly string[], affix: string): boolean {
  const wanted = canonicalName(affix);
  return list.some((entry) => canonicalName(entry) === wanted);
}

/** Whether an Access-Request with this name, after stripping, is rejected. */
export function isRefusedUserName(name: string): boolean {
  return name === "" || isDeceptiveName(name);
}

/** Whether a client's User-Names that are not in the directory are rejected. */
export function rejectsUnknownUsers(
  { unknownUsers, firstFactor }: {
    readonly unknownUsers: "auto" | "allow" | "reject";
    readonly firstFactor: string;
  },
): boolean {
  return unknownUsers === "reject" || (unknownUsers === "auto" && firstFactor !== "none");
}

/** A name to look up, and how the unknown name differs from it. */
export interface SimilarName {
  readonly name: string;
  /** `letters`: other forms of the same letters, such as full-width ones. */
  readonly but: "domain" | "realm" | "blanks" | "invisible" | "letters";
  /** The domain or realm of the unknown name; "" for other differences. */
  readonly affix: string;
}

/** Simpler forms of an unknown name to look up, at most five. */
export function similarNames(name: string): SimilarName[] {
  const afterDomain = name.indexOf("\\") + 1;
  const realmAt = name.lastIndexOf("@");
  const letters = name.normalize("NFKC").trim().toUpperCase().toLowerCase();
  const found: SimilarName[] = [
    // A byte order mark is invisible, not a blank.
    { name: name.replace(/^[^\S\ufeff]+|[^\S\ufeff]+$/g, ""), but: "blanks", affix: "" },
    { name: name.replace(/[\p{Cf}\0]/gu, "").trim(), but: "invisible", affix: "" },
    ...(afterDomain > 0
      ? [
        {
          name: name.slice(afterDomain),
          but: "domain",
          affix: name.slice(0, afterDomain - 1).trim(),
        } as const,
      ]
      : []),
    ...(realmAt > 0
      ? [{ name: name.slice(0, realmAt), but: "realm", affix: name.slice(realmAt + 1).trim() } as const]
      : []),
    { name: letters, but: "letters", affix: "" },
  ];
  const canonical = found.map((one) => canonicalName(one.name));
  return found.filter((_, at) =>
    canonical[at] !== "" && canonical[at] !== canonicalName(name) &&
    canonical.indexOf(canonical[at] as string) === at
  );
}

/**
 * The text that append mode appends to a password. `bypass`: a bypass code. `auto`: the factor that is used if nothing is appended. `nth`: which of
 * the user's phones or numbers, from 1; 0: the first choice of the gateway.
 */
export type Appended =
  | { kind: "code" | "bypass"; code: string }
  | { kind: "push" | "sms" | "call" | "auto"; nth: number };

export interface TypedPassword {
  /** Octets, because a password may have any encoding. */
  readonly password: Uint8Array;
  readonly appended: Appended | null;
}

/** The longest appended text: ten digits of any script, each with a blank or a dash after it, and blanks around them. */
const MAX_APPENDED_OCTETS = 64;

/** Whether a text can separate a password from the appended text. Not a dash, a letter or a digit, because the appended text can contain them. */
export function isAppendSeparator(text: string): boolean {
  return /^[!-,./:-@[-`{-~]$/.test(text);
}

interface AppendableCodes {
  /** Whether ten digits are a bypass code. For any other user they are a part of the password. */
  readonly hasBypassCode: boolean;
  /** How many digits the passcode has that was sent for this login; 0 without one. */
  readonly sentDigits: number;
  /** How many digits the codes of the user can have, the most likely number first. Only read if a code can be without a separator. */
  readonly digits: readonly number[];
  /** Whether a code is right now, as far as it can be told without another service. */
  matches(code: string): boolean;
}

/** The settings of a client that say what is appended, and where. */
export interface AppendSettings {
  readonly appendMode: boolean;
  readonly appendSeparator: string;
  readonly codePosition: "separated" | "behind" | "front";
  readonly firstFactor: string;
}

/**
 * Splits the static challenge of OpenVPN, and in append mode `password,123456` and `password,push` at the last separator. If no first factor is
 * checked, a code or a word alone is appended to an empty password. Last, a code without a separator is looked for where the settings say. Any other
 * input is only a password.
 */
export function readAppended(
  typed: Uint8Array,
  { appendMode, appendSeparator, codePosition, firstFactor }: AppendSettings,
  codes: AppendableCodes,
): TypedPassword {
  const read = (text: Uint8Array): Appended | null =>
    appendedOf(text, codes.sentDigits) ?? (codes.hasBypassCode ? appendedBypassCode(text) : null);
  const challenge = readStaticChallenge(typed);
  if (challenge !== null) {
    const { password, answer } = challenge;
    const code = readCode(decodeText(answer).trim());
    return { password, appended: read(answer) ?? (code === "" ? null : { kind: "code", code }) };
  }
  if (!appendMode) return { password: typed, appended: null };
  const at = typed.lastIndexOf(appendSeparator.charCodeAt(0));
  const appended = at < 0 ? null : read(typed.subarray(at + 1));
  if (appended !== null) return { password: typed.subarray(0, at), appended };
  const alone = firstFactor === "none" ? read(typed) : null;
  if (alone !== null) return { password: typed.subarray(0, 0), appended: alone };
  const attached = codePosition === "separated" ? null : readAttachedCode(typed, codePosition, codes);
  return attached ?? { password: typed, appended: null };
}

/** A code directly behind or in front of a password. Only one split is tried, because a wrong one counts as a failure. */
function readAttachedCode(
  typed: Uint8Array,
  position: "behind" | "front",
  { digits, matches }: AppendableCodes,
): TypedPassword | null {
  const characters = [...decodeText(typed)];
  const textOf = (length: number): string =>
    (position === "front" ? characters.slice(0, length) : characters.slice(-length)).join("");
  const codeOf = (length: number): string => plainTyped(textOf(length));
  const possible = digits.filter((length) => new RegExp(`^[0-9]{${length}}$`).test(codeOf(length)));
  const length = possible.find((one) => matches(codeOf(one))) ?? possible[0];
  if (length === undefined) return null;
  const octets = new TextEncoder().encode(textOf(length)).length;
  const at = position === "front" ? octets : typed.length - octets;
  const code = codeOf(length);
  return {
    password: position === "front" ? typed.subarray(at) : typed.subarray(0, at),
    appended: { kind: length === BYPASS_CODE_DIGITS ? "bypass" : "code", code },
  };
}

const STATIC_CHALLENGE = "SCRV1:";

/** Whether a password can be the static challenge of OpenVPN. */
export function maybeStaticChallenge(typed: Uint8Array): boolean {
  return typed[0] === STATIC_CHALLENGE.charCodeAt(0) && typed[5] === STATIC_CHALLENGE.charCodeAt(5);
}

/** `SCRV1:<password>:<answer>` in base64 (OpenVPN, doc/management-notes.txt), or `null`. */
function readStaticChallenge(typed: Uint8Array): { password: Uint8Array; answer: Uint8Array } | null {
  if (!maybeStaticChallenge(typed)) return null;
  const [, password, answer] = /^SCRV1:([^:]*):([^:]*)$/.exec(decodeText(typed)) ?? [];
  if (password === undefined || answer === undefined) return null;
  try {
    const octetsOf = (text: string) => typedOctets(Uint8Array.fromBase64(text));
    return { password: octetsOf(password), answer: octetsOf(answer) };
  } catch (_notBase64) {
    return null;
  }
}

/** Duo's words, each with its meaning here. */
const WORDS: ReadonlyMap<string, "push" | "sms" | "call" | "auto"> = new Map([
  ["push", "push"],
  ["sms", "sms"],
  ["call", "call"],
  ["phone", "call"],
  ["auto", "auto"],
]);

function appendedOf(typed: Uint8Array, sentDigits: number): Appended | null {
  if (typed.length > MAX_APPENDED_OCTETS) return null;
  const text = plainTyped(decodeText(typed)).trim().toLowerCase();
  const [, word = "", nth = "0"] = /^([a-z]+)([1-9][0-9]?)?$/.exec(text) ?? [];
  const kind = WORDS.get(word);
  if (kind !== undefined && (kind !== "auto" || nth === "0")) return { kind, nth: Number(nth) };
  const code = readCode(text);
  const isCode = /^[0-9]{6,8}$/.test(code) || (code.length === sentDigits && /^[0-9]+$/.test(code));
  return isCode ? { kind: "code", code } : null;
}

function appendedBypassCode(typed: Uint8Array): Appended | null {
  const code = typed.length > MAX_APPENDED_OCTETS ? null : readBypassCode(decodeText(typed));
  return code === null ? null : { kind: "bypass", code };
}

/** The digits of a bypass code. No other code has as many. */
export const BYPASS_CODE_DIGITS = 10;

/** A typed code without blanks and dashes; `null` if it does not have the form of a bypass code. */
export function readBypassCode(typed: string): string | null {
  if (typed.length > 3 * BYPASS_CODE_DIGITS) return null;
  const plain = readCode(typed);
  return plain.length === BYPASS_CODE_DIGITS && /^[0-9]+$/.test(plain) ? plain : null;
}

/** A typed code as 0 to 9, without the blanks and dashes that phones show; any other text keeps them. */
export function readCode(text: string): string {
  const plain = plainTyped(text);
  const digits = plain.replace(/[\s\u2010-\u2015\u2212-]/g, "");
  return /^[0-9]+$/.test(digits) ? digits : plain;
}

/** An answer as trimmed text, with letters and digits in their usual form. */
export function readAnswer(typed: Uint8Array): string {
  return plainTyped(decodeText(typed)).trim();
}

/** The octets that are no characters of Windows-1252. */
const UNDEFINED_OCTETS: readonly number[] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/**
 * Whether a revealed password is garbled, which means that the two shared secrets differ. A password is text: UTF-8 without control characters
 * other than tab, line ends and NUL. Windows-1252 counts as text only with at most one octet outside ASCII, or with two octets of padding: random
 * octets rarely have either. Of 100,000 blocks of 16 random octets, about one is text.
 *
 * @param typed without its padding
 */
export function looksGarbled(typed: Uint8Array): boolean {
  let high = 0;
  for (const octet of typed) {
    if (octet >= 0x80) high++;
    else if (octet < 0x20 ? !ALLOWED_CONTROLS.includes(octet) : octet === 0x7f) return true;
  }
  if (high === 0 || isUtf8(typed)) return false;
  const paddingOctets = (BLOCK_OCTETS - typed.length % BLOCK_OCTETS) % BLOCK_OCTETS;
  return (high > 1 && paddingOctets < 2) || UNDEFINED_OCTETS.some((octet) => typed.includes(octet));
}

const ALLOWED_CONTROLS: readonly number[] = [0, 0x09, 0x0a, 0x0d];
/** A password is hidden in blocks (RFC 2865 §5.2). */
const BLOCK_OCTETS = 16;

/** What sshd sends in place of the password of a user that its host does not know, cut or repeated to the length of the typed password. */
const SSHD_PASSWORD = [..."\b\n\r\x7fINCORRECT"].map((character) => character.charCodeAt(0));

/** Whether a revealed password is not one that a user typed, but that of sshd. */
export function isSshdPassword(typed: Uint8Array): boolean {
  // Nearly every password differs in its first octet.
  if (typed.length === 0 || typed[0] !== SSHD_PASSWORD[0]) return false;
  const end = typed.indexOf(0);
  const value = end < 0 ? typed : typed.subarray(0, end);
  return value.every((octet, at) => octet === SSHD_PASSWORD[at % SSHD_PASSWORD.length]);
}

/** Why every login of a user is rejected; `null`: it is not. */
export function refusalOfUser(
  policy: Parameters<typeof rejectsUnknownUsers>[0],
  { status, isLocked }: {
    readonly status: "active" | "inactive" | "deleted" | "unknown";
    readonly isLocked: () => boolean;
  },
): "inactive" | "deleted" | "unknown" | "locked" | null {
  if (status === "inactive" || status === "deleted") return status;
  if (status === "unknown" && rejectsUnknownUsers(policy)) return status;
  return isLocked() ? "locked" : null;
}
