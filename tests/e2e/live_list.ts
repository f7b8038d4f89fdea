// The list of logins on the Live page, and pending requests on it.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { approval } from "../fakes/console_gateway.ts";

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
