// Changes of settings in a browser: review, problems, conflicts, undo, leaving the page, and the keyboard.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, findPageProblems } from "./page_checks.ts";
import { enterAs, openTab } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";

const SECRET = "a secret that must not be seen";
const TOML = `
  [radius]
  secret = "${SECRET}"
  unknown_users = "reject"
  [console]
  idle_minutes = 20
`;
const test = consoleTests(startPeopleConsole, { role: "owner", toml: TOML });

const bar = (page: Page) => page.getByRole("region", { name: "Unsaved changes" });
const LIMIT = "Failed attempts before a lock";

/** Reviews and saves one change. */
async function save(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
}

/** At the end of the page, the bar covers nothing: what it covers has no contrast that can be measured. */
async function scrollToEnd(page: Page): Promise<void> {
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await page.waitForFunction(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 1);
}

test("/settings: a change is reviewed, saved and undone", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await bar(page).getByText("1 unsaved change").waitFor();
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog", { name: "Save 1 change?" });
  await dialog.getByRole("row", { name: `${LIMIT} 10 7` }).waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await dialog.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("1 setting saved. It is in effect now.").waitFor();
  await page.getByText("Changed by owner").waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByText("The change was undone.").waitFor();
  assertEquals(await page.getByLabel(LIMIT).inputValue(), "");
  assertEquals(await page.getByLabel(LIMIT).getAttribute("placeholder"), "Default: 10");
});

test("/settings: a saved value is reset to its default", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await save(page);
  await page.getByRole("button", { name: `Reset to default ${LIMIT}` }).click();
  await page.getByText("Not saved: reset to default").waitFor();
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("row", { name: `${LIMIT} 7 10 (default)` }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("Changed by owner").waitFor({ state: "detached" });
});

test("/settings: a change is undone from the audit log, once", async ({ page, open, site }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await save(page);
  await page.getByText("1 setting saved.").waitFor();
  await page.goto(`${site.origin}/audit`);
  const row = page.getByRole("row", { name: /Settings changed/ });
  await row.getByText(`${LIMIT}: `).waitFor();
  await row.getByRole("button", { name: /^Undo/ }).click();
  await page.getByText("The settings have their earlier values.").waitFor();
  await row.getByRole("button", { name: /^Undo/ }).click();
  await row.getByRole("alert").waitFor();
  await page.goto(`${site.origin}/settings/limits`);
  assertEquals(await page.getByLabel(LIMIT).inputValue(), "");
});

test("/settings: a bad value has its reason next to the field, from the form and from the server", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("0");
  await page.getByRole("link", { name: "Messages and calls" }).click();
  await page.getByLabel("Service address").fill("ftp://sms.example.com");
  await page.getByRole("button", { name: "Review and save" }).click();
  // The first bad value is on another topic: its field is shown and has the focus.
  const limit = page.getByLabel(LIMIT);
  await page.getByText("Enter a whole number from 1 to 1,000,000.").waitFor();
  await page.waitForURL(/\/settings\/limits#factors\.lockout\.failures$/);
  assertEquals(await limit.evaluate((node) => node === document.activeElement), true);
  await scrollToEnd(page);
  assertEquals(await findAccessibilityProblems(page), []);
  await limit.fill("7");
  await page.getByRole("button", { name: "Review and save" }).click();
  const address = page.getByLabel("Service address");
  await address.waitFor();
  const problem = await address.getAttribute("aria-describedby");
  const text = await page.locator(`[id="${problem?.split(" ")[0]}"]`).textContent();
  assertEquals(text?.includes("It must be") || text?.includes("it must be"), true, text ?? "");
  assertEquals(await address.getAttribute("aria-invalid"), "true");
  assertEquals(await page.getByRole("dialog").count(), 0);
});

test("/settings: two browsers change the same setting, and the second one decides", async ({ page, open, site }) => {
  for (const [keep, value] of [["Keep the other value", ""], ["Use my value", "8"]] as const) {
    await open("/settings/limits", "Settings");
    const before = await page.getByLabel(LIMIT).inputValue();
    await page.getByLabel(LIMIT).fill("8");
    const other = await openTab();
    await enterAs(other.page, { site, role: "owner", path: "/settings/limits", heading: "Settings" });
    const theirs = before === "5" ? "6" : "5";
    await other.page.getByLabel(LIMIT).fill(theirs);
    await save(other.page);
    await other.page.getByText("1 setting saved.").waitFor();
    await other.context.close();
    await save(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("heading", { name: "These settings have changed" }).waitFor();
    await dialog.getByText(/You changed this in another tab on /).waitFor();
    await dialog.getByText(`The value is now ${theirs}.`).waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    assertEquals(await dialog.getByRole("button", { name: "Save 1 change" }).isDisabled(), true);
    await dialog.getByRole("button", { name: keep }).click();
    if (value !== "") await dialog.getByRole("button", { name: "Save 1 change" }).click();
    await dialog.waitFor({ state: "detached" });
    await bar(page).waitFor({ state: "detached" });
    assertEquals(await page.getByLabel(LIMIT).inputValue(), value === "" ? theirs : value);
  }
});

test("/settings: a value that needs attention has a warning in the review, and then next to the field", async ({ page, open }) => {
  await open("/settings/factors", "Settings");
  await page.getByLabel("Phone numbers").selectOption("any");
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("status").getByText("Phone numbers:").waitFor();
  await dialog.getByRole("button", { name: "Save 1 change" }).click();
  const warning = page.locator('[id="factors.phone_numbers"] .setting-warning');
  await warning.waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
});

test("/settings: edits survive a change of the topic, and leaving the page asks", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await page.getByRole("link", { name: "Factors" }).click();
  await page.getByLabel("Text message").uncheck();
  await bar(page).getByText("2 unsaved changes").waitFor();
  await page.getByRole("link", { name: "Lockout and limits (1)" }).click();
  assertEquals(await page.getByLabel(LIMIT).inputValue(), "7");
  await page.goBack();
  await page.getByLabel("Text message").waitFor();
  await page.getByRole("link", { name: "Users", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep editing" }).click();
  await bar(page).getByText("2 unsaved changes").waitFor();
  await page.getByRole("link", { name: "Users", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  await page.goBack();
  await page.getByLabel("Text message").waitFor();
  assertEquals(await bar(page).count(), 0);
});

test("/settings: a secret is written and never shown", async ({ page, open }) => {
  await open("/settings/second_factor", "Settings");
  await page.getByLabel("Service address").fill("https://api.example.com");
  for (const name of ["Consumer key", "Consumer secret"]) {
    await page.getByRole("button", { name: `Enter ${name}` }).click();
    await page.getByLabel(name).fill(SECRET);
  }
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("row", { name: "Consumer key none New value" }).waitFor();
  assertEquals((await dialog.textContent())?.includes(SECRET), false);
  await dialog.getByRole("button", { name: "Save 3 changes" }).click();
  await page.getByRole("button", { name: "Replace Consumer key" }).waitFor();
  assertEquals((await page.content()).includes(SECRET), false);
});

test("/settings: a setting is changed by keyboard only", async ({ page, open }) => {
  await open("/settings/limits#factors.lockout.failures", "Settings");
  const limit = page.getByLabel(LIMIT);
  await limit.waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "factors.lockout.failures-input");
  await page.keyboard.type("7");
  const review = page.getByRole("button", { name: "Review and save" });
  await review.waitFor();
  for (let press = 0; press < 60; press += 1) {
    if (await review.evaluate((node) => node === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  const save = page.getByRole("dialog").getByRole("button", { name: "Save 1 change" });
  await save.waitFor();
  for (let press = 0; press < 10; press += 1) {
    if (await save.evaluate((node) => node === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.getByText("1 setting saved.").waitFor();
  await page.getByText("Changed by owner").waitFor();
});

test("/settings works at 320 px: the topic is chosen from a list, and the bar stays in view", {
  look: "narrow",
}, async ({ page, open }) => {
  await open("/settings", "Settings");
  await page.getByRole("combobox", { name: "Topics" }).selectOption("Lockout and limits");
  await page.getByLabel(LIMIT).fill("7");
  const shown = await bar(page).boundingBox();
  assertEquals(shown !== null && shown.y + shown.height <= 640, true);
  await scrollToEnd(page);
  assertEquals(await findPageProblems(page), []);
  await save(page);
  await page.getByText("1 setting saved.").waitFor();
});
