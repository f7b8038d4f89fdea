// The performance limits of the console, and the weight of its pages.

import { type Dist, type Encoding, scriptsOfPage } from "../../../console/assets.ts";
import { catalogueFile, LANGUAGES } from "../../../console/web/i18n/catalogue.ts";
import { PAGE_ROUTES } from "../../../console/web/app/routes.ts";

// The limits of the console as rows, and the comparison of a measured figure with its limit.

/** One figure and its limit: the maximum that is allowed. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly atMost: number;
}

export type Speed = "normal" | "slow";

export const BARS = {
  /** 48 until the audit log got groups, sources and notes of its entries. Other pages are below 48. */
  routeScriptKb: 51,
  /** 224 until clients had servers, methods and the page of shadow mode. */
  allScriptKb: 236,
  styleKb: 15,
  spriteKb: 4,
  messagesKb: 33,
  firstViewKb: 90,
  firstViewRequests: 16,
  firstPaintS: { normal: 0.6, slow: 1.8 },
  largestPaintS: { normal: 1.0, slow: 2.5 },
  blockedMs: { normal: 50, slow: 300 },
  shift: 0,
  keyMs: { normal: 50, slow: 200 },
  scrollMs: 25,
  nodes: 30_000,
  liveShare: { normal: 25, slow: 45 },
  /** A quarter of the processor has no limit for frames. */
  liveFrameMs: 20,
  liveGaps: 0,
  /** After the warm-up, when the list holds its maximum. */
  liveHeapMb: 5,
} as const;

export function isMet({ value, atMost }: Figure): boolean {
  return value <= atMost;
}

/** "met      live, script                  24.1 KB   (at most 25)". */
export function figureLine(figure: Figure): string {
  const { what, value, unit, atMost } = figure;
  const shown = `${rounded(value)} ${unit}`.trim();
  return `${(isMet(figure) ? "met" : "NOT met").padEnd(8)} ${what.padEnd(48)} ${
    shown.padStart(11)
  }   (at most ${atMost})`;
}

const LARGEST = 3;

/** "The largest of \"first view\": settings 85.0 KB, audit 84.3 KB, live 80.0 KB". */
export function largestLine(figures: readonly Figure[], kind: string): string {
  const ending = `: ${kind}`;
  const largest = figures.filter(({ what }) => what.endsWith(ending)).toSorted((a, b) => b.value - a.value);
  const texts = largest.slice(0, LARGEST).map(({ what, value, unit }) =>
    `${what.slice(0, -ending.length)} ${rounded(value)} ${unit}`.trim()
  );
  return `The largest of "${kind}": ${texts.join(", ")}`;
}

function rounded(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}

/** The value below which the given share of all values lie; 0 for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** One figure of each kind: the median over the rounds. */
export function medianFigures(rounds: readonly (readonly Figure[])[]): Figure[] {
  const all = rounds.flat();
  const kinds = new Map(all.map((figure) => [figure.what, figure]));
  return [...kinds.values()].map((figure) => ({
    ...figure,
    value: quantile(all.filter(({ what }) => what === figure.what).map(({ value }) => value), 0.5),
  }));
}

// The size of each console page on the wire: everything that its address fetches, compressed.

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

/** The octets of all files together as the build compressed them, each counted once. */
function weigh(dist: Dist, names: Iterable<string>, encoding: Encoding = "gzip"): number {
  let total = 0;
  for (const name of new Set(names)) {
    const asset = dist.read(name);
    total += (asset?.packed?.get(encoding) ?? asset?.body)?.length ?? 0;
  }
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
      scriptOctets: weigh(dist, files, "br"),
      gzipOctets: weigh(dist, files),
      messageOctets: Math.max(...LANGUAGES.map((language) => {
        const names = [messages.web, pageMessages[name]].filter((one) => one !== undefined);
        return weigh(dist, names.map((one) => catalogueFile(one, language)), "br");
      })),
    };
  });
  return {
    routes,
    allScriptOctets: weigh(dist, [...frame, ...Object.values(lazy).flat()], "br"),
    styleOctets: weigh(dist, web.styles),
    spriteOctets: weigh(dist, [sprite]),
  };
}
