// Walks a page by its row: opens it, does its steps, has it fail, and looks at what a person with other senses would meet.

import { Buffer } from "node:buffer";
import type { Locator, Page } from "../packages/playwright.ts";
import type { FullConsole } from "../fakes/console_full.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { enterAs, scrollsSideways } from "./browser.ts";
import type { PlaceRow, Step } from "./place_row.ts";

export type Scheme = "light" | "dark";

const asRegExp = (text: string | RegExp) =>
  text instanceof RegExp ? text : new RegExp(`^${RegExp.escape(text)}$`);

/** The same site under the name that the row needs. */
export function originOf({ origin }: Pick<FullConsole, "origin">, { byName }: PlaceRow): string {
  return byName === true ? origin.replace("127.0.0.1", "localhost") : origin;
}

/** Opens the page and waits until what it has is there. */
export async function openPlace(
  page: Page,
  { site, row, role = "owner" }: { site: FullConsole; row: PlaceRow; role?: string },
): Promise<void> {
  const { names } = site;
  const there = { ...site, origin: originOf(site, row) };
  if (row.outside === true) await page.goto(there.origin + row.path(names));
  else await enterAs(page, { site: there, role, path: row.path(names), heading: row.heading(names) });
  await arrived(page, { site, row });
}

/** Waits for the heading and for what the page shows. */
export async function arrived(
  page: Page,
  { site, row }: { site: FullConsole; row: PlaceRow },
): Promise<void> {
  const { names } = site;
  await page.getByRole("heading", { name: row.heading(names), level: 1 }).waitFor();
  await seen(page.locator("main"), row.shows(names));
}

/** Waits until the text is drawn somewhere inside. */
export async function seen(within: Locator, text: string | RegExp): Promise<void> {
  await within.getByText(text).filter({ visible: true }).first().waitFor();
}

/** Goes to another page as a link would, without a load. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
}

/** Does the steps; the newest dialog is where a step looks, if one is open. */
export async function take(page: Page, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const dialog = page.getByRole("dialog").last();
    const within = await dialog.count() > 0 ? dialog : page.locator("body");
    await takeOne(within, step);
  }
}

async function takeOne(within: Locator, step: Step): Promise<void> {
  if (step[0] === "fill") return await within.getByLabel(step[1], { exact: true }).first().fill(step[2]);
  if (step[0] === "see") return await seen(within, step[1]);
  if (step[0] === "file") return await chooseFile(within.getByLabel(step[1], { exact: true }), step[2]);
  await within.getByRole(step[0], { name: asRegExp(step[1]) }).filter({ visible: true }).first().click();
}

/** Chooses a file of this text. The octets are a Buffer: of another array the base64 would be its numbers, with commas. */
export async function chooseFile(input: Locator, text: string, name = "people.csv"): Promise<void> {
  await input.setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
}

/** What is wrong with the page as it stands, in each scheme. */
export async function problemsNow(
  page: Page,
  { what, schemes, within }: { what: string; schemes: readonly Scheme[]; within?: string },
): Promise<string[]> {
  const problems: string[] = [];
  const window = page.viewportSize();
  // High enough for the whole dialog: of what is cut at an edge axe cannot tell the contrast.
  if (within !== undefined && window !== null) {
    await page.setViewportSize({ ...window, height: Math.max(1600, window.height) });
  }
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    const found = await findAccessibilityProblems(page, { within });
    problems.push(...found.map((line) => `${what}, ${colorScheme}: ${line}`));
  }
  if (within !== undefined && window !== null) await page.setViewportSize(window);
  if (await scrollsSideways(page)) problems.push(`${what}: scrolls sideways`);
  for (const text of await squeezedCells(page)) problems.push(`${what}: no room for "${text}"`);
  return problems;
}

/** Cells of tables with something in them, but without the width to show it; on small screens a short word needs little. */
function squeezedCells(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main td")]
      .filter((cell) => cell.innerText.trim() !== "" && cell.checkVisibility() && cell.clientWidth < 30)
      .filter((cell) =>
        cell.scrollWidth > cell.clientWidth || getComputedStyle(cell).display === "table-cell"
      )
      .map((cell) => cell.innerText)
  );
}

/** From now on the console's API does not answer, or answers that it failed; who is signed in can still be asked. */
export async function failApi(page: Page, how: "answers 500" | "is gone"): Promise<void> {
  await page.route("**/console/api/**", async (route) => {
    const request = route.request();
    const isSession = new URL(request.url()).pathname.endsWith("/session") && request.method() === "GET";
    if (isSession) await route.fallback();
    else if (how === "is gone") await route.abort("connectionrefused");
    else {await route.fulfill({
        status: 500,
        json: { error: { code: "internal", message: "x", id: "7f3k" } },
      });}
  });
}

export const mendApi = (page: Page): Promise<void> => page.unroute("**/console/api/**");

/** What went wrong in a deed, as one line; `null` when nothing did. For walks that go on and tell everything at their end. */
export async function failureOf(deed: () => Promise<unknown>): Promise<string | null> {
  try {
    await deed();
    return null;
  } catch (fault) {
    const text = fault instanceof Error ? fault.message : String(fault);
    return text.replaceAll(/\s+/g, " ").slice(0, 300);
  }
}
