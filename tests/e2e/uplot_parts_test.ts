// What the build leaves of uPlot draws what the whole of it draws, dot by dot, and takes the same drags.

import * as esbuild from "esbuild";
import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { partsOf, uplotParts } from "../../console/uplot_parts.ts";
import { browserTest, closeBrowserAtEnd } from "./browser.ts";
import type { DrawnChart } from "./chart_page.tsx";

const PAGE = decodeURIComponent(new URL("./chart_page.tsx", import.meta.url).pathname);
const NOW_MS = Date.UTC(2026, 2, 29, 12);
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

closeBrowserAtEnd();

async function bundled(plugins: esbuild.Plugin[]): Promise<string> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [PAGE],
    bundle: true,
    minifySyntax: true,
    write: false,
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins,
  });
  return outputFiles[0]?.text ?? "";
}

function chart(count: number, { stepMs, valueAt }: {
  stepMs: number;
  valueAt: (at: number) => number | null;
}): DrawnChart {
  const moments = Array.from({ length: count }, (_, at) => at);
  return {
    atMs: moments.map((at) => NOW_MS - (count - at) * stepMs),
    lines: [
      { label: "Accepted", tone: "ok", values: moments.map(valueAt) },
      { label: "Rejected", tone: "bad", values: moments.map((at) => at % 5) },
    ],
  };
}

const wave = (at: number) => Math.round(100 + 90 * Math.sin(at / 9));
const CHARTS: Readonly<Record<string, DrawnChart>> = {
  "a day": chart(288, { stepMs: 5 * MINUTE_MS, valueAt: wave }),
  "an hour with gaps": chart(60, { stepMs: MINUTE_MS, valueAt: (at) => at % 7 < 2 ? null : wave(at) }),
  "lone values": chart(40, { stepMs: MINUTE_MS, valueAt: (at) => at % 4 === 0 ? at : null }),
  "a quarter of a year, over the change to summer time": chart(90, { stepMs: DAY_MS, valueAt: wave }),
  "years": chart(60, { stepMs: 30 * DAY_MS, valueAt: wave }),
  "more values than dots": chart(9000, {
    stepMs: MINUTE_MS,
    valueAt: (at) => at % 100 < 9 ? null : wave(at),
  }),
  "small fractions with a unit": {
    ...chart(50, { stepMs: MINUTE_MS, valueAt: (at) => at / 700 }),
    unit: "s",
  },
  "one moment": chart(1, { stepMs: MINUTE_MS, valueAt: wave }),
  "nothing but gaps": chart(20, { stepMs: MINUTE_MS, valueAt: () => null }),
  "nothing": chart(0, { stepMs: MINUTE_MS, valueAt: wave }),
};

/** Everything that is to be seen of a chart: at rest, under the pointer, while dragged over, after it. */
async function seenOf(page: Page, drawn: DrawnChart): Promise<string[]> {
  const seen: string[] = [];
  const look = async () => {
    seen.push(
      await page.evaluate(() =>
        new Promise<string>((resolve) =>
          requestAnimationFrame(() =>
            requestAnimationFrame(() => {
              const canvas = document.querySelector("canvas");
              resolve(`${document.querySelector(".uplot")?.outerHTML} ${canvas?.toDataURL()}`);
            })
          )
        )
      ),
    );
  };
  await page.evaluate(
    (chart) => (globalThis as unknown as { draw(chart: unknown): void }).draw(chart),
    drawn,
  );
  await page.locator(".uplot canvas").waitFor();
  await look();
  const box = await page.locator(".u-over").boundingBox();
  if (box === null) throw new Error("The chart is not there");
  const { x: left, y: top, width, height } = box;
  const at = (x: number, y: number) => [left + x * width, top + y * height] as const;
  await page.mouse.move(...at(0.5, 0.5));
  await look();
  await page.mouse.move(...at(0.3, 0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.6, 0.8), { steps: 3 });
  await look();
  await page.mouse.up();
  await look();
  await page.mouse.dblclick(...at(0.8, 0.5));
  await look();
  await page.mouse.move(...at(0.7, 0.4));
  await page.mouse.down();
  await page.mouse.move(...at(1.4, 0.4), { steps: 3 });
  await page.mouse.up();
  await look();
  seen.push(
    await page.evaluate(() => JSON.stringify((globalThis as unknown as { narrowed: unknown }).narrowed)),
  );
  return seen;
}

browserTest(
  "partsOf() draws every chart as the whole of uPlot does, and takes the same drags",
  async ({ page }) => {
    const builds = [await bundled([]), await bundled([uplotParts()])];
    await esbuild.stop();
    assert((builds[1]?.length ?? 0) < 0.75 * (builds[0]?.length ?? 0), "parts of it are left out");
    for (const [name, drawn] of Object.entries(CHARTS)) {
      const seen: string[][] = [];
      for (const script of builds) {
        await page.goto("about:blank");
        await page.setContent(
          "<!doctype html><style>.u-wrap,.u-over,.u-under{position:absolute}.u-over{z-index:1}</style><body></body>",
        );
        await page.evaluate(script);
        seen.push(await seenOf(page, drawn));
      }
      assertEquals(seen[1], seen[0], name);
      assert(new Set(seen[0]).size > (drawn.atMs.length > 1 ? 3 : 0), `${name}: the pointer is seen`);
    }
  },
);

Deno.test("partsOf() refuses a uPlot that is written otherwise", () => {
  let refused = "";
  try {
    partsOf("function uPlot() {}");
  } catch (fault) {
    refused = String(fault);
  }
  assert(refused.includes("Cannot leave out parts of uPlot"), refused);
});
