// Bundles the console, the phone page and the account page into console/dist: `deno task build`. Skipped when nothing changed; the new
// files are there before the manifest names them, and the manifest is put in place by a rename, so that two builds at
// once, or a start beside a build, never see half of it.

import * as esbuild from "esbuild";
import type { Manifest, PageFiles } from "./assets.ts";
import { coreChunk, roomMembers } from "./core_chunk.ts";
import { makeSprite } from "./sprite.ts";
import { LANGUAGES } from "./web/words/words.ts";
import { wordsTogether } from "./late_needs.ts";
import { ENCODINGS, packingsOf, plainName } from "./packing.ts";
import { passkeyParts } from "./passkey_parts.ts";
import { uplotParts } from "./uplot_parts.ts";
import { readWords, wordsFileName } from "./words_files.ts";

const HERE = decodeURIComponent(new URL(".", import.meta.url).pathname);
const DIST = `${HERE}dist`;
const WEB = `${HERE}web/`;
/** Besides esbuild's version, what the result depends on. */
const INPUT_ROOTS = [`${HERE}web`, `${HERE}device`, `${HERE}me`, `${HERE}me_pages`, `${HERE}api`];
const INPUT_FILES = [
  `${HERE}build.ts`,
  `${HERE}sprite.ts`,
  `${HERE}core_chunk.ts`,
  `${HERE}lazy_modules.ts`,
  `${HERE}rooms.ts`,
  `${HERE}packing.ts`,
  `${HERE}passkey_parts.ts`,
  `${HERE}uplot_parts.ts`,
  `${HERE}uplot_rows.ts`,
  `${HERE}words_files.ts`,
  `${HERE}late_needs.ts`,
  `${HERE}../deno.json`,
  `${HERE}../deno.lock`,
];
const ENTRIES = {
  web: { script: "web/main.tsx", style: "web/styles/console.css" },
  device: { script: "device/main.tsx", style: "device/styles/phone.css" },
  me: { script: "me/main.tsx", style: "me/styles/page.css" },
} as const;
/** Pages without script: a style alone. */
const APPROVE_STYLE = "me_pages/styles/approve.css";
type Entry = typeof ENTRIES[keyof typeof ENTRIES];
/** How many characters of a content hash a file name carries. */
const HASH_CHARACTERS = 10;
/** Files of earlier builds stay this long: a page that is open may still fetch one of their chunks. */
const KEEP_OLD_MS = 24 * 60 * 60 * 1000;

/** Builds when an input changed. Returns whether it did. */
export async function build({ force = false } = {}): Promise<boolean> {
  const inputs = await hashInputs();
  if (!force && await isCurrent(inputs)) return false;
  await Deno.mkdir(DIST, { recursive: true });
  try {
    const icon = await writeHashed("icon", await Deno.readTextFile(`${HERE}web/icon.svg`));
    const sprite = await writeHashed("sprite", await makeSprite());
    const words = await writeWords();
    const define = {
      SPRITE_URL: JSON.stringify(`/assets/${sprite}`),
      WORDS_HASH: JSON.stringify(words.hash),
    };
    // Each page is bundled by itself: what both use would else be cut out of both, into more and smaller files.
    const web = await bundle("web", { define, plugins: [coreChunk(WEB), passkeyParts(), uplotParts()] });
    const device = await bundle("device", { define, plugins: [] });
    const me = await bundle("me", { define, plugins: [] });
    const approve = await bundleStyle("approve", APPROVE_STYLE);
    const names = await writeOutputs([web, device, me, approve].flatMap(({ outputFiles }) => outputFiles));
    const pages = {
      web: filesOf(web.metafile, ENTRIES.web),
      device: filesOf(device.metafile, ENTRIES.device),
      me: filesOf(me.metafile, ENTRIES.me),
      approve: { scripts: [], styles: [baseName(outputOf(approve.metafile, APPROVE_STYLE))], preloads: [] },
    };
    const manifest: Manifest = {
      inputs,
      pages,
      icon,
      sprite,
      words: words.files,
      late: lateFiles(web.metafile, await roomMembers(WEB)),
    };
    await putInPlace("manifest.json", JSON.stringify(manifest, null, 2));
    await removeOld(new Set([...names, ...Object.values(words.files), icon, sprite, "manifest.json"]));
    return true;
  } finally {
    await esbuild.stop();
  }
}

interface BundleOptions {
  readonly define: Record<string, string>;
  readonly plugins: esbuild.Plugin[];
}

function bundle(page: keyof typeof ENTRIES, { define, plugins }: BundleOptions) {
  const { script, style } = ENTRIES[page];
  return esbuild.build({
    absWorkingDir: HERE,
    entryPoints: [{ in: `${HERE}${script}`, out: page }, { in: `${HERE}${style}`, out: page }],
    outdir: DIST,
    entryNames: "[name]-[hash]",
    chunkNames: "chunk-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    metafile: true,
    write: false,
    define,
    plugins,
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "error",
  });
}

function bundleStyle(page: string, style: string) {
  return esbuild.build({
    absWorkingDir: HERE,
    entryPoints: [{ in: `${HERE}${style}`, out: page }],
    outdir: DIST,
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    metafile: true,
    write: false,
    logLevel: "error",
  });
}

/** A hash over every input's path and content, and over esbuild's version. */
async function hashInputs(): Promise<string> {
  const parts = [`esbuild ${esbuild.version}`];
  const paths = [...INPUT_FILES];
  for (const root of INPUT_ROOTS) for await (const path of filesBelow(root)) paths.push(path);
  for (const path of paths.toSorted()) {
    parts.push(path.slice(HERE.length), await hashOf(await Deno.readFile(path)));
  }
  return await hashOf(new TextEncoder().encode(parts.join("\n")));
}

async function* filesBelow(directory: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) yield* filesBelow(path);
    else if (entry.isFile) yield path;
  }
}

async function hashOf(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
}

async function isCurrent(inputs: string): Promise<boolean> {
  try {
    const manifest = JSON.parse(await Deno.readTextFile(`${DIST}/manifest.json`)) as Manifest;
    if (manifest.inputs !== inputs) return false;
    const names = Object.values(manifest.pages).flatMap((page) => [
      ...page.scripts,
      ...page.styles,
      ...page.preloads,
    ]);
    names.push(manifest.icon, manifest.sprite, ...Object.values(manifest.words));
    await Promise.all(names.map((name) => Deno.stat(`${DIST}/${name}`)));
    return true;
  } catch (_nothingBuiltOrBroken) {
    return false;
  }
}

async function writeOutputs(files: readonly esbuild.OutputFile[]): Promise<string[]> {
  return await Promise.all(files.map(async ({ path, contents }) => {
    await writeAsset(baseName(path), contents);
    return baseName(path);
  }));
}

async function writeHashed(name: string, svg: string): Promise<string> {
  const content = new TextEncoder().encode(svg);
  const file = `${name}-${(await hashOf(content)).slice(0, HASH_CHARACTERS)}.svg`;
  await writeAsset(file, content);
  return file;
}

async function writeWords(): Promise<{ hash: string; files: Record<string, string> }> {
  const tables = await readWords(LANGUAGES, wordsTogether());
  const all = new TextEncoder().encode(tables.map(({ json }) => json).join("\n"));
  const hash = (await hashOf(all)).slice(0, HASH_CHARACTERS);
  const files: Record<string, string> = {};
  await Promise.all(tables.map((table) => {
    const name = wordsFileName(table, hash);
    files[`${table.language}.${table.areas.join("+")}`] = name;
    return writeAsset(name, new TextEncoder().encode(table.json));
  }));
  return { hash, files };
}

/** A file as it is, and beside it as browsers take it. Names carry a hash: what an earlier build packed stays as it is. */
async function writeAsset(name: string, content: Uint8Array): Promise<void> {
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
async function putInPlace(name: string, content: string | Uint8Array): Promise<void> {
  const draft = `${DIST}/.${name}.${crypto.randomUUID()}`;
  if (typeof content === "string") await Deno.writeTextFile(draft, content);
  else await Deno.writeFile(draft, content);
  await Deno.rename(draft, `${DIST}/${name}`);
}

/** The files of one page, from esbuild's own account of its outputs. */
function filesOf(metafile: esbuild.Metafile, { script, style }: Entry): PageFiles {
  const scriptPath = outputWith(metafile, script);
  return {
    scripts: [baseName(scriptPath)],
    styles: [baseName(outputOf(metafile, style))],
    preloads: staticImports(metafile, scriptPath).map(baseName),
  };
}

/** The file that has the code of an entry: where others reach it as well, the entry's own only leads there. */
function outputWith(metafile: esbuild.Metafile, entryPoint: string): string {
  for (const [path, { inputs }] of Object.entries(metafile.outputs)) {
    if ((inputs[entryPoint]?.bytesInOutput ?? 0) > 0) return path;
  }
  return outputOf(metafile, entryPoint);
}

/** The files of each module that is fetched later, by the module's path below `console/`: its own first. */
function lateFiles(
  metafile: esbuild.Metafile,
  rooms: Readonly<Record<string, readonly string[]>>,
): Record<string, string[]> {
  const entries = new Set<string>(Object.values(ENTRIES).flatMap(({ script, style }) => [script, style]));
  const late: Record<string, string[]> = {};
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined || entries.has(entryPoint)) continue;
    const files = [path, ...staticImports(metafile, path)].map(baseName);
    const modules = rooms[entryPoint]?.map((module) => `web/${module}`) ?? [entryPoint];
    for (const module of modules) late[module] = files;
  }
  return late;
}

function outputOf(metafile: esbuild.Metafile, entryPoint: string): string {
  for (const [path, output] of Object.entries(metafile.outputs)) {
    if (output.entryPoint === entryPoint) return path;
  }
  throw new Error(`Cannot find the output of ${entryPoint}: esbuild did not list it`);
}

function staticImports(metafile: esbuild.Metafile, path: string, seen = new Set<string>()): string[] {
  for (const imported of metafile.outputs[path]?.imports ?? []) {
    if (imported.kind !== "import-statement" || seen.has(imported.path)) continue;
    seen.add(imported.path);
    staticImports(metafile, imported.path, seen);
  }
  return [...seen];
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

async function removeOld(current: ReadonlySet<string>): Promise<void> {
  for await (const entry of Deno.readDir(DIST)) {
    if (!entry.isFile || current.has(plainName(entry.name))) continue;
    const { mtime } = await Deno.stat(`${DIST}/${entry.name}`).catch(() => ({ mtime: null }));
    if (mtime === null || Date.now() - mtime.getTime() < KEEP_OLD_MS) continue;
    // Another build may have removed it first; then it is gone as well.
    await Deno.remove(`${DIST}/${entry.name}`).catch(() => undefined);
  }
}

if (import.meta.main) {
  const startedMs = performance.now();
  const built = await build({ force: Deno.args.includes("--force") });
  if (built) console.log(`Built the console in ${Math.round(performance.now() - startedMs)} ms.`);
}
