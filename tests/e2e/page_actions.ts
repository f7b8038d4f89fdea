// What administrators do on pages of the console, one function for each.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import type { TestConsole } from "../fakes/console_app.ts";
import { approval } from "../fakes/console_gateway.ts";
import { enterAs } from "./browser.ts";

// The question that a page asks before a bulk action, or an action on access that cannot be undone.

/** Answers the question, which has the button with that label. */
export async function answerQuestion(page: Page, title: string | RegExp, button: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: title });
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

// The menu "More" on the page of a user.

/** Opens the menu and runs one of its actions. */
export async function runUserAction(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^More .+/ }).click();
  await page.getByRole("menuitem", { name, exact: true }).click();
}

// Checks of dialogs with one-time secrets, in a browser.

/** A dialog with a one-time secret is closed neither by Esc nor by a click beside it, and has no x. */
export async function staysOpen(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name });
  await dialog.waitFor();
  assertEquals(await dialog.getByRole("button", { name: "Close" }).count(), 0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.mouse.click(2, 2);
  assertEquals(await dialog.isVisible(), true);
}

// Ends a session during work, so that the next write of the test is the first request that is refused.

/** Writes that pages send without an action of the user: to extend the session, and to read discovered clients. */
const SENT_BY_PAGES = /\/(session\/stay|clients\/heard)$/;

/**
 * Calls `end`, which deletes the cookies by default. Pages also send requests without an action (lazy parts, the
 * stream, polling). They wait until the next write: otherwise their refusal opens the sign-in dialog over the button
 * that the test presses next.
 */
export async function endSession(
  page: Page,
  end: () => Promise<void> = () => page.context().clearCookies(),
): Promise<void> {
  const write = Promise.withResolvers<void>();
  await page.route(/\/(console|me)\/api\//, async (route) => {
    const request = route.request();
    const isWrite = request.method() !== "GET" && !SENT_BY_PAGES.test(new URL(request.url()).pathname);
    if (isWrite) write.resolve();
    else await write.promise;
    await route.fallback();
  });
  await end();
}

// Holds the calls of a page, so that a test can act while they run.

export interface HeldCalls {
  /** The number of calls of the page. */
  count(): number;
  /** Resolves when the first call is made. */
  readonly begun: Promise<void>;
  /** Releases the held calls and all later ones. */
  release(): void;
}

/** Holds the calls to a path. */
export async function holdCalls(page: Page, path: RegExp): Promise<HeldCalls> {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let count = 0;
  await page.route(path, async (route) => {
    count += 1;
    begun.resolve();
    await released.promise;
    await route.continue();
  });
  return { count: () => count, begun: begun.promise, release: released.resolve };
}

// Waits until the page listens for keys: parts of a page register theirs a moment after the page.

/**
 * Keys as in `Keyboard.press`. The test waits for keys of one letter. Others belong to the browser or come with a
 * letter.
 */
export async function listensFor(page: Page, keys: readonly string[]): Promise<void> {
  await page.waitForFunction((keys) => {
    const rows = (document.documentElement.dataset.keys ?? "").split("\n");
    // A row has one key, or a sequence of two: the "c" of "g c" is not the "c" of "c u".
    return keys.every((key, at) =>
      [key, `${keys[at - 1]} ${key}`, `${key} ${keys[at + 1]}`].some((row) => rows.includes(row))
    );
  }, keys.filter((key) => key.length === 1));
}

// Opens the Access page, and reads the one-time secret that it shows.

/** The secret that the page shows once. */
export const secretShown = (page: Page) => page.locator(".secret pre");

export const openAccess = (
  page: Page,
  { site, role = "owner", hash = "" }: { site: TestConsole; role?: string; hash?: string },
) => enterAs(page, { site, role, path: `/access${hash}`, heading: "Administrators" });

// The list of logins on the Live page, and pending requests on it.

/** The users in the list, from top to bottom. */
export function users(page: Page): Promise<string[]> {
  return page.locator(".row .c-user").evaluateAll((cells) =>
    cells
      .map((cell) => ({ top: cell.getBoundingClientRect().top, user: cell.textContent ?? "" }))
      .sort((a, b) => a.top - b.top)
      .map(({ user }) => user)
  );
}

/** A request that is pending longer than any test: the page removes its row at the deadline. */
export const waiting = (id: string, userName = "ada") => ({
  ...approval(id, { userName }),
  deadlineMs: Date.now() + 3_600_000,
});

/** Waits until the list shows these users, from top to bottom. */
export async function waitForUsers(page: Page, expected: readonly string[]): Promise<void> {
  await page.waitForFunction(
    (names) => {
      const rows = [...document.querySelectorAll(".row .c-user")]
        .map((cell) => ({ top: cell.getBoundingClientRect().top, user: cell.textContent }))
        .sort((a, b) => a.top - b.top);
      return JSON.stringify(rows.map(({ user }) => user)) === names;
    },
    JSON.stringify(expected),
  ).catch(async () => assertEquals(await users(page), expected));
}
