// Splits the text of a filter or of a path into tokens (RFC 7644 §3.4.2.2).

export type FilterToken =
  | { readonly kind: "(" | ")" | "[" | "]" }
  /** `tight`: there is no blank before it. */
  | { readonly kind: "word"; readonly text: string; readonly tight: boolean }
  /** A JSON text, decoded. */
  | { readonly kind: "text"; readonly text: string };

type TokensOutcome =
  | { readonly ok: true; readonly tokens: readonly FilterToken[] }
  | { readonly ok: false; readonly problem: string };

/** In every interface and in the console. The HTTP server limits a whole address to as much. */
export const MAX_FILTER_CHARACTERS = 8192;
const BLANKS = " \t";
const BRACKETS = "()[]";
const QUOTE = '"';

/** Splits a text into tokens in one pass. */
export function readTokens(text: string): TokensOutcome {
  if (text.length > MAX_FILTER_CHARACTERS) {
    return { ok: false, problem: `a filter has at most ${MAX_FILTER_CHARACTERS} characters` };
  }
  const tokens: FilterToken[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (BLANKS.includes(character)) at++;
    else if (isBracket(character)) {
      tokens.push({ kind: character });
      at++;
    } else {
      const end = character === QUOTE ? endOfText(text, at) : endOfWord(text, at);
      const token = character === QUOTE ? decodeText(text.slice(at, end)) : {
        kind: "word",
        text: text.slice(at, end),
        tight: at > 0 && !BLANKS.includes(text.charAt(at - 1)),
      } as const;
      if (token === null) return { ok: false, problem: "a quoted value is not a JSON text" };
      tokens.push(token);
      at = end;
    }
  }
  return { ok: true, tokens };
}

function isBracket(character: string): character is "(" | ")" | "[" | "]" {
  return BRACKETS.includes(character);
}

/** The position after the closing quote, or the end of the filter. */
function endOfText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text.charAt(at) === "\\") at++;
    else if (text.charAt(at) === QUOTE) return at + 1;
  }
  return text.length;
}

function endOfWord(text: string, from: number): number {
  let at = from;
  while (at < text.length && !BLANKS.includes(text.charAt(at)) && !isEnd(text.charAt(at))) at++;
  return at;
}

function isEnd(character: string): boolean {
  return character === QUOTE || isBracket(character);
}

function decodeText(json: string): FilterToken | null {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" ? { kind: "text", text } : null;
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}
