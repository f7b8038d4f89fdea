// The layout of Live, History and Audit at every width with every state: filters set, the inspector open, long counts, both languages.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startWorkingDay } from "../screenshots/working_day.ts";
import { DENIED_LOGIN } from "../screenshots/working_day_rows.ts";
import { browserTest, currentDist, enterAs, openTab } from "./browser.ts";
import { laidOut, scrollsSideways } from "./page_checks.ts";

const WIDTHS = [390, 800, 1024, 1280, 1440];
const STATES = [
  "/live",
  `/live?c=${DENIED_LOGIN}`,
  `/live?state=accepted&c=${DENIED_LOGIN}`,
  `/live?q=a&state=waiting&client=vpn-1&target=default&c=${DENIED_LOGIN}`,
  "/history?outcome=rejected&reason=passcode_wrong&range=week&client=citrix",
  "/history?from=2026-01-01T00:00:00.000Z&to=2027-01-01T00:00:00.000Z",
  "/audit?events=administrator_changes&range=today",
];

/** What is broken in the page, as lines. */
function findBroken(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const shown = (selector: string) =>
      [...document.querySelectorAll<HTMLElement>(selector)].filter((one) => one.checkVisibility());
    const lines: string[] = [];
    for (const chip of shown(".filter-chip, .chip")) {
      const { height } = chip.getBoundingClientRect();
      if (height > 34 || chip.scrollWidth > chip.clientWidth + 1) {
        lines.push(`broken chip: ${chip.innerText}`);
      }
    }
    // Neighbours of the funnel, and fields of a bar, that lie over each other.
    for (
      const list of [
        shown(".funnel-bar .stage, .funnel-since"),
        shown(".filters > *"),
        shown(".list-bar .input"),
      ]
    ) {
      const boxes = list.map((one) => ({ text: one.innerText, box: one.getBoundingClientRect() }));
      for (const [at, one] of boxes.entries()) {
        for (const other of boxes.slice(at + 1)) {
          if (one.box.width < 2 || other.box.width < 2) continue;
          const isBeside = one.box.right <= other.box.left + 0.5 || other.box.right <= one.box.left + 0.5;
          const isBelow = one.box.bottom <= other.box.top + 0.5 || other.box.bottom <= one.box.top + 0.5;
          if (!isBeside && !isBelow) lines.push(`overlap: ${one.text} and ${other.text}`);
        }
      }
    }
    for (const stage of shown(".funnel-bar .stage")) {
      const item = stage.closest("li");
      if (item !== null && stage.getBoundingClientRect().right > item.getBoundingClientRect().right + 0.5) {
        lines.push(`glued: ${stage.innerText}`);
      }
    }
    for (const field of shown(".filters .input, .list-bar select.input")) {
      if (field instanceof HTMLInputElement && field.placeholder !== "" && field.value === "") {
        const text = document.createElement("canvas").getContext("2d");
        if (text === null) continue;
        text.font = getComputedStyle(field).font;
        const { paddingLeft, paddingRight } = getComputedStyle(field);
        const roomPx = field.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
        if (text.measureText(field.placeholder).width > roomPx) lines.push(`cut: ${field.placeholder}`);
      }
    }
    return lines;
  });
}

for (const locale of ["en-GB", "de-DE"]) {
  browserTest(`logs: no state breaks the layout at any width, ${locale}`, async () => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    const { page, context } = await openTab({ viewport: { width: 1440, height: 900 }, locale });
    const problems: string[] = [];
    for (const path of STATES) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await enterAs(page, { site, role: "operator", path, heading: /./ });
      await page.locator("main .row, main tbody tr, main .empty").first().waitFor();
      // Counts of a busy day.
      await page.evaluate(() => {
        for (const count of document.querySelectorAll(".stage b")) count.textContent = "1\u202f216";
      });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await laidOut(page);
        await laidOut(page);
        const broken = [
          ...await findBroken(page),
          ...await scrollsSideways(page) ? ["scrolls sideways"] : [],
        ];
        problems.push(...broken.map((one) => `${path} at ${width}: ${one}`));
      }
    }
    await context.close();
    assertEquals(problems, []);
  });
}
