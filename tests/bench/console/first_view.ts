// The first view of a page in Chromium: the transferred octets, and the time until something is visible.

import type { BrowserContext, CDPSession, Page } from "../../packages/playwright.ts";

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
