// The size of each console page on the wire: everything that its address fetches, compressed.

import { brotliCompressSync, gzipSync } from "node:zlib";
import { type Dist, filesOfLazyPage } from "../../../console/assets.ts";
import { PAGE_ROUTES } from "../../../console/web/app/routes.ts";

/** One page: the script of the frame and the page. */
export interface RouteWeight {
  readonly name: string;
  /** With brotli: used over TLS and from this machine. */
  readonly scriptOctets: number;
  /** With gzip: used over plain HTTP. */
  readonly gzipOctets: number;
}

export interface Weights {
  readonly routes: readonly RouteWeight[];
  /** Every script of the console's build, with brotli. */
  readonly allScriptOctets: number;
  readonly styleOctets: number;
  readonly spriteOctets: number;
  /** The messages of the console in the larger language, with brotli: they are data. */
  readonly messageOctets: number;
}

type Pack = (body: Uint8Array<ArrayBuffer>) => { readonly length: number };
const BROTLI: Pack = (body) => brotliCompressSync(body);
const GZIP: Pack = (body) => gzipSync(body, { level: 9 });

/** Compressed octets of all files together, each counted once. */
function weigh(dist: Dist, names: Iterable<string>, pack = GZIP): number {
  let total = 0;
  for (const name of new Set(names)) total += pack(dist.read(name)?.body ?? new Uint8Array()).length;
  return total;
}

export function weighConsole(dist: Dist): Weights {
  const { manifest } = dist;
  const { pages, lazy, sprite, catalogues } = manifest;
  const web = pages.web ?? { scripts: [], styles: [], preloads: [] };
  const frame = [...web.scripts, ...web.preloads];
  const routes = Object.keys(PAGE_ROUTES).map((name): RouteWeight => {
    const files = [...frame, ...filesOfLazyPage(manifest, name)];
    return {
      name,
      scriptOctets: weigh(dist, files, BROTLI),
      gzipOctets: weigh(dist, files),
    };
  });
  return {
    routes,
    allScriptOctets: weigh(dist, [...frame, ...Object.values(lazy).flat()], BROTLI),
    styleOctets: weigh(dist, web.styles),
    spriteOctets: weigh(dist, [sprite]),
    messageOctets: Math.max(
      ...Object.values(catalogues.web ?? {}).map((name) => weigh(dist, [name], BROTLI)),
    ),
  };
}
