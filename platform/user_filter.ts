// The filter that finds a user of an LDAP directory by a typed name (RFC 4515), with the placeholders {name} and {account}. The typed name is never
// part of a filter's text: it is the value of one comparison.

/** `equals` compares a value with placeholders; `matches` has a matching rule (RFC 4511 §4.5.1.7.7). */
export type UserFilter =
  | { readonly kind: "and" | "or"; readonly of: readonly UserFilter[] }
  | { readonly kind: "not"; readonly of: UserFilter }
  | { readonly kind: "present"; readonly attribute: string }
  | { readonly kind: "equals"; readonly attribute: string; readonly value: string }
  | { readonly kind: "matches"; readonly attribute: string; readonly rule: string; readonly value: string };

const MAX_CHARACTERS = 1024;
const MAX_DEPTH = 8;
const GROUPS: Readonly<Record<string, "and" | "or" | "not">> = { "&": "and", "|": "or", "!": "not" };
const LEAF = /^([A-Za-z][A-Za-z0-9-]{0,63})(?::([A-Za-z0-9.-]{1,64}):)?=([^()\0]{1,512})$/;
const PLACEHOLDER = /\{(name|account)\}/;

/** Reads a filter of comparisons with whole values. `null`: it is none, or it uses the typed name in another way than to compare it. */
export function parseUserFilter(text: string): UserFilter | null {
  if (text.length > MAX_CHARACTERS) return null;
  const read = readFilter(text, { at: 0, depth: 0 });
  return read === null || read.end !== text.length ? null : read.filter;
}

function readFilter(
  text: string,
  { at, depth }: { at: number; depth: number },
): { readonly filter: UserFilter; readonly end: number } | null {
  if (text[at] !== "(" || depth > MAX_DEPTH) return null;
  const kind = GROUPS[text[at + 1] ?? ""];
  if (kind === undefined) {
    const close = text.indexOf(")", at);
    const filter = close < 0 ? null : readLeaf(text.slice(at + 1, close));
    return filter === null ? null : { filter, end: close + 1 };
  }
  const parts: UserFilter[] = [];
  let end = at + 2;
  while (text[end] === "(") {
    const part = readFilter(text, { at: end, depth: depth + 1 });
    if (part === null) return null;
    parts.push(part.filter);
    end = part.end;
  }
  const [first] = parts;
  if (text[end] !== ")" || first === undefined) return null;
  if (kind !== "not") return { filter: { kind, of: parts }, end: end + 1 };
  // A filter that excludes what was typed finds everybody else.
  return parts.length > 1 || usesName(first) ? null : { filter: { kind, of: first }, end: end + 1 };
}

function readLeaf(text: string): UserFilter | null {
  const [, attribute = "", rule, raw = ""] = LEAF.exec(text) ?? [];
  if (attribute === "") return null;
  if (raw === "*" && rule === undefined) return { kind: "present", attribute };
  const value = raw.includes("*") ? null : unescapeValue(raw);
  if (value === null) return null;
  if (rule === undefined) return { kind: "equals", attribute, value };
  return PLACEHOLDER.test(value) ? null : { kind: "matches", attribute, rule, value };
}

/** A backslash and two hexadecimal digits are an octet. */
function unescapeValue(raw: string): string | null {
  if (/\\(?![0-9a-f]{2})/i.test(raw)) return null;
  try {
    return decodeURIComponent(encodeURIComponent(raw).replaceAll(/%5C([0-9a-f]{2})/gi, "%$1"));
  } catch (fault) {
    if (fault instanceof URIError) return null;
    throw fault;
  }
}

/** Whether a filter compares the typed name with something. */
function usesName(filter: UserFilter): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.of.some(usesName);
    case "not":
      return usesName(filter.of);
    case "equals":
      return PLACEHOLDER.test(filter.value);
    default:
      return false;
  }
}

/** Whether a filter finds a user by the whole value of an attribute. */
export function findsUserBy(filter: UserFilter, attribute: string): boolean {
  if (filter.kind === "and" || filter.kind === "or") {
    return filter.of.some((one) => findsUserBy(one, attribute));
  }
  return filter.kind === "equals" && filter.attribute.toLowerCase() === attribute.toLowerCase() &&
    /^\{(name|account)\}$/.test(filter.value);
}

/** A typed name, and the account in it: without one of `domains` before a backslash or after the last @. */
export interface TypedName {
  readonly name: string;
  readonly account: string;
}

/** @param domains names of the directory's domain, in any case, as in `CORP` and `corp.example` */
export function readTypedName(name: string, domains: readonly string[]): TypedName {
  const isKnown = (domain: string) => domains.some((one) => one.toLowerCase() === domain.toLowerCase());
  const [backslash, at] = [name.indexOf("\\"), name.lastIndexOf("@")];
  if (backslash > 0 && isKnown(name.slice(0, backslash))) return { name, account: name.slice(backslash + 1) };
  if (backslash < 0 && at > 0 && isKnown(name.slice(at + 1))) return { name, account: name.slice(0, at) };
  return { name, account: name };
}

/** The value of a comparison for a typed name. */
export function fillValue(value: string, typed: TypedName): string {
  return value.replaceAll(/\{(name|account)\}/g, (_all, key: keyof TypedName) => typed[key]);
}
