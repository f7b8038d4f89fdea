// Toast messages: they cover no control, do not move the page, have a permanent live region, and "Undo" outlives its
// page.

import { assert, assertEquals } from "@std/assert";
import { startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import type { Page } from "../packages/playwright.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, scrollsSideways } from "./page_checks.ts";
import { rowOf } from "./pages/page_rows.ts";
import { arrived, goWithin } from "./pages/page_walk.ts";
import { runUserAction } from "./user_menu.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

const dist = await currentDist();
const USERS = 30;
const SAID = "ada can no longer sign in.";

/** Controls whose visible part lies below a message, by their text, and their total number. */
function coveredControls(page: Page): Promise<{ covered: string[]; count: number }> {
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

/** Asserts that no control lies below a message, at any scroll position. */
async function coversNothing(page: Page, what: string): Promise<void> {
  for (const part of [0, 0.5, 1]) {
    await page.evaluate((part) => {
      for (const one of [document.documentElement, document.body]) {
        one.scrollTop = part * one.scrollHeight;
      }
    }, part);
    const { covered, count } = await coveredControls(page);
    assertEquals(covered, [], `${what}, scrolled by ${part}`);
    assert(count > 4, what);
  }
  assertEquals(await scrollsSideways(page), false, what);
  assertEquals(await page.locator(".toast").count(), 1);
}

/** Deactivates the user of the page, which shows a message with "Undo". */
async function say(page: Page): Promise<void> {
  await runUserAction(page, "Deactivate");
  // Under the pointer it stays.
  await page.locator(".toast").getByRole("button", { name: "Undo" }).hover();
}

for (const [width, height] of [[390, 760], [320, 640]] as const) {
  browserTest(
    `toasts: at ${width} px no control lies below a message, at any scroll position`,
    async ({ page }) => {
      await using site = await startFullConsole({ dist });
      for (let number = 1; number <= USERS; number += 1) await site.people.put(`user${number}`);
      await page.setViewportSize({ width, height });
      await enterAs(page, { site, role: "owner", path: "/users/zoe", heading: "zoe" });
      await say(page);
      await coversNothing(page, "zoe");
      for (const name of ["users", "history", "audit", "clients", "settings"]) {
        const row = rowOf(name);
        await goWithin(page, row.path(site.names));
        await arrived(page, { site, row });
        await coversNothing(page, name);
      }
    },
    { look: "narrow" },
  );
}

test(
  "toasts: a message does not move the page when it appears and disappears",
  { look: "narrow" },
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await page.setViewportSize({ width: 390, height: 500 });
    await open("/users/ada#profile", "ada");
    const title = page.getByLabel("Title");
    await title.scrollIntoViewIfNeeded();
    const topOf = () => title.evaluate((one) => Math.round(one.getBoundingClientRect().top));
    // A message that another control of the page would show.
    await page.getByRole("button", { name: "More ada" }).click();
    await page.locator("[role=menu] :focus").waitFor();
    await page.evaluate(() => scrollTo(0, 200));
    const before = await topOf();
    await page.getByRole("menuitem", { name: "Deactivate" }).evaluate((one: HTMLElement) => one.click());
    // Under the pointer it stays.
    await page.locator(".toast").getByRole("button", { name: "Dismiss" }).hover();
    // The page also shows it above the form, in a part that loads late.
    await page.locator("main").getByRole("status").filter({ hasText: SAID }).waitFor();
    const shown = await topOf();
    assert(Math.abs(shown - before) < 120, `${before} and ${shown}`);
    await page.locator(".toast").getByRole("button", { name: "Dismiss" }).click();
    await page.locator(".toast").waitFor({ state: "detached" });
    assertEquals(await topOf(), shown);
  },
);

test("toasts: the live region is there before and after a message", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users/ada", "ada");
  const region = await page.locator(".toasts").elementHandle();
  const isThere = () =>
    page.locator(".toasts").evaluate((one, first) => one === first && one.checkVisibility(), region);
  assertEquals(await isThere(), true);
  await runUserAction(page, "Deactivate");
  await page.locator(".toasts").filter({ hasText: SAID }).waitFor();
  assertEquals(await isThere(), true);
  await page.locator(".toast").getByRole("button", { name: "Dismiss" }).click();
  await page.locator(".toast").waitFor({ state: "detached" });
  assertEquals(await isThere(), true);
  assertEquals(await findAccessibilityProblems(page), []);
});

interface UndoCase {
  readonly path: string;
  readonly heading: string;
  readonly change: (page: Page) => Promise<void>;
  /** The calls that undo the change. */
  readonly calls: RegExp;
  readonly failed: string;
}

const CASES: Readonly<Record<string, UndoCase>> = {
  "a deactivation": {
    path: "/users/ada",
    heading: "ada",
    change: (page) => runUserAction(page, "Deactivate"),
    calls: /\/users\/ada\/active/,
    failed: "The change of ada could not be undone.",
  },
  "a user's group": {
    path: "/users/eve#groups",
    heading: "eve",
    change: (page) => page.getByRole("button", { name: "Remove staff" }).click(),
    calls: /\/users\/eve\/groups/,
    failed: "staff was not changed.",
  },
  "a group's member": {
    path: "/groups/staff",
    heading: "staff",
    async change(page) {
      await page.getByLabel("Select eve").check();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
    },
    calls: /\/groups\/staff\/members/,
    failed: "staff was not changed.",
  },
};

for (const [what, { path, heading, change, calls, failed }] of Object.entries(CASES)) {
  test(`undo: ${what} that is not restored is reported on whatever page is open`, async ({ page, site, open }) => {
    for (const name of ["ada", "eve"]) await site.put(name);
    await site.putGroup("staff", ["eve"]);
    await open(path, heading);
    await change(page);
    const undo = page.locator(".toast").getByRole("button", { name: "Undo" });
    await undo.waitFor();
    await goWithin(page, "/users");
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    await page.route(calls, (route) => route.abort());
    await undo.click();
    await page.locator(".toast").getByText(failed).waitFor();
  });
}
