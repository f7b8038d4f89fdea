// The lists at every width of a window: names stay readable, and columns of low priority are hidden instead.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { laidOut } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { rowOf } from "./place_rows.ts";
import { openPlace } from "./place_walk.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const WIDTHS_PX = [320, 390, 600, 761, 800, 900, 1024, 1100, 1280, 1920] as const;
/** The column that tells the rows apart, by page. */
const NAME_COLUMNS = {
  users: "User name",
  history: "User",
  clients: "Name",
  audit: "Who",
  targets: "Name",
  groups: "Group name",
  devices: "User",
  credentials: "Name",
} as const;
const MIN_NAME_PX = 140;

/** The problems of the first table: the width of the column with that heading, and whether the table scrolls sideways. */
function problemsOf(page: Page, column: string): Promise<string[]> {
  return page.locator(".table-frame").first().evaluate((frame, { column, minPx }) => {
    const problems: string[] = [];
    const heads = [...frame.querySelectorAll("th")];
    const head = heads.find((one) => one.textContent.trim() === column);
    const isStacked = getComputedStyle(frame.querySelector("tr") ?? frame).display === "grid";
    if (head === undefined) problems.push(`no column "${column}" but ${heads.map((one) => one.textContent)}`);
    else if (!isStacked && head.getBoundingClientRect().width < minPx - 0.5) {
      problems.push(`"${column}" is ${head.getBoundingClientRect().width} px wide`);
    }
    if (frame.scrollWidth > frame.clientWidth + 1) problems.push("the table scrolls sideways");
    return problems;
  }, { column, minPx: MIN_NAME_PX });
}

for (const [name, column] of Object.entries(NAME_COLUMNS)) {
  browserTest(
    `table: the names of ${name} are at least ${MIN_NAME_PX} px wide at every width`,
    async ({ page }) => {
      await using site = await startFullConsole({ dist });
      await openPlace(page, { site, row: rowOf(name) });
      const problems: string[] = [];
      for (const width of WIDTHS_PX) {
        await page.setViewportSize({ width, height: 800 });
        await page.waitForFunction((width) => innerWidth === width, width);
        await laidOut(page);
        problems.push(...(await problemsOf(page, column)).map((problem) => `at ${width} px: ${problem}`));
      }
      assertEquals(problems, []);
    },
  );
}
