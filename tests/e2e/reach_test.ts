// Every page by the Tab key, in forced colours, with text twice as large: what has the focus is seen and not covered (WCAG 2.4.7, 2.4.11),
// edges that colour alone would draw are there, and nothing is cut.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { findAccessibilityProblems, laidOut } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, scrollsSideways } from "./browser.ts";
import { PLACE_ROWS, rowOf } from "./place_rows.ts";
import { openPlace } from "./place_walk.ts";

const dist = await currentDist();
const MOST_STOPS = 90;
const MAIN_ROWS = Object.entries(PLACE_ROWS).filter(([, { part }]) => part !== true);

interface Stop {
  readonly name: string;
  /** What is wrong with it; empty when a person sees where they are. */
  readonly problem: string;
  /** Back at the page itself. */
  readonly isOver: boolean;
}

/** Where the focus is, and whether it is visible in the window. */
function stopNow(page: Page): Promise<Stop> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) {
      return { name: "", problem: "", isOver: true };
    }
    // A file chooser and a box are drawn by what holds them.
    const shown = element.closest("label") ?? element;
    const name = element.outerHTML.slice(0, 120);
    const box = shown.getBoundingClientRect();
    const edges = { left: Math.max(box.left, 0), right: Math.min(box.right, innerWidth) };
    const heights = { top: Math.max(box.top, 0), bottom: Math.min(box.bottom, innerHeight) };
    if (edges.right - edges.left < 4 || heights.bottom - heights.top < 4) {
      return { name, problem: "is outside the window", isOver: false };
    }
    const isSeenAt = (across: number, down: number) => {
      const x = edges.left + (edges.right - edges.left) * across;
      const y = heights.top + (heights.bottom - heights.top) * down;
      const top = document.elementFromPoint(x, y);
      return top !== null && (shown.contains(top) || top.contains(shown));
    };
    const points = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.15], [0.5, 0.85]] as const;
    if (!points.some(([across, down]) => isSeenAt(across, down))) {
      return { name, problem: "is covered", isOver: false };
    }
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const isMarked = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    return { name, problem: isMarked ? "" : "has no mark of the focus", isOver: false };
  });
}

/** Walks the page by Tab; returns what was wrong, and how many stops there were. */
async function walkByTab(page: Page): Promise<{ problems: string[]; stops: number }> {
  const problems: string[] = [];
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    await page.keyboard.press("Tab");
    const { name, problem, isOver } = await stopNow(page);
    if (isOver) return { problems, stops };
    if (problem !== "") problems.push(`${problem}: ${name}`);
  }
  return { problems, stops: MOST_STOPS };
}

for (const look of ["light", "small"] as const) {
  browserTest(
    `reach: by Tab every stop of every page is seen and marked, ${look === "small" ? "at 320 px" : "wide"}`,
    async ({ page }) => {
      await using site = await startFullConsole({ dist });
      const problems: string[] = [];
      for (const [name, row] of MAIN_ROWS) {
        await openPlace(page, { site, row });
        const walked = await walkByTab(page);
        problems.push(...walked.problems.map((problem) => `${name}: ${problem}`));
        if (walked.stops < 2) problems.push(`${name}: ${walked.stops} stops`);
      }
      assertEquals(problems, []);
    },
    { look },
  );
}

browserTest("reach: the bar of what is chosen covers no row that has the focus", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  for (let number = 1; number <= 20; number += 1) {
    await site.people.put(`user${String(number).padStart(2, "0")}`);
  }
  await openPlace(page, { site, row: rowOf("users") });
  await page.getByLabel("Choose ada").check();
  await page.getByRole("region", { name: "1 chosen" }).waitFor();
  const { problems } = await walkByTab(page);
  assertEquals(problems, []);
}, { look: "small" });

browserTest("reach: stopNow() sees what is covered and what has no mark", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  await openPlace(page, { site, row: rowOf("groups") });
  const button = page.getByRole("button", { name: "Create group" });
  await page.keyboard.press("Tab");
  await button.focus();
  assertEquals((await stopNow(page)).problem, "");
  await button.evaluate((element) => element.style.setProperty("outline", "none", "important"));
  assertEquals((await stopNow(page)).problem, "has no mark of the focus");
  await page.evaluate(() => {
    const cover = document.body.appendChild(document.createElement("div"));
    for (const [name, value] of [["position", "fixed"], ["inset", "0"], ["z-index", "9"]] as const) {
      cover.style.setProperty(name, value);
    }
  });
  assertEquals((await stopNow(page)).problem, "is covered");
});

/** What in forced colours has no edge although only its colour sets it off. */
const edgeless = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>(
      "#app .chip, #app .button:not(.button-plain), #app .input, #app .panel",
    )]
      .filter((element) => {
        const { borderTopStyle, borderTopWidth } = getComputedStyle(element);
        return element.checkVisibility() && (borderTopStyle === "none" || parseFloat(borderTopWidth) < 1);
      })
      .map((element) => element.outerHTML.slice(0, 120))
  );

browserTest(
  "reach: in forced colours chips, buttons, fields and panels keep their edges",
  async ({ page }) => {
    await using site = await startFullConsole({ dist });
    await page.emulateMedia({ forcedColors: "active" });
    const problems: string[] = [];
    for (const [name, row] of MAIN_ROWS) {
      await openPlace(page, { site, row });
      problems.push(...(await edgeless(page)).map((html) => `${name}: ${html}`));
    }
    assertEquals(problems, []);
  },
);

/** Buttons, headings and chips whose text does not fit them. */
const cut = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main .button, main h1, main h2, main .chip, main label")]
      .filter((element) =>
        element.checkVisibility() && element.clientWidth > 0 &&
        getComputedStyle(element).overflow !== "visible" &&
        element.scrollWidth > element.clientWidth + 1 && element.closest(".cut") === null
      )
      .map((element) => element.outerHTML.slice(0, 120))
  );

for (const width of [1360, 640] as const) {
  browserTest(`reach: with text twice as large nothing is cut, ${width} px wide`, async ({ page }) => {
    await using site = await startFullConsole({ dist });
    await page.setViewportSize({ width, height: 900 });
    const problems: string[] = [];
    for (const [name, row] of MAIN_ROWS) {
      await openPlace(page, { site, row });
      await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
      await laidOut(page);
      if (await scrollsSideways(page)) problems.push(`${name}: scrolls sideways`);
      problems.push(...(await cut(page)).map((html) => `${name}: cut ${html}`));
    }
    assertEquals(problems, []);
  });
}

browserTest("reach: axe sees a target that is too small", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  await openPlace(page, { site, row: rowOf("devices") });
  await page.evaluate(() => {
    for (const button of document.querySelectorAll<HTMLElement>("tbody .button")) {
      for (const name of ["min-height", "height", "width", "padding", "min-width", "font-size"]) {
        button.style.setProperty(name, name === "padding" ? "0" : "10px");
      }
    }
    for (const cell of document.querySelectorAll<HTMLElement>("tbody td, tbody tr, tbody a")) {
      cell.style.setProperty("height", "10px");
      cell.style.setProperty("min-height", "0");
      cell.style.setProperty("padding", "0");
    }
  });
  const problems = (await findAccessibilityProblems(page)).join("\n");
  assert(problems.includes("target-size"), problems);
});

closeBrowserAtEnd();
