// Administrators and the audit log in a browser.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { AUDIT_ACTIONS } from "../../platform/audit_actions.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import type { Page } from "../packages/playwright.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { openAccess, secretShown, staysOpen } from "./page_actions.ts";
import { browserTest, chooseRowAction, currentDist, enterAs, holds, submitPassword } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, laidOut } from "./page_checks.ts";

// The Access page in a browser: step-up, invitations, administrators, API tokens and sessions.

const test = consoleTests(startConsole, { role: "owner" });

test(
  "an action that requires a recent factor asks for it over the page, and then continues by itself",
  { manualClock: true },
  async ({ page, site, clock }) => {
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Invite administrator" }).click();
    await page.getByLabel("Name").fill("Grace");
    await page.getByLabel("Role").selectOption("operator");
    clock.advance(RECENT_FACTOR_MS + 1);
    await page.getByRole("button", { name: "Create link" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    await asked.waitFor();
    const dim = await asked.evaluate((node) => getComputedStyle(node, "::backdrop").backgroundColor);
    assertEquals(dim, "rgba(0, 0, 0, 0)", "the dialog behind is dimmed once");
    await asked.getByLabel("Password").fill("wrong");
    await asked.getByRole("button", { name: "Confirm" }).click();
    await asked.getByRole("alert").getByText(/Wrong name or password/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("alert").getByText(/didn.t confirm your sign-in/).waitFor();
    await holds(() => page.getByLabel("Name").inputValue(), "Grace");
    await page.getByRole("button", { name: "Create link" }).click();
    await asked.getByLabel("Password").fill(PASSWORD);
    await asked.getByRole("button", { name: "Confirm" }).click();
    const link = await secretShown(page).innerText();
    assertMatch(link, /\/setup#i\.[A-Za-z0-9_-]{22}$/);
  },
);

test("an invitation creates one account with its role; the owner changes, disables and removes it", async ({ page, context, site }) => {
  await openAccess(page, { site });
  await page.getByRole("button", { name: "Invite administrator" }).click();
  await page.getByLabel("Name").fill("Grace");
  await page.getByRole("button", { name: "Create link" }).click();
  const link = await secretShown(page).innerText();
  await staysOpen(page, "Link for Grace");
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("row", { name: /Grace.*Invited/ }).waitFor();

  const browser = context.browser();
  if (browser === null) throw new Error("The page has no browser");
  const theirs = await browser.newContext({ locale: "en-GB" });
  const guest = await theirs.newPage();
  await guest.goto(link);
  await guest.getByText("Your role: Viewer.").waitFor();
  await guest.getByLabel("Password").fill(PASSWORD);
  await guest.getByRole("button", { name: "Create account" }).click();
  await guest.getByRole("heading", { name: "Add a second factor" }).waitFor();
  await guest.getByRole("button", { name: "Later" }).click();
  await guest.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  const again = await theirs.newPage();
  await again.goto(link);
  await holds(() => again.getByRole("alert").innerText(), /not valid/);

  await page.reload();
  await page.getByRole("row", { name: /Grace.*Active/ }).waitFor();
  await page.getByRole("button", { name: "Change Grace" }).click();
  await page.getByRole("dialog").getByText("1 session", { exact: true }).waitFor();
  await page.getByLabel("Role of Grace").selectOption("operator");
  await page.getByRole("status").getByText("The role of Grace is now Operator.").waitFor();
  // Their session had the old role, so it ended.
  await guest.reload();
  await guest.getByRole("button", { name: "Sign in" }).waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("status").getByText("Grace was disabled.").waitFor();
  await submitPassword(guest, "Grace");
  await holds(() => guest.getByRole("alert").innerText(), /Wrong name or password/);
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove administrator" }).click();
  await page.getByRole("row", { name: /Grace/ }).waitFor({ state: "detached" });
  await theirs.close();
});

test("administrators of the settings file are read-only, and a viewer can change nothing", async ({ page, site }) => {
  await openAccess(page, { site });
  await page.getByRole("button", { name: "Change viewer" }).click();
  const dialog = page.getByRole("dialog", { name: "viewer" });
  await dialog.getByText("Defined in the settings file").first().waitFor();
  assertEquals(await dialog.getByRole("combobox").count(), 0);
  await holds(() => dialog.getByRole("button", { name: "Remove" }).isDisabled(), true);
  await openAccess(page, { site, role: "viewer" });
  const invite = page.getByRole("button", { name: "Invite administrator" });
  await holds(() => invite.isDisabled(), true);
  await holds(() => invite.getAttribute("title"), "Requires the owner role");
});

test("an API token is shown once, works, and is refused after it is revoked", async ({ page, site }) => {
  await openAccess(page, { site, hash: "#tokens" });
  await page.getByText("No API tokens yet.").waitFor();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByLabel("Token name").fill("backup");
  await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
  const token = await secretShown(page).innerText();
  await staysOpen(page, "Token backup");
  const ask = () => site.call("/console/api/live", { headers: { authorization: `Bearer ${token}` } });
  const first = await ask();
  await first.body?.cancel();
  assertEquals(first.status, 200);
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await chooseRowAction(page, { of: "backup", action: "Revoke" });
  await page.getByRole("button", { name: "Revoke token" }).click();
  await page.getByText("No API tokens yet.").waitFor();
  const after = await ask();
  assertEquals([after.status, (await after.json()).error.code], [401, "bad_api_token"]);
});

test("sessions are listed with their source, and can be ended", async ({ page, site }) => {
  const other = await site.signIn("owner");
  await openAccess(page, { site, hash: "#sessions" });
  await page.getByText("(this session)").waitFor();
  const rows = page.getByRole("row", { name: /127\.0\.0\.1/ });
  await holds(async () => await rows.count() >= 2, true);
  for (let left = await page.getByRole("button", { name: /^End / }).count(); left > 0; left -= 1) {
    await page.getByRole("button", { name: /^End / }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    await page.waitForFunction((n) => document.querySelectorAll("tbody button").length < n, left);
  }
  const answer = await site.call("/console/api/live", { cookie: other });
  await answer.body?.cancel();
  assertEquals(answer.status, 401);
});

test("the end of a session is announced two minutes before, with a button to stay", {
  manualClock: true,
  sessionMs: 3_600_000,
  idleMs: 900_000,
}, async ({ page, site, clock }) => {
  await openAccess(page, { site });
  // The request for the list was the last use of the session.
  await page.getByRole("row", { name: /viewer/ }).waitFor();
  clock.advance(900_000 - 100_000);
  await page.reload();
  await page.getByText("Your session expires in less than two minutes.").waitFor();
  await page.getByRole("button", { name: "Stay signed in" }).click();
  await page.getByText("Your session expires in less than two minutes.").waitFor({ state: "detached" });
});

// The audit page in a browser: hostile names are text, filters are in the address, links work in both directions, axe
// finds nothing.

const viewerTest = consoleTests(startConsole, { role: "viewer" });

const HOSTILE = '"><img src=x onerror=alert(1)>';
const BEFORE = { address: ["10.0.0.1"], device: "hold", disabled: false };
const AFTER = { address: ["10.0.0.1", "10.0.0.2"], device: "hold", disabled: true };
const RECORDS = [
  { actor: "radius", action: "user.locked", object: "user:ada", client: "vpn-1" },
  { actor: "owner", action: "client.changed", object: "client:vpn-1", before: "10.0.0.1", after: HOSTILE },
  { actor: HOSTILE, action: "pairing.revoke", object: `user:${HOSTILE}`, source: "192.0.2.7" },
  {
    actor: "console:grace",
    action: "client.change",
    object: "client:vpn-1",
    before: JSON.stringify(BEFORE),
    after: JSON.stringify(AFTER),
  },
];

/** Those records, and the sign-in of the viewer. */
const ALL_RECORDS = RECORDS.length + 1;

async function openWithRecords(
  site: Pick<TestConsole, "store" | "origin" | "signIn">,
  page: Page,
): Promise<void> {
  await site.store.commit({
    mutations: RECORDS.map((record, at) => ({
      type: "set",
      key: ["audit", `0000000000${at}`],
      value: { atMs: Date.now() - 60_000, ...record },
    })),
  });
  await enterAs(page, { site, role: "viewer", path: "/audit", heading: "Audit log" });
  await page.getByRole("table", { name: "Audit events" }).waitFor();
}

const rowsOf = (page: Page) => page.getByRole("table").locator("tbody tr[data-key]");

viewerTest(
  "/audit lists actions, filters by a click and by the address, and shows names as text",
  async ({ page, site }) => {
    await openWithRecords(site, page);
    await holds(() => rowsOf(page).count(), ALL_RECORDS);
    assertEquals(await page.locator("img[src=x]").count(), 0);
    await page.getByRole("button", { name: "client:vpn-1" }).first().click();
    await page.getByRole("cell", { name: `10.0.0.1 → ${HOSTILE}` }).waitFor();
    await rowsOf(page).nth(3).waitFor({ state: "detached" });
    await page.waitForURL((url) => url.searchParams.get("object") === "client:vpn-1");
    await holds(() => rowsOf(page).count(), 3);
    await page.goto(`${site.origin}/audit?actor=no-such-name`);
    await page.getByText("No records match").waitFor();
  },
);

/** The clicked cell, and the resulting address. */
const CELLS: Readonly<Record<string, { click: string; param: string; value: string; rows: number }>> = {
  "who did it": { click: "grace", param: "actor", value: "grace", rows: 1 },
  "what was done": { click: "User locked", param: "action", value: "user.locked", rows: 1 },
  "from where": { click: "192.0.2.7", param: "source", value: "192.0.2.7", rows: 1 },
};

viewerTest("/audit is filtered by a click on any cell, and each filter is a chip", async ({ page, site }) => {
  await openWithRecords(site, page);
  for (const { click, param, value, rows } of Object.values(CELLS)) {
    await page.getByRole("table").getByRole("button", { name: click, exact: true }).click();
    await page.locator(".filter-chip").waitFor();
    await page.waitForURL((url) => url.searchParams.get(param) === value);
    await page.waitForFunction(
      (most) => document.querySelectorAll("tbody tr[data-key]").length === most,
      rows,
    );
    await page.locator(".filter-chip").click();
    await page.waitForFunction(
      (most) => document.querySelectorAll("tbody tr[data-key]").length === most,
      ALL_RECORDS,
    );
  }
  await page.getByTitle("Show only this day").first().locator("time").click();
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  const spanMs = Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "");
  assertEquals(Math.round(spanMs / 3_600_000) >= 23, true);
});

viewerTest("/audit shows the values before and after, without unchanged ones", async ({ page, site }) => {
  await openWithRecords(site, page);
  const parts = page.getByRole("row", { name: /grace/ }).getByRole("listitem");
  await holds(() => parts.allInnerTexts(), [
    "Addresses: 10.0.0.110.0.0.1, 10.0.0.2",
    "Disabled: noyes",
  ]);
  await holds(() => page.getByRole("row", { name: /grace/ }).locator("del").allInnerTexts(), [
    "10.0.0.1",
    "no",
  ]);
});

browserTest("/audit and the pages of its objects link to each other", async ({ page }) => {
  await using site = await startConnectConsole({ dist: await currentDist() });
  await site.people.put("ada");
  await openWithRecords(site, page);
  await page.getByRole("link", { name: "Open user:ada" }).first().click();
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  await page.getByRole("button", { name: "More ada" }).click();
  await page.getByRole("menuitem", { name: "Audit log" }).click();
  await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor();
  await page.waitForURL((url) => url.searchParams.get("object") === "user:ada");
  await page.getByRole("button", { name: "User created" }).waitFor();
  await page.goto(`${site.origin}/targets/default`);
  await page.getByRole("link", { name: "Audit log of default" }).click();
  await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor();
  await page.goto(`${site.origin}/access`);
  await chooseRowAction(page, { of: "owner", action: "Audit log" });
  await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor();
});

browserTest(
  "/audit is exported as a file after a recent factor, and records the export",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist: await currentDist(), clock });
    await openWithRecords(site, page);
    clock.advance(RECENT_FACTOR_MS + 1000);
    await page.getByRole("button", { name: "Export CSV" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
    await dialog.waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await dialog.getByLabel("Password").fill(PASSWORD);
    const coming = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    const file = await coming;
    assertEquals(file.suggestedFilename(), "audit.csv");
    const text = await Deno.readTextFile(await file.path());
    assertStringIncludes(text, "at,who,from,what,to,before,after,details\r\n");
    assertEquals(text.split("\r\n").filter((line) => line !== "").length, 1 + ALL_RECORDS + 1);
    await page.reload();
    await page.getByRole("button", { name: "Audit log exported" }).waitFor();
  },
);

viewerTest(
  "/audit shows the method of sign-ins and the refused users in words, in both languages",
  async ({ page, site, open }) => {
    for (let round = 0; round < 2; round += 1) {
      const json = { name: "owner", password: "wrong" };
      await (await site.call("/console/api/session", { method: "POST", json })).body?.cancel();
    }
    await open("/audit", "Audit log");
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await row("Signed in").getByText("Method: password").waitFor();
    await row("Sign-in failed").getByText("Reason: wrong name or password, Count: 2").waitFor();
    await row("Sign-in failed").getByRole("link", { name: "Open administrator:owner" }).waitFor();
    await page.evaluate(() => localStorage.setItem("countersign-language", "de"));
    await page.reload();
    await row("Angemeldet").getByText("Methode: Passwort").waitFor();
    await row("Anmeldung fehlgeschlagen").getByText("falscher Name oder falsches Passwort").waitFor();
  },
);

/** Widths of a window in which the table has its columns. */
const WIDTHS_PX = [760, 900, 1024, 1280, 1920];

viewerTest(
  "/audit wraps the name of an event, and cuts none, at every width",
  async ({ page, site, open }) => {
    await site.store.commit({
      mutations: Object.keys(AUDIT_ACTIONS).slice(0, 45).map((action, at) => ({
        type: "set",
        key: ["audit", `0000000000${String(at).padStart(2, "0")}`],
        value: { atMs: Date.now() - 60_000, actor: "owner", action, object: "user:ada" },
      })),
    });
    await open("/audit", "Audit log");
    for (const language of ["en", "de"]) {
      await page.evaluate((name) => localStorage.setItem("countersign-language", name), language);
      await page.reload();
      await page.locator("tbody tr").first().waitFor();
      for (const width of WIDTHS_PX) {
        await page.setViewportSize({ width, height: 800 });
        await laidOut(page);
        assertEquals(await page.locator("tbody tr td:nth-child(3)").evaluateAll(cutTexts), [], `${width} px`);
      }
    }
  },
);

/** Runs in the page: the texts of cells that are larger than their visible part. */
function cutTexts(cells: Element[]): string[] {
  const isCut = (element: Element) => {
    const { overflow, textOverflow } = getComputedStyle(element);
    const isTooLarge = element.scrollWidth > element.clientWidth + 1 ||
      element.scrollHeight > element.clientHeight + 1;
    return textOverflow === "ellipsis" || (overflow === "hidden" && isTooLarge);
  };
  const cellOf = (cell: Element) => [cell, ...cell.querySelectorAll("*")];
  return cells.filter((cell) => {
    const outer = cell.getBoundingClientRect();
    const isOutside = cellOf(cell).some((one) => {
      const { right, bottom, width } = one.getBoundingClientRect();
      return width > 0 && (right > outer.right + 1 || bottom > outer.bottom + 1);
    });
    return isOutside || cellOf(cell).slice(1).some(isCut);
  }).map(({ textContent }) => textContent);
}
