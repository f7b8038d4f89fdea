// Two administrators change one directory: the second one sees the other change, keeps the input, and decides.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { browserTest, currentDist, enterAs, openTab } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { findAccessibilityProblems } from "./page_checks.ts";

await currentDist();

const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Edit settings" });

async function openSettings(page: Page, program: ConsoleProgram): Promise<void> {
  await enterAs(page, { site: program, role: "owner", path: "/targets/default", heading: "default" });
  await page.getByRole("button", { name: "Edit settings" }).click();
  await dialogOf(page).waitFor();
}

async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await dialogOf(page).getByLabel(label).fill(value);
}

const save = (page: Page) => dialogOf(page).getByRole("button", { name: "Save settings" }).click();

/** Changes the directory in another browser. */
async function changeElsewhere(
  program: ConsoleProgram,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const { page, context } = await openTab();
  await openSettings(page, program);
  await fill(page, values);
  await save(page);
  await page.getByText("Settings saved.").waitFor();
  await context.close();
}

browserTest(
  "directories: a conflict keeps the input, shows the other change, and lets the administrator decide",
  async ({ page }) => {
    await using program = await startConsoleProgram({});
    await openSettings(page, program);
    await fill(page, { "Page size": "60" });
    await changeElsewhere(program, { "Page size": "70", "Deletion limit in percent": "30" });
    await save(page);
    const conflict = page.getByRole("dialog", { name: "This directory has changed" });
    await conflict.getByText(/You changed this in another tab on /).waitFor();
    await conflict.getByRole("row", { name: "Page size 100 70 (yours: 60)" }).waitFor();
    await conflict.getByRole("row", { name: "Deletion limit in percent 20 30" }).waitFor();
    // axe cannot tell colours of a dialog above another dialog.
    const problems = await findAccessibilityProblems(page);
    assertEquals(problems.filter((line) => !line.startsWith("incomplete color-contrast")), []);

    // Back to the form, with what was typed.
    await page.keyboard.press("Escape");
    await conflict.waitFor({ state: "detached" });
    assertEquals(await dialogOf(page).getByLabel("Page size").inputValue(), "60");

    await save(page);
    await conflict.getByRole("button", { name: "Save mine on top" }).click();
    await page.getByText("Settings saved.").waitFor();
    const settings = page.getByRole("region", { name: "Settings" });
    await settings.getByText("60", { exact: true }).waitFor();
    await settings.getByText("30", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Edit settings" }).click();
    await fill(page, { "Page size": "80" });
    await changeElsewhere(program, { "Page size": "90" });
    await save(page);
    await conflict.getByRole("button", { name: "Use their version" }).click();
    await page.getByText("Your changes were not saved.").waitFor();
    await settings.getByText("90", { exact: true }).waitFor();
    assertEquals(await page.getByRole("dialog").count(), 0);
  },
);
