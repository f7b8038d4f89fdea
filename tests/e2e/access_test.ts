// The Access page in a browser: step-up, invitations, administrators, API tokens and sessions.

import { staysOpen } from "./one_time_secret.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { chooseRowAction, submitPassword } from "./browser.ts";
import { openAccess, secretShown } from "./access_page.ts";
import { consoleTests } from "./console_tests.ts";

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
    assertEquals(await page.getByLabel("Name").inputValue(), "Grace");
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
  assertMatch(await again.getByRole("alert").innerText(), /not valid/);

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
  assertMatch(await guest.getByRole("alert").innerText(), /Wrong name or password/);
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
  assertEquals(await dialog.getByRole("button", { name: "Remove" }).isDisabled(), true);
  await openAccess(page, { site, role: "viewer" });
  const invite = page.getByRole("button", { name: "Invite administrator" });
  assertEquals(await invite.isDisabled(), true);
  assertEquals(await invite.getAttribute("title"), "Requires the owner role");
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
  assertEquals(await rows.count() >= 2, true);
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
