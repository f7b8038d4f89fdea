// A support bundle: text files in one tar file (ustar, POSIX.1-1988), compressed with gzip.

import type { SecretSweep } from "./secret_sweep.ts";

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
