// Measures the console against its bars (`deno task console-bars`): weight, first view, ten thousand rows, a thousand
// events a second. One run on one machine: what is about time says as much about that machine.

import { type BrowserContext, chromium } from "playwright-core";
import { build } from "../../../console/build.ts";
import { type Dist, loadDist } from "../../../console/assets.ts";
import { railRows } from "../../../console/web/places.ts";
import { CHROMIUM_FLAGS, CHROMIUM_PATH } from "../../e2e/browser.ts";
import { startConsole, type TestConsole } from "../../fakes/console_app.ts";
import { BARS, type Figure, figureLine, isMet } from "./bars.ts";
import { measureFirstView } from "./first_view.ts";
import { measureLive } from "./live_load.ts";
import { measureRows } from "./rows.ts";
import { weighConsole } from "./weights.ts";

const HELP = `Measures the console against its bars, in Chromium over loopback, without TLS.

  deno task console-bars [--bytes] [--slow] [--seconds <s>]

  --bytes        only what can be read from the built files; scripts as brotli, which browsers take over TLS
  --slow         besides, on a quarter of the processor behind 1.6 Mbit/s and 150 ms
  --seconds <s>  length of the live load (20)
  --help         this text

Exit code 1 when a bar is not met.`;

const KB = 1024;

function byteFigures(dist: Dist): Figure[] {
  const { routes, allScriptOctets, styleOctets, spriteOctets } = weighConsole(dist);
  return [
    ...routes.map(({ name, scriptOctets, gzipOctets, wordOctets }) => ({
      what: `${name}: script (gzip ${(gzipOctets / KB).toFixed(1)}; words ${(wordOctets / KB).toFixed(1)})`,
      value: scriptOctets / KB,
      unit: "KB",
      atMost: name === "charts" ? BARS.chartsScriptKb : BARS.routeScriptKb,
    })),
    { what: "all script, gzip", value: allScriptOctets / KB, unit: "KB", atMost: BARS.allScriptKb },
    { what: "all styles, gzip", value: styleOctets / KB, unit: "KB", atMost: BARS.styleKb },
    { what: "all icons, gzip", value: spriteOctets / KB, unit: "KB", atMost: BARS.spriteKb },
  ];
}

interface InBrowser {
  readonly context: BrowserContext;
  readonly site: TestConsole;
  readonly slow: boolean;
}

async function firstViewFigures({ context, site, slow }: InBrowser): Promise<Figure[]> {
  const speed = slow ? "slow" : "normal";
  const figures: Figure[] = [];
  for (const [name, { pattern }] of railRows()) {
    const seen = await measureFirstView(context, { url: site.origin + pattern, slow });
    const row = (what: string, value: number, unit: string, atMost: number): Figure => ({
      what: `${name}${slow ? ", slow" : ""}: ${what}`,
      value,
      unit,
      atMost,
    });
    figures.push(
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

async function rowFigures({ context, site, slow }: InBrowser): Promise<Figure[]> {
  const speed = slow ? "slow" : "normal";
  const { keyP98Ms, scrollP95Ms, nodes } = await measureRows(context, { origin: site.origin, slow });
  const mark = slow ? ", slow" : "";
  return [
    { what: `10,000 rows${mark}: key p98`, value: keyP98Ms, unit: "ms", atMost: BARS.keyMs[speed] },
    ...(slow
      ? []
      : [{ what: "10,000 rows: scroll frame p95", value: scrollP95Ms, unit: "ms", atMost: BARS.scrollMs }]),
    { what: `10,000 rows${mark}: nodes`, value: nodes, unit: "", atMost: BARS.nodes },
  ];
}

async function liveFigures({ context, site, slow }: InBrowser, seconds: number): Promise<Figure[]> {
  const speed = slow ? "slow" : "normal";
  const seen = await measureLive(context, { site, seconds, slow });
  const mark = `1,000 events/s, ${seconds} s${slow ? ", slow" : ""}`;
  console.log(
    `         (${seen.events} events sent; heap ${seen.heapGrowthMb.toFixed(1)} MB more at the end)`,
  );
  return [
    { what: `${mark}: main thread`, value: seen.busyPercent, unit: "%", atMost: BARS.liveShare[speed] },
    { what: `${mark}: key p98`, value: seen.keyP98Ms, unit: "ms", atMost: BARS.keyMs[speed] },
    { what: `${mark}: gaps`, value: seen.gaps, unit: "", atMost: BARS.liveGaps },
  ];
}

function print(figures: readonly Figure[]): boolean {
  for (const figure of figures) console.log(figureLine(figure));
  return figures.every(isMet);
}

async function main(args: readonly string[]): Promise<number> {
  const at = args.indexOf("--seconds");
  const seconds = at < 0 ? 20 : Number(args[at + 1]);
  const known = ["--bytes", "--slow", "--seconds", String(args[at + 1])];
  if (
    args.includes("--help") || args.some((arg) => !known.includes(arg)) || !(seconds >= 1 && seconds <= 600)
  ) {
    console.log(HELP);
    return args.includes("--help") ? 0 : 2;
  }
  await build();
  const dist = await loadDist(new URL("../../../console/dist", import.meta.url));
  let met = print(byteFigures(dist));
  if (args.includes("--bytes")) return met ? 0 : 1;
  const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: CHROMIUM_FLAGS });
  try {
    for (const slow of args.includes("--slow") ? [false, true] : [false]) {
      await using site = await startConsole({ dist });
      const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: "en-GB" });
      const [name = "", value = ""] = (await site.signIn("owner")).split("=");
      await context.addCookies([{ name, value, url: site.origin }]);
      const ground = { context, site, slow };
      met = print(await firstViewFigures(ground)) && met;
      met = print(await rowFigures(ground)) && met;
      met = print(await liveFigures(ground, seconds)) && met;
      await context.close();
    }
  } finally {
    await browser.close();
  }
  return met ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
