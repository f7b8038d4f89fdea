// Ten thousand rows in the console's list: the time from a key to its paint, and the time of a frame during scrolling.

import * as esbuild from "esbuild";
import type { BrowserContext } from "../../packages/playwright.ts";
import { quantile } from "./bars.ts";
import { keyTimes, slowDown, watchKeys } from "./first_view.ts";

export interface RowFigures {
  readonly keyP98Ms: number;
  readonly scrollP95Ms: number;
  readonly nodes: number;
}

const PAGE = decodeURIComponent(new URL("./rows_page.tsx", import.meta.url).pathname);
const SCRIPT = "/assets/rows-page.js";
const TYPED = "number.1234@example.org";
const SCROLL_STEPS = 120;

export async function measureRows(
  context: BrowserContext,
  { origin, slow }: { origin: string; slow: boolean },
): Promise<RowFigures> {
  const page = await context.newPage();
  try {
    const source = await bundleRowsPage();
    await page.route(
      `**${SCRIPT}`,
      (route) => route.fulfill({ body: source, contentType: "text/javascript; charset=utf-8" }),
    );
    await page.goto(`${origin}/setup`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.evaluate((path) => import(path), SCRIPT);
    await page.getByRole("heading", { name: "Ten thousand rows" }).waitFor();
    const cdp = await context.newCDPSession(page);
    if (slow) await slowDown(cdp, { line: false });
    await watchKeys(page);
    const search = page.getByRole("searchbox");
    await search.pressSequentially(TYPED, { delay: 60 });
    for (let at = 0; at < TYPED.length; at += 1) await page.keyboard.press("Backspace", { delay: 60 });
    await page.waitForTimeout(300);
    const keys = await keyTimes(page, 2 * TYPED.length);
    const frames = await page.evaluate(scrollThrough, SCROLL_STEPS);
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    return { keyP98Ms: quantile(keys, 0.98), scrollP95Ms: quantile(frames, 0.95), nodes };
  } finally {
    await page.close();
  }
}

/** Runs in the page: scrolls by 500 pixels a frame and returns the time of each frame. */
function scrollThrough(steps: number): Promise<number[]> {
  const list = document.querySelector(".rows");
  const frames: number[] = [];
  return new Promise((resolve) => {
    let before = performance.now();
    const step = (nowMs: number) => {
      frames.push(nowMs - before);
      before = nowMs;
      list?.scrollBy(0, 500);
      if (frames.length < steps) requestAnimationFrame(step);
      else resolve(frames.slice(2));
    };
    requestAnimationFrame(step);
  });
}

async function bundleRowsPage(): Promise<string> {
  const built = await esbuild.build({
    entryPoints: [PAGE],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    write: false,
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
  });
  await esbuild.stop();
  return built.outputFiles[0]?.text ?? "";
}
