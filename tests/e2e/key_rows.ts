// Waits until the page listens for keys: parts of a page bring theirs a moment after the page itself.

import type { Page } from "../packages/playwright.ts";

/** Keys as `Keyboard.press` has them; those of one letter are waited for, the others are the browser's or come with one of them. */
export async function listensFor(page: Page, keys: readonly string[]): Promise<void> {
  await page.waitForFunction((keys) => {
    const rows = (document.documentElement.dataset.keys ?? "").split("\n");
    // A row has one key, or two after one another: the "c" of "g c" is not the "c" of "c u".
    return keys.every((key, at) =>
      [key, `${keys[at - 1]} ${key}`, `${key} ${keys[at + 1]}`].some((row) => rows.includes(row))
    );
  }, keys.filter((key) => key.length === 1));
}
