// Unsaved input: leaving a page or closing a dialog asks first, and early input is not reset.

import { assertEquals } from "@std/assert";
import { startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import type { Page } from "../packages/playwright.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, laidOut } from "./page_checks.ts";

const test = consoleTests(startFullConsole, { role: "owner" });

const question = (page: Page) => page.getByRole("dialog", { name: "Discard your changes?" });
const answer = (page: Page, name: "Keep editing" | "Discard") =>
  question(page).getByRole("button", { name, exact: true }).click();

test("an edited profile: a tab, a link and Back ask first, and Discard continues", async ({ page, open }) => {
  await open("/users", "Users");
  await page.getByRole("link", { name: "ada", exact: true }).click();
  await page.getByRole("link", { name: "Profile", exact: true }).click();
  const title = page.getByLabel("Job title", { exact: true });
  await title.fill("Countess");
  for (
    const leave of [
      () => page.getByRole("navigation", { name: "ada" }).getByRole("link", { name: /^Groups/ }).click(),
      () => page.getByRole("link", { name: "Sign-in log", exact: true }).click(),
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
  await page.getByRole("link", { name: "Sign-in log", exact: true }).click();
  await answer(page, "Discard");
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
});

test("the dialog for a new user: Escape and Cancel ask first, and without input they close it", async ({ page, open }) => {
  await open("/users", "Users");
  const dialog = page.getByRole("dialog", { name: "Create user" });
  const openDialog = () => page.getByRole("button", { name: "Create user" }).click();
  await openDialog();
  await dialog.getByLabel("User name").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await openDialog();
  await dialog.getByLabel("User name").fill("grace");
  await page.keyboard.press("Escape");
  await answer(page, "Keep editing");
  assertEquals(await dialog.getByLabel("User name").inputValue(), "grace");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await answer(page, "Discard");
  await dialog.waitFor({ state: "detached" });
});

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

peopleTest(
  "early typing: the profile of a user keeps its input when its fields appear",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await page.addInitScript(() => {
      const observer = new MutationObserver(() => {
        const field = document.querySelector("#profile-department");
        if (!(field instanceof HTMLInputElement)) return;
        observer.disconnect();
        field.value = "analysis";
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    await open("/users/ada#profile", "ada");
    const field = page.getByLabel("Department");
    await field.waitFor();
    // Preact runs effects at most 100 ms after the frame; a later drawing runs them as well.
    await page.getByLabel("Title").fill("Countess");
    await laidOut(page);
    assertEquals([await field.inputValue(), await page.getByLabel("Title").inputValue()], [
      "analysis",
      "Countess",
    ]);
  },
);
