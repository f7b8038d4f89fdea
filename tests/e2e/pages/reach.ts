// Accessibility checks besides the look: visible focus at every Tab stop (WCAG 2.4.7, 2.4.11), edges in forced colors,
// and complete text at twice its size.

import type { Page } from "../../packages/playwright.ts";
import { laidOut, scrollsSideways } from "../page_checks.ts";

const MAX_STOPS = 90;

interface Stop {
  readonly name: string;
  /** The problem; empty when a user sees the focus. */
  readonly problem: string;
  /** The focus is back at the page itself. */
  readonly isOver: boolean;
}

/** Where the focus is, and whether it is visible in the window. */
export function stopNow(page: Page): Promise<Stop> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) {
      return { name: "", problem: "", isOver: true };
    }
    // A label draws its file chooser or checkbox.
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

/** Walks through the page by Tab from its beginning; returns the problems, and too few stops. */
export async function findFocusProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    scrollTo(0, 0);
  });
  for (let stops = 0; stops < MAX_STOPS; stops += 1) {
    await page.keyboard.press("Tab");
    const { name, problem, isOver } = await stopNow(page);
    if (isOver) return stops < 2 ? [...problems, `${stops} stops`] : problems;
    if (problem !== "") problems.push(`${problem}: ${name}`);
  }
  return problems;
}

/** Elements without an edge in forced colors that are visible only by their color. */
export async function findEdgeless(page: Page): Promise<string[]> {
  await page.emulateMedia({ forcedColors: "active" });
  const found = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>(
      "#app .chip, #app .button:not(.button-plain), #app .input, #app .panel",
    )]
      .filter((element) => {
        const { borderTopStyle, borderTopWidth } = getComputedStyle(element);
        return element.checkVisibility() && (borderTopStyle === "none" || parseFloat(borderTopWidth) < 1);
      })
      .map((element) => `no edge: ${element.outerHTML.slice(0, 120)}`)
  );
  await page.emulateMedia({ forcedColors: "none" });
  return found;
}

/** Buttons, headings and chips whose text is cut off, with text twice as large, at two widths. */
export async function findCutText(page: Page): Promise<string[]> {
  const problems: string[] = [];
  const window = page.viewportSize() ?? { width: 1360, height: 860 };
  const setFont = (size: string) =>
    page.evaluate((size) => document.documentElement.style.setProperty("font-size", size), size);
  await setFont("200%");
  for (const width of [1360, 640]) {
    await page.setViewportSize({ width, height: 900 });
    await laidOut(page);
    if (await scrollsSideways(page)) problems.push(`scrolls sideways at ${width} px with large text`);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("main .button, main h1, main h2, main .chip, main label")]
        .filter((element) =>
          element.checkVisibility() && element.clientWidth > 0 &&
          getComputedStyle(element).overflow !== "visible" &&
          element.scrollWidth > element.clientWidth + 1 && element.closest(".cut") === null
        )
        .map((element) => element.outerHTML.slice(0, 120))
    );
    problems.push(...cut.map((html) => `cut at ${width} px with large text: ${html}`));
  }
  await setFont("");
  await page.setViewportSize(window);
  return problems;
}
