// A thousand events a second on Live while the user types in its search: the load of the page, and missed events.

import type { BrowserContext, CDPSession } from "../../packages/playwright.ts";
import type { TestConsole } from "../../fakes/console_app.ts";
import { conversation } from "../../fakes/console_gateway.ts";
import { quantile } from "./bars.ts";
import { keyTimes, slowDown, watchKeys } from "./first_view.ts";

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
