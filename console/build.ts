// Bundles the console, the phone page and the account page into console/dist: `deno task build`. Skipped when nothing changed; the new
// files are there before the manifest names them, and the manifest is put in place by a rename, so that two builds at
// once, or a start beside a build, never see half of it.

import * as esbuild from "esbuild";
import type { Manifest, PageFiles } from "./assets.ts";
import { DIST, hashOf, putInPlace, removeOld, shortHash, writeAsset } from "./asset_writer.ts";
import { catalogueJson, type CataloguePage } from "./i18n_bundle.ts";
import { coreChunk, roomMembers } from "./core_chunk.ts";
import { makeSprite } from "./sprite.ts";
import { passkeyParts } from "./passkey_parts.ts";
import { uplotParts } from "./uplot_parts.ts";
import { LANGUAGES } from "./web/i18n/catalogue.ts";

const HERE = decodeURIComponent(new URL(".", import.meta.url).pathname);
const WEB = `${HERE}web/`;
/** Besides esbuild's version, what the result depends on. */
const INPUT_ROOTS = [`${HERE}web`, `${HERE}device`, `${HERE}me`, `${HERE}me_pages`, `${HERE}api`];
const INPUT_FILES = [
  `${HERE}build.ts`,
  `${HERE}asset_writer.ts`,
  `${HERE}sprite.ts`,
  `${HERE}core_chunk.ts`,
  `${HERE}lazy_modules.ts`,
  `${HERE}rooms.ts`,
  `${HERE}packing.ts`,
  `${HERE}passkey_parts.ts`,
  `${HERE}uplot_parts.ts`,
  `${HERE}uplot_rows.ts`,
  `${HERE}i18n_bundle.ts`,
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
/** Builds when an input changed. Returns whether it did. */
export async function build({ force = false } = {}): Promise<boolean> {
  const inputs = await hashInputs();
  if (!force && await isCurrent(inputs)) return false;
  await Deno.mkdir(DIST, { recursive: true });
  try {
    const icon = await writeHashed("icon", await Deno.readTextFile(`${HERE}web/icon.svg`));
    const sprite = await writeHashed("sprite", await makeSprite());
    const catalogues = {
      web: await writeCatalogues("web"),
      device: await writeCatalogues("device"),
      me: await writeCatalogues("me"),
    };
    const defineFor = (page: CataloguePage) => ({
      SPRITE_URL: JSON.stringify(`/assets/${sprite}`),
      CATALOGUE_NAME: JSON.stringify(catalogues[page].name),
    });
    // Each page is bundled by itself: what both use would else be cut out of both, into more and smaller files.
    const web = await bundle("web", {
      define: defineFor("web"),
      plugins: [coreChunk(WEB), passkeyParts(), uplotParts()],
    });
    const device = await bundle("device", { define: defineFor("device"), plugins: [] });
    const me = await bundle("me", { define: defineFor("me"), plugins: [] });
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
      catalogues: {
        web: catalogues.web.files,
        device: catalogues.device.files,
        me: catalogues.me.files,
      },
      late: lateFiles(web.metafile, await roomMembers(WEB)),
    };
    await putInPlace("manifest.json", JSON.stringify(manifest, null, 2));
    await removeOld(
      new Set([...names, ...catalogueNames(manifest.catalogues), icon, sprite, "manifest.json"]),
    );
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

async function isCurrent(inputs: string): Promise<boolean> {
  try {
    const manifest = JSON.parse(await Deno.readTextFile(`${DIST}/manifest.json`)) as Manifest;
    if (manifest.inputs !== inputs) return false;
    const names = Object.values(manifest.pages).flatMap((page) => [
      ...page.scripts,
      ...page.styles,
      ...page.preloads,
    ]);
    names.push(manifest.icon, manifest.sprite, ...catalogueNames(manifest.catalogues));
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
  const file = `${name}-${await shortHash(content)}.svg`;
  await writeAsset(file, content);
  return file;
}

/** Writes the messages of a page in each language. `name`: the start of the names of the files. */
async function writeCatalogues(
  page: CataloguePage,
): Promise<{ name: string; files: Record<string, string> }> {
  const catalogues = LANGUAGES.map((language) => ({ language, json: catalogueJson(page, language) }));
  const hash = await shortHash(new TextEncoder().encode(catalogues.map(({ json }) => json).join("\n")));
  const name = `messages-${page}-${hash}`;
  const files: Record<string, string> = {};
  for (const { language, json } of catalogues) {
    files[language] = `${name}-${language}.json`;
    await writeAsset(`${name}-${language}.json`, new TextEncoder().encode(json));
  }
  return { name, files };
}

function catalogueNames(catalogues: Manifest["catalogues"]): string[] {
  return Object.values(catalogues).flatMap((files) => Object.values(files));
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

if (import.meta.main) {
  const startedMs = performance.now();
  const built = await build({ force: Deno.args.includes("--force") });
  if (built) console.log(`Built the console in ${Math.round(performance.now() - startedMs)} ms.`);
}
