// The page matrix: each page in one look, with hostile data, in one browser tab. Then with a failing server, without
// data, and with a message over it.

import { assertEquals } from "@std/assert";
import type { Page } from "../../packages/playwright.ts";
import { FULL_SPARE, type FullConsole, HOSTILE_NAMES, startFullConsole } from "../../fakes/console_full.ts";
import { browserTest, currentDist, type LookName, LOOKS, type Tab, withPageInError } from "../browser.ts";
import {
  coveredControls,
  findContrastProblems,
  findLookProblems,
  findPageProblems,
  findTextProblems,
  WHOLE_PAGE,
} from "../page_checks.ts";
import { type FocusState, readControls, readFocus, readStops } from "../focus_checks.ts";
import type { PageRow } from "./page_row.ts";
import { PAGE_ROWS } from "./page_rows.ts";
import { arrived, failApi, goWithin, openPage, take } from "./page_walk.ts";

/**
 * High enough for a whole dialog and for the list of the palette: axe cannot compute the contrast of elements that are
 * cut off.
 */
const TALL_PX = 3200;

/** The palette is the same over every page, except for the commands of a user. */
const PALETTE_PLACES: ReadonlySet<PageRow["place"]> = new Set(["live", "user"]);

interface Walk extends Tab {
  readonly site: FullConsole;
  readonly look: LookName;
}

/** Runs the body for each row. A failed row is reported, and the next one begins with a load. */
async function forEachRow(
  context: Deno.TestContext,
  { rows, ...tab }: { rows: readonly (readonly [string, PageRow])[] } & Tab,
  check: (row: PageRow, mustLoad: boolean) => Promise<string[]>,
): Promise<void> {
  let mustLoad = true;
  for (const [name, row] of rows) {
    const isGood = await context.step(name, async () => {
      assertEquals(await withPageInError(tab, () => check(row, mustLoad)), []);
      assertEquals(tab.complaints.splice(0), []);
    });
    tab.complaints.length = 0;
    mustLoad = !isGood || leavesAChange(row) || row.outside === true || row.byName === true;
  }
}

/** Whether the dialogs of the row begin with a field of the page itself, which then asks before the user leaves. */
const leavesAChange = ({ dialogs }: PageRow) => dialogs.some(({ steps: [first] }) => first?.[0] === "fill");

/** Opens the page of the row, without a load where that is possible. */
async function reach({ page, site }: Walk, row: PageRow, mustLoad: boolean): Promise<void> {
  if (mustLoad || row.outside === true || row.byName === true) {
    // A new fragment of the same address does not load the page.
    await page.goto("about:blank");
    return await openPage(page, { site, row });
  }
  await goWithin(page, row.path(site.names));
  await arrived(page, { site, row });
}

const isWhole = ({ outside, part }: PageRow) => outside !== true && part !== true;

async function inTallWindow<T>(page: Page, check: () => Promise<T>): Promise<T> {
  const window = page.viewportSize() ?? LOOKS.wide.viewport;
  await page.setViewportSize({ ...window, height: TALL_PX });
  const found = await check();
  await page.setViewportSize(window);
  return found;
}

const label = (what: string, problems: readonly string[]) => problems.map((line) => `${what}: ${line}`);

/** The names and roles in a dialog do not depend on the look, so they are checked in the wide one. */
async function checkDialogs({ page, look }: Walk, { dialogs }: PageRow): Promise<string[]> {
  if (dialogs.length === 0) return [];
  return await inTallWindow(page, () => walkDialogs({ page, look }, dialogs));
}

async function walkDialogs(
  { page, look }: Pick<Walk, "page" | "look">,
  dialogs: PageRow["dialogs"],
): Promise<string[]> {
  const problems: string[] = [];
  const find = look === "wide" ? findPageProblems : findLookProblems;
  for (const { name, steps, smallSteps = steps, isSecret = false } of dialogs) {
    await take(page, look === "narrow" ? smallSteps : steps);
    const dialog = page.getByRole("dialog", { name }).last();
    await dialog.waitFor();
    problems.push(...label(`dialog ${name}`, await find(page)));
    if (isSecret) {
      await dialog.getByRole("checkbox", { name: "I have saved it" }).check();
      await dialog.getByRole("button", { name: "Done" }).click();
    } else await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    if ((await readFocus(page)).isOnBody) problems.push(`dialog ${name}: the focus is lost at its end`);
  }
  return problems;
}

async function checkPalette({ page }: Walk): Promise<string[]> {
  return await inTallWindow(page, async () => {
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Command palette" });
    await palette.getByRole("option").first().waitFor();
    const found = await findPageProblems(page);
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    return label("palette", found);
  });
}

/** The row beside which the sidebar is checked, too. */
const FIRST_WHOLE = Object.values(PAGE_ROWS).find(isWhole);

/** The checks of the page at rest, without a click on a button. */
async function checkAtRest({ page, look }: Walk, row: PageRow): Promise<string[]> {
  const isFirst = row === FIRST_WHOLE;
  const part = isFirst ? WHOLE_PAGE : undefined;
  const find = look === "narrow" && row.part === true ? findLookProblems : findPageProblems;
  const problems = await find(page, part);
  const drawn = await page.locator("#app img, #app [onerror]").count();
  if (drawn > 0) problems.push(`hostile data made ${drawn} elements`);
  if (row.part === true) return problems;
  if (look === "wide") {
    problems.push(...label("dark", await findContrastProblems(page, "dark", part)));
    await page.emulateMedia({ colorScheme: LOOKS.wide.colorScheme });
    problems.push(...await findEdgeless(page), ...await findCutText(page));
  }
  const from = isFirst || row.outside === true ? "body" : "main";
  // The order of the stops does not depend on the look, but where they are does.
  const stops = look === "wide" ? findStopProblems(page, from) : findControlProblems(page, from);
  return [...problems, ...await stops];
}

/** Scripts that the data ran, and addresses that it fetched. */
function watchForInjection(page: Page): string[] {
  const found: string[] = [];
  page.on("dialog", (dialog) => {
    // The question before unsaved input is lost.
    if (dialog.type() !== "beforeunload") found.push(`it ran: ${dialog.message()}`);
    void dialog.accept();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith("/x")) found.push(`it fetched: ${request.url()}`);
  });
  return found;
}

const ROWS = Object.entries(PAGE_ROWS);

function dataWalk(look: LookName): void {
  browserTest(`pages, ${look}: with hostile data, their dialogs and the palette`, async (tab, context) => {
    await using site = await startFullConsole({ dist: await currentDist(), names: HOSTILE_NAMES });
    const walk = { ...tab, site, look };
    const injected = watchForInjection(tab.page);
    await forEachRow(context, { rows: ROWS, ...tab }, async (row, mustLoad) => {
      row.before?.(site);
      await reach(walk, row, mustLoad);
      return [
        ...await checkAtRest(walk, row),
        ...await checkDialogs(walk, row),
        ...isWhole(row) && PALETTE_PLACES.has(row.place) ? await checkPalette(walk) : [],
        ...injected.splice(0),
      ];
    });
  }, { look });
}

/** For a page, both failures are an ApiFailure (`take()` of api_client.ts), so each row has one of them. */
function failureWalk(): void {
  browserTest("pages, narrow: when the server answers 500 or is gone", async (tab, context) => {
    const { page } = tab;
    await using site = await startFullConsole({ dist: await currentDist() });
    const walk: Walk = { ...tab, site, look: "narrow" };
    let rowsDone = 0;
    // The fault lasts for the whole walk: a page that another row shows too must not recover in between.
    await failApi(page, () => rowsDone % 2 === 0 ? "answers 500" : "is gone");
    await forEachRow(context, { rows: ROWS, ...tab }, async (row, mustLoad) => {
      const { role, says } = row.fails ?? { role: "alert", says: /\w{3}/ };
      // Only the failure is shown, so there is nothing else to wait for.
      const there = { ...row, shows: () => /./, heading: () => /./ };
      rowsDone += 1;
      await reach(walk, there, mustLoad);
      if (row.asks !== undefined) await take(page, row.asks);
      await page.locator("main").getByRole(role).filter({ hasText: says }).filter({ visible: true }).first()
        .waitFor();
      // A part fails in the same words as the page that it belongs to.
      return row.part === true ? await findTextProblems(page) : await findPageProblems(page);
    });
    await page.unrouteAll({ behavior: "wait" });
  }, { look: "narrow" });
}

function emptyWalk(): void {
  browserTest("pages, wide: without data", async (tab, context) => {
    await using site = await startFullConsole({ dist: await currentDist(), names: null });
    const walk: Walk = { ...tab, site, look: "wide" };
    const rows = ROWS.flatMap(([name, row]): [string, PageRow][] => {
      if (row.nothing === null) return [];
      const { says, path = row.path(site.names) } = row.nothing;
      return [[name, { ...row, path: () => path, heading: () => /\w/, shows: () => says, dialogs: [] }]];
    });
    await forEachRow(context, { rows, ...tab }, async (row, mustLoad) => {
      await reach(walk, row, mustLoad);
      return await findPageProblems(tab.page);
    });
  }, { look: "wide" });
}

/** A message stays while the pointer is on it, so one message is enough for all pages. */
function messageWalk(): void {
  browserTest("pages, narrow: with a message over them", async (tab, context) => {
    const { page } = tab;
    await using site = await startFullConsole({ dist: await currentDist(), names: HOSTILE_NAMES });
    const walk: Walk = { ...tab, site, look: "narrow" };
    const spare: PageRow = {
      ...{ place: "user", path: () => `/users/${FULL_SPARE}`, nothing: null, dialogs: [] },
      ...{ heading: () => FULL_SPARE, shows: () => FULL_SPARE },
    };
    const rows = ROWS.filter(([, row]) => isWhole(row));
    await forEachRow(context, { rows, ...tab }, async (row, mustLoad) => {
      if (mustLoad) {
        await openPage(page, { site, row: spare });
        await page.getByRole("button", { name: `More ${FULL_SPARE}` }).click();
        await page.getByRole("menuitem", { name: /^(Deactivate|Activate)$/ }).click();
        await page.locator(".toasts").getByRole("button", { name: "Undo" }).hover();
      }
      await reach(walk, { ...row, byName: undefined }, false);
      await page.locator(".toast").first().waitFor();
      // The page below it was checked before.
      const { covered } = await coveredControls(page);
      return [...label("covered", covered), ...await findLookProblems(page, { within: ".toasts" })];
    });
    await page.locator(".toasts").getByRole("button", { name: "Dismiss" }).first().click();
    await page.locator(".toast").first().waitFor({ state: "detached" });
  }, { look: "narrow" });
}

/**
 * Registers the walks over all pages in one look. An empty page has its widest table head in the wide window; a message
 * covers the most in the narrow one, and a failure has the least room there.
 */
export function pageMatrix(look: LookName): void {
  dataWalk(look);
  if (look === "wide") emptyWalk();
  else {
    failureWalk();
    messageWalk();
  }
}

// Accessibility checks besides the look: visible focus at every Tab stop (WCAG 2.4.7, 2.4.11), edges in forced colors,
// and complete text at twice its size.

const MAX_STOPS = 90;
const AT_ONCE = 15;

/** Walks by Tab from the beginning of the page, or of its content; returns the problems, and too few stops. */
export async function findStopProblems(page: Page, from: "body" | "main" = "body"): Promise<string[]> {
  const problems: string[] = [];
  await page.evaluate((from) => {
    const start = document.querySelector<HTMLElement>(from) ?? document.body;
    const before = start.getAttribute("tabindex");
    start.tabIndex = -1;
    start.focus();
    if (before === null) start.removeAttribute("tabindex");
    scrollTo(0, 0);
  }, from);
  for (let stops = 0; stops < MAX_STOPS; stops += AT_ONCE) {
    const states = await readStops(page, AT_ONCE);
    const end = states.findIndex(({ isOnBody }) => isOnBody);
    const seen = end < 0 ? states : states.slice(0, end);
    problems.push(...problemsOf(seen));
    if (end >= 0) {
      return stops + end < (from === "body" ? 2 : 1) ? [...problems, `${stops + end} stops`] : problems;
    }
  }
  return problems;
}

/** The same problems of the controls, without the way by Tab. */
export async function findControlProblems(page: Page, within: "body" | "main"): Promise<string[]> {
  const states = await readControls(page, within);
  return states.length === 0 ? ["no control"] : problemsOf(states);
}

const problemsOf = (states: readonly FocusState[]) =>
  states.filter(({ problem }) => problem !== "").map(({ name, problem }) => `${problem}: ${name}`);

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
  const window = page.viewportSize() ?? LOOKS.wide.viewport;
  for (const width of [window.width, 640]) {
    if (width !== window.width) await page.setViewportSize({ ...window, width });
    // One call, with two frames as in laidOut(). Only the layout counts, so nothing is drawn.
    const found = await page.evaluate(async () => {
      const root = document.documentElement;
      root.style.setProperty("font-size", "200%");
      root.style.setProperty("visibility", "hidden");
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const cut = [...document.querySelectorAll<HTMLElement>(
        "main .button, main h1, main h2, main .chip, main label",
      )]
        .filter((element) =>
          element.checkVisibility() && element.clientWidth > 0 &&
          getComputedStyle(element).overflow !== "visible" &&
          element.scrollWidth > element.clientWidth + 1 && element.closest(".cut") === null
        )
        .map((element) => `cut: ${element.outerHTML.slice(0, 120)}`);
      return root.scrollWidth > innerWidth ? [...cut, "scrolls sideways"] : cut;
    });
    problems.push(...found.map((what) => `at ${width} px with large text: ${what}`));
  }
  await page.setViewportSize(window);
  await page.evaluate(() => {
    for (const name of ["font-size", "visibility"]) document.documentElement.style.removeProperty(name);
  });
  return problems;
}
