// The rules for names of users and groups, which appear in paths, logs and pages.

import { canonicalName } from "../../platform/canonical_name.ts";
import { canonicalNames, compareMemberNames } from "./member_names.ts";

type NameOutcome =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly problem: string };

const MAX_CHARACTERS = 256;

/** Characters that a name must not contain, by error text. Each pattern is one class of characters. */
const FORBIDDEN = [
  { pattern: /\p{Cc}/u, problem: "a name must not contain control characters" },
  { pattern: /[\u2028\u2029]/, problem: "a name must not contain line or paragraph separators" },
  // They change the order of the text around them: "annaexe.txt" and the like (Unicode Standard Annex 9).
  {
    pattern: /[\u202a-\u202e\u2066-\u2069]/,
    problem: "a name must not contain bidirectional overrides or isolates",
  },
] as const;

/** Names that a path cannot contain: the search endpoint (RFC 7644 §3.4.3), and `.` and `..` (RFC 3986 §5.2.4), also as a part: some proxies decode a slash. */
const RESERVED = /^\.search$|(?:^|\/)\.{1,2}(?:$|\/)/i;

/**
 * Reads a name as it was sent.
 *
 * @returns the name in NFC, or the problem as a part of a sentence, without the name.
 */
export function parseName(text: string): NameOutcome {
  // Fast path: nearly every name is plain, and a group may have tens of thousands.
  if (isPlain(text)) return { ok: true, name: text };
  // These checks come before the normalisation: a long text would be expensive, and a lone surrogate is not text.
  if (text.length > 4 * MAX_CHARACTERS) return refuse(`a name is at most ${MAX_CHARACTERS} characters long`);
  if (!text.isWellFormed()) return refuse("a name must be well-formed Unicode");
  const name = text.normalize("NFC");
  if (name === "") return refuse("a name must not be empty");
  if (countCharacters(name) > MAX_CHARACTERS) {
    return refuse(`a name is at most ${MAX_CHARACTERS} characters long`);
  }
  if (RESERVED.test(name)) {
    return refuse("a name must not be ., .. or .search, or have . or .. beside a slash");
  }
  const found = FORBIDDEN.find(({ pattern }) => pattern.test(name));
  return found === undefined ? { ok: true, name } : refuse(found.problem);
}

/**
 * Reads a name from a segment of a path, percent-decoded (RFC 3986 §2.1).
 *
 * @param segment as in the request line. A slash of the name is `%2F`.
 */
export function nameFromPath(segment: string): NameOutcome {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch (fault) {
    if (fault instanceof URIError) return refuse("the path is not percent-encoded UTF-8");
    throw fault;
  }
  return parseName(text);
}

/**
 * Each name once, compared without case, in order. The first spelling is used.
 *
 * @param known distinct names, such as the members that a group has. Few other names are compared one by one: a set of tens of thousands takes longer
 * than the write.
 */
export function distinctNames(names: readonly string[], known: readonly string[] = []): readonly string[] {
  const { onlyAfter } = compareMemberNames(known, names);
  const others = onlyAfter.slice(0, MAX_FEW_NAMES).map(canonicalName);
  const held = canonicalNames(known);
  const isNew = (name: string, at: number) => others.indexOf(name) === at && !held.includes(name);
  if (others.length === onlyAfter.length && others.every(isNew)) return names;
  const canonicals = names.map(canonicalName);
  const seen = new Set(canonicals);
  return seen.size === names.length ? names : names.filter((_, at) => seen.delete(canonicals[at] ?? ""));
}

const MAX_FEW_NAMES = 8;

/** Printable ASCII without a slash that does not start with a dot. */
const PLAIN_NAME = /^[ -\-0-~][ -.0-~]*$/;

function isPlain(text: string): boolean {
  return text.length <= MAX_CHARACTERS && PLAIN_NAME.test(text);
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function refuse(problem: string): NameOutcome {
  return { ok: false, problem };
}
