// Builds what makes the phone page an installable web app: the icons, the web app manifest (W3C), and the service worker with the
// list of files that it keeps for offline use.

import * as esbuild from "esbuild";
import type { PageFiles, PhoneAppFiles } from "../assets.ts";
import { catalogueFile, type Language, LANGUAGES } from "../web/i18n/catalogue.ts";
import type { WorkerBuild } from "../device/worker/worker_scope.ts";
import { type Bundle, CONSOLE, WORKER_OPTIONS } from "./bundle.ts";
import { CATALOGUES, keysIn } from "./messages.ts";
import { shortHash, writeAsset } from "./output.ts";

/** The folder of the icons, relative to `console/`. `tests/screenshots/app_icons.ts` draws them. */
export const ICON_FOLDER = "device/icons/";
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
export async function writePhoneApp(
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
