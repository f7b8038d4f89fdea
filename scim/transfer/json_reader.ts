// Splits JSON into resources in pieces: an array, a ListResponse (RFC 7644 §3.4.2), or a sequence of objects.

export type JsonPiece =
  | { readonly ok: true; readonly line: number; readonly text: string }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** The limit of a request body. */
const MAX_CHARACTERS = 1_048_576;
const LIST_MEMBER = '"resources"';

const TOO_LONG = "it is over 1 MiB, or it is never closed";
const NOT_JSON = "expected a JSON object here";
const UNFINISHED = "the file ends before this object or list is complete";

/** `seek`: between resources. `resource`: within one. `beside`: within a ListResponse, outside of its resources. */
type Mode = "seek" | "resource" | "beside";
/** The container of the resources. */
type Around = "nothing" | "array" | "list";

const BLANK = new Set([" ", "\t", "\r", "\n", ","]);

export class JsonReader {
  #mode: Mode = "seek";
  #around: Around = "nothing";
  /** Open brackets of the resource, or of the ListResponse outside of its resources. */
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #kept: string[] = [];
  #characters = 0;
  #line = 1;
  #firstLine = 1;
  /** The beginning of the last text among the members of the outermost object, in lower case. */
  #name = "";
  /** After a fault, nothing more can be read. */
  #isOver = false;
  #pieces: JsonPiece[] = [];

  /** The resources that end in the text so far. The caller must parse each one. */
  push(text: string): JsonPiece[] {
    this.#pieces = [];
    for (let at = 0; at < text.length && !this.#isOver;) {
      const to = this.#runEnd(text, at);
      if (to > at) this.#takeRun(text.slice(at, to));
      else this.#takeOne(text[at] ?? "");
      at = Math.max(to, at + 1);
    }
    return this.#pieces;
  }

  /** The fault at the end, if there is one. */
  end(): JsonPiece[] {
    if (this.#isOver || (this.#mode === "seek" && this.#around === "nothing")) return [];
    const line = this.#mode === "resource" ? this.#firstLine : this.#line;
    return [{ ok: false, line, problem: UNFINISHED }];
  }

  /** The end of a run of characters without a special meaning. */
  #runEnd(text: string, start: number): number {
    const marks = this.#isText ? TEXT_MARKS : MARKS;
    let to = start;
    if (this.#mode !== "seek" && !this.#isEscaped) {
      while (to < text.length && !marks.has(text[to] ?? "")) to++;
    }
    return to;
  }

  #takeRun(text: string): void {
    this.#keep(text);
    if (this.#isText && this.#depth === 1) {
      const name = this.#name + text.slice(0, LIST_MEMBER.length);
      this.#name = name.slice(0, LIST_MEMBER.length).toLowerCase();
    }
  }

  #takeOne(one: string): void {
    if (one === "\n") this.#line++;
    if (this.#isText) this.#inText(one);
    else if (this.#mode === "seek") this.#seek(one);
    else this.#within(one);
    if (one === '"' && !this.#isText && this.#depth === 1) this.#name += one;
  }

  #inText(one: string): void {
    this.#keep(one);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (one === "\\") this.#isEscaped = true;
    else if (one === '"') this.#isText = false;
  }

  #seek(one: string): void {
    if (BLANK.has(one)) return;
    if (one === "{") {
      this.#begin();
      this.#within(one);
    } else if (one === "[" && this.#around === "nothing") this.#around = "array";
    else if (one === "]" && this.#around === "array") this.#around = "nothing";
    else if (one === "]" && this.#around === "list") {
      this.#mode = "beside";
      this.#depth = 1;
    } else this.#fail(this.#line, NOT_JSON);
  }

  #begin(): void {
    this.#mode = "resource";
    this.#depth = 0;
    this.#firstLine = this.#line;
    this.#kept = [];
    this.#characters = 0;
    this.#name = "";
  }

  #within(one: string): void {
    const mayBeList = this.#mode === "beside" || this.#around === "nothing";
    if (one === "[" && this.#depth === 1 && mayBeList && this.#name === LIST_MEMBER) {
      // The text so far is the head of a ListResponse.
      this.#mode = "seek";
      this.#around = "list";
      return;
    }
    this.#keep(one);
    if (one === '"') {
      this.#isText = true;
      if (this.#depth === 1) this.#name = one;
    } else if (one === "{" || one === "[") this.#depth++;
    else if (one === "}" || one === "]") this.#depth--;
    if (this.#depth > 0) return;
    if (this.#mode === "resource") {
      this.#pieces.push({ ok: true, line: this.#firstLine, text: this.#kept.join("") });
    } else this.#around = "nothing";
    this.#mode = "seek";
  }

  #keep(text: string): void {
    if (this.#mode !== "resource") return;
    this.#kept.push(text);
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS) this.#fail(this.#firstLine, TOO_LONG);
  }

  #fail(line: number, problem: string): void {
    this.#pieces.push({ ok: false, line, problem });
    this.#isOver = true;
  }
}

const MARKS = new Set(['"', "{", "}", "[", "]", "\n"]);
const TEXT_MARKS = new Set(['"', "\\", "\n"]);
