// Bundles the console, the phone page and the account page into console/dist: `deno task build`. Skipped when nothing
// changed. The manifest is written last and renamed into place, so two builds at once, or a start during a build, are safe.

import * as esbuild from "esbuild";
import type { Manifest } from "../assets.ts";
import { PAGE_ROUTES, type PageRoute } from "../web/app/routes.ts";
import { catalogueFile, LANGUAGES } from "../web/i18n/catalogue.ts";
import { writeMessages } from "./messages.ts";
import { ICON_FOLDER, writePhoneApp } from "./phone_app.ts";
import {
  APPROVE_STYLE,
  baseName,
  type Bundle,
  bundlePage,
  bundleStyle,
  CONSOLE,
  filesOfPage,
  lazyFiles,
  styleFile,
} from "./bundle.ts";
import { DIST, hashOf, removeOld, replaceFile, shortHash, writeAsset } from "./output.ts";
import { SPRITE_ICON_PATHS, SPRITE_ICONS } from "../web/components/icons.tsx";
import { ROW_ICON_PATHS } from "../web/components/inline_icon.tsx";

const ICON = "web/icon.svg";
const CATALOGUE_FOLDER = "web/i18n/";
/** Inputs of the build besides the sources. */
const PROJECT_FILES = ["../deno.json", "../deno.lock", "api/error_codes.ts"];
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
  const defined = { SPRITE_URL: JSON.stringify(`/assets/${sprite}`) };
  const web = await bundlePage("web", defined);
  const device = await bundlePage("device", defined);
  const me = await bundlePage("me", defined);
  const approve = await bundleStyle("approve", APPROVE_STYLE);
  const deviceMessages = (await writeMessages(device, { page: "device" })).all;
  const devicePage = filesOfPage(device, "device");
  const phoneApp = await writePhoneApp({
    page: devicePage,
    messages: deviceMessages,
    pictures: [icon, sprite],
  });
  const bundles = [web, device, me, approve];
  const names = await writeOutputs(bundles);
  const files = await inputFiles([...bundles, phoneApp.bundle]);
  const lazy = lazyFiles(web, "web");
  const pages = pageModules(Object.keys(lazy));
  const messages = await writeMessages(web, { page: "web", pages });
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
      me: (await writeMessages(me, { page: "me" })).all,
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

if (import.meta.main) {
  const startedMs = performance.now();
  const built = await build({ force: Deno.args.includes("--force") });
  if (built) console.log(`Built the console in ${Math.round(performance.now() - startedMs)} ms.`);
}
