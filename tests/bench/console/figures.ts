// The measured figures of the console, with their limits.

import type { BrowserContext } from "../../packages/playwright.ts";
import type { Dist } from "../../../console/assets.ts";
import { PAGE_ROUTES } from "../../../console/web/app/routes.ts";
import type { TestConsole } from "../../fakes/console_app.ts";
import { BARS, type Figure, type Speed, weighConsole } from "./bars.ts";
import { measureFirstView, measureLive, measureRows } from "./measures.ts";

export interface InBrowser {
  readonly context: BrowserContext;
  readonly site: TestConsole;
  readonly speed: Speed;
}

const KB = 1024;
const MARKS = { normal: "", slow: ", slow" } as const;

/** The size of the built files: browsers use brotli over TLS, gzip over plain HTTP. */
export function byteFigures(dist: Dist): Figure[] {
  const { routes, allScriptOctets, styleOctets, spriteOctets } = weighConsole(dist);
  return [
    ...routes.map(({ name, scriptOctets, gzipOctets }) => ({
      what: `${name}: script (gzip ${(gzipOctets / KB).toFixed(1)})`,
      value: scriptOctets / KB,
      unit: "KB",
      atMost: BARS.routeScriptKb,
    })),
    { what: "all script", value: allScriptOctets / KB, unit: "KB", atMost: BARS.allScriptKb },
    { what: "all styles, gzip", value: styleOctets / KB, unit: "KB", atMost: BARS.styleKb },
    { what: "all icons, gzip", value: spriteOctets / KB, unit: "KB", atMost: BARS.spriteKb },
    ...routes.map(({ name, messageOctets }) => ({
      what: `${name}: messages`,
      value: messageOctets / KB,
      unit: "KB",
      atMost: BARS.messagesKb,
    })),
  ];
}

/** The pages that need no object of their own. */
export const PLAIN_PLACES = Object.entries(PAGE_ROUTES).filter(([, { pattern }]) => !pattern.includes(":"));

export async function firstViewFigures(
  { context, origin, speed }: Pick<InBrowser, "context" | "speed"> & { readonly origin: string },
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, { pattern }] of PLAIN_PLACES) {
    const seen = await measureFirstView(context, { url: origin + pattern, slow: speed === "slow" });
    const row = (what: string, value: number, unit: string, atMost: number): Figure => ({
      what: `${name}${MARKS[speed]}: ${what}`,
      value,
      unit,
      atMost,
    });
    figures.push(
      row("script that came", seen.scriptOctets / KB, "KB", BARS.routeScriptKb),
      row("first view", seen.receivedOctets / KB, "KB", BARS.firstViewKb),
      row("first view, requests", seen.requests, "", BARS.firstViewRequests),
      row("first paint", seen.firstPaintMs / 1000, "s", BARS.firstPaintS[speed]),
      row("largest paint", seen.largestPaintMs / 1000, "s", BARS.largestPaintS[speed]),
      row("blocked", seen.blockedMs, "ms", BARS.blockedMs[speed]),
      row("layout shift", seen.shift, "", BARS.shift),
    );
  }
  return figures;
}

export async function rowFigures({ context, site, speed }: InBrowser): Promise<Figure[]> {
  const { origin } = site;
  const { keyP98Ms, scrollP95Ms, nodes } = await measureRows(context, { origin, slow: speed === "slow" });
  const what = `10,000 rows${MARKS[speed]}`;
  const scroll = { what: `${what}: scroll frame p95`, value: scrollP95Ms, unit: "ms", atMost: BARS.scrollMs };
  return [
    { what: `${what}: key p98`, value: keyP98Ms, unit: "ms", atMost: BARS.keyMs[speed] },
    ...(speed === "slow" ? [] : [scroll]),
    { what: `${what}: nodes`, value: nodes, unit: "", atMost: BARS.nodes },
  ];
}

export async function liveFigures(
  { context, site, speed }: InBrowser,
  seconds: number,
): Promise<Figure[]> {
  const seen = await measureLive(context, { site, seconds, slow: speed === "slow" });
  const what = `1,000 events/s, ${seconds} s${MARKS[speed]}`;
  const frame = {
    what: `${what}: frame p95`,
    value: seen.frameP95Ms,
    unit: "ms",
    atMost: BARS.liveFrameMs,
  };
  return [
    { what: `${what}: main thread`, value: seen.busyPercent, unit: "%", atMost: BARS.liveShare[speed] },
    ...(speed === "slow" ? [] : [frame]),
    { what: `${what}: key p98`, value: seen.keyP98Ms, unit: "ms", atMost: BARS.keyMs[speed] },
    { what: `${what}: gaps of numbers`, value: seen.gaps, unit: "", atMost: BARS.liveGaps },
    { what: `${what}: heap growth`, value: seen.heapGrowthMb, unit: "MB", atMost: BARS.liveHeapMb },
  ];
}
