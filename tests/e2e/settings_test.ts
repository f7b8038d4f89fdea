// The Settings page in a browser: topics, fixed fields, search, changes, conflicts, undo, and the keyboard.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems, findPageProblems } from "./page_checks.ts";
import { browserTest, currentDist, enterAs, holds, openTab } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { goWithin } from "./pages/page_walk.ts";

// The Settings page in a browser: topics, fixed fields, tests of services, search, languages.

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

test("/settings: each topic opens by its address, and no secret is shown", async ({ page, open }) => {
  await open("/settings", "Settings");
  for (const { path, seen } of Object.values(TOPICS)) {
    await goWithin(page, `/settings${path}`);
    await seen(page);
    assertEquals((await page.content()).includes(SECRET), false);
  }
});

test(
  "/settings: each topic is whole for a viewer, and no secret is shown",
  { role: "viewer" },
  async ({ page, open }) => {
    await open("/settings", "Settings");
    for (const { path } of Object.values(TOPICS)) {
      await goWithin(page, `/settings${path}`);
      await page.getByRole("navigation", { name: "Topics" }).waitFor();
      assertEquals((await page.content()).includes(SECRET), false);
      assertEquals(await findPageProblems(page), [], path);
    }
  },
);

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
  const record = { atMs, actor: "command", action: "invitation.make", object: "user:ada", deadlineMs: atMs };
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
    await holds(() => page.locator("html").getAttribute("data-theme"), "dark");
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
  await page.unroute("**/console/api/settings");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Time limit of a sign-in", { exact: true }).waitFor();
});

// Changes of settings in a browser: review, problems, conflicts, undo, leaving the page, and the keyboard.

const bar = (page: Page) => page.getByRole("region", { name: "Unsaved changes" });

/** Reviews and saves one change. */
async function save(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
}

/** At the end of the page, the bar covers nothing: what it covers has no contrast that can be measured. */
async function scrollToEnd(page: Page): Promise<void> {
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await page.waitForFunction(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 1);
}

test("/settings: a change is reviewed, saved and undone", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await bar(page).getByText("1 unsaved change").waitFor();
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog", { name: "Save 1 change?" });
  await dialog.getByRole("row", { name: `${LIMIT} 10 7` }).waitFor();
  await dialog.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("1 setting saved. It is in effect now.").waitFor();
  await page.getByText("Changed by owner").waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByText("The change was undone.").waitFor();
  await holds(() => page.getByLabel(LIMIT).inputValue(), "");
  await holds(() => page.getByLabel(LIMIT).getAttribute("placeholder"), "Default: 10");
});

test("/settings: a saved value is reset to its default", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await save(page);
  await page.getByRole("button", { name: `Reset to default ${LIMIT}` }).click();
  await page.getByText("Not saved: reset to default").waitFor();
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("row", { name: `${LIMIT} 7 10 (default)` }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("Changed by owner").waitFor({ state: "detached" });
});

test("/settings: a change is undone from the audit log, once", async ({ page, open, site }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await save(page);
  await page.getByText("1 setting saved.").waitFor();
  await page.goto(`${site.origin}/audit`);
  const row = page.getByRole("row", { name: /Settings changed/ });
  await row.getByText(`${LIMIT}: `).waitFor();
  await row.getByRole("button", { name: /^Undo/ }).click();
  await page.getByText("The settings have their earlier values.").waitFor();
  await row.getByRole("button", { name: /^Undo/ }).click();
  await row.getByRole("alert").waitFor();
  await page.goto(`${site.origin}/settings/limits`);
  await holds(() => page.getByLabel(LIMIT).inputValue(), "");
});

test("/settings: a bad value has its reason next to the field, from the form and from the server", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("0");
  await page.getByRole("link", { name: "Messages and calls" }).click();
  await page.getByLabel("Service address").fill("ftp://sms.example.com");
  await page.getByRole("button", { name: "Review and save" }).click();
  // The first bad value is on another topic: its field is shown and has the focus.
  const limit = page.getByLabel(LIMIT);
  await page.getByText("Enter a whole number from 1 to 1,000,000.").waitFor();
  await page.waitForURL(/\/settings\/limits#factors\.lockout\.failures$/);
  assertEquals(await limit.evaluate((node) => node === document.activeElement), true);
  await scrollToEnd(page);
  assertEquals(await findAccessibilityProblems(page), []);
  await limit.fill("7");
  await page.getByRole("button", { name: "Review and save" }).click();
  const address = page.getByLabel("Service address");
  await address.waitFor();
  const problem = await address.getAttribute("aria-describedby");
  const text = await page.locator(`[id="${problem?.split(" ")[0]}"]`).textContent();
  assertEquals(text?.includes("It must be") || text?.includes("it must be"), true, text ?? "");
  await holds(() => address.getAttribute("aria-invalid"), "true");
  assertEquals(await page.getByRole("dialog").count(), 0);
});

test("/settings: two browsers change the same setting, and the second one decides", async ({ page, open, site }) => {
  for (const [keep, value] of [["Keep the other value", ""], ["Use my value", "8"]] as const) {
    await open("/settings/limits", "Settings");
    const before = await page.getByLabel(LIMIT).inputValue();
    await page.getByLabel(LIMIT).fill("8");
    const other = await openTab();
    await enterAs(other.page, { site, role: "owner", path: "/settings/limits", heading: "Settings" });
    const theirs = before === "5" ? "6" : "5";
    await other.page.getByLabel(LIMIT).fill(theirs);
    await save(other.page);
    await other.page.getByText("1 setting saved.").waitFor();
    await other.context.close();
    await save(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("heading", { name: "These settings have changed" }).waitFor();
    await dialog.getByText(/You changed this in another tab on /).waitFor();
    await dialog.getByText(`The value is now ${theirs}.`).waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await holds(() => dialog.getByRole("button", { name: "Save 1 change" }).isDisabled(), true);
    await dialog.getByRole("button", { name: keep }).click();
    if (value !== "") await dialog.getByRole("button", { name: "Save 1 change" }).click();
    await dialog.waitFor({ state: "detached" });
    await bar(page).waitFor({ state: "detached" });
    await holds(() => page.getByLabel(LIMIT).inputValue(), value === "" ? theirs : value);
  }
});

test("/settings: a value that needs attention has a warning in the review, and then next to the field", async ({ page, open }) => {
  await open("/settings/factors", "Settings");
  await page.getByLabel("Phone numbers").selectOption("any");
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("status").getByText("Phone numbers:").waitFor();
  await dialog.getByRole("button", { name: "Save 1 change" }).click();
  const warning = page.locator('[id="factors.phone_numbers"] .setting-warning');
  await warning.waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
});

test("/settings: edits survive a change of the topic, and leaving the page asks", async ({ page, open }) => {
  await open("/settings/limits", "Settings");
  await page.getByLabel(LIMIT).fill("7");
  await page.getByRole("link", { name: "Factors" }).click();
  await page.getByLabel("Text message").uncheck();
  await bar(page).getByText("2 unsaved changes").waitFor();
  await page.getByRole("link", { name: "Lockout and limits (1)" }).click();
  await holds(() => page.getByLabel(LIMIT).inputValue(), "7");
  await page.goBack();
  await page.getByLabel("Text message").waitFor();
  await page.getByRole("link", { name: "Users", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep editing" }).click();
  await bar(page).getByText("2 unsaved changes").waitFor();
  await page.getByRole("link", { name: "Users", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  await page.goBack();
  await page.getByLabel("Text message").waitFor();
  assertEquals(await bar(page).count(), 0);
});

test("/settings: a secret is written and never shown", async ({ page, open }) => {
  await open("/settings/second_factor", "Settings");
  await page.getByLabel("Service address").fill("https://api.example.com");
  for (const name of ["Consumer key", "Consumer secret"]) {
    await page.getByRole("button", { name: `Enter ${name}` }).click();
    await page.getByLabel(name).fill(SECRET);
  }
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("row", { name: "Consumer key none New value" }).waitFor();
  await holds(async () => (await dialog.textContent())?.includes(SECRET), false);
  await dialog.getByRole("button", { name: "Save 3 changes" }).click();
  await page.getByRole("button", { name: "Replace Consumer key" }).waitFor();
  assertEquals((await page.content()).includes(SECRET), false);
});

test("/settings: a setting is changed by keyboard only", async ({ page, open }) => {
  await open("/settings/limits#factors.lockout.failures", "Settings");
  const limit = page.getByLabel(LIMIT);
  await limit.waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "factors.lockout.failures-input");
  await page.keyboard.type("7");
  const review = page.getByRole("button", { name: "Review and save" });
  await review.waitFor();
  for (let press = 0; press < 60; press += 1) {
    if (await review.evaluate((node) => node === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  const save = page.getByRole("dialog").getByRole("button", { name: "Save 1 change" });
  await save.waitFor();
  for (let press = 0; press < 10; press += 1) {
    if (await save.evaluate((node) => node === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.getByText("1 setting saved.").waitFor();
  await page.getByText("Changed by owner").waitFor();
});

test("/settings works at 320 px: the topic is chosen from a list, and the bar stays in view", {
  look: "narrow",
}, async ({ page, open }) => {
  await open("/settings", "Settings");
  await page.getByRole("combobox", { name: "Topics" }).selectOption("Lockout and limits");
  await page.getByLabel(LIMIT).fill("7");
  const shown = await bar(page).boundingBox();
  assertEquals(shown !== null && shown.y + shown.height <= 640, true);
  await scrollToEnd(page);
  assertEquals(await findPageProblems(page), []);
  await save(page);
  await page.getByText("1 setting saved.").waitFor();
});
