// A real Chromium for tests: one browser a file, a fresh profile a test, and what went wrong on each page.

import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "../packages/playwright.ts";
import { build } from "../../console/build.ts";
import { type Dist, loadDist } from "../../console/assets.ts";
import { lacking } from "../support/skip_unless.ts";
import type { PeerName } from "../support/peers.ts";
import { PASSWORD, type TestConsole } from "../fakes/console_app.ts";

export const CHROMIUM_PATH = "/usr/bin/chromium";
export const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Long, because a machine that does other things beside must not fail a test. */
export const ACTION_TIMEOUT_MS = 20_000;

/** The looks in which every page must hold. */
export const LOOKS = {
  light: { viewport: { width: 1360, height: 860 }, colorScheme: "light" },
  small: { viewport: { width: 320, height: 640 }, colorScheme: "light", hasTouch: true, isMobile: true },
} as const satisfies Record<string, BrowserContextOptions>;
export type LookName = keyof typeof LOOKS;

let launched: Promise<Browser> | null = null;
let built: Promise<Dist> | null = null;

/** The pages as they are built from the present sources. */
export function currentDist(): Promise<Dist> {
  built ??= build().then(() => loadDist(new URL("../../console/dist", import.meta.url)));
  return built;
}

/** A tab, and what its page complained about. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, of the policy and of the console; failed requests are not among them. */
  readonly complaints: string[];
}

async function openTab(look: LookName): Promise<Tab> {
  launched ??= chromium.launch({ executablePath: CHROMIUM_PATH, args: CHROMIUM_FLAGS });
  const context = await (await launched).newContext({
    ...LOOKS[look],
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const expected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !expected) complaints.push(message.text());
  });
  return { page, context, complaints };
}

/** Runs a test with a tab of its own; a page that complained fails it. Skipped, with the reason, where there is no browser. */
export function browserTest(
  name: string,
  test: (tab: Tab) => Promise<void>,
  { look = "light" as LookName, peers = [] as readonly PeerName[] } = {},
) {
  const reason = lacking({ peers: ["chromium", ...peers] });
  Deno.test({
    name: reason === null ? name : `${name} (${reason})`,
    ignore: reason !== null,
    // The browser outlives each test; it is closed after the file's last one.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const tab = await openTab(look);
      try {
        await test(tab);
        if (tab.complaints.length > 0) throw new Error(`The page complained: ${tab.complaints.join(" | ")}`);
      } finally {
        await tab.context.close();
      }
    },
  });
}

/** Once a file: closes the browser after its last test. */
export function closeBrowserAtEnd(): void {
  Deno.test.afterAll(async () => {
    await (await launched)?.close();
    launched = null;
  });
}

/** Signs in on the page that is open. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Live" }).waitFor();
}

/** Opens a page with a session that is there already: for tests that are about something else. */
export async function enterAs(
  page: Page,
  { site, role, path = "/live", heading = "Live" }: {
    site: Pick<TestConsole, "origin" | "signIn">;
    role: string;
    path?: string;
    heading?: string | RegExp;
  },
): Promise<void> {
  const [name = "", value = ""] = (await site.signIn(role)).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(site.origin + path);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  // The keys come a moment after the page.
  await page.locator("html[data-keys]").waitFor({ state: "attached" });
}

/** Whether the page is wider than its window. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}
