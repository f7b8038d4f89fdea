// Reads typed input: user names (refused names, removed domains and realms, names similar to an unknown one), passwords, the text that append
// mode appends to them, answers, and codes.

import { decodeText } from "./attributes.ts";
import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";

/** Whether a text can be the domain or the realm of a user name. */
export function isDomainOrRealm(text: string): boolean {
  return /^[^\\@\s\p{C}]{1,253}$/u.test(text);
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

/** The text that append mode appends to a password. `bypass`: a bypass code. `auto`: the factor that is used if nothing is appended. */
export type Appended =
  | { kind: "code" | "bypass"; code: string }
  | { kind: "push" | "sms" | "call" | "auto" };

export interface TypedPassword {
  /** Octets, because a password may have any encoding. */
  readonly password: Uint8Array;
  readonly appended: Appended | null;
}

/** The longest appended text: ten digits, each with a blank or a dash after it, and blanks around them. */
const MAX_APPENDED_OCTETS = 24;
const strict = new TextDecoder("utf-8", { fatal: true });

/** Whether a text can separate a password from the appended text. Not a dash, a letter or a digit, because the appended text can contain them. */
export function isAppendSeparator(text: string): boolean {
  return /^[!-,./:-@[-`{-~]$/.test(text);
}

/**
 * Splits `password,123456` and `password,push|sms|call|phone|auto` at the last separator. If no first factor is checked, a code alone is
 * appended to an empty password. Any other input is only a password.
 *
 * @param options.hasBypassCode whether ten digits are a bypass code. For any other user they are a part of the password.
 */
export function readAppended(
  typed: Uint8Array,
  { appendSeparator, firstFactor, hasBypassCode }: {
    readonly appendSeparator: string;
    readonly firstFactor: string;
    readonly hasBypassCode: boolean;
  },
): TypedPassword {
  const read = (text: Uint8Array): Appended | null =>
    appendedOf(text) ?? (hasBypassCode ? appendedBypassCode(text) : null);
  const at = typed.lastIndexOf(appendSeparator.charCodeAt(0));
  const appended = at < 0 ? null : read(typed.subarray(at + 1));
  if (appended !== null) return { password: typed.subarray(0, at), appended };
  const alone = firstFactor === "none" ? read(typed) : null;
  return alone !== null && "code" in alone
    ? { password: typed.subarray(0, 0), appended: alone }
    : { password: typed, appended: null };
}

const WORDS: ReadonlyMap<string, Exclude<Appended["kind"], "code" | "bypass">> = new Map([
  ["push", "push"],
  ["sms", "sms"],
  ["call", "call"],
  ["phone", "call"],
  ["auto", "auto"],
]);

function appendedOf(typed: Uint8Array): Appended | null {
  if (typed.length > MAX_APPENDED_OCTETS) return null;
  const text = decodeText(typed).trim().toLowerCase();
  const kind = WORDS.get(text);
  if (kind !== undefined) return { kind };
  const code = readCode(text);
  return /^[0-9]{6,8}$/.test(code) ? { kind: "code", code } : null;
}

function appendedBypassCode(typed: Uint8Array): Appended | null {
  const code = typed.length > MAX_APPENDED_OCTETS ? null : readBypassCode(decodeText(typed));
  return code === null ? null : { kind: "bypass", code };
}

/** The digits of a bypass code. No other code has as many. */
export const BYPASS_CODE_DIGITS = 10;

/** A typed code without blanks and dashes; `null` if it does not have the form of a bypass code. */
export function readBypassCode(typed: string): string | null {
  if (typed.length > 2 * BYPASS_CODE_DIGITS) return null;
  const plain = readCode(typed);
  return plain.length === BYPASS_CODE_DIGITS && /^[0-9]+$/.test(plain) ? plain : null;
}

/** A typed code without the blanks and dashes that phones show; any other text is unchanged. */
export function readCode(text: string): string {
  const digits = text.replace(/[\s\u2010-\u2015\u2212-]/g, "");
  return /^[0-9]+$/.test(digits) ? digits : text;
}

/** An answer as trimmed text. Invalid UTF-8 becomes U+FFFD and matches nothing. */
export function readAnswer(typed: Uint8Array): string {
  return decodeText(typed).trim();
}

/**
 * Whether a revealed password is garbled, which means that the two shared secrets differ. A password is text if it is UTF-8 without control
 * characters other than tab and line ends. Of 200,000 blocks of 16 random octets, about one is text.
 */
export function looksGarbled(typed: Uint8Array): boolean {
  for (const octet of typed) {
    if ((octet < 0x20 && octet !== 0x09 && octet !== 0x0a && octet !== 0x0d) || octet === 0x7f) return true;
  }
  try {
    strict.decode(typed);
  } catch (_notUtf8) {
    return true;
  }
  return false;
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
