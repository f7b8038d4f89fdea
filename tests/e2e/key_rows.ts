// Waits until the page listens for keys: parts of a page register theirs a moment after the page.

import type { Page } from "../packages/playwright.ts";

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
