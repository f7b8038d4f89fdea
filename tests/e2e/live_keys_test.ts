// Live narrowed by a click on a cell, and worked by its keys. In a real browser.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";
import { listensFor } from "./key_rows.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const LIVE_KEYS = [" ", "n", "i", "r", "j", "k"];

function putThree(site: TestConsole): void {
  const startedMs = Date.now() - 5000;
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  const grace = conversation(2, { user: "grace", client: "wifi", startedMs });
  site.watch.put(ended(grace, { outcome: "accepted", row: "approved", atMs: startedMs + 2000 }));
  // Long enough that its replay is not over before it is stopped.
  site.watch.put(conversation(3, { user: "alan", client: "wifi", startedMs, updatedMs: startedMs + 60_000 }));
}

const focusIn = (page: Page, selector: string) =>
  page.waitForFunction((inside) => document.activeElement?.matches(inside) === true, selector);

for (
  const { cell, name, query, left } of [
    { cell: "user", name: "Show only alan", query: "?q=alan", left: "1 of 3 logins" },
    { cell: "client", name: "wifi", query: "?client=wifi", left: "2 of 3 logins" },
    { cell: "state", name: "Accepted", query: "?state=accepted", left: "1 of 3 logins" },
  ]
) {
  browserTest(`a click on the ${cell} of a row narrows Live to it, and opens nothing`, async ({ page }) => {
    await using site = await startConsole({ dist });
    putThree(site);
    await enterAs(page, { site, role: "viewer" });
    const list = page.getByRole("table", { name: "Logins" });
    await list.getByRole("button", { name, exact: true }).first().click();
    await page.getByText(left).waitFor();
    await page.waitForURL((url) => url.search === query);
    assertEquals(await page.getByRole("complementary").count(), 0);
    await page.getByRole("button", { name: "1 filter" }).click();
    await page.getByText("3 logins", { exact: true }).waitFor();
  });
}

browserTest("Live is narrowed to one target, in the address too", async ({ page }) => {
  await using site = await startConsole({ dist });
  putThree(site);
  site.watch.put(conversation(4, { user: "visitor", target: "guests" }));
  await enterAs(page, { site, role: "viewer" });
  await page.getByText("4 logins", { exact: true }).waitFor();
  await page.getByLabel("Target", { exact: true }).selectOption("guests");
  await page.getByText("1 of 4 logins").waitFor();
  await page.waitForURL((url) => url.search === "?target=guests");
  await page.getByRole("link", { name: "visitor" }).waitFor();
});

browserTest(
  "keys on Live: i into the inspector, r plays and stops, Space pauses, n shows what is newer",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    putThree(site);
    await enterAs(page, { site, role: "viewer" });
    await page.getByRole("link", { name: "alan" }).waitFor();
    await listensFor(page, ["i"]);
    await page.keyboard.press("i");
    await focusIn(page, ".inspector .body");
    await page.waitForURL((url) => url.searchParams.get("c") === "c0000000003");
    // The inspector's own: before it is there, the key would begin at the beginning.
    await page.getByRole("button", { name: "Play" }).waitFor();
    await listensFor(page, ["r"]);
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.waitForURL(/[?&]t=/);
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Play" }).waitFor();
    await page.keyboard.press("j");
    await focusIn(page, ".rows .row a");
    await page.keyboard.press("j");
    site.watch.put(conversation(4, { user: "edsger", startedMs: Date.now() }));
    await page.getByRole("button", { name: "1 newer" }).waitFor();
    // The new row must not take the element that has the focus.
    assertEquals(await page.evaluate(() => document.activeElement?.textContent), "grace");
    await page.keyboard.press("n");
    await page.getByRole("link", { name: "edsger" }).waitFor();
    await page.getByRole("heading", { name: "Live", level: 1 }).focus();
    await page.keyboard.press(" ");
    await page.getByRole("button", { name: "Go on" }).waitFor();
    await page.keyboard.press(" ");
    await page.getByRole("button", { name: "Pause" }).waitFor();
  },
);

browserTest("r without a chosen login opens the newest at its beginning", async ({ page }) => {
  await using site = await startConsole({ dist });
  putThree(site);
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("link", { name: "alan" }).waitFor();
  await listensFor(page, ["r"]);
  await page.keyboard.press("r");
  await page.getByRole("slider", { name: "Moment of the replay" }).waitFor();
  await page.waitForURL((url) => url.search === "?c=c0000000003&t=0");
  assertEquals(await page.locator(".moments .to-come").count(), 1);
});

browserTest("the help names every key of Live, and the narrowed list has no barrier", async ({ page }) => {
  await using site = await startConsole({ dist });
  putThree(site);
  await enterAs(page, { site, role: "viewer", path: "/live?client=wifi" });
  await page.getByRole("link", { name: "alan" }).focus();
  assertEquals(await findAccessibilityProblems(page), []);
  // The help shows the keys that are on when it opens.
  await listensFor(page, LIVE_KEYS);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog");
  await help.getByText("Pause or go on").waitFor();
  const keys = await help.locator("dt").allInnerTexts();
  for (const key of LIVE_KEYS) {
    const name = key === " " ? "Space" : key;
    assert(keys.some((one) => one.trim() === name), `${name} is not in the help`);
  }
});
