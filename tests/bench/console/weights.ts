// How heavy each page of the console is on the wire: everything that its address fetches, packed with gzip.

import { gzipSync } from "node:zlib";
import type { Dist } from "../../../console/assets.ts";
import { PLACES } from "../../../console/web/places.ts";

/** One page: the script of the frame and the page, and its words in the heavier language, which are data. */
export interface RouteWeight {
  readonly name: string;
  readonly scriptOctets: number;
  readonly wordOctets: number;
}

export interface Weights {
  readonly routes: readonly RouteWeight[];
  /** Every script that the build wrote for the console. */
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
  const { pages, late, sprite, words } = dist.manifest;
  const web = pages.web ?? { scripts: [], styles: [], preloads: [] };
  const frame = [...web.scripts, ...web.preloads];
  const weighWords = (areas: readonly string[]) =>
    Math.max(
      ...["en", "de"].map((language) =>
        weigh(dist, areas.flatMap((area) => words[`${language}.${area}`] ?? []))
      ),
    );
  const routes = Object.entries(PLACES).map(([name, place]): RouteWeight => ({
    name,
    scriptOctets: weigh(dist, [...frame, ...late[`web/pages/${name}_page.tsx`] ?? []]),
    wordOctets: weighWords(["frame", ...place.words]),
  }));
  return {
    routes,
    allScriptOctets: weigh(dist, [...frame, ...Object.values(late).flat()]),
    styleOctets: weigh(dist, web.styles),
    spriteOctets: weigh(dist, [sprite]),
  };
}
