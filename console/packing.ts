// How built files are packed: once, by the build, so that no visitor waits for it.

import { brotliCompress, gzip } from "node:zlib";
import { promisify } from "node:util";

/** The best first; each with the ending of its files. */
export const ENCODINGS = { br: ".br", gzip: ".gz" } as const;
export type Encoding = keyof typeof ENCODINGS;
export const ENCODING_NAMES = Object.keys(ENCODINGS) as readonly Encoding[];

/** Below it packing saves less than its header costs. */
const PACK_FROM_OCTETS = 256;

/** A file in each encoding, the best first; in none when it is small. */
export async function packingsOf(body: Uint8Array): Promise<Map<Encoding, Uint8Array<ArrayBuffer>>> {
  if (body.length < PACK_FROM_OCTETS) return new Map();
  return new Map<Encoding, Uint8Array<ArrayBuffer>>([
    ["br", new Uint8Array(await promisify(brotliCompress)(body))],
    ["gzip", new Uint8Array(await promisify(gzip)(body, { level: 9 }))],
  ]);
}

/** The name of the file that a packed one lies beside; its own of any other. */
export function plainName(name: string): string {
  const ending = Object.values(ENCODINGS).find((one) => name.endsWith(one)) ?? "";
  return name.slice(0, name.length - ending.length);
}
