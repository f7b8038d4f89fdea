// The menu "More" on the page of a user.

import type { Page } from "../packages/playwright.ts";

/** Opens the menu and runs one of its actions. */
export async function runUserAction(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^More .+/ }).click();
  await page.getByRole("menuitem", { name, exact: true }).click();
}
