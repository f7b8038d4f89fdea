// The checks of the focus find each problem on a page made for it.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { browserTest } from "./browser.ts";
import { findFocusProblems, watchFocus } from "./focus_checks.ts";

interface FocusControl {
  readonly html: string;
  /** Runs in the page when the focus is on #one. */
  readonly script?: string;
  /** Part of the first problem; `null` for none. */
  readonly problem: string | null;
}

const BUTTON = `<button id="one">One</button>`;
const RING = `<style>:focus { outline: 2px solid rgb(0 0 255) }</style>`;

const CONTROLS: Readonly<Record<string, FocusControl>> = {
  "a visible button": { html: RING + BUTTON, problem: null },
  "a removed button": {
    html: RING + BUTTON,
    script: "document.querySelector('#one').remove()",
    problem: "lost by <button",
  },
  "a disabled button": {
    html: RING + BUTTON,
    script: "document.querySelector('#one').disabled = true",
    problem: "lost by <button",
  },
  "a button that is gone only for some frames": {
    html: RING + BUTTON,
    script: `document.querySelector('#one').blur();
      let left = 3;
      const next = () => left-- > 0 ? requestAnimationFrame(next) : document.querySelector('#one').focus();
      next();`,
    problem: "lost by <button",
  },
  "a button below a bar": {
    html: `${RING}${BUTTON}<div style="position:fixed;inset:0;background:white"></div>`,
    problem: "is covered",
  },
  "a button beside the window": {
    html: `${RING}<div style="position:fixed;left:-500px">${BUTTON}</div>`,
    problem: "is outside the window",
  },
  "a button without a ring": {
    html: `<style>:focus { outline: none }</style>${BUTTON}`,
    problem: "has no mark of the focus",
  },
  "a button with a transparent ring": {
    html: `<style>:focus { outline: 2px solid transparent }</style>${BUTTON}`,
    problem: "has no mark of the focus",
  },
  "a transparent button": {
    html: `${RING}<div style="opacity:0">${BUTTON}</div>`,
    problem: "is invisible",
  },
};

browserTest(
  "findFocusProblems() finds a lost, covered, invisible and unmarked focus",
  async ({ page }, { step }) => {
    await watchFocus(page);
    for (const [name, { html, script, problem }] of Object.entries(CONTROLS)) {
      await step(name, async () => {
        await page.goto("about:blank");
        await page.setContent(html);
        assertEquals((await findFocusProblems(page)).at(-1), "nothing has the focus");
        await page.keyboard.press("Tab");
        if (script !== undefined) {
          assertEquals(await findFocusProblems(page), []);
          await page.evaluate(script);
          await page.waitForFunction(() => (globalThis as { lostFocus?: string[] }).lostFocus?.length !== 0);
        }
        const problems = await findFocusProblems(page);
        if (problem === null) assertEquals(problems, []);
        else assertStringIncludes(problems[0] ?? "none", problem);
      });
    }
  },
);
