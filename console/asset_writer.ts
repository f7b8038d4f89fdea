// Writes the files of a build into console/dist: compressed, complete before they are visible, and removed a day after a newer
// build replaced them.

import { ENCODINGS, packingsOf, plainName } from "./packing.ts";

export const DIST = decodeURIComponent(new URL("dist", import.meta.url).pathname);
/** How many characters of a content hash a file name carries. */
const HASH_CHARACTERS = 10;
/** Files of earlier builds stay this long: a page that is open may still fetch one of their chunks. */
const KEEP_OLD_MS = 24 * 60 * 60 * 1000;

/** A file as it is, and beside it as browsers take it. Names carry a hash: what an earlier build packed stays as it is. */
export async function writeAsset(name: string, content: Uint8Array): Promise<void> {
  if (await isPacked(name)) return;
  for (const [encoding, packed] of await packingsOf(content)) {
    await putInPlace(name + ENCODINGS[encoding], packed);
  }
  await putInPlace(name, content);
}

/** Whether it is there with its packings; if so, it counts as new again, see KEEP_OLD_MS. */
async function isPacked(name: string): Promise<boolean> {
  const now = new Date();
  const names = [...Object.values(ENCODINGS).map((ending) => name + ending), name];
  try {
    await Promise.all(names.map((one) => Deno.utime(`${DIST}/${one}`, now, now)));
    return true;
  } catch (_notYet) {
    return false;
  }
}

/** Writes beside and renames, so that a reader sees the old file or the new one, never a part. */
export async function putInPlace(name: string, content: string | Uint8Array): Promise<void> {
  const draft = `${DIST}/.${name}.${crypto.randomUUID()}`;
  if (typeof content === "string") await Deno.writeTextFile(draft, content);
  else await Deno.writeFile(draft, content);
  await Deno.rename(draft, `${DIST}/${name}`);
}

export async function removeOld(current: ReadonlySet<string>): Promise<void> {
  for await (const entry of Deno.readDir(DIST)) {
    if (!entry.isFile || current.has(plainName(entry.name))) continue;
    const { mtime } = await Deno.stat(`${DIST}/${entry.name}`).catch(() => ({ mtime: null }));
    if (mtime === null || Date.now() - mtime.getTime() < KEEP_OLD_MS) continue;
    // Another build may have removed it first; then it is gone as well.
    await Deno.remove(`${DIST}/${entry.name}`).catch(() => undefined);
  }
}

export async function hashOf(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
}

export async function shortHash(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await hashOf(content)).slice(0, HASH_CHARACTERS);
}
