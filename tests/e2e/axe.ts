// axe-core on a page and the names in the browser's own tree, as a list of what is wrong. The page's policy forbids a script tag, so the source is evaluated.

import axe from "../packages/axe.ts";
import type { Page } from "../packages/playwright.ts";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Waits until the page is laid out: a table updates its columns in the frame after a change of its width. */
export async function laidOut(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** What is being fetched anew is dimmed (behind a dialog it may wait for that), and moves are under way for a moment: colours are judged when the page is at rest. */
async function atRest(page: Page, within: string): Promise<void> {
  await laidOut(page);
  await page.waitForFunction((within) =>
    document.querySelector(`${within} [data-busy]`) === null &&
    document.getAnimations().every(({ playState }) => playState !== "running"), within);
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

const MOST_READINGS = 5;
const READ_AGAIN_MS = 200;

/**
 * What the browser's own tree, which screen readers are given, has no name for: axe works names out by itself, and takes
 * a live region inside a button for the button's name, which Chromium does not.
 */
async function findUnnamed(page: Page): Promise<string[]> {
  // The tree follows the page a little later; what has no name keeps having none.
  let found: string[] = [];
  for (let reading = 0; reading < MOST_READINGS; reading += 1) {
    if (reading > 0) await page.waitForTimeout(READ_AGAIN_MS);
    found = await unnamedNow(page);
    if (found.length === 0) break;
  }
  return found;
}

async function unnamedNow(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  const counts = new Map<string, number>();
  for (const { ignored, role, name } of nodes) {
    const kind = String(role?.value ?? "");
    if (ignored || !NAMED.has(kind) || String(name?.value ?? "").trim() !== "") continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `no name: ${kind} (${count})`);
}

/** What axe says of the page, and whether the page changed while axe read it. */
async function readByAxe(page: Page, within: string): Promise<{ lines: string[]; hasChanged: boolean }> {
  await atRest(page, within);
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe.source);
  const { violations, incomplete, hasChanged } = await page.evaluate(async ({ tags, within }) => {
    const runner = (globalThis as unknown as { axe: typeof axe }).axe;
    let hasChanged = false;
    const observer = new MutationObserver(() => hasChanged = true);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const { violations, incomplete } = await runner.run(within, {
      runOnly: { type: "tag", values: tags },
      resultTypes: ["violations", "incomplete"],
    });
    hasChanged ||= observer.takeRecords().length > 0;
    observer.disconnect();
    return { violations, incomplete, hasChanged };
  }, { tags: TAGS, within });
  const linesOf = (kind: string, findings: readonly Finding[]) =>
    findings.map(({ id, nodes }) =>
      `${kind} ${id}: ${nodes[0]?.html} (${nodes.length}) ${nodes[0]?.failureSummary}`
    );
  const lines = [
    ...linesOf("violation", violations as Finding[]),
    ...linesOf("incomplete", incomplete as Finding[]),
  ];
  return { lines, hasChanged };
}

/**
 * Each violation, and each check that axe could not finish, as one line.
 *
 * @param options.within only this part of the page.
 */
export async function findAccessibilityProblems(
  page: Page,
  { within = "html" }: { within?: string } = {},
): Promise<string[]> {
  let read = await readByAxe(page, within);
  // Axe judges one rule after another. A page that changes in between (a table is dimmed, a row goes) is read again: what is wrong
  // stays wrong.
  for (let reading = 1; reading < MOST_READINGS && read.lines.length > 0 && read.hasChanged; reading += 1) {
    read = await readByAxe(page, within);
  }
  return [...read.lines, ...await findUnnamed(page)];
}
