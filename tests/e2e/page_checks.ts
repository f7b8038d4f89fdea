// Checks of a page that return problems as lines: axe-core, names in the browser's accessibility tree, and overflow.
// The policy of the page forbids a script tag, so the source of axe is evaluated.

import { assertEquals } from "@std/assert";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import axe from "../packages/axe.ts";
import type { Page } from "../packages/playwright.ts";
import { ACTION_TIMEOUT_MS, browserTest, sessionOf } from "./browser.ts";

const ALL_RULES = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
} as const;
/** The rules whose result depends on the color scheme. */
const COLOR_RULES = { type: "rule", values: ["color-contrast", "link-in-text-block"] } as const;
/** The rules whose result depends on the color scheme or on the size of the window. */
const LOOK_RULES = { type: "rule", values: [...COLOR_RULES.values, "target-size"] } as const;
type Rules = typeof ALL_RULES | typeof COLOR_RULES | typeof LOOK_RULES;

/** The part of a page that is checked, by selectors. */
export interface PagePart {
  /** Only this; the default is the open dialog, below which nothing can be seen or reached, or the whole page. */
  readonly within?: string;
  /** Not this, for example because it was checked on another page. */
  readonly without?: string;
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Waits until the page is laid out. A table updates its columns in the frame after a change of its width. */
export async function laidOut(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

const NAMED: ReadonlySet<string> = new Set([
  ...[
    "button",
    "link",
    "textbox",
    "searchbox",
    "checkbox",
    "radio",
    "combobox",
    "listbox",
    "slider",
    "switch",
  ],
  ...["tab", "menuitem", "option", "img", "dialog", "alertdialog", "region"],
]);

const MAX_READINGS = 5;
const READ_AGAIN_MS = 200;

/**
 * Controls without a name in the browser's own accessibility tree, which screen readers use. axe computes names itself,
 * and takes a live region inside a button for the name of the button, which Chromium does not.
 */
async function findUnnamed(page: Page): Promise<string[]> {
  // The tree follows the page with a delay. A control without a name stays without one.
  let found: string[] = [];
  for (let reading = 0; reading < MAX_READINGS; reading += 1) {
    if (reading > 0) await page.waitForTimeout(READ_AGAIN_MS);
    found = await readUnnamed(page);
    if (found.length === 0) break;
  }
  return found;
}

async function readUnnamed(page: Page): Promise<string[]> {
  const { nodes } = await (await sessionOf(page)).send("Accessibility.getFullAXTree");
  const counts = new Map<string, number>();
  for (const { ignored, role, name } of nodes) {
    const kind = String(role?.value ?? "");
    if (ignored || !NAMED.has(kind) || String(name?.value ?? "").trim() !== "") continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `no name: ${kind} (${count})`);
}

interface Reading {
  readonly lines: string[];
  /** Whether the page changed while axe read it. */
  readonly hasChanged: boolean;
}

async function readByAxe(page: Page, part: PagePart & { rules: Rules }): Promise<Reading> {
  const options = { ...part, timeoutMs: ACTION_TIMEOUT_MS };
  let read = await page.evaluate(runAxe, options);
  if (read === null) {
    await page.evaluate(axe.source);
    read = await page.evaluate(runAxe, options);
  }
  if (read === null) throw new Error("Cannot check the page: axe is not loaded");
  const { violations, incomplete, hasChanged } = read;
  const linesOf = (kind: string, findings: readonly Finding[]) =>
    findings.map(({ id, nodes }) =>
      `${kind} ${id}: ${nodes[0]?.html} (${nodes.length}) ${nodes[0]?.failureSummary}`
    );
  const lines = [...linesOf("violation", violations), ...linesOf("incomplete", incomplete)];
  return { lines, hasChanged };
}

/**
 * Runs in the page, when nothing moves and nothing is dimmed during a fetch: colors are checked when the page is at rest.
 * One call, because each one takes processor time in three processes. `null` without axe.
 */
async function runAxe(
  { within, without, rules, timeoutMs }: PagePart & { rules: Rules; timeoutMs: number },
): Promise<{ violations: Finding[]; incomplete: Finding[]; hasChanged: boolean } | null> {
  const runner = (globalThis as unknown as { axe?: typeof axe }).axe;
  if (runner === undefined) return null;
  const dialog = "dialog[open]";
  const inside = within ?? (document.querySelector(dialog) === null ? "html" : dialog);
  const isBusy = () =>
    document.querySelector(`${inside} [data-busy]`) !== null ||
    document.getAnimations().some(({ playState }) => playState === "running");
  // The first two frames are those of laidOut().
  const deadline = performance.now() + timeoutMs;
  for (let frames = 0; frames < 2 || isBusy(); frames += 1) {
    if (performance.now() > deadline) throw new Error("The page does not come to rest");
    await new Promise((done) => requestAnimationFrame(done));
  }
  let hasChanged = false;
  const observer = new MutationObserver(() => hasChanged = true);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const { violations, incomplete } = await runner.run({
    include: [[inside]],
    exclude: without === undefined ? [] : [[without]],
  }, {
    runOnly: { type: rules.type, values: [...rules.values] },
    resultTypes: ["violations", "incomplete"],
  });
  hasChanged ||= observer.takeRecords().length > 0;
  observer.disconnect();
  return { violations: violations as Finding[], incomplete: incomplete as Finding[], hasChanged };
}

/**
 * axe checks one rule after another. A page that changes meanwhile (a row disappears) is checked again: a real fault
 * stays.
 */
async function readUntilStill(page: Page, options: PagePart & { rules: Rules }): Promise<string[]> {
  let read = await readByAxe(page, options);
  for (let reading = 1; reading < MAX_READINGS && read.lines.length > 0 && read.hasChanged; reading += 1) {
    read = await readByAxe(page, options);
  }
  return read.lines;
}

/** The sidebar is the same beside every page, except for the mark of the page: the page matrix checks it once. */
const CONTENT: PagePart = { without: ".sidebar" };
/** With the sidebar. */
export const WHOLE_PAGE: PagePart = {};

/** Each violation, each check that axe could not finish, and each control without a name, as one line. */
export async function findAccessibilityProblems(page: Page, part = CONTENT): Promise<string[]> {
  return [...await readUntilStill(page, { ...part, rules: ALL_RULES }), ...await findUnnamed(page)];
}

/**
 * The contrast problems of the page in this color scheme. The scheme changes colors only, so the other rules are not
 * run again.
 */
export async function findContrastProblems(
  page: Page,
  scheme: "light" | "dark",
  part = CONTENT,
): Promise<string[]> {
  await page.emulateMedia({ colorScheme: scheme });
  return await readUntilStill(page, { ...part, rules: COLOR_RULES });
}

/** Whether the page is wider than its window. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}

/**
 * Overflow of the page, and table cells that are too narrow for their text. On small screens a short word needs little.
 */
function findOverflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const squeezed = [...document.querySelectorAll<HTMLElement>("main td")]
      .filter((cell) => cell.innerText.trim() !== "" && cell.checkVisibility() && cell.clientWidth < 30)
      .filter((cell) =>
        cell.scrollWidth > cell.clientWidth || getComputedStyle(cell).display === "table-cell"
      )
      .map((cell) => `no room for "${cell.innerText}"`);
    const isTooWide = document.documentElement.scrollWidth > innerWidth;
    return isTooWide ? [...squeezed, "scrolls sideways"] : squeezed;
  });
}

/** Controls whose visible part lies below a message, by their text, and their total number. */
export function coveredControls(page: Page): Promise<{ covered: string[]; count: number }> {
  return page.evaluate(() => {
    const toasts = [...document.querySelectorAll(".toast")].map((one) => one.getBoundingClientRect());
    const covered: string[] = [];
    const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
      .filter((one) => one.closest(".toasts") === null && one.checkVisibility());
    for (const control of controls) {
      const { left, right, top, bottom } = control.getBoundingClientRect();
      for (const toast of toasts) {
        const [x, y] = [Math.max(left, toast.left), Math.max(top, toast.top)];
        const isBelow = x < Math.min(right, toast.right) && y < Math.min(bottom, toast.bottom);
        if (!isBelow) continue;
        // An element that is cut off by the page's edge cannot be clicked.
        const bodyEnd = document.body.getBoundingClientRect().bottom;
        const isFixed = control.closest(".bottom-bar, dialog, [popover]") !== null;
        if (isFixed || y < bodyEnd) covered.push(control.textContent || control.outerHTML);
      }
    }
    return { covered, count: controls.length };
  });
}

/** Keys that the page shows because it did not load their messages. */
export async function findMessageKeys(page: Page): Promise<string[]> {
  const found = await page.evaluate(() => {
    const texts = [
      document.title,
      document.body.innerText,
      ...[...document.querySelectorAll("*")].flatMap((one) =>
        ["aria-label", "title", "placeholder"].map((name) => one.getAttribute(name) ?? "")
      ),
    ];
    return [...new Set(texts.join(" ").match(/\b[a-z]+\.\w+/g))];
  });
  return found.filter((key) => key in en).map((key) => `shows a key: ${key}`);
}

/** All problems of the page in its present size and scheme. */
export async function findPageProblems(page: Page, part = CONTENT): Promise<string[]> {
  return [...await findAccessibilityProblems(page, part), ...await findTextProblems(page)];
}

/** The problems of this size and scheme, on a page that has no problem in another one. */
export async function findLookProblems(page: Page, part = CONTENT): Promise<string[]> {
  return [...await readUntilStill(page, { ...part, rules: LOOK_RULES }), ...await findTextProblems(page)];
}

/** Texts without room, and keys instead of texts. */
export async function findTextProblems(page: Page): Promise<string[]> {
  return [...await findOverflow(page), ...await findMessageKeys(page)];
}

/** Asserts that the page has no problem in light colors, and no color problem in dark ones. */
export async function assertHolds(page: Page, part = CONTENT): Promise<void> {
  await page.emulateMedia({ colorScheme: "light" });
  assertEquals(await findPageProblems(page, part), []);
  assertEquals(await findContrastProblems(page, "dark"), [], "dark");
  await page.emulateMedia({ colorScheme: "light" });
}

/** Asserts that the page has no problem in its present look, and none of the look at 320 px in dark colors. */
export async function assertHoldsInBothLooks(
  page: Page,
  { within, check }: { within?: string; check?: (page: Page) => Promise<void> } = {},
): Promise<void> {
  const window = page.viewportSize() ?? { width: 1360, height: 860 };
  const part = within === undefined ? CONTENT : { within };
  assertEquals(await findPageProblems(page, part), [], "wide and light");
  await check?.(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 320, height: 860 });
  assertEquals(await findLookProblems(page, part), [], "320 px and dark");
  await check?.(page);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(window);
}

// Tests of single states of pages: each state is checked in a wide window, and at 320 px in dark colors.

/** How a state is reached. */
export type ReachState<Site> = (page: Page, site: Site) => Promise<void>;

export interface StateTests<Site> {
  /** The prefix of the test names. */
  readonly subject: string;
  readonly start: () => Promise<Site>;
  readonly states: Readonly<Record<string, ReachState<Site>>>;
  /** The names of states of which only a part is checked. */
  readonly within?: Readonly<Record<string, string>>;
  /** Additional checks in both looks. */
  readonly check?: (page: Page) => Promise<void>;
}

/** Registers one test for each state. */
export function stateTests<Site extends AsyncDisposable>(tests: StateTests<Site>): void {
  const { subject, start, states, within = {}, check } = tests;
  for (const [name, reach] of Object.entries(states)) {
    browserTest(
      `${subject}: ${name} has no problem, wide in light and at 320 px in dark`,
      async ({ page }) => {
        await using stack = new AsyncDisposableStack();
        const site = stack.use(await start());
        await reach(page, site);
        await assertHoldsInBothLooks(page, { within: within[name], check });
      },
    );
  }
}
