// The Settings page in a browser: topics, fixed fields, tests of services, search, languages.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, findPageProblems } from "./page_checks.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";

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
const test = consoleTests(startPeopleConsole, { role: "owner", toml: TOML });

const LIMIT = "Failed attempts before a lock";

/** Each topic: its address, and its content. */
const TOPICS: Readonly<Record<string, { path: string; seen: (page: Page) => Promise<void> }>> = {
  "sign-in": { path: "", seen: (page) => page.getByLabel("Time limit of a sign-in").waitFor() },
  "factors": { path: "/factors", seen: (page) => page.getByLabel("Push to a phone").waitFor() },
  "limits": { path: "/limits", seen: (page) => page.getByLabel(LIMIT).waitFor() },
  "telephony": { path: "/telephony", seen: (page) => page.getByLabel("Sender number").waitFor() },
  "push service": {
    path: "/second_factor",
    seen: (page) => page.getByRole("region", { name: "Test the push service" }).waitFor(),
  },
  "RADIUS": {
    path: "/radius",
    seen: async (page) => {
      await page.getByText("Set in /srv/countersign.toml").first().waitFor();
      await page.getByText("Reject", { exact: true }).waitFor();
    },
  },
  "console access": {
    path: "/console",
    seen: async (page) => {
      await page.getByText("20 minutes").waitFor();
      await page.getByText("At least 12 characters").waitFor();
      await page.getByText(/Not available: .* has an IP address/).waitFor();
    },
  },
  "retention": {
    path: "/system",
    seen: (page) => page.getByRole("row", { name: "Finished sign-ins 90 days store" }).waitFor(),
  },
  "retention at its old address": {
    path: "#retention",
    seen: (page) => page.getByRole("row", { name: "Finished sign-ins 90 days store" }).waitFor(),
  },
  "appearance": { path: "/appearance", seen: (page) => page.getByLabel("Theme").waitFor() },
  "about": { path: "/about", seen: (page) => page.getByRole("row", { name: "hono MIT" }).waitFor() },
};

for (const role of ["owner", "viewer"] as const) {
  browserTest(
    `/settings: each topic opens by its address for the role ${role}, and no secret is shown`,
    async ({ page }) => {
      await using site = await openSite();
      for (const { path, seen } of Object.values(TOPICS)) {
        await page.goto("about:blank");
        await enterAs(page, { site, role, path: `/settings${path}`, heading: "Settings" });
        if (role === "owner") await seen(page);
        else await page.getByRole("navigation", { name: "Topics" }).waitFor();
        assertEquals((await page.content()).includes(SECRET), false);
        assertEquals(await findPageProblems(page), [], path);
      }
    },
  );
}

test("/settings shows values as text to a viewer, with the reason", async ({ page, open }) => {
  await open("/settings/limits", "Settings", { role: "viewer" });
  await page.getByText("Requires the owner role").waitFor();
  await page.getByText(LIMIT, { exact: true }).waitFor();
  assertEquals(await page.getByRole("main").getByRole("textbox").count(), 0);
});

test("/settings: fields of the settings file are text and name the file", async ({ page, open }) => {
  await open("/settings/console", "Settings");
  const row = page.locator('[id="console.idle_minutes"]');
  await row.getByText("Set in /srv/countersign.toml").waitFor();
  assertEquals(await row.getByRole("textbox").count(), 0);
  const listen = page.locator('[id="http.listen"]');
  await listen.getByText("Requires a restart: edit the settings file.").waitFor();
  assertEquals(await listen.getByRole("textbox").count(), 0);
});

test("/settings: a test of a service says what is missing, and uses the values of the form", async ({ page, open }) => {
  await open("/settings/second_factor", "Settings");
  const panel = page.getByRole("region", { name: "Test the push service" });
  await panel.getByRole("button", { name: "Run test" }).click();
  await panel.getByText("The embedded service is used. There is nothing to test.").waitFor();
  await page.getByLabel("Service address").fill("https://127.0.0.1:1");
  await panel.getByText("The embedded service is used.").waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Run test" }).click();
  await panel.getByText("correct the marked values first").waitFor();
  await page.locator('[id="second_factor.consumer_key-problem"]').waitFor();
  // The bar with "Save" covers the end of the window, and axe cannot measure the contrast below it.
  await panel.evaluate((element) => element.scrollIntoView({ block: "center" }));
  assertEquals(await findAccessibilityProblems(page), []);
});

test(
  "/settings opens by keys, searches all topics, and keeps the search in the address",
  { role: "viewer" },
  async ({ page, open }) => {
    await open("/live", "Sign-in log");
    await page.keyboard.press("g");
    await page.keyboard.press(",");
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
    await page.getByText("Time limit of a sign-in", { exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("unknown_users");
    await page.getByText("1 setting found.").waitFor();
    await page.getByText("Unknown users", { exact: true }).waitFor();
    // The address changes a moment after the last key.
    await page.waitForURL((url) => url.searchParams.get("q") === "unknown_users");
    await page.getByLabel("Search settings").fill("nothing of that kind");
    await page.getByText("No setting matches").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("Time limit of a sign-in", { exact: true }).waitFor();
  },
);

browserTest("/settings and /audit can be German, with dates, in an English browser", async ({ page }) => {
  await using site = await openSite();
  await enterAs(page, { site, role: "owner", path: "/settings/limits", heading: "Settings" });
  await page.evaluate(() => localStorage.setItem("countersign-language", "de"));
  await page.reload();
  await page.getByRole("heading", { name: "Einstellungen", exact: true }).waitFor();
  await page.getByLabel("Fehlversuche bis zur Sperre").waitFor();
  assertEquals(await page.locator("main [lang=en]").count(), 0);
  await site.put("ada");
  const atMs = Date.UTC(2031, 4, 9, 12);
  const record = { atMs, actor: "command", action: "invitation.make", user: "ada", deadlineMs: atMs };
  await site.store.commit({ mutations: [{ type: "set", key: ["audit", "zzzzzzzzzzz1"], value: record }] });
  await page.goto(`${site.origin}/audit`);
  const row = page.getByRole("row", { name: /Telefon-Einladung erstellt/ });
  await row.getByText(/^Läuft ab: 09\.05\.2031, \d\d:00:00$/).waitFor();
});

test(
  "/settings changes the appearance of this browser, also from the palette",
  { role: "viewer" },
  async ({ page, open }) => {
    await open("/live", "Sign-in log");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill("settings");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Appearance" }).click();
    await page.getByLabel("Theme").selectOption("dark");
    assertEquals(await page.locator("html").getAttribute("data-theme"), "dark");
    await page.getByLabel("Language").selectOption("de");
    await page.getByRole("heading", { name: "Einstellungen", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Aufbewahrung und Logs" }).click();
    await page.getByRole("row", { name: "Beendete Anmeldungen 90 Tage Datenspeicher" }).waitFor();
  },
);

browserTest("/settings shows that it could not be read, and reads again on request", async ({ page }) => {
  await using site = await openSite();
  await page.route("**/console/api/settings", (route) => route.fulfill({ status: 500, body: "{}" }));
  await enterAs(page, { site, role: "viewer", path: "/settings", heading: "Settings" });
  await page.getByRole("alert").getByText("The settings could not be loaded.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.unroute("**/console/api/settings");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Time limit of a sign-in", { exact: true }).waitFor();
});
