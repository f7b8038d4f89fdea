// Foreign JSON: depth is counted before anything is parsed, because the platform's parser takes millions of levels, and
// values are read without trusting their types.

/** JSON of an answer, or why it is none. */
export type ParsedJson = { ok: true; value: unknown } | { ok: false; detail: string };

const MAX_DEPTH = 32;

/** Parses `text`; at most `maxDepth` arrays and objects in each other (default 32). The caller has capped its size. */
export function parseForeignJson(text: string, { maxDepth = MAX_DEPTH } = {}): ParsedJson {
  if (isDeeperThan(text, maxDepth)) return { ok: false, detail: `JSON deeper than ${maxDepth} levels` };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (_syntaxError) {
    return { ok: false, detail: "not JSON" };
  }
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (inText) {
      if (character === BACKSLASH) at++;
      else if (character === QUOTE) inText = false;
    } else if (character === QUOTE) inText = true;
    else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      if (++depth > maxDepth) return true;
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) depth--;
  }
  return false;
}

/** A JSON object whose members are read by name; members of its prototype do not count. */
export interface JsonRecord {
  member(name: string): unknown;
}

/** The object that `value` is, or `null`. */
export function asRecord(value: unknown): JsonRecord | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const members = new Map<string, unknown>(Object.entries(value));
  return { member: (name) => members.get(name) };
}
