// How heavy each page of the console is on the wire: everything that its address fetches, packed with gzip.

import { gzipSync } from "node:zlib";
import type { Dist } from "../../../console/assets.ts";
import { PLACES } from "../../../console/web/places.ts";

/** One page's script: the frame, the page, and its words in the heavier language. */
export interface RouteWeight {
  readonly name: string;
  readonly scriptOctets: number;
  readonly files: number;
}

export interface Weights {
  readonly routes: readonly RouteWeight[];
  /** Every script that the build wrote for the console, words of one language. */
  readonly allScriptOctets: number;
  readonly styleOctets: number;
  readonly spriteOctets: number;
}

/** Packed octets, by gzip at its best. */
function weigh(dist: Dist, names: Iterable<string>): number {
  let total = 0;
  for (const name of new Set(names)) {
    total += gzipSync(dist.read(name)?.body ?? new Uint8Array(), { level: 9 }).length;
  }
  return total;
}

export function weighConsole(dist: Dist): Weights {
  const { pages, late, sprite } = dist.manifest;
  const web = pages.web ?? { scripts: [], styles: [], preloads: [] };
  const frame = [...web.scripts, ...web.preloads];
  const filesOf = (module: string) => late[module] ?? [];
  const wordsOf = (language: string, areas: readonly string[]) =>
    ["frame", ...areas].flatMap((area) => filesOf(`web/words/${language}/${area}.ts`));
  const routes = Object.entries(PLACES).map(([name, { words }]): RouteWeight => {
    const page = [...frame, ...filesOf(`web/pages/${name}_page.tsx`)];
    const languages = ["en", "de"].map((language) => [...page, ...wordsOf(language, words)]);
    return {
      name,
      scriptOctets: Math.max(...languages.map((files) => weigh(dist, files))),
      files: new Set(languages[0]).size,
    };
  });
  const inOneLanguage = Object.entries(late).filter(([module]) => !module.startsWith("web/words/de/"));
  return {
    routes,
    allScriptOctets: weigh(dist, [...frame, ...inOneLanguage.flatMap(([, files]) => files)]),
    styleOctets: weigh(dist, web.styles),
    spriteOctets: weigh(dist, [sprite]),
  };
}
