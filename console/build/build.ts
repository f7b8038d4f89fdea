// Bundles the console, the phone page and the account page into console/dist: `deno task build`. Skipped when nothing
// changed. The manifest is written last and renamed into place, so two builds at once, or a start during a build, are safe.

import * as esbuild from "esbuild";
import de from "../web/i18n/de.json" with { type: "json" };
import en from "../web/i18n/en.json" with { type: "json" };
import type { Manifest } from "../assets.ts";
import { type Catalogue, type Language, LANGUAGES } from "../web/i18n/catalogue.ts";
import {
  APPROVE_STYLE,
  baseName,
  type Bundle,
  bundlePage,
  bundleStyle,
  CONSOLE,
  filesOfPage,
  lazyFiles,
  type PageEntry,
  styleFile,
} from "./bundle.ts";
import { DIST, hashOf, removeOld, replaceFile, shortHash, writeAsset } from "./output.ts";
import { SPRITE_ICON_PATHS, SPRITE_ICONS } from "../web/components/icons.tsx";
import { ROW_ICON_PATHS } from "../web/components/inline_icon.tsx";
import { ERROR_CODES, type ErrorRow } from "../api/error_codes.ts";

const ICON = "web/icon.svg";
const CATALOGUE_FOLDER = "web/i18n/";
/** Inputs of the build besides the sources. */
const PROJECT_FILES = ["../deno.json", "../deno.lock"];
const BUILD_FOLDER = "build/";

/** Builds if an input changed. Resolves to `false` if nothing changed. */
export async function build({ force = false } = {}): Promise<boolean> {
  if (!force && await isCurrent()) return false;
  await Deno.mkdir(DIST, { recursive: true });
  try {
    await buildPages();
    return true;
  } finally {
    await esbuild.stop();
  }
}

async function buildPages(): Promise<void> {
  const icon = await writeSvg("icon", await Deno.readTextFile(CONSOLE + ICON));
  const sprite = await writeSvg("sprite", await makeSprite());
  const web = await buildPage("web", sprite);
  const device = await buildPage("device", sprite);
  const me = await buildPage("me", sprite);
  const approve = await bundleStyle("approve", APPROVE_STYLE);
  const bundles = [web.bundle, device.bundle, me.bundle, approve];
  const names = await writeOutputs(bundles);
  const files = await inputFiles(bundles);
  const manifest: Manifest = {
    inputs: { hash: await hashFiles(files), files },
    pages: {
      web: filesOfPage(web.bundle, "web"),
      device: filesOfPage(device.bundle, "device"),
      me: filesOfPage(me.bundle, "me"),
      approve: { scripts: [], styles: [styleFile(approve, APPROVE_STYLE)], preloads: [] },
    },
    icon,
    sprite,
    catalogues: { web: web.catalogues, device: device.catalogues, me: me.catalogues },
    lazy: lazyFiles(web.bundle, "web"),
  };
  await replaceFile("manifest.json", JSON.stringify(manifest, null, 2));
  await removeOld(new Set([...names, ...namesIn(manifest), "manifest.json"]));
}

interface BuiltPage {
  readonly bundle: Bundle;
  /** The file of each language. */
  readonly catalogues: Readonly<Record<string, string>>;
}

async function buildPage(page: PageEntry, sprite: string): Promise<BuiltPage> {
  const { name, catalogues } = await writeCatalogues(page);
  const bundle = await bundlePage(page, {
    SPRITE_URL: JSON.stringify(`/assets/${sprite}`),
    CATALOGUE_NAME: JSON.stringify(name),
  });
  return { bundle, catalogues };
}

/** Writes the messages of a page in each language. `name`: the start of the names of the files. */
async function writeCatalogues(page: PageEntry) {
  const texts = LANGUAGES.map((language) => ({ language, json: catalogueJson(page, language) }));
  const hash = await shortHash(new TextEncoder().encode(texts.map(({ json }) => json).join("\n")));
  const name = `messages-${page}-${hash}`;
  const catalogues: Record<string, string> = {};
  for (const { language, json } of texts) {
    catalogues[language] = `${name}-${language}.json`;
    await writeAsset(`${name}-${language}.json`, new TextEncoder().encode(json));
  }
  return { name, catalogues };
}

async function writeSvg(name: string, svg: string): Promise<string> {
  const content = new TextEncoder().encode(svg);
  const file = `${name}-${await shortHash(content)}.svg`;
  await writeAsset(file, content);
  return file;
}

async function writeOutputs(bundles: readonly Bundle[]): Promise<string[]> {
  const files = bundles.flatMap(({ outputFiles }) => outputFiles);
  return await Promise.all(files.map(async ({ path, contents }) => {
    await writeAsset(baseName(path), contents);
    return baseName(path);
  }));
}

/** The paths of all source files of the build, relative to `console/`. The lock file represents the packages. */
async function inputFiles(bundles: readonly Bundle[]): Promise<string[]> {
  const sources = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = await Promise.all(
    [BUILD_FOLDER, CATALOGUE_FOLDER].map(async (folder) =>
      await Array.fromAsync(Deno.readDir(CONSOLE + folder), ({ name }) => folder + name)
    ),
  );
  const paths = new Set([
    ...sources,
    ...folders.flat(),
    ...PROJECT_FILES,
    ICON,
    "web/components/icons.tsx",
  ]);
  return [...paths].filter((path) => !path.includes("node_modules/") && !path.includes(":")).toSorted();
}

/** A hash over the path and the content of each file, and over the version of esbuild. */
async function hashFiles(files: readonly string[]): Promise<string> {
  const parts = [`esbuild ${esbuild.version}`];
  for (const path of files) parts.push(path, await hashOf(await Deno.readFile(CONSOLE + path)));
  return await hashOf(new TextEncoder().encode(parts.join("\n")));
}

async function isCurrent(): Promise<boolean> {
  try {
    const manifest = JSON.parse(await Deno.readTextFile(`${DIST}/manifest.json`)) as Manifest;
    if (await hashFiles(manifest.inputs.files) !== manifest.inputs.hash) return false;
    await Promise.all(namesIn(manifest).map((name) => Deno.stat(`${DIST}/${name}`)));
    return true;
  } catch (_nothingBuiltOrIncomplete) {
    return false;
  }
}

/** All files that a manifest names. */
function namesIn({ pages, icon, sprite, catalogues, lazy }: Manifest): string[] {
  return [
    ...Object.values(pages).flatMap(({ scripts, styles, preloads }) => [...scripts, ...styles, ...preloads]),
    ...Object.values(catalogues).flatMap((files) => Object.values(files)),
    ...Object.values(lazy).flat(),
    icon,
    sprite,
  ];
}

const ICONS = new URL("../../node_modules/lucide-static/icons/", import.meta.url);

/** Joins the icons into one SVG. @throws Error if the package does not have one of them. */
export async function makeSprite(): Promise<string> {
  const symbols = await Promise.all(SPRITE_ICONS.map(symbolOf));
  const lines = Object.entries({ ...ROW_ICON_PATHS, ...SPRITE_ICON_PATHS }).map(([name, path]) =>
    `<symbol id="line-${name}" viewBox="0 0 16 16"><path stroke-width="1.6" d="${path}"/></symbol>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg">${[...symbols, ...lines].join("")}</svg>\n`;
}

async function symbolOf(name: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(`${name}.svg`, ICONS));
  const start = text.indexOf(">", text.indexOf("<svg")) + 1;
  const end = text.lastIndexOf("</svg>");
  if (start === 0 || end < start) throw new Error(`Cannot read the icon "${name}": it is no SVG`);
  const shapes = text.slice(start, end).replace(/\s*\n\s*/g, "");
  return `<symbol id="${name}" viewBox="0 0 24 24">${shapes}</symbol>`;
}

/** The English messages of the error codes that have a translation. */
const ENGLISH_ERRORS: Catalogue = Object.fromEntries(
  Object.entries<ErrorRow>(ERROR_CODES).filter(([, { isDetailed }]) => !isDetailed)
    .map(([code, { message }]) => [`errors.${code}`, message]),
);
/** The messages of each language. */
export const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en: { ...en, ...ENGLISH_ERRORS }, de };

/** The areas of the account page and of the phone page. */
const PAGE_AREAS = { me: ["account", "common", "errors"], device: ["device", "errors"] } as const;
/** The console uses all other areas. The server renders the texts of `approve`. */
const NOT_OF_CONSOLE: readonly string[] = ["account", "device", "approve"];

/** Whether a page's catalogue has the messages of an area (the part of a key before the dot). */
export function usesArea(page: PageEntry, area: string): boolean {
  if (page === "web") return !NOT_OF_CONSOLE.includes(area);
  return (PAGE_AREAS[page] as readonly string[]).includes(area);
}

/** A page's catalogue in one language, as JSON. */
export function catalogueJson(page: PageEntry, language: Language): string {
  const messages = Object.entries(CATALOGUES[language]);
  return JSON.stringify(
    Object.fromEntries(messages.filter(([key]) => usesArea(page, key.slice(0, key.indexOf("."))))),
  );
}

if (import.meta.main) {
  const startedMs = performance.now();
  const built = await build({ force: Deno.args.includes("--force") });
  if (built) console.log(`Built the console in ${Math.round(performance.now() - startedMs)} ms.`);
}
