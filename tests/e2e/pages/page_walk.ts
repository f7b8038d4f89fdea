// Opens a page by its row, does its steps, and makes the API fail.

import { Buffer } from "node:buffer";
import type { Locator, Page } from "../../packages/playwright.ts";
import type { FullConsole } from "../../fakes/console_full.ts";
import { enterAs } from "../browser.ts";
import type { PageRow, Step } from "./page_row.ts";

const asRegExp = (text: string | RegExp) =>
  text instanceof RegExp ? text : new RegExp(`^${RegExp.escape(text)}$`);

/** The same site under the host name that the row needs. */
function originOf({ origin }: Pick<FullConsole, "origin">, { byName }: PageRow): string {
  return byName === true ? origin.replace("127.0.0.1", "localhost") : origin;
}

/** Loads the page and waits for its content. */
export async function openPage(
  page: Page,
  { site, row, role = "owner" }: { site: FullConsole; row: PageRow; role?: string },
): Promise<void> {
  const { names } = site;
  const there = { ...site, origin: originOf(site, row) };
  if (row.outside === true) await page.goto(there.origin + row.path(names));
  else await enterAs(page, { site: there, role, path: row.path(names), heading: row.heading(names) });
  await arrived(page, { site, row });
}

/** Opens pages one after another in one role: the first by a load, the others as by a link. */
export function pageOpener(
  page: Page,
  { site, role }: { site: FullConsole; role?: string },
): (row: PageRow) => Promise<void> {
  let isLoaded = false;
  return async (row) => {
    if (!isLoaded) await openPage(page, { site, row, role });
    else {
      await goWithin(page, row.path(site.names));
      await arrived(page, { site, row });
    }
    isLoaded = true;
  };
}

/** Waits for the heading and the content of the page. */
export async function arrived(
  page: Page,
  { site, row }: { site: FullConsole; row: PageRow },
): Promise<void> {
  const { names } = site;
  await page.getByRole("heading", { name: row.heading(names), level: 1 }).waitFor();
  await seen(page.locator("main"), row.shows(names));
}

/** Waits until the text is visible somewhere inside. */
export async function seen(within: Locator, text: string | RegExp): Promise<void> {
  await within.getByText(text).filter({ visible: true }).first().waitFor();
}

/** Opens another page as by a link, without a load. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
}

/** Performs the steps. A step acts in the newest dialog if one is open. */
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

/**
 * Selects a file with this text. The octets are a Buffer, because other arrays would become numbers with commas in
 * base64.
 */
export async function chooseFile(input: Locator, text: string, name = "people.csv"): Promise<void> {
  await input.setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
}

/** From now on the API of the console does not answer, or answers with an error. The session can still be read. */
export async function failApi(page: Page, how: () => "answers 500" | "is gone"): Promise<void> {
  await page.route("**/console/api/**", async (route) => {
    const request = route.request();
    const isSession = new URL(request.url()).pathname.endsWith("/session") && request.method() === "GET";
    if (isSession) await route.fallback();
    else if (how() === "is gone") await route.abort("connectionrefused");
    else {await route.fulfill({
        status: 500,
        json: { error: { code: "internal", message: "The server failed.", id: "7f3k" } },
      });}
  });
}

export const mendApi = (page: Page): Promise<void> => page.unroute("**/console/api/**");

/**
 * The error of an action as one line; `null` when it succeeded. For walks that continue and report everything at their
 * end.
 */
export async function failureOf(action: () => Promise<unknown>): Promise<string | null> {
  try {
    await action();
    return null;
  } catch (fault) {
    const text = fault instanceof Error ? fault.message : String(fault);
    return text.replaceAll(/\s+/g, " ").slice(0, 300);
  }
}
