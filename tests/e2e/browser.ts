// A real Chromium for tests: one browser for each test file, a fresh profile for each test, and the errors of each
// page.

import { assertEquals, assertMatch, equal } from "@std/assert";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "../packages/playwright.ts";
import { build } from "../../console/build/build.ts";
import { type Dist, loadDist } from "../../console/assets.ts";
import { lacking } from "../support/skip_unless.ts";
import type { PeerName } from "../support/peers.ts";
import { PASSWORD } from "../fakes/console_app.ts";

/** The shell is Chromium without windows. It opens a page in half the processor time. */
export const CHROMIUM_PATH = "/usr/bin/chromium-headless-shell";
export const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Long, because a slow machine must not fail a test. */
export const ACTION_TIMEOUT_MS = 20_000;

/** The windows in which pages are tested. */
export const LOOKS = {
  wide: { viewport: { width: 1360, height: 860 }, colorScheme: "light" },
  narrow: {
    viewport: { width: 320, height: 640 },
    colorScheme: "dark",
    hasTouch: true,
    isMobile: true,
  },
} as const satisfies Record<string, BrowserContextOptions>;
export type LookName = keyof typeof LOOKS;

let launched: Promise<Browser> | null = null;
let built: Promise<Dist> | null = null;
let isClosedAtEnd = false;

/** The pages, built from the present sources. */
export function currentDist(): Promise<Dist> {
  built ??= build().then(() => loadDist(new URL("../../console/dist", import.meta.url)));
  return built;
}

/** A browser tab and the errors of its page. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, of the policy and of the console. Failed requests are not included. */
  readonly complaints: string[];
}

/** Opens a tab with a profile of its own; closing its context ends it. */
export async function openTab(options: BrowserContextOptions = LOOKS.wide): Promise<Tab> {
  launched ??= chromium.launch({ executablePath: CHROMIUM_PATH, args: CHROMIUM_FLAGS });
  const context = await (await launched).newContext({ reducedMotion: "reduce", locale: "en-GB", ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const expected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !expected) complaints.push(message.text());
  });
  return { page, context, complaints };
}

export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
  launched = null;
}

export interface BrowserTestOptions {
  readonly look?: LookName;
  readonly peers?: readonly PeerName[];
}

/**
 * Runs a test with its own tab. An error of the page fails the test. Without a browser the test is skipped with the
 * reason.
 */
export function browserTest(
  name: string,
  test: (tab: Tab, context: Deno.TestContext) => Promise<void>,
  { look = "wide", peers = [] }: BrowserTestOptions = {},
): void {
  const reason = lacking({ peers: ["chromium", ...peers] });
  if (!isClosedAtEnd) {
    isClosedAtEnd = true;
    Deno.test.afterAll(closeBrowser);
  }
  Deno.test({
    name: reason === null ? name : `${name} (${reason})`,
    ignore: reason !== null,
    // The browser outlives each test. It is closed after the last test of the file.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(context) {
      const tab = await openTab(LOOKS[look]);
      try {
        await test(tab, context);
        if (tab.complaints.length > 0) throw new Error(`The page reported: ${tab.complaints.join(" | ")}`);
      } finally {
        await tab.context.close();
      }
    },
  });
}

const READ_AGAIN_MS = 20;

/**
 * Waits until a value that a page shows is the expected one, or matches it: a page follows an action with a delay. After
 * the deadline it fails with the difference.
 *
 * @example await holds(() => page.getByRole("listitem").allInnerTexts(), ["ada", "bob"]);
 */
export async function holds<T>(
  read: () => Promise<T>,
  expected: NoInfer<T> | RegExp,
  message?: string,
): Promise<void> {
  for (const end = performance.now() + ACTION_TIMEOUT_MS;;) {
    const actual = await read();
    const isPattern = expected instanceof RegExp;
    if (isPattern ? String(actual).search(expected) >= 0 : equal(actual, expected)) return;
    if (performance.now() > end) {
      return isPattern
        ? assertMatch(String(actual), expected, message)
        : assertEquals<unknown>(actual, expected, message);
    }
    await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS));
  }
}

/** Opens the menu of a row, and chooses an action. @param of how screen readers name the row */
export async function chooseRowAction(
  page: Page,
  { of, action }: { readonly of: string; readonly action: string },
): Promise<void> {
  await page.getByRole("button", { name: `Actions for ${of}`, exact: true }).first().click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

/** Fills and submits the sign-in form on the current page. */
export async function submitPassword(page: Page, name: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Signs in with the form on the current page. */
export async function signIn(page: Page, name: string): Promise<void> {
  await submitPassword(page, name);
  await page.getByRole("heading", { name: "Sign-in log" }).waitFor();
}

/** A console that a browser can open with a prepared session. */
export interface ConsoleSite extends AsyncDisposable {
  readonly origin: string;
  /** Signs in; returns the cookie to send. */
  signIn(name: string): Promise<string>;
}

/** Opens a page with a prepared session, for tests that do not test the sign-in. */
export async function enterAs(
  page: Page,
  { site, role, path = "/live", heading = "Sign-in log" }: {
    site: Pick<ConsoleSite, "origin" | "signIn">;
    role: string;
    path?: string;
    heading?: string | RegExp;
  },
): Promise<void> {
  const [name = "", value = ""] = (await site.signIn(role)).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(site.origin + path);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  // The keyboard shortcuts are ready a moment after the page.
  await page.locator("html[data-keys]").waitFor({ state: "attached" });
}
