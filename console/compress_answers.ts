// Compresses pages and the answers of the console's API. Files of the build are compressed already, see assets.ts.
//
// Only answers to GET requests: they contain no secret. The length of a compressed answer tells whether a guess that the
// answer repeats is right, so an answer with a secret must not be compressed.

import type { MiddlewareHandler } from "hono";
import { acceptedEncodings } from "./assets.ts";

/** Compressing less saves no packet. */
const MIN_OCTETS = 1024;
const COMPRESSIBLE = /^(?:application\/json|text\/html)\b/;

export const compressAnswers: MiddlewareHandler = async (c, next) => {
  await next();
  const { headers, body } = c.res;
  // An export is a download, and too large to be held in memory.
  if (c.req.method !== "GET" || body === null || headers.has("content-disposition")) return;
  if (!COMPRESSIBLE.test(headers.get("content-type") ?? "")) return;
  headers.append("vary", "accept-encoding");
  if (!acceptedEncodings(c.req.raw).includes("gzip")) return;
  const octets = await c.res.bytes();
  const isLarge = octets.length >= MIN_OCTETS;
  c.res = new Response(isLarge ? await gzip(octets) : octets, c.res);
  c.res.headers.delete("content-length");
  if (isLarge) c.res.headers.set("content-encoding", "gzip");
};

function gzip(octets: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Response(new Blob([octets]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}
