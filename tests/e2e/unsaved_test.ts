// Unsaved input: leaving a page or closing a dialog asks before it is lost.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const question = (page: Page) => page.getByRole("dialog", { name: "Discard your changes?" });
const answer = (page: Page, name: "Keep editing" | "Discard") =>
  question(page).getByRole("button", { name, exact: true }).click();

browserTest(
  "an edited profile: a tab, a link and Back ask first, and Discard goes there",
  async ({ page }) => {
    await using site = await startFullConsole({ dist });
    await enterAs(page, { site, role: "owner", path: "/users", heading: "Users" });
    await page.getByRole("link", { name: "ada", exact: true }).click();
    const title = page.getByLabel("Title", { exact: true });
    await title.fill("Countess");
    for (
      const leave of [
        () => page.getByRole("navigation", { name: "ada" }).getByRole("link", { name: /^Groups/ }).click(),
        () => page.getByRole("link", { name: "Live", exact: true }).click(),
        () => page.evaluate(() => history.back()),
      ]
    ) {
      await leave();
      await question(page).waitFor();
      assertEquals(await findAccessibilityProblems(page, { within: "dialog[open]" }), []);
      await answer(page, "Keep editing");
      await question(page).waitFor({ state: "detached" });
      assertEquals([await title.inputValue(), new URL(page.url()).pathname], ["Countess", "/users/ada"]);
    }
    await page.getByRole("link", { name: "Live", exact: true }).click();
    await answer(page, "Discard");
    await page.getByRole("heading", { name: "Live", level: 1 }).waitFor();
  },
);

browserTest(
  "the dialog for a new user: Escape and Cancel ask first, and without input they close it",
  async ({ page }) => {
    await using site = await startFullConsole({ dist });
    await enterAs(page, { site, role: "owner", path: "/users", heading: "Users" });
    const dialog = page.getByRole("dialog", { name: "Create user" });
    const open = () => page.getByRole("button", { name: "Create user" }).click();
    await open();
    await dialog.getByLabel("User name").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await open();
    await dialog.getByLabel("User name").fill("grace");
    await page.keyboard.press("Escape");
    await answer(page, "Keep editing");
    assertEquals(await dialog.getByLabel("User name").inputValue(), "grace");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await answer(page, "Discard");
    await dialog.waitFor({ state: "detached" });
  },
);
