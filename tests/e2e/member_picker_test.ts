// The member picker by keyboard, and messages that do not move the page.

import { assertHolds } from "./page_checks.ts";
import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { listensFor } from "./key_rows.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

const search = (page: Page) => page.getByRole("combobox", { name: "Add member" });
const hasFocus = (page: Page) => search(page).evaluate((field) => field === document.activeElement);
const topOf = async (page: Page, selector: string) => (await page.locator(selector).boundingBox())?.y;

test("picker: Enter picks the single, exact or highlighted match, arrow keys move, and the focus stays", async ({ page, site, open }) => {
  for (const name of ["ada", "adam", "adele", "grace"]) await site.put(name);
  await site.putGroup("staff", ["seed"]);
  await open("/groups/staff", "staff");
  const table = page.getByRole("table", { name: "Members of staff" });
  await table.waitFor();
  const before = await topOf(page, ".table-frame");
  await search(page).focus();
  // Enter before the matches arrive selects a single match when it arrives.
  await page.keyboard.type("grac");
  await page.keyboard.press("Enter");
  // The message disappears after a while, so the test waits for it first.
  await page.getByText("Added grace to staff.").waitFor();
  await table.getByRole("link", { name: "grace" }).waitFor();
  assertEquals([await hasFocus(page), await search(page).inputValue()], [true, ""]);
  assertEquals(await topOf(page, ".table-frame"), before, "the message does not push the page down");
  // Several matches: nothing is selected without a highlight. The text is set at once: if it were typed key by key,
  // matches of its beginning could appear first, and Enter selects none of those.
  await page.keyboard.insertText("ad");
  await page.getByRole("option").nth(2).waitFor();
  await page.keyboard.press("Enter");
  assertEquals(await page.getByRole("option", { selected: true }).count(), 0);
  await assertHolds(page);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.getByRole("option", { name: "adam", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await table.getByRole("link", { name: "adam" }).waitFor();
  // The exact name among several matches.
  assertEquals(await hasFocus(page), true);
  await page.keyboard.insertText("ada");
  await page.getByRole("option", { name: "ada", exact: true, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await table.getByRole("link", { name: "ada", exact: true }).waitFor();
  // With the mouse, too, the focus stays in the field.
  await page.keyboard.insertText("adele");
  await page.getByRole("option", { name: "adele" }).click();
  await table.getByRole("link", { name: "adele" }).waitFor();
  assertEquals(await hasFocus(page), true);
  assertEquals(await topOf(page, ".table-frame"), before);
  await page.keyboard.type("zzz");
  await page.keyboard.press("Escape");
  assertEquals([await search(page).inputValue(), new URL(page.url()).pathname], ["", "/groups/staff"]);
  assertEquals((await site.membersOf("staff")).toSorted(), ["ada", "adam", "adele", "grace", "seed"]);
});

test("bulk: the result is visible and the list does not scroll", async ({ page, site, open }) => {
  for (let number = 1; number <= 40; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
  await open("/users", "Users");
  for (const [width, height] of [[1440, 900], [390, 844]] as const) {
    await page.setViewportSize({ width, height });
    await page.getByRole("row", { name: /user02/ }).getByRole("checkbox").check();
    const bar = page.locator(".selection-bar");
    const isSmall = width === 390;
    const button = bar.getByRole("button", {
      name: isSmall ? "Actions for the selection" : "Deactivate",
      exact: true,
    });
    await button.scrollIntoViewIfNeeded();
    const scrolled = await page.evaluate(() => scrollY);
    await button.click();
    if (isSmall) await page.getByRole("menuitem", { name: "Activate", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^(A|Dea)ctivate 1 user$/ }).click();
    const result = page.locator(".bulk-foot > .note");
    await result.getByText(/1 user was (de)?activated\./).waitFor();
    const box = await result.boundingBox();
    const { top, bottom } = { top: box?.y ?? -1, bottom: (box?.y ?? 0) + (box?.height ?? 0) };
    assertEquals(top >= 0 && bottom <= height - (isSmall ? 57 : 0), true, `${top} to ${bottom}`);
    await result.getByRole("button", { name: "Dismiss" }).focus();
    const now = await page.evaluate(() => scrollY);
    assertEquals(now <= scrolled, true, `scrolled from ${scrolled} to ${now}`);
    await result.getByRole("button", { name: "Dismiss" }).click();
  }
});

test("users: Esc from a user returns to the row, with the filters and the selection", async ({ page, site, open }) => {
  for (const name of ["ada", "adam", "grace"]) await site.put(name);
  await open("/users?q=ada", "Users");
  await page.getByRole("row", { name: /adam/ }).getByRole("checkbox").check();
  await page.getByRole("link", { name: "ada", exact: true }).click();
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  // Another tab of the user is one more entry of the history.
  await page.locator("main").getByRole("link", { name: /^Groups/ }).click();
  await page.getByRole("combobox", { name: "Add to group" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  await page.locator('tr[data-key="ada"] a:focus').waitFor();
  await page.waitForURL((url) => url.search === "?q=ada");
  assertEquals(await page.getByRole("row", { name: /adam/ }).getByRole("checkbox").isChecked(), true);
  // The row has the focus when it is drawn, and the table's keys are ready a moment later.
  await listensFor(page, ["j"]);
  await page.keyboard.press("j");
  await page.locator('tr[data-key="adam"] a:focus').waitFor();
  // A visit from another page starts without a selection.
  await page.getByRole("link", { name: "Groups", exact: true }).click();
  await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor();
  await page.evaluate(() => history.back());
  await page.getByRole("row", { name: /adam/ }).waitFor();
  assertEquals(await page.getByRole("checkbox", { checked: true }).count(), 0);
});
