// Every page in light, in dark and at 320 px by touch: at rest with data, with a message over it, with each of its dialogs, with the
// palette, with nothing in it, with a server that fails and one that is gone. Nothing that axe objects to, no sideways scroll.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PLACES } from "../../console/web/places.ts";
import { FULL_SPARE, type FullConsole, startFullConsole } from "../fakes/console_full.ts";
import { browserTest, closeBrowserAtEnd, currentDist, type LookName, LOOKS } from "./browser.ts";
import type { PlaceRow } from "./place_row.ts";
import { DIALOGS_ELSEWHERE, PLACE_ROWS } from "./place_rows.ts";
import {
  arrived,
  failApi,
  goWithin,
  mendApi,
  openPlace,
  problemsNow,
  type Scheme,
  take,
} from "./place_walk.ts";

const dist = await currentDist();
const WEB = new URL("../../console/web/", import.meta.url);

/** High enough for the palette's list: of a row that is cut at an edge axe cannot tell the contrast. */
const TALL = { light: { width: 1360, height: 2000 }, small: { width: 320, height: 2400 } };
/** What lies below an open dialog was looked at before, and can neither be seen into nor reached. */
const OPEN_DIALOG = "dialog[open]";
const SCHEMES: Readonly<Record<LookName, readonly Scheme[]>> = { light: ["light", "dark"], small: ["light"] };

interface Visit {
  readonly page: Page;
  readonly site: FullConsole;
  readonly row: PlaceRow;
  readonly look: LookName;
  readonly problems: string[];
}

async function note(visit: Visit, what: string, within?: string): Promise<void> {
  visit.problems.push(...await problemsNow(visit.page, { what, schemes: SCHEMES[visit.look], within }));
}

/** A deed elsewhere says something that is still there when the page comes. */
async function openWithToast({ page, site, row, look }: Visit): Promise<void> {
  const spare = { path: () => `/users/${FULL_SPARE}`, heading: () => FULL_SPARE, shows: () => FULL_SPARE };
  const at = { ...row, ...spare };
  await openPlace(page, { site, row: at });
  if (look === "small") await page.getByRole("button", { name: `More ${FULL_SPARE}` }).click();
  await page.getByRole("button", { name: "Deactivate" }).click();
  const toasts = page.locator(".toasts");
  await toasts.getByRole("button", { name: "Undo" }).hover();
  await goWithin(page, row.path(site.names));
  await arrived(page, { site, row });
}

async function walkDialogs(visit: Visit): Promise<void> {
  const { page, row, look } = visit;
  for (const { name, steps, smallSteps = steps, isSecret = false } of row.dialogs) {
    await take(page, look === "small" ? smallSteps : steps);
    const dialog = page.getByRole("dialog", { name }).last();
    await dialog.waitFor();
    await note(visit, `dialog ${name}`, OPEN_DIALOG);
    if (isSecret) {
      await dialog.getByRole("checkbox", { name: "I have kept it" }).check();
      await dialog.getByRole("button", { name: "Done" }).click();
    } else await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
}

async function walkPalette(visit: Visit): Promise<void> {
  const { page, look } = visit;
  await page.setViewportSize(TALL[look]);
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to or do" });
  await palette.getByRole("option").first().waitFor();
  await note(visit, "palette", OPEN_DIALOG);
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  await page.setViewportSize(LOOKS[look].viewport);
}

async function walkFailures(visit: Visit): Promise<void> {
  const { page, row } = visit;
  const { role, says } = row.fails ?? { role: "alert", says: /\w{3}/ };
  for (const how of ["answers 500", "is gone"] as const) {
    await failApi(page, how);
    if (row.outside === true) await page.goto(page.url());
    await page.reload();
    if (row.asks !== undefined) await take(page, row.asks);
    await page.locator("main").getByRole(role).filter({ hasText: says }).filter({ visible: true }).first()
      .waitFor();
    await note(visit, `the server ${how}`);
    await mendApi(page);
  }
}

async function walkEmpty(visit: Visit): Promise<void> {
  const { page, row, site } = visit;
  if (row.nothing === null) return;
  await using empty = await startFullConsole({ dist, names: null });
  const { path, says } = row.nothing;
  const heading = /\w/;
  const there = {
    ...row,
    heading: () => heading,
    shows: () => says,
    path: () => path ?? row.path(site.names),
  };
  await page.context().clearCookies();
  await openPlace(page, { site: empty, row: there });
  await note(visit, "with nothing in it");
}

async function walk(visit: Visit): Promise<void> {
  const { page, row, problems } = visit;
  const isWhole = row.outside !== true && row.part !== true;
  if (!isWhole) await openPlace(page, visit);
  else {
    await openWithToast(visit);
    await note(visit, "with a message over it");
    await page.locator(".toasts").getByRole("button", { name: "Dismiss" }).first().click();
    await page.locator(".toast").first().waitFor({ state: "detached" });
  }
  await note(visit, "at rest");
  await walkDialogs(visit);
  if (isWhole) await walkPalette(visit);
  await walkFailures(visit);
  await walkEmpty(visit);
  assertEquals(problems, []);
}

for (const [name, row] of Object.entries(PLACE_ROWS)) {
  for (const [look, where] of [["light", "in light and dark"], ["small", "at 320 px by touch"]] as const) {
    browserTest(`page "${name}" holds ${where}, in each of its states`, async ({ page }) => {
      await using site = await startFullConsole({ dist });
      await walk({ page, site, row, look, problems: [] });
    }, { look });
  }
}

Deno.test("PLACE_ROWS has every place, and every dialog of the console is looked at", async () => {
  const rows = Object.values(PLACE_ROWS);
  const had = new Set<string>(rows.map(({ place }) => place));
  assertEquals(Object.keys(PLACES).filter((name) => !had.has(name)), [], "places without a row");
  const walked = new Set([
    ...rows.flatMap(({ dialogs }) => dialogs.map(({ file }) => file)),
    ...Object.keys(DIALOGS_ELSEWHERE),
  ]);
  const drawing = await filesWith(/<(Confirm|Form|Secret)?Dialog\s|<dialog\s/);
  assertEquals(drawing.filter((file) => !walked.has(file)), [], "dialogs that no row opens");
  const files = await filesWith(/^/);
  assertEquals([...walked].filter((file) => !files.includes(file)), [], "rows of dialogs that are gone");
});

/** Files below `console/web` whose text matches. */
async function filesWith(pattern: RegExp, folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, WEB))) {
    if (isDirectory) found.push(...await filesWith(pattern, `${folder}${name}/`));
    else if (name.endsWith(".tsx") && pattern.test(await Deno.readTextFile(new URL(folder + name, WEB)))) {
      found.push(folder + name);
    }
  }
  return found;
}

closeBrowserAtEnd();
