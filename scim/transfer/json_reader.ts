// JSON cut into resources piece by piece: an array, a ListResponse (RFC 7644 §3.4.2), or objects one after the other.

export type JsonPiece =
  | { readonly ok: true; readonly line: number; readonly text: string }
  | { readonly ok: false; readonly line: number; readonly problem: string };

export interface JsonReader {
  /** The resources that end within the text so far. Whether each is sound JSON is for a parser to say. */
  push(text: string): JsonPiece[];
  /** What is wrong with the end, if anything. */
  end(): JsonPiece[];
}

/** A resource, as a body of the interface. */
const MAX_CHARACTERS = 1_048_576;
const LIST_MEMBER = '"resources"';

const TOO_LONG = "it is over 1 MiB long, or is never closed";
const NOT_JSON = "something stands here that is no JSON object";
const UNFINISHED = "the file ends within what begins here";

/** `seek`: between resources. `resource`: within one. `beside`: within a ListResponse, outside of its resources. */
type Mode = "seek" | "resource" | "beside";
/** What is around the resources. */
type Around = "nothing" | "array" | "list";

const BLANK = new Set([" ", "\t", "\r", "\n", ","]);

export function createJsonReader(): JsonReader {
  let mode: Mode = "seek";
  let around: Around = "nothing";
  /** Open brackets of the resource, or of the ListResponse outside of its resources. */
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let kept: string[] = [];
  let characters = 0;
  let line = 1;
  let from = 1;
  /** The last text among the members of the outermost object, in small letters; only its beginning. */
  let name = "";
  /** After this nothing can be told apart any more. */
  let isOver = false;
  let pieces: JsonPiece[] = [];

  const fail = (at: number, problem: string): void => {
    pieces.push({ ok: false, line: at, problem });
    isOver = true;
  };
  const begin = (): void => {
    mode = "resource";
    depth = 0;
    from = line;
    kept = [];
    characters = 0;
    name = "";
  };
  const keep = (text: string): void => {
    if (mode !== "resource") return;
    kept.push(text);
    characters += text.length;
    if (characters > MAX_CHARACTERS) fail(from, TOO_LONG);
  };

  const seek = (one: string): void => {
    if (BLANK.has(one)) return;
    if (one === "{") {
      begin();
      within(one);
    } else if (one === "[" && around === "nothing") around = "array";
    else if (one === "]" && around === "array") around = "nothing";
    else if (one === "]" && around === "list") {
      mode = "beside";
      depth = 1;
    } else fail(line, NOT_JSON);
  };

  const within = (one: string): void => {
    const mayBeList = mode === "beside" || around === "nothing";
    if (one === "[" && depth === 1 && mayBeList && name === LIST_MEMBER) {
      // What was kept so far is the head of a ListResponse.
      mode = "seek";
      around = "list";
      return;
    }
    keep(one);
    if (one === '"') {
      isText = true;
      if (depth === 1) name = one;
    } else if (one === "{" || one === "[") depth++;
    else if (one === "}" || one === "]") depth--;
    if (depth > 0) return;
    if (mode === "resource") pieces.push({ ok: true, line: from, text: kept.join("") });
    else around = "nothing";
    mode = "seek";
  };

  const inText = (one: string): void => {
    keep(one);
    if (isEscaped) isEscaped = false;
    else if (one === "\\") isEscaped = true;
    else if (one === '"') isText = false;
  };

  /** The end of a run of characters that change nothing. */
  const runEnd = (text: string, start: number): number => {
    const marks = isText ? TEXT_MARKS : MARKS;
    let to = start;
    if (mode !== "seek" && !isEscaped) { while (to < text.length && !marks.has(text[to] ?? "")) to++; }
    return to;
  };

  const takeRun = (text: string): void => {
    keep(text);
    if (isText && depth === 1) {
      name = (name + text.slice(0, LIST_MEMBER.length)).slice(0, LIST_MEMBER.length).toLowerCase();
    }
  };
  const takeOne = (one: string): void => {
    if (one === "\n") line++;
    if (isText) inText(one);
    else if (mode === "seek") seek(one);
    else within(one);
    if (one === '"' && !isText && depth === 1) name += one;
  };

  return {
    push(text) {
      pieces = [];
      for (let at = 0; at < text.length && !isOver;) {
        const to = runEnd(text, at);
        if (to > at) takeRun(text.slice(at, to));
        else takeOne(text[at] ?? "");
        at = Math.max(to, at + 1);
      }
      return pieces;
    },
    end() {
      if (isOver || (mode === "seek" && around === "nothing")) return [];
      return [{ ok: false, line: mode === "resource" ? from : line, problem: UNFINISHED }];
    },
  };
}

const MARKS = new Set(['"', "{", "}", "[", "]", "\n"]);
const TEXT_MARKS = new Set(['"', "\\", "\n"]);
