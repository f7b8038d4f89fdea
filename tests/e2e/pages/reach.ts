// Accessibility checks besides the look: visible focus at every Tab stop (WCAG 2.4.7, 2.4.11), edges in forced colors,
// and complete text at twice its size.

import type { Page } from "../../packages/playwright.ts";
import { readStops } from "../focus_checks.ts";
import { laidOut, scrollsSideways } from "../page_checks.ts";

const MAX_STOPS = 90;
const AT_ONCE = 15;

/** Walks through the page by Tab from its beginning; returns the problems, and too few stops. */
export async function findStopProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    scrollTo(0, 0);
  });
  for (let stops = 0; stops < MAX_STOPS; stops += AT_ONCE) {
    const states = await readStops(page, AT_ONCE);
    const end = states.findIndex(({ isOnBody }) => isOnBody);
    const seen = end < 0 ? states : states.slice(0, end);
    problems.push(
      ...seen.filter(({ problem }) => problem !== "").map(({ name, problem }) => `${problem}: ${name}`),
    );
    if (end >= 0) return stops + end < 2 ? [...problems, `${stops + end} stops`] : problems;
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
