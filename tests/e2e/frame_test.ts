// The frame in a real browser: places, the palette, keys, languages, looks, and what happens when a page does not come.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { startConsole } from "../fakes/console_app.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

const dist = await currentDist();
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

browserTest(
  "the palette opens by Ctrl K, finds by words, runs by Enter and gives the focus back",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    await enterAs(page, { site, role: "viewer" });
    await page.getByRole("searchbox").focus();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Go to or do" });
    await palette.getByRole("combobox").fill("dark");
    assertEquals(await palette.getByRole("option").count(), 1);
    await page.keyboard.press("Enter");
    await palette.waitFor({ state: "detached" });
    assertEquals(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assertEquals(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").fill("no such thing");
    await palette.getByText("Nothing here goes by that name.").waitFor();
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
  },
);

browserTest(
  "keys work on the page, not while somebody types, and not once switched off",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    await enterAs(page, { site, role: "viewer" });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme ?? "system");
    await page.keyboard.press("t");
    assertEquals(await theme(), "dark");
    await page.keyboard.press("/");
    assertEquals(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
    await page.keyboard.type("t");
    assertEquals([await theme(), await page.getByRole("searchbox").inputValue()], ["dark", "t"]);
    await page.getByRole("heading", { name: "Live" }).focus();
    await page.keyboard.press(".");
    assertEquals(await page.evaluate(() => document.documentElement.dataset.density), "cosy");
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    await help.getByText("Light or dark").waitFor();
    await help.getByLabel("Single keys do something").uncheck();
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.keyboard.press("t");
    assertEquals(await theme(), "dark");
    await page.reload();
    await page.getByRole("heading", { name: "Live" }).waitFor();
    await page.keyboard.press("t");
    assertEquals([await theme(), await page.evaluate(() => document.documentElement.dataset.density)], [
      "dark",
      "cosy",
    ]);
  },
);

browserTest("another language is put on at once and kept", async ({ page }) => {
  await using site = await startConsole({ dist });
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("button", { name: "Look" }).click();
  await page.getByRole("dialog").getByLabel("Language").selectOption("Deutsch");
  await page.getByRole("dialog", { name: "Aussehen" }).waitFor();
  assertEquals(await page.evaluate(() => document.documentElement.lang), "de");
  await page.reload();
  await page.getByRole("button", { name: "Abmelden" }).waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
});

browserTest(
  "a page whose files do not come says so, and comes after a reload",
  async ({ page, complaints }) => {
    await using site = await startConsole({ dist });
    const [chunk = ""] = dist.manifest.late["web/pages/live_page.tsx"] ?? [];
    await page.route(`**/assets/${chunk}`, (route) => route.abort());
    const [name = "", value = ""] = (await site.signIn("viewer")).split("=");
    await page.context().addCookies([{ name, value, url: site.origin }]);
    await page.goto(`${site.origin}/live`);
    assertMatch(await page.getByRole("alert").innerText(), /could not be fetched/);
    await page.unroute(`**/assets/${chunk}`);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Live" }).waitFor();
    complaints.length = 0;
  },
);

browserTest("a small screen has a bar, the rest behind More, and scrolls only down", async ({ page }) => {
  await using site = await startConsole({ dist });
  await enterAs(page, { site, role: "viewer" });
  assertEquals(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  assertEquals(await scrollsSideways(page), false);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "hidden" });
}, { look: "small" });

browserTest("the overlays hold in both themes: palette, help, look", async ({ page }) => {
  await using site = await startConsole({ dist });
  await enterAs(page, { site, role: "viewer" });
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const open of ["Find", "Keys", "Look"]) {
      await page.getByRole("button", { name: open }).click();
      await page.getByRole("dialog").waitFor();
      assertEquals(await findAccessibilityProblems(page), [], `${open}, ${scheme}`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }
  assert(await focusedText(page) !== "");
});

closeBrowserAtEnd();
