// Words and phrases that code, comments, messages and docs do not use, because a stranger has to decode them.

import { isModule, type SourceFile } from "./sources.ts";
import type { ModuleSyntax, TextSpan } from "./syntax.ts";

/** `identifiers`: the word is banned in names too. */
export interface BannedWord {
  readonly pattern: RegExp;
  readonly identifiers?: RegExp;
  /** Text that breaks the rule, so that the rule itself is proven. */
  readonly breach: string;
}

/** One word at one place. */
export interface WordUse {
  readonly path: string;
  readonly word: string;
  readonly line: number;
}

/** A pattern of whole words. A line break inside a comment, or a list of Markdown, may be between two of them. */
function phrase(words: string): RegExp {
  return new RegExp(`\\b${words.replaceAll(" ", "[\\s/*>]+")}\\b`, "gi");
}

/** `deed`, `deedOf`, `BulkDeed` and `DEEDS`, not `indeed`. */
const DEED_IN_NAME = /(?<![a-z])deeds?(?![a-z])|Deeds?(?![a-z])|DEEDS?(?![A-Z])/;

/** By the word. */
export const BANNED_WORDS = {
  "deed": { pattern: phrase("deeds?"), identifiers: DEED_IN_NAME, breach: "One deed, as texts." },
  "somebody": { pattern: phrase("somebody"), breach: "Unlocks somebody who failed." },
  "whoever": { pattern: phrase("whoever"), breach: "Whoever awaits it." },
  "nobody": { pattern: phrase("nobody"), breach: "Told apart by nobody." },
  "what is said": { pattern: phrase("what is said"), breach: "What is said of a login." },
  "stands in": { pattern: phrase("(stands?|stood|standing) in"), breach: "It stands in the settings." },
  "it gets": { pattern: phrase("it gets"), breach: "A number: it gets a text." },
  "goes with": { pattern: phrase("(goes|go|went|going) with"), breach: "What goes with a user." },
  "is owed": { pattern: phrase("(is|are|was|were) owed"), breach: "What is owed to a backend." },
  "look at it": { pattern: phrase("look at it"), breach: "Look at it." },
  "ways in": { pattern: phrase("ways in"), breach: "## Ways in" },
  "take out of": {
    pattern: phrase("(take|takes|taken|taking|took)( \\w+){0,2} out of"),
    breach: "Takes a user out of a group.",
  },
  "of before": { pattern: phrase("of before"), breach: "Those of before are not tried." },
} as const satisfies Record<string, BannedWord>;

const WORDS: readonly [string, BannedWord][] = Object.entries(BANNED_WORDS);
/** The catalogues of the pages: there a string of one word is shown as it is. */
const isCatalogue = (path: string) => /(^|\/)i18n\//.test(path);

/** Every use of a banned word in a file and in its name. */
export function bannedWords(file: SourceFile, syntax: ModuleSyntax | undefined): WordUse[] {
  const named = usesIn({ kind: "identifier", text: file.path, line: 1 }, file.path);
  // Most files have none, so the cheap look at the whole text comes first.
  if (!WORDS.some(([, word]) => isUsed(word, file.text))) return named;
  const spans = isModule(file.path) && syntax !== undefined
    ? joinComments(syntax.texts).filter(({ kind, text }) => kind !== "string" || isProse(text, file.path))
    : [{ kind: "string" as const, text: file.text, line: 1 }];
  return [...named, ...spans.flatMap((span) => usesIn(span, file.path))];
}

function isUsed({ pattern, identifiers }: BannedWord, text: string): boolean {
  return text.search(pattern) >= 0 || identifiers?.test(text) === true;
}

function usesIn({ kind, text, line }: TextSpan, path: string): WordUse[] {
  return WORDS.flatMap(([word, { pattern, identifiers }]) => {
    if (kind === "identifier") return identifiers?.test(text) ? [{ path, word, line }] : [];
    return [...text.matchAll(pattern)].map(({ index }) => {
      return { path, word, line: line + text.slice(0, index).split("\n").length - 1 };
    });
  });
}

/** A string without a space is data: a name, a key or a path. */
function isProse(text: string, path: string): boolean {
  return isCatalogue(path) || /\S\s+\S/.test(text);
}

/** Comments of adjacent lines become one text: a phrase may continue on the next line. */
function joinComments(texts: readonly TextSpan[]): TextSpan[] {
  const joined: TextSpan[] = [];
  for (const span of texts) {
    const last = joined.at(-1);
    const isNext = last?.kind === "comment" && span.kind === "comment" &&
      span.line === last.line + last.text.split("\n").length;
    if (isNext) joined[joined.length - 1] = { ...last, text: `${last.text}\n${span.text}` };
    else joined.push(span);
  }
  return joined;
}
