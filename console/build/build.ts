// Bundles the console, the phone page and the account page into console/dist: `deno task build`. Skipped when nothing
// changed. The manifest is written last and renamed into place, so two builds at once, or a start during a build, are safe.

import * as esbuild from "esbuild";
import { ERROR_CODES, type ErrorRow } from "../api/error_codes.ts";
import type { Manifest, PageFiles, PhoneAppFiles } from "../assets.ts";
import type { WorkerBuild } from "../device/worker/worker_scope.ts";
import { PAGE_ROUTES, type PageRoute } from "../web/app/routes.ts";
import { type Catalogue, catalogueFile, type Language, LANGUAGES } from "../web/i18n/catalogue.ts";
import de from "../web/i18n/de.json" with { type: "json" };
import en from "../web/i18n/en.json" with { type: "json" };
import {
  APPROVE_STYLE,
  baseName,
  type Bundle,
  bundlePage,
  bundleStyle,
  CONSOLE,
  filesOfPage,
  lazyFiles,
  outputOf,
  PAGE_ENTRIES,
  type PageEntry,
  reachableOutputs,
  styleFile,
  WORKER_OPTIONS,
} from "./bundle.ts";
import { compressForRelease, DIST, hashOf, removeOld, replaceFile, shortHash, writeAsset } from "./output.ts";
import { SPRITE_ICON_PATHS, SPRITE_ICONS } from "../web/components/icons.tsx";
import { ROW_ICON_PATHS } from "../web/components/inline_icon.tsx";

const ICON = "web/icon.svg";
const CATALOGUE_FOLDER = "web/i18n/";
/** Inputs of the build besides the sources. */
const PROJECT_FILES = ["../deno.json", "../deno.lock", "api/error_codes.ts"];
const BUILD_FOLDER = "build/";

/** Builds if an input changed. Resolves to `false` if nothing changed. @param isRelease compresses as small as possible. */
export async function build({ force = false, isRelease = false } = {}): Promise<boolean> {
  const isBuilt = !force && await isCurrent();
  if (!isBuilt) {
    await Deno.mkdir(DIST, { recursive: true });
    try {
      await buildPages();
    } finally {
      await esbuild.stop();
    }
  }
  if (isRelease) await compressForRelease(namesIn(await readManifest()));
  return !isBuilt;
}

async function buildPages(): Promise<void> {
  const icon = await writeSvg("icon", await Deno.readTextFile(CONSOLE + ICON));
  const sprite = await writeSvg("sprite", await makeSprite());
  const defined = { SPRITE_URL: JSON.stringify(`/assets/${sprite}`) };
  const bundles = await Promise.all([
    bundlePage("web", defined),
    bundlePage("device", defined),
    bundlePage("me", defined),
    bundleStyle("approve", APPROVE_STYLE),
  ]);
  const [web, device, me, approve] = bundles;
  const lazy = lazyFiles(web, "web");
  const pages = pageModules(Object.keys(lazy));
  const devicePage = filesOfPage(device, "device");
  const [names, messages, { all: deviceMessages }, { all: meMessages }] = await Promise.all([
    writeOutputs(bundles),
    writeMessages(web, { page: "web", pages }),
    writeMessages(device, { page: "device" }),
    writeMessages(me, { page: "me" }),
  ]);
  const phoneApp = await writePhoneApp({
    page: devicePage,
    messages: deviceMessages,
    pictures: [icon, sprite],
  });
  const files = await inputFiles([...bundles, phoneApp.bundle]);
  const manifest: Manifest = {
    inputs: { hash: await hashFiles(files), files },
    pages: {
      web: filesOfPage(web, "web"),
      device: devicePage,
      me: filesOfPage(me, "me"),
      approve: { scripts: [], styles: [styleFile(approve, APPROVE_STYLE)], preloads: [] },
    },
    icon,
    sprite,
    messages: {
      web: messages.all,
      device: deviceMessages,
      me: meMessages,
    },
    phoneApp: phoneApp.files,
    pageMessages: messages.pages,
    pageModules: pages,
    lazy,
  };
  await replaceFile("manifest.json", JSON.stringify(manifest, null, 2));
  await removeOld(new Set([...names, ...namesIn(manifest), "manifest.json"]));
}

/** The module of each page of the console, by the name of its route. @throws Error if a route has none. */
function pageModules(modules: readonly string[]): Record<string, string> {
  const rows = Object.entries<PageRoute>(PAGE_ROUTES).map(([name, { module = name }]) => {
    const path = modules.find((one) => one.endsWith(`/${module}_page.tsx`));
    if (path === undefined) {
      throw new Error(`Cannot find the page ${name}: no module ends in /${module}_page.tsx`);
    }
    return [name, path];
  });
  return Object.fromEntries(rows);
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
    [BUILD_FOLDER, CATALOGUE_FOLDER, ICON_FOLDER].map(async (folder) =>
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

const readManifest = async (): Promise<Manifest> =>
  JSON.parse(await Deno.readTextFile(`${DIST}/manifest.json`));

async function isCurrent(): Promise<boolean> {
  try {
    const manifest = await readManifest();
    if (await hashFiles(manifest.inputs.files) !== manifest.inputs.hash) return false;
    await Promise.all(namesIn(manifest).map((name) => Deno.stat(`${DIST}/${name}`)));
    return true;
  } catch (_nothingBuiltOrIncomplete) {
    return false;
  }
}

/** All files that a manifest names. */
function namesIn({ pages, icon, sprite, messages, pageMessages, lazy, phoneApp }: Manifest): string[] {
  return [
    ...Object.values(pages).flatMap(({ scripts, styles, preloads }) => [...scripts, ...styles, ...preloads]),
    ...[...Object.values(messages), ...Object.values(pageMessages)].flatMap((name) =>
      LANGUAGES.map((language) => catalogueFile(name, language))
    ),
    ...Object.values(lazy).flat(),
    ...[phoneApp.manifest, phoneApp.worker, ...phoneApp.icons],
    icon,
    sprite,
  ];
}

const ICONS = new URL("../../node_modules/lucide-static/icons/", import.meta.url);

/** Joins the icons into one SVG. @throws Error if the package does not have one of them. */
async function makeSprite(): Promise<string> {
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

// The messages of each application and of each page of the console: those whose keys their scripts name. So a page loads
// only its own texts, and no list of them needs care. A test forbids keys that this cannot find.

/** The English messages of the error codes that have a translation. */
const ENGLISH_ERRORS: Catalogue = Object.fromEntries(
  Object.entries<ErrorRow>(ERROR_CODES).filter(([, { isDetailed }]) => !isDetailed)
    .map(([code, { message }]) => [`errors.${code}`, message]),
);
/** The messages of each language. */
export const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en: { ...en, ...ENGLISH_ERRORS }, de };
const ALL_KEYS = Object.keys(CATALOGUES.en);

/** A key, or the start of a template of keys: `"users.edit"`, `` `users.status_${status}` ``. */
const KEY = /["'`]([a-z]+\.\w*)(["'`]|\$\{)/g;

/** The keys of the messages that a script can show. */
export function keysIn(script: string): Set<string> {
  const keys = new Set<string>();
  for (const [, start = "", end] of script.matchAll(KEY)) {
    const isTemplate = end === "${";
    for (const key of ALL_KEYS) if (isTemplate ? key.startsWith(start) : key === start) keys.add(key);
  }
  return keys;
}

/** The names of the written messages, see {@link catalogueFile}. */
interface MessageNames {
  /** Of the application: of the console, those that every page needs. */
  readonly all: string;
  /** Of each page, without those of the application. A page without own messages is missing. */
  readonly pages: Readonly<Record<string, string>>;
}

/** @param pages the module of each page that the application loads on demand, by the name of the page. */
async function writeMessages(
  { outputFiles, metafile }: Bundle,
  { page, pages = {} }: { page: PageEntry; pages?: Readonly<Record<string, string>> },
): Promise<MessageNames> {
  const scripts = new Map(outputFiles.map((file) => [baseName(file.path), file]));
  const keysOf = (paths: ReadonlySet<string>) =>
    [...paths].map((path) => keysIn(scripts.get(baseName(path))?.text ?? ""))
      .reduce((all, keys) => all.union(keys), new Set<string>());
  const start = outputOf(metafile, PAGE_ENTRIES[page].script);
  const frame = reachableOutputs(metafile, { from: start, isOnDemand: false });
  const modules = new Map(Object.entries(pages).map(([name, module]) => [name, outputOf(metafile, module)]));
  // Dialogs of every page are part of the application, but its pages are not.
  const shared = reachableOutputs(metafile, { from: start, without: new Set(modules.values()) });
  const sharedKeys = keysOf(shared);
  const own = [...modules].map(([name, module]) => ({
    name,
    keys: keysOf(reachableOutputs(metafile, { from: module, without: frame })).difference(sharedKeys),
  })).filter(({ keys }) => keys.size > 0);
  const [all, ...names] = await Promise.all([
    writeCatalogues(page, sharedKeys),
    ...own.map(async ({ name, keys }) => [name, await writeCatalogues(`${page}-${name}`, keys)] as const),
  ]);
  return { all, pages: Object.fromEntries(names) };
}

/** Writes messages in each language. Returns the start of the names of the files. */
async function writeCatalogues(page: string, keys: ReadonlySet<string>): Promise<string> {
  const texts = LANGUAGES.map((language) => ({ language, json: catalogueJson(language, keys) }));
  const hash = await shortHash(new TextEncoder().encode(texts.map(({ json }) => json).join("\n")));
  const name = `messages-${page.replaceAll("_", "-")}-${hash}`;
  await Promise.all(
    texts.map(({ language, json }) =>
      writeAsset(catalogueFile(name, language), new TextEncoder().encode(json))
    ),
  );
  return name;
}

function catalogueJson(language: Language, keys: ReadonlySet<string>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(CATALOGUES[language]).filter(([key]) => keys.has(key))),
  );
}

// What makes the phone page an installable web app: the icons, the web app manifest (W3C), and the service worker with the
// list of files that it keeps for offline use.

/** The folder of the icons, relative to `console/`. `tests/screenshots/app_icons.ts` draws them. */
const ICON_FOLDER = "device/icons/";
const WORKER_SCRIPT = "device/worker/service_worker.ts";
/** The colours of the page before its styles are loaded, and of the title bar. */
const BACKGROUND = "#ffffff";
const THEME = "#00687f";

interface PhoneAppInputs {
  readonly page: PageFiles;
  /** The start of the names of the files with the messages of the page. */
  readonly messages: string;
  /** The product's icon, and the icons of the page. */
  readonly pictures: readonly string[];
}

/** Writes all files of the app. */
async function writePhoneApp(
  { page, messages, pictures }: PhoneAppInputs,
): Promise<{ bundle: Bundle; files: PhoneAppFiles }> {
  const icons = await writeIcons();
  const manifest = await writeHashed("phone", "webmanifest", webManifest(icons));
  const bundle = await bundleWorker();
  const script = bundle.outputFiles[0]?.text ?? "";
  const offline = [
    ...page.scripts,
    ...page.styles,
    ...page.preloads,
    ...LANGUAGES.map((language) => catalogueFile(messages, language)),
    ...pictures,
  ].map(assetPath);
  const version = await shortHash(new TextEncoder().encode([script, ...offline].join("\n")));
  const built: WorkerBuild = {
    version,
    files: [...offline, "/device/manifest.webmanifest"],
    icon: assetPath(icons["icon-192"]),
    badge: assetPath(icons["badge-96"]),
    texts: textsOf(script),
  };
  const worker = await writeHashed("worker", "js", `const WORKER_BUILD=${JSON.stringify(built)};\n${script}`);
  return {
    bundle,
    files: { manifest, worker, icons: Object.values(icons), touchIcon: icons["apple-touch-icon"] },
  };
}

const ICON_NAMES = ["icon-192", "icon-512", "maskable-512", "apple-touch-icon", "badge-96"] as const;
type Icons = Record<typeof ICON_NAMES[number], string>;

async function writeIcons(): Promise<Icons> {
  const written = await Promise.all(ICON_NAMES.map(async (name) => {
    const content = await Deno.readFile(`${CONSOLE}${ICON_FOLDER}${name}.png`);
    const file = `${name}-${await shortHash(content)}.png`;
    await writeAsset(file, content);
    return [name, file] as const;
  }));
  return Object.fromEntries(written) as Icons;
}

/** W3C Web Application Manifest. The scope is the folder of the page, so that the console is no part of the app. */
function webManifest(icons: Icons): string {
  const square = (name: keyof Icons, size: number, purpose = "any") => ({
    ...{ src: assetPath(icons[name]), sizes: `${size}x${size}`, type: "image/png", purpose },
  });
  return JSON.stringify({
    id: "/device/",
    name: "Countersign",
    short_name: "Countersign",
    start_url: "/device/",
    scope: "/device/",
    display: "standalone",
    background_color: BACKGROUND,
    theme_color: THEME,
    icons: [square("icon-192", 192), square("icon-512", 512), square("maskable-512", 512, "maskable")],
  });
}

function bundleWorker(): Promise<Bundle> {
  return esbuild.build({ ...WORKER_OPTIONS, entryPoints: [{ in: CONSOLE + WORKER_SCRIPT, out: "worker" }] });
}

/** The messages that the worker names, in all languages: it shows notifications without a page. */
function textsOf(script: string): WorkerBuild["texts"] {
  const keys = keysIn(script);
  const textsIn = (language: Language) =>
    Object.fromEntries(
      Object.entries(CATALOGUES[language]).flatMap(([key, message]) =>
        keys.has(key) && typeof message === "string" ? [[key, message]] : []
      ),
    );
  return { en: textsIn("en"), de: textsIn("de") };
}

async function writeHashed(name: string, ending: string, text: string): Promise<string> {
  const content = new TextEncoder().encode(text);
  const file = `${name}-${await shortHash(content)}.${ending}`;
  await writeAsset(file, content);
  return file;
}

function assetPath(name: string): string {
  return `/assets/${name}`;
}

if (import.meta.main) {
  const startedMs = performance.now();
  const built = await build({
    force: Deno.args.includes("--force"),
    isRelease: Deno.args.includes("--release"),
  });
  if (built) console.log(`Built the console in ${Math.round(performance.now() - startedMs)} ms.`);
}
