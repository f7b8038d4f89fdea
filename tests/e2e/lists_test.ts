// Every list at every width, what all lists have, and what Find finds.

import { assert, assertEquals } from "@std/assert";
import type { Locator, Page } from "../packages/playwright.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { startWorkingDay } from "../screenshots/working_day.ts";
import { consoleTests } from "./console_tests.ts";
import { browserTest, chooseRowAction, currentDist, enterAs, holds, LOOKS, openTab } from "./browser.ts";
import { assertHolds, findPageProblems } from "./page_checks.ts";
import { goWithin } from "./pages/page_walk.ts";

// Every list at every width, and what all lists have: the order, the columns, saved filters, the menu of a row, and the keys.

const fullTest = consoleTests(startFullConsole, { role: "owner" });
const test = consoleTests(startPeopleConsole, { role: "user_manager" });

/** The page of each list, and the heading of the column that names the row. */
const LISTS: readonly (readonly [path: string, heading: string, name: string])[] = [
  ["/users", "Users", "User name"],
  ["/groups", "Groups", "Group name"],
  ["/devices", "Authenticators", "User"],
  ["/clients", "RADIUS clients", "Name"],
  ["/targets", "Directories", "Name"],
  ["/credentials", "Provisioning tokens", "Name"],
  ["/connections", "Identity providers", "Name"],
  ["/connections/okta#users", "okta", "Name"],
  ["/access", "Administrators", "Name"],
  ["/access#tokens", "Administrators", "Name"],
  ["/access#sessions", "Administrators", "IP address"],
  ["/audit", "Audit log", "Actor"],
  ["/history", "Sign-in log", "User"],
  ["/health", "System status", "Component"],
  ["/groups/readers", "readers", "User name"],
];
const WIDTHS_PX = [320, 390, 600, 761, 800, 900, 1024, 1100, 1280, 1440, 1920];
const MIN_NAME_PX = 140;
const LONG_NAME = "guido.van.rossum-the-second@contractors.example.org";

/**
 * Whether the page or its table is too wide, the width of the cells of a column, and those that hide a part of their text.
 * Only the layout counts, so nothing is drawn.
 */
function measureList(
  page: Page,
  label: string,
): Promise<{ isTooWide: boolean; widthPx: number; cut: string[] }> {
  return page.evaluate(async (label) => {
    const root = document.documentElement;
    root.style.visibility = "hidden";
    // Two frames as in laidOut().
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const frame = document.querySelector(".table-frame");
    if (frame === null) throw new Error("There is no table");
    const cells = [...document.querySelectorAll<HTMLElement>("main td")]
      .filter(({ dataset }) => dataset.label === label);
    const cut = cells.flatMap((cell) => [...cell.querySelectorAll(".cut")])
      .filter((text) => text.scrollWidth > text.clientWidth + 1);
    return {
      isTooWide: root.scrollWidth > innerWidth || frame.scrollWidth > frame.clientWidth + 1,
      widthPx: Math.min(...cells.map((cell) => cell.getBoundingClientRect().width)),
      cut: cut.map(({ textContent }) => textContent ?? ""),
    };
  }, label);
}

fullTest(
  "lists: names are readable and no page scrolls sideways, from 320 to 1920 px",
  async ({ page, site, step }) => {
    await site.people.put(LONG_NAME, { displayName: "Guido van Rossum" });
    await site.people.putGroup("readers", [LONG_NAME]);
    await enterAs(page, { site, role: "owner", path: "/users", heading: "Users" });
    for (const [path, heading, name] of LISTS) {
      await step(path, async () => {
        await page.evaluate(() => document.documentElement.style.removeProperty("visibility"));
        await goWithin(page, path);
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await page.locator("main tbody tr").first().waitFor();
        for (const width of WIDTHS_PX) {
          await page.setViewportSize({ width, height: 900 });
          const at = `${path} at ${width} px`;
          const { isTooWide, widthPx, cut } = await measureList(page, name);
          assertEquals(isTooWide, false, at);
          // A column of short names leaves its room to the others.
          assert(widthPx >= MIN_NAME_PX || cut.length === 0, `${at}: ${name} is ${widthPx} px wide`);
          // On a card and on a wide screen, there is room for the whole name.
          if (width < 760 || width >= 1920) assertEquals(cut, [], at);
        }
      });
    }
  },
);

const rowNames = (page: Page) => page.locator("main tbody a.row-link").allInnerTexts();
const settled = (page: Page) =>
  page.waitForFunction(() => document.querySelector("main [data-busy]") === null);

async function sortedBy(page: Page, column: string): Promise<string | null> {
  await settled(page);
  return await page.getByRole("columnheader", { name: column }).getAttribute("aria-sort");
}

test("lists: a heading sorts on the server, the order is in the address, and a reload keeps it", async ({ page, site, open }) => {
  for (const [name, displayName] of [["ada", "Zoe"], ["bob", "Adam"], ["cyd", "Mia"]] as const) {
    await site.put(name, { displayName });
  }
  await open("/users", "Users");
  assertEquals(await sortedBy(page, "User name"), "ascending");
  const heading = page.getByRole("button", { name: "Display name" });
  await heading.click();
  await page.waitForURL(/sort=displayName/);
  await page.getByText("bob", { exact: true }).waitFor();
  assertEquals(await sortedBy(page, "Display name"), "ascending");
  assertEquals(await rowNames(page), ["bob", "cyd", "ada"]);
  await heading.click();
  await page.waitForURL(/sort=-displayName/);
  await page.waitForFunction(() => document.querySelector("main tbody a.row-link")?.textContent === "ada");
  assert(await heading.evaluate((one) => one === document.activeElement), "the focus stays on the heading");
  await page.reload();
  await page.getByText("bob", { exact: true }).waitFor();
  assertEquals(await rowNames(page), ["ada", "cyd", "bob"]);
  assertEquals(await sortedBy(page, "Display name"), "descending");
});

test("lists: columns are switched off and on, and this browser remembers them", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users", "Users");
  const status = page.getByRole("columnheader", { name: "Status" });
  await status.waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  const item = page.getByRole("menuitemcheckbox", { name: "Status" });
  await holds(() => item.getAttribute("aria-checked"), "true");
  await assertHolds(page);
  await item.click();
  await status.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("columnheader", { name: "User name" }).waitFor();
  assertEquals(await status.count(), 0);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitem", { name: "Reset columns" }).click();
  await status.waitFor();
});

test("lists: a filter is saved under a name, applied in another browser, and removed with an undo", async ({ page, site, open }) => {
  await site.put("ada");
  await site.put("bob", { active: false });
  await open("/users?status=inactive", "Users");
  await page.getByRole("row", { name: /bob/ }).waitFor();
  await page.getByRole("button", { name: "Saved filters" }).click();
  await page.getByRole("menuitem", { name: "Save current filters" }).click();
  const dialog = page.getByRole("dialog", { name: "Save current filters" });
  await dialog.getByLabel("Name of the filter").fill("Left us");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Filter Left us saved.").waitFor();

  const other = await openTab(LOOKS.wide);
  await enterAs(other.page, { site, role: "user_manager", path: "/users", heading: "Users" });
  await other.page.getByRole("row", { name: /ada/ }).waitFor();
  await other.page.getByRole("button", { name: "Saved filters" }).click();
  await other.page.getByRole("menuitemcheckbox", { name: "Left us" }).click();
  await other.page.getByRole("row", { name: /ada/ }).waitFor({ state: "detached" });
  await other.page.waitForURL(/\?status=inactive$/);
  await other.context.close();

  await page.getByRole("button", { name: "Saved filters" }).click();
  await page.getByRole("menuitem", { name: "Remove Left us" }).click();
  await page.getByText("Filter Left us removed.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Saved filters" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Left us" }).waitFor();
});

test("lists: a cell filters by its value, the chip clears it", async ({ page, site, open }) => {
  await site.put("ada");
  await site.put("bob", { active: false });
  await open("/users", "Users");
  await page.getByRole("row", { name: /bob/ }).getByRole("button", { name: "Deactivated" }).click();
  await page.getByRole("row", { name: /ada/ }).waitFor({ state: "detached" });
  await page.waitForURL(/status=inactive/);
  await page.getByRole("button", { name: /Status: Deactivated/ }).click();
  await page.getByRole("row", { name: /ada/ }).waitFor();
});

/** Presses Tab until the control has the focus. */
async function tabTo(control: Locator): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs += 1) {
    if (await control.evaluate((one) => one === document.activeElement)) break;
    await control.page().keyboard.press("Tab");
  }
}

test("lists: rows are selected and changed with the keyboard only", async ({ page, site, open }) => {
  for (const name of ["ada", "bob", "cyd", "dee"]) await site.put(name);
  await open("/users", "Users");
  await page.getByRole("row", { name: /dee/ }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.closest("tr")?.dataset.key ?? "");
  const moves = [["j", "ada"], ["ArrowDown", "bob"], ["End", "dee"], ["ArrowUp", "cyd"], ["k", "bob"], [
    "Home",
    "ada",
  ]];
  for (const [key = "", name] of moves) {
    await page.keyboard.press(key);
    assertEquals(await focused(), name, key);
  }
  await page.keyboard.press("x");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+X");
  const bar = page.getByRole("region", { name: "3 selected" });
  await bar.waitFor();
  await tabTo(bar.getByRole("button", { name: "Deactivate" }));
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Deactivate 3 users?" });
  await dialog.getByText("ada, bob, cyd").waitFor();
  await tabTo(dialog.getByRole("button", { name: "Deactivate 3 users" }));
  await page.keyboard.press("Enter");
  await page.getByText("3 users were deactivated.").waitFor();
  assertEquals((await site.target.directory.read("user", "cyd"))?.content.kind, "user");
});

test("lists: the menu of a row works with the keyboard, and gives the focus back", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users", "Users");
  const dots = page.getByRole("button", { name: "Actions for ada" });
  await dots.focus();
  await page.keyboard.press("Enter");
  const label = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "menuitem");
  assertEquals(await label(), "Open user");
  await page.keyboard.press("ArrowUp");
  assertEquals(await label(), "Audit log");
  await page.keyboard.press("Home");
  assertEquals(await label(), "Open user");
  await assertHolds(page);
  await page.keyboard.press("Escape");
  assert(await dots.evaluate((one) => one === document.activeElement), "the focus returns");
  await chooseRowAction(page, { of: "ada", action: "Show sign-ins" });
  await page.waitForURL(/\/history\?user=ada$/);
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
});

test("lists: a small screen shows cards, a select for the order, and one line for the selection", {
  look: "narrow",
}, async ({ page, site, open }) => {
  await site.put("ada", { displayName: "Zoe" });
  await site.put("bob", { displayName: "Adam" });
  await open("/users", "Users");
  await page.getByRole("button", { name: "Filters and columns" }).click();
  await page.getByLabel("Sort by").selectOption("displayName");
  await page.waitForURL(/sort=displayName/);
  await page.waitForFunction(() => document.querySelector("main tbody a.row-link")?.textContent === "bob");
  await assertHolds(page);
  await page.getByRole("checkbox", { name: "Select ada" }).check();
  const bar = page.getByRole("region", { name: "1 selected" });
  const box = await bar.boundingBox();
  assert(box !== null && box.height < 110 && box.y + box.height <= 640, JSON.stringify(box));
  await bar.getByRole("button", { name: "Actions for the selection" }).click();
  await page.getByRole("menuitem", { name: "Deactivate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deactivate 1 user" }).click();
  await page.getByText("1 user was deactivated.").waitFor();
});

test("the skip link is the first control, and moves the focus to the heading", async ({ page, open }) => {
  await open("/users", "Users");
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Users");
});

// Find (Ctrl K) in a browser: objects, addresses and settings, each with what it is, and the page that Enter opens.

/** A text, what is found, and the address that it opens. */
const FOUND: readonly (readonly [typed: string, option: RegExp, address: RegExp])[] = [
  ["vpn-2", /^vpn-2 · 203[.]0[.]113[.]0\/24\s*RADIUS client/, /\/clients\/vpn-2$/],
  [
    "203.0.113.27",
    /^203[.]0[.]113[.]27\s*Sign-ins from this address/,
    /\/history\?place=203[.]0[.]113[.]27$/,
  ],
  ["lockout", /Lockout.*Setting$/, /\/settings\/limits#factors[.]lockout[.]/],
  ["public url", /Setting$/, /\/settings\/console#http[.]public_url$/],
  ["remote", /^remote · default\s*Group/, /\/groups\/remote/],
  ["ada.lov", /^ada[.]lovelace.*User$/, /\/users\/ada[.]lovelace$/],
];

browserTest(
  "Ctrl K finds clients, addresses, settings, groups and users, and opens them",
  async ({ page }) => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    await enterAs(page, { site, role: "viewer", path: "/overview", heading: "Overview" });
    for (const [typed, option, address] of FOUND) {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", {
        name: "Search pages, users, clients, addresses and settings",
      });
      await field.fill(typed);
      const found = page.getByRole("option").filter({ hasText: option });
      await found.first().waitFor();
      if (typed === "lockout") assertEquals(await findPageProblems(page), []);
      await found.first().click();
      await page.waitForURL(address);
    }
  },
);
