// Reads XML in pieces, so that a large file does not block logins. No DTD, no entities besides the five of XML, and limits for depth and size.

export interface XmlElement {
  /** The name without its prefix. */
  readonly name: string;
  readonly uri: string;
  /** By name without prefix. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

/** The XML is broken, or it exceeds a limit. Its message has no content of the file. */
export class XmlRefusal extends Error {
  readonly code: "broken_xml" | "has_doctype" | "too_many_tokens";

  constructor(code: XmlRefusal["code"]) {
    super(`Cannot read XML: ${code}`);
    this.code = code;
  }
}

const MAX_DEPTH = 16;
/** Elements of one key package. */
const MAX_ELEMENTS = 500;
const MAX_TEXT = 100_000;
/** Attributes of one element. The parser compares each one with all others. */
const MAX_ATTRIBUTES = 100;
const PIECE_CHARACTERS = 64 * 1024;

interface OpenElement {
  readonly name: string;
  readonly uri: string;
  readonly attributes: Map<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/** The part of the parser's interface that is used; the package has no types. */
interface SaxParser {
  onerror: (fault: Error) => void;
  ondoctype: () => void;
  onopentag: (tag: {
    local: string;
    uri: string;
    attributes: Record<string, { local: string; prefix: string; value: string }>;
  }) => void;
  onclosetag: () => void;
  ontext: (text: string) => void;
  oncdata: (text: string) => void;
  /** The attributes of the tag that is being read. */
  readonly attribList?: readonly unknown[];
  write(text: string): SaxParser;
  close(): SaxParser;
}

interface ReadOptions {
  readonly take: (child: XmlElement, root: XmlElement) => void;
  readonly pause: () => Promise<void>;
  /** The right spelling of names of elements and attributes, by their lower case. */
  readonly names?: ReadonlyMap<string, string>;
}

/**
 * Reads a document. Each child of the root is handed to `take` and then forgotten.
 *
 * @param pause called between pieces
 * @returns the root without its children
 * @throws XmlRefusal
 */
export async function readXml(
  text: string,
  { take, pause, names = new Map() }: ReadOptions,
): Promise<XmlElement> {
  const { default: sax } = await import("sax");
  const tree = new ElementReader(
    sax.parser(true, { xmlns: true, position: false, trim: false }),
    take,
    names,
  );
  const parser = tree.parser;
  try {
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      parser.write(text.slice(at, at + PIECE_CHARACTERS));
      if ((parser.attribList?.length ?? 0) > MAX_ATTRIBUTES) throw new XmlRefusal("broken_xml");
      await pause();
    }
    parser.close();
  } catch (fault) {
    throw fault instanceof XmlRefusal ? fault : new XmlRefusal("broken_xml");
  }
  if (tree.root === null) throw new XmlRefusal("broken_xml");
  return tree.root;
}

class ElementReader {
  readonly parser: SaxParser;
  readonly #take: (child: XmlElement, root: XmlElement) => void;
  readonly #names: ReadonlyMap<string, string>;
  readonly #open: OpenElement[] = [];
  #elements = 0;
  root: XmlElement | null = null;

  constructor(parser: SaxParser, take: ReadOptions["take"], names: ReadonlyMap<string, string>) {
    this.parser = parser;
    this.#take = take;
    this.#names = names;
    this.parser.onerror = () => {
      throw new XmlRefusal("broken_xml");
    };
    this.parser.ondoctype = () => {
      throw new XmlRefusal("has_doctype");
    };
    this.parser.onopentag = ({ local, uri, attributes }) => this.#openElement(local, uri, attributes);
    this.parser.onclosetag = () => this.#close();
    this.parser.ontext = (text) => this.#addText(text);
    this.parser.oncdata = (text) => this.#addText(text);
  }

  #openElement(
    name: string,
    uri: string,
    given: Record<string, { local: string; prefix: string; value: string }>,
  ): void {
    if (this.#open.length >= MAX_DEPTH || ++this.#elements > MAX_ELEMENTS) throw new XmlRefusal("broken_xml");
    const attributes = new Map<string, string>();
    if (Object.keys(given).length > MAX_ATTRIBUTES) throw new XmlRefusal("broken_xml");
    for (const { local, prefix, value } of Object.values(given)) {
      if (prefix !== "xmlns" && local !== "xmlns") attributes.set(this.#nameOf(local), value);
    }
    const element: OpenElement = { name: this.#nameOf(name), uri, attributes, children: [], text: "" };
    if (this.#open.length === 0) this.root = element;
    this.#open.push(element);
  }

  #nameOf(local: string): string {
    return this.#names.get(local.toLowerCase()) ?? local;
  }

  #addText(text: string): void {
    const element = this.#open.at(-1);
    // The text between key packages is white space.
    if (element === undefined || this.#open.length === 1) return;
    element.text += text;
    if (element.text.length > MAX_TEXT) throw new XmlRefusal("broken_xml");
  }

  #close(): void {
    const element = this.#open.pop();
    if (element === undefined || this.root === null) return;
    if (this.#open.length > 1) return void this.#open.at(-1)?.children.push(element);
    if (this.#open.length === 0) return;
    this.#elements = 1;
    this.#take(element, this.root);
  }
}

/** The first descendant along a path of names. */
export function findElement(
  element: XmlElement | undefined,
  ...path: readonly string[]
): XmlElement | undefined {
  let found = element;
  for (const name of path) found = found?.children.find((child) => child.name === name);
  return found;
}

/** The trimmed text of a descendant; "" if there is none. */
export function elementText(element: XmlElement | undefined, ...path: readonly string[]): string {
  return findElement(element, ...path)?.text.trim() ?? "";
}
