// The settings page in a browser: the address of each part, no secrets, and no problem for axe.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, findPageProblems } from "./page_checks.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";

const dist = await currentDist();
const SECRET = "a secret that must not be seen";
const TOML = `
  [radius]
  secret = "${SECRET}"
  unknown_users = "reject"
  [console]
  idle_minutes = 20
`;
const openSite = () => startPeopleConsole({ dist, toml: TOML });

/** Each part of the page: its anchor, and its content. */
const PARTS: Readonly<Record<string, { hash: string; seen: (page: Page) => Promise<void> }>> = {
  "sign-in rules": {
    hash: "",
    seen: async (page) => {
      await page.getByText("At least 12 characters").waitFor();
      await page.getByText(/Not available: .* has an IP address/).waitFor();
      await page.getByRole("row", { name: /console\.idle_minutes 20 set in the file 15/ }).waitFor();
    },
  },
  "retention": {
    hash: "#retention",
    seen: (page) => page.getByRole("row", { name: "Finished sign-ins 90 days store" }).waitFor(),
  },
  "RADIUS policy": {
    hash: "#radius",
    seen: async (page) => {
      await page.getByRole("row", { name: /radius\.unknown_users "reject" set in the file "auto"/ })
        .waitFor();
      await page.getByRole("row", { name: /radius\.secret set \(hidden\)/ }).waitFor();
      await page.getByText("Set in /srv/countersign.toml.").waitFor();
    },
  },
  "look": { hash: "#look", seen: (page) => page.getByLabel("Theme").waitFor() },
  "about": { hash: "#about", seen: (page) => page.getByRole("row", { name: "hono MIT" }).waitFor() },
};

browserTest(
  "/settings and /audit can be German, with dates, in an English browser",
  async ({ page }) => {
    await using site = await openSite();
    await enterAs(page, { site, role: "owner", path: "/settings", heading: "Settings" });
    await page.evaluate(() => localStorage.setItem("countersign-language", "de"));
    await page.reload();
    await page.getByRole("heading", { name: "Einstellungen", exact: true }).waitFor();
    await page.getByRole("row", { name: /console\.idle_minutes .*zählt als Nutzung/ }).waitFor();
    assertEquals(await page.locator("main [lang=en]").count(), 0);
    await site.put("ada");
    const atMs = Date.UTC(2031, 4, 9, 12);
    const record = { atMs, actor: "command", action: "invitation.make", user: "ada", deadlineMs: atMs };
    await site.store.commit({ mutations: [{ type: "set", key: ["audit", "zzzzzzzzzzz1"], value: record }] });
    await page.goto(`${site.origin}/audit`);
    const row = page.getByRole("row", { name: /Telefon-Einladung erstellt/ });
    await row.getByText(/^Läuft ab: 09\.05\.2031, \d\d:00:00$/).waitFor();
  },
);

browserTest("/settings: each part opens by its address, and no secret is shown", async ({ page }) => {
  await using site = await openSite();
  for (const { hash, seen } of Object.values(PARTS)) {
    await page.goto("about:blank");
    await enterAs(page, { site, role: "viewer", path: `/settings${hash}`, heading: "Settings" });
    await seen(page);
    assertEquals((await page.content()).includes(SECRET), false);
    assertEquals(await findPageProblems(page), []);
  }
});

browserTest("/settings opens by keys, searches, and keeps the search in the address", async ({ page }) => {
  await using site = await openSite();
  await enterAs(page, { site, role: "viewer" });
  await page.keyboard.press("g");
  await page.keyboard.press(",");
  await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
  await page.getByRole("link", { name: "RADIUS policy" }).click();
  await page.getByRole("row", { name: /radius\.state/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("unknown_users");
  await page.getByRole("row", { name: /radius\.state/ }).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /radius\.unknown_users/ }).waitFor();
  // The address changes a moment after the last key.
  await page.waitForURL((url) => url.searchParams.get("q") === "unknown_users");
  await page.getByLabel("Search settings").fill("nothing of that kind");
  await page.getByText("No setting matches").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("row", { name: /radius\.state/ }).waitFor();
});

browserTest("/settings changes the look of this browser, also from the palette", async ({ page }) => {
  await using site = await openSite();
  await enterAs(page, { site, role: "viewer" });
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Appearance" }).click();
  await page.getByLabel("Theme").selectOption("dark");
  assertEquals(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { name: "Einstellungen", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Aufbewahrung" }).click();
  await page.getByRole("row", { name: "Beendete Anmeldungen 90 Tage Datenspeicher" }).waitFor();
});

browserTest("/settings shows that it could not be read, and reads again on request", async ({ page }) => {
  await using site = await openSite();
  await page.route("**/console/api/settings", (route) => route.fulfill({ status: 500, body: "{}" }));
  await enterAs(page, { site, role: "viewer", path: "/settings", heading: "Settings" });
  await page.getByRole("alert").getByText("The settings could not be loaded.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.unroute("**/console/api/settings");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("At least 12 characters").waitFor();
});
