// The built files of the web pages, read into memory once, and their responses. The names contain a hash of the content, so browsers
// can cache them forever.

/** Encodings of compressed files with the endings of their names, the smallest first. */
export const ENCODINGS = { br: ".br", gzip: ".gz" } as const;
export type Encoding = keyof typeof ENCODINGS;
const ENCODING_NAMES = Object.keys(ENCODINGS) as readonly Encoding[];

/** One built file. */
export interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** The name of the file, which has a hash of its content. */
  readonly etag: string;
  /** The compressed forms. A small file has none. */
  readonly packed?: ReadonlyMap<Encoding, Uint8Array<ArrayBuffer>>;
}

/** The files of a page. */
export interface PageFiles {
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** Chunks that the script imports, so that the browser fetches them at once. */
  readonly preloads: readonly string[];
}

/** The files that make the phone page an installable app, by name. */
export interface PhoneAppFiles {
  /** The web app manifest. */
  readonly manifest: string;
  /** The script of the service worker. */
  readonly worker: string;
  readonly icons: readonly string[];
  /** The icon on the Home Screen of iOS. */
  readonly touchIcon: string;
}

/** What the build writes as `manifest.json`. */
export interface Manifest {
  /** The source files of the build, by path below `console/`, and a hash of them. */
  readonly inputs: { readonly hash: string; readonly files: readonly string[] };
  readonly pages: Readonly<Record<string, PageFiles>>;
  readonly icon: string;
  readonly sprite: string;
  readonly phoneApp: PhoneAppFiles;
  /** The messages of each application: the start of the names of their files, see `catalogueFile()`. */
  readonly messages: Readonly<Record<string, string>>;
  /** The messages that a page of the console needs in addition, by the name of the route. */
  readonly pageMessages: Readonly<Record<string, string>>;
  /** The module of each page of the console, by the name of the route. */
  readonly pageModules: Readonly<Record<string, string>>;
  /** The files of each module that the console loads on demand, by its path (`web/pages/live/live_page.tsx`). */
  readonly lazy: Readonly<Record<string, readonly string[]>>;
}

/** The built console and phone page. */
export interface Dist {
  readonly manifest: Manifest;
  read(name: string): Asset | null;
}

/** No files: the API works without them. */
export const NO_DIST: Dist = {
  manifest: {
    inputs: { hash: "", files: [] },
    pages: {},
    icon: "",
    sprite: "",
    phoneApp: { manifest: "", worker: "", icons: [], touchIcon: "" },
    messages: {},
    pageMessages: {},
    pageModules: {},
    lazy: {},
  },
  read: () => null,
};

/** The sign-in page has no address of its own. */
const SIGN_IN_MODULE = "web/pages/sign_in/sign_in_page.tsx";

/** The scripts of a page of the console (`live`), which the console loads on demand; empty if there is no such page. */
export function scriptsOfPage({ lazy, pageModules }: Manifest, page: string): readonly string[] {
  const module = page === "sign_in" ? SIGN_IN_MODULE : pageModules[page];
  return module === undefined ? [] : lazy[module] ?? [];
}

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  webmanifest: "application/manifest+json",
};
const FOR_EVER = "public, max-age=31536000, immutable";

/** Reads the output of the build. @throws Error if nothing is built; its message contains the build command. */
export async function loadDist(directory: string | URL): Promise<Dist> {
  const base = typeof directory === "string" ? directory : decodeURIComponent(directory.pathname);
  const manifest = await readManifest(`${base}/manifest.json`);
  const names = new Set(Array.from(Deno.readDirSync(base), ({ name }) => name));
  const files = new Map<string, Asset>();
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined || name === "manifest.json") continue;
    // Hundreds of small files, before the program serves: this takes a quarter of the time of asynchronous calls.
    const body = Deno.readFileSync(`${base}/${name}`);
    const packed = new Map(
      ENCODING_NAMES.filter((one) => names.has(name + ENCODINGS[one]))
        .map((one) => [one, Deno.readFileSync(`${base}/${name}${ENCODINGS[one]}`)]),
    );
    files.set(name, { body, type, etag: `"${name}"`, packed });
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

/**
 * The response with a file, compressed if the browser accepts it; 304 if the browser has the file.
 *
 * @param headers replace the defaults, such as the cache-control of an address that does not contain a hash.
 */
export function assetResponse(
  asset: Asset,
  request: Request,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const always = { "cache-control": FOR_EVER, vary: "accept-encoding", ...headers };
  const held = (request.headers.get("if-none-match") ?? "").split(",").map((tag) =>
    tag.trim().replace(/^W\//, "")
  );
  const encoding = encodingFor(request, asset);
  // Each encoding is a separate representation, so it needs its own entity tag (RFC 9110 §8.8.3.3).
  const etag = encoding === null ? asset.etag : asset.etag.replace(/"$/, `-${encoding}"`);
  if (held.includes(etag)) return new Response(null, { status: 304, headers: { ...always, etag } });
  const body = (encoding === null ? undefined : asset.packed?.get(encoding)) ?? asset.body;
  return new Response(body, {
    headers: {
      ...always,
      etag,
      "content-type": asset.type,
      "content-length": String(body.length),
      ...(encoding === null ? {} : { "content-encoding": encoding }),
    },
  });
}

/** The smallest encoding that the browser accepts; `null` for no compression. */
function encodingFor(request: Request, { packed }: Asset): Encoding | null {
  const accepted = acceptedEncodings(request);
  return ENCODING_NAMES.find((one) => accepted.includes(one) && packed?.has(one) === true) ?? null;
}

/** The names in Accept-Encoding, without those that the browser excludes. */
export function acceptedEncodings(request: Request): readonly string[] {
  return (request.headers.get("accept-encoding") ?? "").split(",")
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !/;\s*q=0(\.0{0,3})?$/.test(one))
    .map((one) => one.split(";")[0] ?? "");
}
