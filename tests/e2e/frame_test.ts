// The frame in a browser: routes, the palette, keys, languages, looks, and pages that fail to load.

import { scriptsOfPage } from "../../console/assets.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startConsole } from "../fakes/console_app.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, scrollsSideways } from "./page_checks.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { listensFor } from "./key_rows.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startConsole, { role: "viewer" });

const dist = await currentDist();
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

test("the palette opens by Ctrl K, finds by words, runs by Enter and returns the focus", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Command palette" });
  await palette.getByRole("combobox").fill("dark");
  assertEquals(await palette.getByRole("option").count(), 1);
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
  assertEquals([await theme(), await page.getByRole("searchbox").inputValue()], ["dark", "t"]);
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
  assertEquals(await findAccessibilityProblems(page), []);
});

test("a page whose files do not load shows a message, and works after a reload", async ({ page, complaints, site }) => {
  const [chunk = ""] = scriptsOfPage(dist.manifest, "live");
  await page.route(`**/assets/${chunk}`, (route) => route.abort());
  const [name = "", value = ""] = (await site.signIn("viewer")).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(`${site.origin}/live`);
  assertMatch(await page.getByRole("alert").innerText(), /could not be loaded/);
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
    assertEquals(await findAccessibilityProblems(page), []);
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

test("the overlays have no problem in both themes: palette, help, look", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  // High enough for the palette's list: axe cannot compute the contrast of a row that is cut off.
  await page.setViewportSize({ width: 1360, height: 2000 });
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const open of ["Find", "Shortcuts", "Appearance"]) {
      await page.getByRole("button", { name: open }).click();
      await page.getByRole("dialog").waitFor();
      assertEquals(await findAccessibilityProblems(page), [], `${open}, ${scheme}`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }
  assert(await focusedText(page) !== "");
});

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
    assertEquals(await page.getByRole("searchbox").inputValue(), "user");
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
