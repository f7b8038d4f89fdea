// A real Chromium for tests: one browser for each test file, a clean profile for each test, and the errors of each page.

import { assertEquals, assertMatch, equal } from "@std/assert";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
  type Request,
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
  // Pages of a profile share a process, which has compiled their scripts for the page before: see `profileOf()`.
  "--renderer-process-limit=1",
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
  return await openPageOf(await openProfile(options));
}

async function openProfile(options: BrowserContextOptions): Promise<BrowserContext> {
  launched ??= chromium.launch({ executablePath: CHROMIUM_PATH, args: CHROMIUM_FLAGS });
  const context = await (await launched).newContext({ reducedMotion: "reduce", locale: "en-GB", ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  return context;
}

async function openPageOf(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const expected = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !expected) complaints.push(message.text());
  });
  return { page, context, complaints };
}

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** The page in Chromium's own protocol. */
export function sessionOf(page: Page): Promise<CDPSession> {
  const session = sessions.get(page) ?? page.context().newCDPSession(page);
  sessions.set(page, session);
  return session;
}

/** A profile that tests use one after the other. */
interface Profile {
  readonly context: BrowserContext;
  /** Closes the pages of the test, and removes what they stored. A profile that the test changed for good is closed. */
  clean(): Promise<void>;
}

const profiles = new Map<LookName, Promise<Profile>>();

/** Changes of a profile that cannot be undone, or not with certainty. */
const LASTING = [
  ...["addInitScript", "exposeBinding", "exposeFunction", "route", "routeWebSocket"],
  ...["grantPermissions", "setExtraHTTPHeaders", "setGeolocation", "setOffline"],
] as const;

/**
 * The profile of a look. A page opens in a third less processor time than in a new profile, and axe in half: the process
 * of the pages stays, because one of them stays.
 */
function profileOf(look: LookName): Promise<Profile> {
  const profile = profiles.get(look) ?? openSharedProfile(look);
  profiles.set(look, profile);
  return profile;
}

async function openSharedProfile(look: LookName): Promise<Profile> {
  const context = await openProfile(LOOKS[look]);
  // Chromium groups processes by the host, and all consoles of tests have this one.
  const first = await context.newPage();
  await first.route("**", (route) => route.fulfill({ body: "" }));
  await first.goto("http://127.0.0.1/");
  const session = await context.newCDPSession(first);
  let isChanged = false;
  for (const name of LASTING) {
    const change = context[name].bind(context) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(context, {
      [name]: (...args: unknown[]) => {
        isChanged = true;
        return change(...args);
      },
    });
  }
  return {
    context,
    async clean() {
      const isOpen = !first.isClosed();
      if (isChanged || !isOpen) {
        profiles.delete(look);
        return await context.close();
      }
      const pages = context.pages().filter((page) => page !== first);
      const origins = new Set(pages.map((page) => new URL(page.url()).origin));
      await Promise.all(pages.map((page) => page.close()));
      await context.clearCookies();
      for (const origin of origins) {
        await session.send("Storage.clearDataForOrigin", { origin, storageTypes: STORED });
      }
    },
  };
}

const STORED = "local_storage,indexeddb,service_workers,cache_storage";

export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
  launched = null;
  profiles.clear();
}

export interface BrowserTestOptions {
  readonly look?: LookName;
  readonly peers?: readonly PeerName[];
}

/**
 * Runs a test with its own tab, in a clean profile. An error of the page fails the test. Without a browser the test is skipped with the
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
      const profile = await profileOf(look);
      const tab = await openPageOf(profile.context);
      try {
        await withPageInError(tab, () => test(tab, context));
        if (tab.complaints.length > 0) throw new Error(`The page reported: ${tab.complaints.join(" | ")}`);
      } finally {
        await profile.clean();
      }
    },
  });
}

const SHOWN_LENGTH = 1000;
const MAX_FAILED = 20;

/** Runs the action. If it fails, the error says what the page shows and which requests failed. */
export async function withPageInError<T>({ page, complaints }: Tab, action: () => Promise<T>): Promise<T> {
  const failed: string[] = [];
  const note = (request: Request) => failed.push(`${request.url()}: ${request.failure()?.errorText}`);
  page.on("requestfailed", note);
  try {
    return await action();
  } catch (cause) {
    const text = await page.locator("body").innerText({ timeout: 1000 }).catch(String);
    const state = {
      address: page.url(),
      text: text.slice(0, SHOWN_LENGTH),
      failed: failed.slice(-MAX_FAILED),
      complaints,
    };
    throw new Error(`${cause instanceof Error ? cause.message : cause}\nThe page: ${JSON.stringify(state)}`, {
      cause,
    });
  } finally {
    page.off("requestfailed", note);
  }
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
