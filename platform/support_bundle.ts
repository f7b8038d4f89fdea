// A support bundle: text files in one tar file (ustar, POSIX.1-1988), compressed with gzip.

/** Of all files together, before the compression. */
const MAX_OCTETS = 8 * 1024 * 1024;
const MAX_FILE_CHARACTERS = 2 * 1024 * 1024;
const BLOCK = 512;
const FOLDER = "countersign-support";
const NAME = /^[a-z][a-z0-9._-]{0,60}$/;

/** By name. */
export type BundleFiles = Readonly<Record<string, string>>;

/** A known secret is in the bundle although all of them were replaced, so that it must not be written. */
export class SecretLeft extends Error {
  override readonly name = "SecretLeft";
}

/**
 * Replaces the known secrets in the files, and packs them.
 *
 * @param options.createdMs milliseconds since the epoch
 * @throws SecretLeft if a secret is still in the packed files; nothing must be written then
 */
export async function packBundle(
  files: BundleFiles,
  { sweep, createdMs }: { sweep: SecretSweep; createdMs: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = Object.entries(files).flatMap(([name, text]) => {
    if (!NAME.test(name)) throw new RangeError(`Cannot pack a file named "${name}"`);
    return tarEntry(name, new TextEncoder().encode(shortened(sweep.replaceIn(text))), createdMs);
  });
  const tar = new Blob([...parts, new Uint8Array(2 * BLOCK)]);
  if (tar.size > MAX_OCTETS) throw new RangeError("Cannot pack the bundle: it is too large");
  if (sweep.isIn(new TextDecoder().decode(await tar.arrayBuffer()))) {
    throw new SecretLeft("A secret is left in the bundle. It was not written.");
  }
  const zipped = tar.stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

function shortened(text: string): string {
  return text.length <= MAX_FILE_CHARACTERS
    ? text
    : `${text.slice(0, MAX_FILE_CHARACTERS).toWellFormed()}\n(cut here: the file is too long)\n`;
}

/** The header, the content, and zeros up to the end of the block. */
function tarEntry(
  name: string,
  content: Uint8Array<ArrayBuffer>,
  createdMs: number,
): Uint8Array<ArrayBuffer>[] {
  const header = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => void header.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number) => Math.floor(value).toString(8).padStart(digits, "0");
  put(0, `${FOLDER}/${name}`);
  put(100, "0000600\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${octal(content.length, 11)}\0`);
  put(136, `${octal(createdMs / 1000, 11)}\0`);
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\0");
  put(263, "00");
  put(148, `${octal(header.reduce((sum, octet) => sum + octet, 0), 6)}\0 `);
  return [header, content, new Uint8Array((BLOCK - content.length % BLOCK) % BLOCK)];
}

/** The files of a bundle, by name. @throws TypeError if it is not compressed with gzip */
export async function unpackBundle(octets: Uint8Array<ArrayBuffer>): Promise<BundleFiles> {
  const unzipped = new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"));
  const tar = new Uint8Array(await new Response(unzipped).arrayBuffer());
  const files: Record<string, string> = {};
  const text = (from: number, length: number) =>
    new TextDecoder().decode(tar.subarray(from, from + length)).split("\0")[0] ?? "";
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const length = Number.parseInt(text(at + 124, 12), 8) || 0;
    files[text(at, 100).slice(FOLDER.length + 1)] = text(at + BLOCK, length);
    at += BLOCK + Math.ceil(length / BLOCK) * BLOCK;
  }
  return files;
}

// Finds and replaces known secret values in texts that leave the host, also in the forms in which other programs write them.

/** What is written instead of a secret. */
export const SECRET_MARK = "[secret]";
/** Shorter texts occur everywhere: they are replaced where the settings define them, and not searched. */
const MIN_CHARACTERS = 6;
const MIN_PART_CHARACTERS = 12;

const encoder = new TextEncoder();

export class SecretSweep {
  /** All forms of all secrets, by their first characters. */
  readonly #forms = new Map<string, Set<string>>();
  #count = 0;

  /** How many secrets are known. */
  get count(): number {
    return this.#count;
  }

  /** Adds a secret with its lines, if it is long, and the parts of a URL that can be a secret. */
  add(secret: string): void {
    const text = secret.trim();
    if (text.length < MIN_CHARACTERS) return;
    this.#count++;
    for (const part of [text, ...linesOf(text), ...urlPartsOf(text)]) {
      for (const form of formsOf(part)) this.#addForm(form);
    }
  }

  /** Adds a secret that may not be a text, such as a seed. */
  addOctets(octets: Uint8Array): void {
    const text = new TextDecoder().decode(octets);
    if (!text.includes("\ufffd") && !hasControlCharacter(text)) return this.add(text);
    if (octets.length < MIN_CHARACTERS) return;
    this.#count++;
    for (const form of formsOfOctets(octets)) this.#addForm(form);
  }

  /** The text with {@link SECRET_MARK} instead of each secret. */
  replaceIn(text: string): string {
    let done = "";
    let from = 0;
    for (let at = this.#next(text, 0); at !== null; at = this.#next(text, from)) {
      done += text.slice(from, at.from) + SECRET_MARK;
      from = at.to;
    }
    return done + text.slice(from);
  }

  isIn(text: string): boolean {
    return this.#next(text, 0) !== null;
  }

  #addForm(form: string): void {
    if (form.length < MIN_CHARACTERS) return;
    const begin = form.slice(0, MIN_CHARACTERS);
    const forms = this.#forms.get(begin);
    if (forms === undefined) this.#forms.set(begin, new Set([form]));
    else forms.add(form);
  }

  /** The next secret from a position on; the longest of those that begin there. */
  #next(text: string, start: number): { readonly from: number; readonly to: number } | null {
    for (let from = start; from + MIN_CHARACTERS <= text.length; from++) {
      const forms = this.#forms.get(text.slice(from, from + MIN_CHARACTERS));
      if (forms === undefined) continue;
      const found = [...forms].filter((form) => text.startsWith(form, from));
      if (found.length > 0) return { from, to: from + Math.max(...found.map(({ length }) => length)) };
    }
    return null;
  }
}

/** The lines of a text of several lines, such as a key in PEM, without its frame. */
function linesOf(text: string): string[] {
  const lines = text.split(/[\r\n]+/);
  return lines.length < 2
    ? []
    : lines.filter((line) => line.length >= MIN_PART_CHARACTERS && !line.startsWith("-----"));
}

/** User, password, fragment, long parts of the path, and values of the query: a webhook has its token in one of them. */
function urlPartsOf(text: string): string[] {
  const url = /^[a-z]+:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null) return [];
  const path = url.pathname.split("/").filter((part) => part.length >= MIN_PART_CHARACTERS);
  return [url.username, url.password, url.hash.slice(1), ...url.searchParams.values(), ...path]
    .filter((part) => part !== "");
}

function formsOf(text: string): string[] {
  const encoded = encodeURIComponent(text);
  const inJson = JSON.stringify(text).slice(1, -1);
  return [
    text,
    inJson,
    // JSON of another program, in a line of the log.
    JSON.stringify(inJson).slice(1, -1),
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase()),
    encoded.replaceAll("%20", "+"),
    ...formsOfOctets(encoder.encode(text)),
  ];
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function formsOfOctets(octets: Uint8Array): string[] {
  const hex = octets.toHex();
  const base32 = base32Of(octets);
  return [hex, hex.toUpperCase(), base32, base32.toLowerCase(), ...base64Forms(octets)];
}

/** Base64, also behind other octets, as in a header with user and password: then only the middle depends on the secret alone. */
function base64Forms(octets: Uint8Array): string[] {
  const middles = [0, 1, 2].map((skip) =>
    octets.subarray(skip, skip + Math.floor((octets.length - skip) / 3) * 3)
  ).filter(({ length }) => length >= MIN_CHARACTERS);
  return [octets, ...middles].flatMap((part) => [
    part.toBase64({ omitPadding: true }),
    part.toBase64({ omitPadding: true, alphabet: "base64url" }),
  ]);
}

function base32Of(octets: Uint8Array): string {
  let text = "";
  let [bits, value] = [0, 0];
  for (const octet of octets) {
    [value, bits] = [(value << 8 | octet) & 0xfff, bits + 8];
    for (; bits >= 5; bits -= 5) text += BASE32[value >> (bits - 5) & 31];
  }
  return bits > 0 ? text + BASE32[value << (5 - bits) & 31] : text;
}

function hasControlCharacter(text: string): boolean {
  // deno-lint-ignore no-control-regex
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
}

const AUTHORIZATION = /\b(Bearer|Basic|Negotiate|Digest)\s+[^\s"',;]+/gi;
/** `password=…`, `"api_key": "…"`, `--token …`. */
const NAMED =
  /((?:pass(?:word|wd|code|phrase)?|pwd|secret|token|api[_-]?key|authorization|cookie|otp|seed|credential)s?["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"')\]}]+)/gi;
const URLS = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/"'<>]*@)?([^\s?#"'<>]*)(\?[^\s#"'<>]*)?(#[^\s"'<>]*)?/gi;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;
const JSON_WEB_TOKEN = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?/g;

/** The text without what looks like a secret, in texts of any program: credentials in headers, in URLs and behind names, and private keys. */
export function withoutCredentials(text: string): string {
  return text
    .replaceAll(PRIVATE_KEY, SECRET_MARK)
    .replaceAll(JSON_WEB_TOKEN, SECRET_MARK)
    .replaceAll(AUTHORIZATION, `$1 ${SECRET_MARK}`)
    .replaceAll(
      URLS,
      (_all, scheme: string, user = "", rest: string, query = "", fragment = "") =>
        `${scheme}${user === "" ? "" : `${SECRET_MARK}@`}${rest}${query === "" ? "" : `?${SECRET_MARK}`}` +
        (fragment === "" ? "" : `#${SECRET_MARK}`),
    )
    .replaceAll(NAMED, `$1${SECRET_MARK}`);
}

const SECRET_VARIABLE = /SECRET|PASSWORD|PASSWD|TOKEN|KEY|CREDENTIAL/i;

/** The values of variables of the environment whose names sound secret. */
export function environmentSecrets(): string[] {
  return Object.entries(Deno.env.toObject()).flatMap(([name, value]) =>
    SECRET_VARIABLE.test(name) ? [value] : []
  );
}
