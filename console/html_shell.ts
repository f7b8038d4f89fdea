// The HTML of the three applications. It contains only links to their files, so one strict content security policy fits all.
// Preload links name the files that the browser needs first for an address.

import { type Dist, type Manifest, scriptsOfPage } from "./assets.ts";
import { PAGE_POLICY, PHONE_PAGE_POLICY } from "./request_gate.ts";
import { matchRoute, PAGE_ROUTES } from "./web/app/routes.ts";
import type { LinkedFiles } from "./web/app/page_loader.ts";
import { catalogueFile, type Language, LANGUAGES } from "./web/i18n/catalogue.ts";

interface PageRow {
  readonly entry: "web" | "device" | "me";
  readonly title: string;
  readonly noscript: string;
  /** The first request of its script, for every address. The browser sends it while the script loads. */
  readonly asks?: string;
}

const PAGES = {
  console: {
    entry: "web",
    title: "Countersign",
    asks: "/console/api/session",
    noscript: "The console shows sign-ins in real time and needs JavaScript.",
  },
  device: {
    entry: "device",
    title: "Countersign on this phone",
    noscript: "This page shows sign-in requests and needs JavaScript.",
  },
  me: {
    entry: "me",
    title: "Your account · Countersign",
    noscript: "This page manages your second factors and needs JavaScript.",
  },
} as const satisfies Record<string, PageRow>;

type PageName = keyof typeof PAGES;

const NO_PRELOAD: Preload = { page: null, language: "en", isSignedOut: false };

interface PageOptions {
  readonly preload?: Preload;
  /** 200 unless given. */
  readonly status?: number;
}

/** The response with a page. Browsers revalidate it, because each build changes the file names in it. */
export function pageResponse(
  page: PageName,
  dist: Dist,
  { preload = NO_PRELOAD, status = 200 }: PageOptions = {},
): Response {
  return new Response(pageHtml(page, { dist, preload }), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": page === "device" ? PHONE_PAGE_POLICY : PAGE_POLICY,
      "cache-control": "no-cache",
    },
  });
}

function pageHtml(page: PageName, { dist, preload }: { dist: Dist; preload: Preload }): string {
  const { entry, title, noscript, asks }: PageRow = PAGES[page];
  const files = dist.manifest.pages[entry] ?? { scripts: [], styles: [], preloads: [] };
  const preloads = new Set([
    ...files.preloads,
    ...(preload.page === null ? [] : scriptsOfPage(dist.manifest, preload.page)),
  ]);
  const { messages, pageMessages } = dist.manifest;
  const catalogues = [messages[entry], pageMessages[preload.page ?? ""]].filter((name) => name !== undefined)
    .map((name) => catalogueFile(name, preload.language));
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title}</title>`,
    `<link rel="icon" href="/assets/${dist.manifest.icon}" type="image/svg+xml">`,
    ...(page === "device" ? phoneAppLinks(dist.manifest) : []),
    ...files.styles.map((name) => `<link rel="stylesheet" href="/assets/${name}">`),
    ...[...preloads].map((name) => `<link rel="modulepreload" href="/assets/${name}">`),
    ...catalogues.map((name) => early(`/assets/${name}`)),
    ...(asks === undefined ? [] : [early(asks)]),
    ...files.scripts.map((name) => `<script type="module" src="/assets/${name}"></script>`),
    "</head>",
    "<body>",
    `<div id="app" data-messages="${messages[entry] ?? ""}"${entry === "web" ? pageFiles(dist) : ""}${
      preload.isSignedOut ? " data-signed-out" : ""
    }></div>`,
    `<noscript>${noscript}</noscript>`,
    "</body>",
    "</html>",
    "",
  ];
  return lines.join("\n");
}

/** The links that make the phone page installable. Safari ignores the icons of the manifest. */
function phoneAppLinks({ phoneApp }: Manifest): string[] {
  return [
    '<link rel="manifest" href="/device/manifest.webmanifest">',
    `<link rel="apple-touch-icon" href="/assets/${phoneApp.touchIcon}">`,
    '<meta name="theme-color" content="#00687f">',
  ];
}

/** An attribute with the files of each page of the console: the script loads them when a link is followed. */
function pageFiles({ manifest }: Dist): string {
  const { scripts = [], preloads = [] } = manifest.pages.web ?? {};
  const loaded = new Set([...scripts, ...preloads]);
  const files = Object.keys(PAGE_ROUTES).map((name): [string, LinkedFiles] => [name, {
    scripts: scriptsOfPage(manifest, name).filter((file) => !loaded.has(file)),
    messages: manifest.pageMessages[name],
  }]);
  return ` data-pages='${JSON.stringify(Object.fromEntries(files))}'`;
}

/** A preload link. Its attributes must match the later request of the script. */
function early(address: string): string {
  return `<link rel="preload" as="fetch" crossorigin href="${address}">`;
}

const MAX_RANGES = 20;

/** The available language with the highest quality value; English if there is none. */
export function preferredLanguage(request: Request): Language {
  const header = request.headers.get("accept-language") ?? "";
  const ranges = header.split(",").slice(0, MAX_RANGES).map((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const quality = parameters.map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1]).find((q) => q);
    const language = LANGUAGES.find((one) => one === tag.split("-")[0]);
    return { language, quality: quality === undefined ? 1 : Number(quality) };
  });
  const available = ranges.filter(({ language, quality }) => language !== undefined && quality > 0);
  return available.toSorted((a, b) => b.quality - a.quality)[0]?.language ?? "en";
}

const SESSION_COOKIE = /(^|[; ])(__Host-)?countersign=/;

/** The files of an address, besides the files of every page. */
interface Preload {
  /** The name of the page, such as `live`; `null` if the address has none. */
  readonly page: string | null;
  readonly language: Language;
  /** Whether the sign-in page comes first. */
  readonly isSignedOut: boolean;
}

/**
 * A guess from the address, the session cookie, and the language that the browser prefers.
 * The script fetches what the guess misses.
 */
export function consolePreload(request: Request): Preload {
  const visit = matchRoute(new URL(request.url).pathname);
  const language = preferredLanguage(request);
  if (visit === null) return { page: null, language, isSignedOut: false };
  const isOpen = visit.route.needs === "anyone" || SESSION_COOKIE.test(request.headers.get("cookie") ?? "");
  const page = isOpen ? visit.name : "sign_in";
  return { page, language, isSignedOut: !isOpen };
}

/** The page of the console at an address. */
export function consoleResponse(request: Request, dist: Dist): Response {
  return pageResponse("console", dist, { preload: consolePreload(request) });
}

/** For a page with one address: only its messages. */
export function messagePreload(request: Request): Preload {
  return { page: null, language: preferredLanguage(request), isSignedOut: false };
}
