// What is measured in Chromium: the first view, the load of Live, and the scrolling of rows.

import * as esbuild from "esbuild";
import type { BrowserContext, CDPSession, Page } from "../../packages/playwright.ts";
import type { TestConsole } from "../../fakes/console_app.ts";
import { conversation } from "../../fakes/console_gateway.ts";
import { quantile } from "./bars.ts";

// The first view of a page in Chromium: the transferred octets, and the time until something is visible.

export interface FirstView {
  readonly requests: number;
  readonly receivedOctets: number;
  /** Octets of script, compressed as transferred, without headers. */
  readonly scriptOctets: number;
  readonly firstPaintMs: number;
  readonly largestPaintMs: number;
  /** The part of long tasks beyond 50 ms. */
  readonly blockedMs: number;
  readonly shift: number;
}

/** A machine with a quarter of the speed, on a slow line. */
export const SLOW = { cpuRate: 4, latencyMs: 150, octetsPerS: 1.6e6 / 8 } as const;
const SETTLE_MS = 1500;

/** Opens `url` in its own tab; `heading` is that of the page. */
export async function measureFirstView(
  context: BrowserContext,
  { url, slow }: { url: string; slow: boolean },
): Promise<FirstView> {
  const page = await context.newPage();
  try {
    const cdp = await context.newCDPSession(page);
    const received = await countReceived(cdp);
    if (slow) await slowDown(cdp);
    await page.addInitScript(observe);
    await page.goto(url);
    await page.getByRole("heading", { level: 1 }).waitFor({ timeout: 30_000 });
    await page.waitForTimeout(slow ? 2 * SETTLE_MS : SETTLE_MS);
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: Seen }).seen);
    return { ...received(), ...seen };
  } finally {
    await page.close();
  }
}

type Seen = Pick<FirstView, "firstPaintMs" | "largestPaintMs" | "blockedMs" | "shift">;

async function countReceived(cdp: CDPSession) {
  const scripts = new Set<string>();
  let requests = 0;
  let receivedOctets = 0;
  let scriptOctets = 0;
  cdp.on("Network.requestWillBeSent", ({ requestId, request }) => {
    // An icon inside a control of the browser.
    if (request.url.startsWith("data:")) return;
    requests += 1;
    if (request.url.endsWith(".js")) scripts.add(requestId);
  });
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => receivedOctets += encodedDataLength);
  cdp.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) scriptOctets += encodedDataLength;
  });
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  return () => ({ requests, receivedOctets, scriptOctets });
}

/** A quarter of the processor, and a slow line. */
export async function slowDown(cdp: CDPSession, { line = true } = {}): Promise<void> {
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: SLOW.cpuRate });
  if (!line) return;
  await cdp.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: SLOW.latencyMs,
    downloadThroughput: SLOW.octetsPerS,
    uploadThroughput: SLOW.octetsPerS,
  });
}

/** Runs in the page, before anything else. */
function observe(): void {
  const seen = { firstPaintMs: 0, largestPaintMs: 0, blockedMs: 0, shift: 0 };
  Object.assign(globalThis, { seen });
  const watch = (type: string, note: (entry: PerformanceEntry) => void) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
  watch("paint", (entry) => {
    if (entry.name === "first-contentful-paint") seen.firstPaintMs = entry.startTime;
  });
  watch("largest-contentful-paint", (entry) => seen.largestPaintMs = entry.startTime);
  watch("longtask", (entry) => seen.blockedMs += Math.max(0, entry.duration - 50));
  watch("layout-shift", (entry) => {
    seen.shift += (entry as PerformanceEntry & { value: number }).value;
  });
}

/** Measures the time from each key to its paint; read it with {@link keyTimes}. Times below 16 ms count as 16. */
export async function watchKeys(page: Page): Promise<void> {
  await page.evaluate(() => {
    const keys: number[] = [];
    Object.assign(globalThis, { keys });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === "keydown") keys.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
  });
}

/** The times of `typed` keys in milliseconds. */
export async function keyTimes(page: Page, typed: number): Promise<number[]> {
  const noted = await page.evaluate(() => (globalThis as unknown as { keys: number[] }).keys);
  return [...noted, ...Array.from({ length: Math.max(0, typed - noted.length) }, () => 16)];
}

// A thousand events a second on Live while the user types in its search: the load of the page, and missed events.

export interface LiveFigures {
  /** Share of the main thread's time, in per cent. */
  readonly busyPercent: number;
  readonly keyP98Ms: number;
  /** Events that were sent, and those whose numbers never arrived. */
  readonly events: number;
  readonly gaps: number;
  readonly frameP95Ms: number;
  /** The difference between the end of the warm-up and the end, each after a garbage collection. */
  readonly heapGrowthMb: number;
}

const EVENTS_PER_S = 1000;
const TICK_MS = 20;
/** Until the list holds its 5,000 logins. */
const WARM_UP_MS = 8000;
const KEY_EVERY_MS = 250;

interface LiveOptions {
  readonly site: TestConsole;
  readonly seconds: number;
  readonly slow: boolean;
}

export async function measureLive(
  context: BrowserContext,
  { site, seconds, slow }: LiveOptions,
): Promise<LiveFigures> {
  const page = await context.newPage();
  const load = startLoad(site);
  try {
    const cdp = await context.newCDPSession(page);
    if (slow) await slowDown(cdp, { line: false });
    const stream = await watchStream(cdp);
    await page.goto(`${site.origin}/live`);
    await page.getByRole("row").nth(5).waitFor();
    await page.waitForTimeout(WARM_UP_MS);
    await watchKeys(page);
    await page.evaluate(watchFrames);
    const before = await readMetrics(cdp);
    const typed = await typeFor(page, seconds * 1000);
    const after = await readMetrics(cdp);
    return {
      busyPercent: 100 * (after.busyS - before.busyS) / (after.atS - before.atS),
      keyP98Ms: quantile(await keyTimes(page, typed), 0.98),
      events: load.sent(),
      gaps: stream.gaps(),
      frameP95Ms: quantile(await page.evaluate(takeFrames), 0.95),
      heapGrowthMb: (after.heapOctets - before.heapOctets) / 2 ** 20,
    };
  } finally {
    load.stop();
    await page.close();
  }
}

/** New logins at an even pace; a late tick catches up. */
function startLoad(site: TestConsole) {
  const startedMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - startedMs) / 1000 * EVENTS_PER_S);
    for (; sent < due; sent += 1) {
      site.watch.put(conversation(sent + 1, { user: `user${sent % 5000}`, startedMs: Date.now() }));
    }
  }, TICK_MS);
  return { sent: () => sent, stop: () => clearInterval(timer) };
}

/** Messages of other kinds have neither. */
interface StreamMessage {
  readonly upTo?: string;
  readonly conversations?: readonly unknown[];
}

/** Reads the numbers of the stream's messages: each has its highest number and its count. */
async function watchStream(cdp: CDPSession) {
  let last: number | null = null;
  let gaps = 0;
  cdp.on("Network.eventSourceMessageReceived", ({ data }) => {
    const { upTo, conversations } = JSON.parse(data) as StreamMessage;
    if (upTo === undefined || conversations === undefined) return;
    const number = Number(upTo.split(".").at(-1));
    if (!Number.isFinite(number)) return;
    if (last !== null) gaps += Math.max(0, number - last - conversations.length);
    last = number;
  });
  await cdp.send("Network.enable");
  await cdp.send("Performance.enable");
  return { gaps: () => gaps };
}

async function readMetrics(cdp: CDPSession) {
  await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return { atS: of("Timestamp"), busyS: of("TaskDuration"), heapOctets: of("JSHeapUsedSize") };
}

/** Runs in the page: records the duration of each frame, the newest ten thousand. */
function watchFrames(): void {
  const frames: number[] = [];
  Object.assign(globalThis, { frames });
  let before = performance.now();
  const step = (nowMs: number) => {
    if (frames.length >= 10_000) frames.shift();
    frames.push(nowMs - before);
    before = nowMs;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function takeFrames(): number[] {
  return (globalThis as unknown as { frames: number[] }).frames;
}

/** Types and deletes in the search; returns the number of keys. */
async function typeFor(
  page: Awaited<ReturnType<BrowserContext["newPage"]>>,
  lengthMs: number,
): Promise<number> {
  await page.getByRole("searchbox").focus();
  const endMs = performance.now() + lengthMs;
  let typed = 0;
  while (performance.now() < endMs) {
    await page.keyboard.press(typed % 8 < 4 ? "user"[typed % 4] ?? "u" : "Backspace");
    typed += 1;
    await page.waitForTimeout(KEY_EVERY_MS);
  }
  return typed;
}

// Ten thousand rows in the console's list: the time from a key to its paint, and the time of a frame during scrolling.

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
