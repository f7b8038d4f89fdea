// The question that a page asks before a bulk action, or an action on access that cannot be undone.

import type { Page } from "../packages/playwright.ts";

/** Answers the question, which has the button with that label. */
export async function answerQuestion(page: Page, title: string | RegExp, button: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: title });
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}
