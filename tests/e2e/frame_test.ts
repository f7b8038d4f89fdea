// The frame in a browser: routes, palette, keys, languages, looks, messages of pages, and toasts.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { scriptsOfPage } from "../../console/assets.ts";
import type { Page } from "../packages/playwright.ts";
import { startConsole } from "../fakes/console_app.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import {
  coveredControls,
  findAccessibilityProblems,
  findMessageKeys,
  scrollsSideways,
  WHOLE_PAGE,
} from "./page_checks.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";
import { listensFor, runUserAction } from "./page_actions.ts";
import { consoleTests } from "./console_tests.ts";
import { rowOf } from "./pages/page_rows.ts";
import { arrived, goWithin } from "./pages/page_walk.ts";

// The frame in a browser: routes, the palette, keys, languages, looks, and pages that fail to load.

const test = consoleTests(startConsole, { role: "viewer" });

const dist = await currentDist();
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

test("the palette opens by Ctrl K, finds by words, runs by Enter and returns the focus", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Command palette" });
  await palette.getByRole("combobox").fill("dark");
  await holds(() => palette.getByRole("option").count(), 1);
  await page.keyboard.press("Enter");
  await palette.waitFor({ state: "detached" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  assertEquals(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
  await page.keyboard.press("Control+k");
  await palette.getByRole("combobox").fill("no such thing");
  await palette.getByText("No results.").waitFor();
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
});

test("keys work on the page, not during typing, and not when they are disabled", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme ?? "system");
  await page.keyboard.press("t");
  assertEquals(await theme(), "dark");
  await page.keyboard.press("/");
  assertEquals(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
  await page.keyboard.type("t");
  await holds(async () => [await theme(), await page.getByRole("searchbox").inputValue()], ["dark", "t"]);
  await page.getByRole("heading", { name: "Sign-in log" }).focus();
  await page.keyboard.press(".");
  assertEquals(await page.evaluate(() => document.documentElement.dataset.density), "cosy");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.getByText("Light or dark theme").waitFor();
  await help.getByLabel("Keyboard shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await page.keyboard.press("t");
  assertEquals(await theme(), "dark");
  await page.reload();
  await page.getByRole("heading", { name: "Sign-in log" }).waitFor();
  // A key before the page listens would prove nothing.
  await page.locator("html[data-keys]").waitFor({ state: "attached" });
  await page.keyboard.press("t");
  assertEquals([await theme(), await page.evaluate(() => document.documentElement.dataset.density)], [
    "dark",
    "cosy",
  ]);
});

test("another language applies at once and is stored", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  await page.getByRole("button", { name: "Appearance" }).click();
  await page.getByRole("dialog").getByLabel("Language").selectOption("Deutsch");
  await page.getByRole("dialog", { name: "Darstellung" }).waitFor();
  assertEquals(await page.evaluate(() => document.documentElement.lang), "de");
  await page.reload();
  await page.getByRole("button", { name: "Abmelden" }).waitFor();
  assertEquals(await findAccessibilityProblems(page, WHOLE_PAGE), []);
});

test("a page whose files do not load shows a message, and works after a reload", async ({ page, complaints, site }) => {
  const [chunk = ""] = scriptsOfPage(dist.manifest, "live");
  await page.route(`**/assets/${chunk}`, (route) => route.abort());
  const [name = "", value = ""] = (await site.signIn("viewer")).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(`${site.origin}/live`);
  await holds(() => page.getByRole("alert").innerText(), /could not be loaded/);
  await page.unroute(`**/assets/${chunk}`);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { name: "Sign-in log" }).waitFor();
  complaints.length = 0;
});

test(
  "a small screen has a bar, the other entries behind More, and scrolls only vertically",
  { look: "narrow" },
  async ({ page, open }) => {
    await open("/live", "Sign-in log");
    assertEquals(await page.getByRole("button", { name: "Sign out" }).count(), 0);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    assertEquals(await findAccessibilityProblems(page, WHOLE_PAGE), []);
    assertEquals(await scrollsSideways(page), false);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "hidden" });
  },
);

/** The controls of the sidebar that are cut off by the window or lie below another element. */
const hiddenControls = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>(".sidebar .find, .sidebar-end .button")].filter((one) => {
      const { left, top, width, height, bottom } = one.getBoundingClientRect();
      return bottom > innerHeight ||
        !one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }).map(({ textContent }) => textContent)
  );

for (const [width, height] of [[800, 600], [1280, 720], [320, 568]] as const) {
  test(`at ${width} × ${height}, the pages of the sidebar scroll and its other controls stay visible`, async ({ page, open }) => {
    await page.setViewportSize({ width, height });
    await open("/settings", "Settings");
    if (width < 761) await page.getByRole("button", { name: "More" }).click();
    const nav = page.getByRole("navigation", { name: "Pages" });
    await nav.getByRole("link", { name: "Settings" }).waitFor();
    assertEquals(await hiddenControls(page), []);
    assertEquals(await nav.evaluate((one) => one.scrollHeight - one.clientHeight), 0);
    // The link of this page is visible without scrolling.
    if (width > 760) {
      const link = await nav.getByRole("link", { name: "Settings" }).boundingBox();
      const end = await nav.locator(".sidebar-end").boundingBox();
      assert(link !== null && end !== null && link.y + link.height <= end.y);
    }
    // Of a heading that is partly scrolled away, axe cannot tell the contrast.
    assertEquals(await findAccessibilityProblems(page, { within: ".sidebar-end" }), []);
    await nav.getByRole("button", { name: "Appearance" }).click();
    await page.getByRole("dialog", { name: "Appearance" }).waitFor();
  });
}

browserTest(
  "a link moves the focus to the heading; Back restores filters and scroll position",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    for (let number = 1; number <= 60; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
    await enterAs(page, { site, role: "user_manager", path: "/users?q=user", heading: "Users" });
    const last = page.getByRole("link", { name: "user40" });
    await last.scrollIntoViewIfNeeded();
    const top = await page.evaluate(() => scrollY);
    await last.click();
    await page.getByRole("heading", { name: "user40", level: 1 }).waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === "H1");
    assertMatch(await page.title(), /^user40 · Countersign$/);
    assertEquals(await page.evaluate(() => scrollY), 0);
    await page.goBack();
    await last.waitFor();
    await page.waitForFunction((kept) => Math.abs(scrollY - kept) < 2, top);
    await holds(() => page.getByRole("searchbox").inputValue(), "user");
    assert(top > 0);
  },
);

browserTest("rows are selected by j and k, opened by Enter, left by Escape", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  for (const name of ["ada", "bob", "cid", "dot"]) await site.put(name);
  await enterAs(page, { site, role: "user_manager", path: "/users", heading: "Users" });
  await page.getByRole("link", { name: "dot" }).waitFor();
  await listensFor(page, ["j", "k"]);
  await page.keyboard.press("j");
  assertEquals(await focusedText(page), "ada");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assertEquals(await focusedText(page), "bob");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
});

browserTest("the palette finds a user by name, hostile or not, and opens the page", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  const hostile = '"><img src=x onerror=alert(1)>';
  await site.put("grace");
  await site.put(hostile);
  await enterAs(page, { site, role: "viewer" });
  await page.keyboard.press("Control+k");
  const box = page.getByRole("dialog").getByRole("combobox");
  await box.fill('"><img');
  await page.getByRole("option", { name: hostile }).waitFor();
  await box.fill("grac");
  await page.getByRole("option", { name: "grace" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "grace", level: 1 }).waitFor();
  assertEquals(await page.locator("#app img").count(), 0);
});

test("an unknown address shows a message inside the frame", async ({ page, site, open }) => {
  await open("/live", "Sign-in log");
  await page.evaluate(() => {
    history.pushState(null, "", "/live/no/such/place/%ZZ");
    dispatchEvent(new PopStateEvent("popstate"));
  });
  await page.getByRole("heading", { name: "This page does not exist" }).waitFor();
  await page.getByRole("link", { name: "Go to the start page" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  const typed = await page.goto(`${site.origin}/nope`);
  assertEquals(typed?.status(), 404);
  await page.getByRole("heading", { name: "This page does not exist" }).waitFor();
});

// The messages of a page load with the page, in the language of the administrator.

const ownerTest = consoleTests(startConsole, { role: "owner" });

ownerTest(
  "pages have the messages of the new language after a change, also those that were opened earlier",
  async ({ page, open }) => {
    await open("/users", "Users");
    await page.getByRole("link", { name: "RADIUS clients" }).click();
    await page.getByRole("heading", { name: "RADIUS clients", level: 1 }).waitFor();
    assertEquals(await findMessageKeys(page), []);
    await page.getByRole("button", { name: "Appearance" }).click();
    await page.getByRole("dialog").getByLabel("Language").selectOption("Deutsch");
    await page.getByRole("dialog", { name: "Darstellung" }).waitFor();
    await page.keyboard.press("Escape");
    for (const [link, heading] of [["Benutzer", "Benutzer"], ["Verzeichnisse", "Verzeichnisse"]] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      assertEquals(await findMessageKeys(page), [], heading);
    }
  },
);

ownerTest(
  "a page whose messages do not load says so instead of showing their keys, and loads them at the next visit",
  async ({ page, open }) => {
    const messages = "**/assets/messages-web-users-*";
    await page.route(messages, (route) => route.abort());
    await open("/clients", "RADIUS clients");
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "This page could not be loaded." }).waitFor();
    assertEquals(await findMessageKeys(page), []);
    await page.unroute(messages);
    await page.getByRole("link", { name: "RADIUS clients" }).click();
    await page.getByRole("heading", { name: "RADIUS clients", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    assertEquals(await findMessageKeys(page), []);
  },
);

// Toast messages: they cover no control, do not move the page, have a permanent live region, and "Undo" outlives its
// page.

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

const USERS = 30;
const SAID = "ada can no longer sign in.";

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
  await holds(() => page.locator(".toast").count(), 1);
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

peopleTest(
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

peopleTest("toasts: the live region is there before and after a message", async ({ page, site, open }) => {
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
  peopleTest(
    `undo: ${what} that is not restored is reported on whatever page is open`,
    async ({ page, site, open }) => {
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
    },
  );
}
