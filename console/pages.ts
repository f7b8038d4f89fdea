// The HTML around the three applications: it names their files and nothing else, so one strict policy fits all.

import type { Dist } from "./assets.ts";
import type { Preload } from "./preload.ts";
import { PAGE_POLICY } from "./security_headers.ts";

interface PageRow {
  readonly entry: "web" | "device" | "me";
  readonly title: string;
  readonly noscript: string;
  /** What its script asks the server first, whatever the address: the browser asks while the script is on its way. */
  readonly asks?: string;
}

const PAGES = {
  console: {
    entry: "web",
    title: "Countersign",
    asks: "/console/api/session",
    noscript: "The console shows logins as they happen and needs JavaScript for it.",
  },
  device: {
    entry: "device",
    title: "Countersign on this phone",
    noscript: "This page shows login requests as they arrive and needs JavaScript for it.",
  },
  me: {
    entry: "me",
    title: "Your account · Countersign",
    noscript: "This page shows and changes your second factors and needs JavaScript for it.",
  },
} as const satisfies Record<string, PageRow>;

export type PageName = keyof typeof PAGES;

const NO_PRELOAD: Preload = { modules: [], language: "en", isSignedOut: false };

interface PageOptions {
  readonly preload?: Preload;
  /** 200 unless given. */
  readonly status?: number;
}

/** The page as an answer. It is checked again each time: the names in it change with each build. */
export function pageResponse(
  page: PageName,
  dist: Dist,
  { preload = NO_PRELOAD, status = 200 }: PageOptions = {},
): Response {
  return new Response(pageHtml(page, { dist, preload }), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      "cache-control": "no-cache",
    },
  });
}

function pageHtml(page: PageName, { dist, preload }: { dist: Dist; preload: Preload }): string {
  const { entry, title, noscript, asks }: PageRow = PAGES[page];
  const files = dist.manifest.pages[entry] ?? { scripts: [], styles: [], preloads: [] };
  const preloads = new Set([
    ...files.preloads,
    ...preload.modules.flatMap((module) => dist.manifest.late[module] ?? []),
  ]);
  const catalogue = dist.manifest.catalogues[entry]?.[preload.language];
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title}</title>`,
    `<link rel="icon" href="/assets/${dist.manifest.icon}" type="image/svg+xml">`,
    ...files.styles.map((name) => `<link rel="stylesheet" href="/assets/${name}">`),
    ...[...preloads].map((name) => `<link rel="modulepreload" href="/assets/${name}">`),
    ...(catalogue === undefined ? [] : [early(`/assets/${catalogue}`)]),
    ...(asks === undefined ? [] : [early(asks)]),
    ...files.scripts.map((name) => `<script type="module" src="/assets/${name}"></script>`),
    "</head>",
    `<body><div id="app"${
      preload.isSignedOut ? " data-signed-out" : ""
    }></div><noscript>${noscript}</noscript></body>`,
    "</html>",
    "",
  ];
  return lines.join("\n");
}

/** A link that has the browser begin a fetch before the script does, in the very way the script will. */
function early(address: string): string {
  return `<link rel="preload" as="fetch" crossorigin href="${address}">`;
}
