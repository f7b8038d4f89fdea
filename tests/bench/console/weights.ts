// The size of each console page on the wire: everything that its address fetches, compressed.

import { brotliCompressSync, gzipSync } from "node:zlib";
import { type Dist, scriptsOfPage } from "../../../console/assets.ts";
import { catalogueFile, LANGUAGES } from "../../../console/web/i18n/catalogue.ts";
import { PAGE_ROUTES } from "../../../console/web/app/routes.ts";

/** One page: the scripts and messages of the frame and the page. */
export interface RouteWeight {
  readonly name: string;
  /** With brotli: used over TLS and from this machine. */
  readonly scriptOctets: number;
  /** With gzip: used over plain HTTP. */
  readonly gzipOctets: number;
  /** The messages in the larger language, with brotli: they are data. */
  readonly messageOctets: number;
}

export interface Weights {
  readonly routes: readonly RouteWeight[];
  /** Every script of the console's build, with brotli. */
  readonly allScriptOctets: number;
  readonly styleOctets: number;
  readonly spriteOctets: number;
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
  const { pages, lazy, sprite, messages, pageMessages } = manifest;
  const web = pages.web ?? { scripts: [], styles: [], preloads: [] };
  const frame = [...web.scripts, ...web.preloads];
  const routes = Object.keys(PAGE_ROUTES).map((name): RouteWeight => {
    const files = [...frame, ...scriptsOfPage(manifest, name)];
    return {
      name,
      scriptOctets: weigh(dist, files, BROTLI),
      gzipOctets: weigh(dist, files),
      messageOctets: Math.max(...LANGUAGES.map((language) => {
        const names = [messages.web, pageMessages[name]].filter((one) => one !== undefined);
        return weigh(dist, names.map((one) => catalogueFile(one, language)), BROTLI);
      })),
    };
  });
  return {
    routes,
    allScriptOctets: weigh(dist, [...frame, ...Object.values(lazy).flat()], BROTLI),
    styleOctets: weigh(dist, web.styles),
    spriteOctets: weigh(dist, [sprite]),
  };
}
