// Checks of dialogs with one-time secrets, in a browser.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";

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
