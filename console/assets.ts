// The built files, read once into memory, and how they are answered: names carry a hash of the content, so they never
// change and may be kept for ever.

/** One built file. */
export interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

/** Which files a page needs. */
export interface PageFiles {
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** Chunks that the script imports, so that the browser fetches them at once. */
  readonly preloads: readonly string[];
}

/** What the build writes as `manifest.json`. */
export interface Manifest {
  readonly inputs: string;
  readonly pages: Readonly<Record<string, PageFiles>>;
  readonly icon: string;
  readonly sprite: string;
  /** Modules that pages fetch when they are needed, by path (`web/pages/live_page.tsx`), and all files each needs. */
  readonly late: Readonly<Record<string, readonly string[]>>;
}

/** The built console and phone page. */
export interface Dist {
  readonly manifest: Manifest;
  read(name: string): Asset | null;
}

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
const FOR_EVER = "public, max-age=31536000, immutable";

/**
 * Reads what the build wrote.
 *
 * @throws Error when nothing was built yet, with the command that does it.
 */
export async function loadDist(directory: string | URL): Promise<Dist> {
  const base = typeof directory === "string" ? directory : decodeURIComponent(directory.pathname);
  const manifest = await readManifest(`${base}/manifest.json`);
  const files = new Map<string, Asset>();
  for await (const entry of Deno.readDir(base)) {
    const type = TYPES[entry.name.slice(entry.name.lastIndexOf(".") + 1)];
    if (!entry.isFile || type === undefined) continue;
    const body = await Deno.readFile(`${base}/${entry.name}`);
    files.set(entry.name, { body, type, etag: await etagOf(body) });
  }
  return { manifest, read: (name) => files.get(name) ?? null };
}

async function readManifest(path: string): Promise<Manifest> {
  try {
    return JSON.parse(await Deno.readTextFile(path)) as Manifest;
  } catch (cause) {
    throw new Error("Cannot serve the console: it is not built. Run: deno task build", { cause });
  }
}

async function etagOf(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return `"${digest.slice(0, 12).toBase64({ alphabet: "base64url" })}"`;
}

/** The answer for one file; 304 when the browser has it already. */
export function assetResponse(asset: Asset, request: Request): Response {
  const headers = { "cache-control": FOR_EVER, etag: asset.etag };
  const held = request.headers.get("if-none-match");
  if (held !== null && held.split(",").some((tag) => tag.trim().replace(/^W\//, "") === asset.etag)) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(asset.body, {
    headers: { ...headers, "content-type": asset.type, "content-length": String(asset.body.length) },
  });
}
