// Every word that a page may say is in an area that the page loads: a key whose area is missing is shown as it is.

import { assertEquals } from "@std/assert";
import { PLACES } from "../../console/web/places.ts";
import { ROUTES } from "../../console/web/routes.ts";

const WEB = new URL("../../console/web/", import.meta.url);
const AREAS = [...Deno.readDirSync(new URL("words/en/", WEB))].map(({ name }) => name.replace(/\.ts$/, ""));
/** Of every page: the frame brings these by itself. */
const ALWAYS = ["frame", "overlays"];
const IMPORT = /(?:import\s*\{([^}]*)\}\s*from |from |import\()\s*"(\.[^"]+)"/g;
const NO_CODE = /^import type [^;]*;$|^\s*(?:\/\/|\/?\*).*$/gm;
/** Files of which only these names say what the file says. */
const SPEAKERS: ReadonlyMap<string, RegExp> = new Map([
  ["words.ts", /\b(?:stepLabel|stateWords|nodeWords|momentWords|outcomeWords)\b/],
]);
/** Areas that a part fetches for what it shows later. */
const FETCHED = /(?:(?:WORDS|AREAS)[^=\n]*= |loadWords\()\[([^\]]*)\]/g;

interface Said {
  /** Keys by area, each with the file that says it. */
  readonly areas: ReadonlyMap<string, string>;
  readonly fetched: ReadonlySet<string>;
}

/** What the file says, and all that it draws. */
async function said(page: URL): Promise<Said> {
  const areas = new Map<string, string>();
  const fetched = new Set<string>();
  const known = new Set([page.href]);
  for (const href of known) {
    if (!href.startsWith(WEB.href) || href.includes("/words/")) continue;
    const text = (await Deno.readTextFile(new URL(href))).replace(NO_CODE, "");
    for (const [, names = "", path = ""] of text.matchAll(IMPORT)) {
      const next = new URL(path, href).href;
      if (SPEAKERS.get(next.slice(WEB.href.length))?.test(names) !== false) known.add(next);
    }
    for (const [, list = ""] of text.matchAll(FETCHED)) {
      for (const [, area = ""] of list.matchAll(/"(\w+)"/g)) fetched.add(area);
    }
    for (const area of AREAS) {
      const key = new RegExp(`["\`]${area}\\.\\w+`).exec(text)?.[0];
      if (key !== undefined) areas.set(area, `${href.slice(WEB.href.length)}: ${key.slice(1)}`);
    }
  }
  return { areas, fetched };
}

for (const [name, { words }] of Object.entries(PLACES)) {
  Deno.test(`the page ${name} loads the areas of all words that it may say`, async () => {
    const path = /import\("([^"]+)"\)/.exec(String(ROUTES[name as keyof typeof ROUTES]))?.[1] ?? "";
    const { areas, fetched } = await said(new URL(path, new URL("routes.ts", WEB)));
    const loaded = new Set<string>([...ALWAYS, ...words, ...fetched]);
    assertEquals([...areas].filter(([area]) => !loaded.has(area)), []);
  });
}
