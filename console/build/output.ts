// Writes the files of a build into console/dist: compressed, visible only when complete, and kept for a day after they are replaced.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { type Encoding, ENCODINGS } from "../assets.ts";

export const DIST = decodeURIComponent(new URL("../dist", import.meta.url).pathname);
/** How many characters of the hash of its content a file name has. */
const HASH_CHARACTERS = 10;
/** An open page may still fetch a chunk of an earlier build. */
const KEEP_OLD_MS = 24 * 60 * 60 * 1000;

/** Writes a file and its compressed forms. A name contains a hash, so a file that exists is not written again. */
export async function writeAsset(name: string, content: Uint8Array): Promise<void> {
  if (await isWritten(name)) return;
  for (const [encoding, compressed] of compress(content)) {
    await replaceFile(name + ENCODINGS[encoding], compressed);
  }
  await replaceFile(name, content);
}

/** Whether the file and its compressed forms exist. If so, {@link removeOld} counts their age from now. */
async function isWritten(name: string): Promise<boolean> {
  const now = new Date();
  const names = [...Object.values(ENCODINGS).map((ending) => name + ending), name];
  try {
    await Promise.all(names.map((one) => Deno.utime(`${DIST}/${one}`, now, now)));
    return true;
  } catch (_notWritten) {
    return false;
  }
}

/** Renames a complete draft: a reader sees the old file or the new one. */
export async function replaceFile(name: string, content: string | Uint8Array): Promise<void> {
  const draft = `${DIST}/.${name}.${crypto.randomUUID()}`;
  if (typeof content === "string") await Deno.writeTextFile(draft, content);
  else await Deno.writeFile(draft, content);
  await Deno.rename(draft, `${DIST}/${name}`);
}

export async function removeOld(current: ReadonlySet<string>): Promise<void> {
  for await (const entry of Deno.readDir(DIST)) {
    if (!entry.isFile || current.has(withoutEncoding(entry.name))) continue;
    const { mtime } = await Deno.stat(`${DIST}/${entry.name}`).catch(() => ({ mtime: null }));
    if (mtime === null || Date.now() - mtime.getTime() < KEEP_OLD_MS) continue;
    // Another build may have removed the file.
    await Deno.remove(`${DIST}/${entry.name}`).catch(() => undefined);
  }
}

/** The name of the file whose compressed form this is. */
function withoutEncoding(name: string): string {
  const ending = Object.values(ENCODINGS).find((one) => name.endsWith(one)) ?? "";
  return name.slice(0, name.length - ending.length);
}

export async function hashOf(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
}

export async function shortHash(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await hashOf(content)).slice(0, HASH_CHARACTERS);
}

/** Compressing a smaller file saves less than the header costs. */
const MIN_OCTETS = 256;
/** Within eight percent of the smallest size, in a thirtieth of its time. */
const FAST_QUALITY = 6;

type Compressed = Map<Encoding, Uint8Array<ArrayBuffer>>;

/** A file in each encoding, the smallest first. A small file has none. */
export function compress(body: Uint8Array): Compressed {
  if (body.length < MIN_OCTETS) return new Map();
  return new Map<Encoding, Uint8Array<ArrayBuffer>>([
    ["br", brotli(body, FAST_QUALITY)],
    ["gzip", new Uint8Array(gzipSync(body, { level: 9 }))],
  ]);
}

/** Compresses files again, as small as brotli can: what is released, and where octets are counted. */
export async function compressForRelease(names: Iterable<string>): Promise<void> {
  for (const name of new Set(names)) {
    const body = await Deno.readFile(`${DIST}/${name}`);
    if (body.length < MIN_OCTETS) continue;
    await replaceFile(name + ENCODINGS.br, brotli(body, constants.BROTLI_MAX_QUALITY));
  }
}

function brotli(body: Uint8Array, quality: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }));
}
