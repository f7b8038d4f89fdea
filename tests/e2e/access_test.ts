// Signing in and who may do what, in a real browser: codes, passkeys, a factor shown again, invitations, tokens, sessions.

import { staysOpen } from "./one_time_secret.ts";
import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { decodeBase32 } from "../../platform/base32.ts";
import { totpAt } from "../../radius/factors/totp.ts";
import { STEP_UP_MS } from "../../console/api/auth/permissions.ts";
import { deedsOf } from "../fakes/audited.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { oidcSettings, startOidcProvider } from "../fakes/oidc_provider.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";

const dist = await currentDist();

/** The code that an app would show for what the page says can be typed. */
async function codeShown(page: Page, nowMs: number): Promise<string> {
  const typed = await page.locator("code").first().innerText();
  const seed = decodeBase32(typed);
  if (seed === null) throw new Error(`The page shows no base32 seed: ${typed}`);
  return totpAt(seed, Math.floor(nowMs / 30_000), 6);
}

/** What is shown this one time. */
const secretShown = (page: Page) => page.locator(".secret pre");

/** Gives the browser an authenticator of its own, which answers without asking anybody. */
async function giveAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable", { enableUI: false });
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** The same site by its name: passkeys need one. */
const byName = (site: TestConsole) => site.origin.replace("127.0.0.1", "localhost");

async function enterByName(page: Page, { site, path }: { site: TestConsole; path: string }): Promise<void> {
  const [name = "", value = ""] = (await site.signIn("owner")).split("=");
  await page.context().addCookies([{ name, value, url: byName(site) }]);
  await page.goto(byName(site) + path);
  await page.getByRole("heading", { name: "Access", level: 1 }).waitFor();
}

const openAccess = (
  page: Page,
  { site, role = "owner", hash = "" }: { site: TestConsole; role?: string; hash?: string },
) => enterAs(page, { site, role, path: `/access${hash}`, heading: "Access" });

browserTest(
  "an authenticator app is set up with its QR code, and then signing in asks for its code",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist, clock });
    await openAccess(page, { site, hash: "#sign-in" });
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    await page.getByLabel("Code", { exact: true }).fill("000000");
    await page.getByRole("button", { name: "Check the code" }).click();
    assertMatch(await page.getByRole("alert").innerText(), /That code is wrong/);
    const code = await codeShown(page, clock.nowMs());
    const seed = decodeBase32(await page.locator("code").first().innerText());
    await page.getByLabel("Code", { exact: true }).fill(code);
    await page.getByRole("button", { name: "Check the code" }).click();
    const codes = (await secretShown(page).innerText()).split("\n");
    assertEquals(codes.length, 10);
    await staysOpen(page, "Save your recovery codes");
    assertEquals(await page.getByRole("button", { name: "Done" }).isDisabled(), true);
    await page.getByLabel("I have kept it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByText("10 recovery codes are left").waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Name").fill("owner");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    const field = page.getByLabel("Code", { exact: true });
    await field.waitFor();
    assertEquals(await field.evaluate((input) => document.activeElement === input), true);
    // The code of the set-up counted already.
    await field.fill(code);
    await page.keyboard.press("Enter");
    assertMatch(await page.getByRole("alert").innerText(), /was used already/);
    clock.advance(60_000);
    await field.fill(totpAt(seed ?? new Uint8Array(), Math.floor(clock.nowMs() / 30_000), 6));
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Name").fill("owner");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await field.fill(codes[3] ?? "");
    await page.keyboard.press("Enter");
    await page.getByText("9 recovery codes are left").waitFor();
  },
);

browserTest("a passkey is added, signs in with one press, and is removed", async ({ page }) => {
  await using site = await startConsole({ dist });
  await giveAuthenticator(page);
  // The virtual authenticator would take the first suggestion by itself; here the button is meant.
  await page.addInitScript(() =>
    Object.assign(PublicKeyCredential, { isConditionalMediationAvailable: () => Promise.resolve(false) })
  );
  await enterByName(page, { site, path: "/access#sign-in" });
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Name of the passkey").fill("laptop");
  await page.getByRole("dialog").getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("status").getByText("The passkey laptop was added.").waitFor();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Name of the passkey").fill("laptop again");
  await page.getByRole("dialog").getByRole("button", { name: "Add a passkey" }).click();
  assertMatch(await page.getByRole("alert").innerText(), /registered already/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Discard your changes?" })
    .getByRole("button", { name: "Discard", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("heading", { name: "Access", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Remove laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No passkey yet.").waitFor();
  const records = await deedsOf(site.store);
  assertEquals(records.map(({ value }) => value?.action), [
    "administrator.passkey_add",
    "administrator.sign_out",
    "administrator.passkey_remove",
  ]);
});

browserTest(
  "a passkey signs in from the suggestions of the name field, and makes a factor fresh",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist, clock });
    await giveAuthenticator(page);
    await enterByName(page, { site, path: "/access#sign-in" });
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByLabel("Name of the passkey").fill("laptop");
    await page.getByRole("dialog").getByRole("button", { name: "Add a passkey" }).click();
    await page.getByRole("status").getByText("The passkey laptop was added.").waitFor();
    clock.advance(STEP_UP_MS + 1);
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    await page.getByRole("dialog", { name: "Confirm it's you" })
      .getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    await page.keyboard.press("Escape");
    await page.context().clearCookies();
    await page.goto(`${byName(site)}/access`);
    // Nothing is pressed: the browser was asked for a suggestion, and its authenticator takes it.
    await page.getByRole("button", { name: "Invite an administrator" }).waitFor();
  },
);

browserTest(
  "a link's account can be made with a passkey alone, which signs in afterwards",
  async ({ page }) => {
    await using site = await startConsole({ dist, admins: [] });
    await giveAuthenticator(page);
    const link = new URL(await site.admins.setupLink() ?? "");
    await page.goto(`${byName(site)}/setup${link.hash}`);
    await page.getByLabel("Name").fill("Ada");
    await page.getByRole("button", { name: "Create it with a passkey instead" }).click();
    await page.getByRole("link", { name: "Open Live" }).click();
    await page.getByRole("heading", { name: "Live", level: 1 }).waitFor();
    assertEquals(await site.admins.check("Ada", ""), null);
    await page.context().clearCookies();
    await page.goto(`${byName(site)}/access#sign-in`);
    await page.getByRole("button", { name: "Remove First passkey" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    assertMatch(await page.getByRole("alert").innerText(), /could not sign in any more/);
  },
);

browserTest("a passkey cannot be had at a number address, and the page says why", async ({ page }) => {
  await using site = await startConsole({ dist });
  await page.goto(site.origin);
  await page.getByText("To use a passkey, open this console by its host name").waitFor();
  assertEquals(await page.getByRole("button", { name: "Use a passkey" }).count(), 0);
  await openAccess(page, { site, hash: "#sign-in" });
  assertEquals(await page.getByRole("button", { name: "Add a passkey" }).isDisabled(), true);
});

browserTest(
  "what needs a fresh factor asks for it over the page, and then goes on by itself",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist, clock });
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Invite an administrator" }).click();
    await page.getByLabel("Name").fill("Grace");
    await page.getByLabel("Role").selectOption("operator");
    clock.advance(STEP_UP_MS + 1);
    await page.getByRole("button", { name: "Make the link" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    await asked.getByLabel("Password").fill("wrong");
    await asked.getByRole("button", { name: "Confirm" }).click();
    await asked.getByRole("alert").getByText(/do not match/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("alert").getByText(/didn.t confirm your sign-in/).waitFor();
    assertEquals(await page.getByLabel("Name").inputValue(), "Grace");
    await page.getByRole("button", { name: "Make the link" }).click();
    await asked.getByLabel("Password").fill(PASSWORD);
    await asked.getByRole("button", { name: "Confirm" }).click();
    const link = await secretShown(page).innerText();
    assertMatch(link, /\/setup#i\.[A-Za-z0-9_-]{22}$/);
  },
);

browserTest(
  "an invitation makes an account with its role, once; the owner changes, disables and removes it",
  async ({ page, context }) => {
    await using site = await startConsole({ dist });
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Invite an administrator" }).click();
    await page.getByLabel("Name").fill("Grace");
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await secretShown(page).innerText();
    await staysOpen(page, "Link for Grace");
    await page.getByLabel("I have kept it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: /Grace.*Invited/ }).waitFor();

    const browser = context.browser();
    if (browser === null) throw new Error("The page has no browser");
    const theirs = await browser.newContext({ locale: "en-GB" });
    const guest = await theirs.newPage();
    await guest.goto(link);
    await guest.getByText("Your role: Viewer.").waitFor();
    await guest.getByLabel("Password").fill(PASSWORD);
    await guest.getByRole("button", { name: "Create the account" }).click();
    await guest.getByRole("heading", { name: "Add a second factor" }).waitFor();
    await guest.getByRole("button", { name: "Later" }).click();
    await guest.getByRole("heading", { name: "Live", level: 1 }).waitFor();
    const again = await theirs.newPage();
    await again.goto(link);
    assertMatch(await again.getByRole("alert").innerText(), /no longer good/);

    await page.reload();
    await page.getByRole("row", { name: /Grace.*Active/ }).waitFor();
    await page.getByRole("button", { name: "Change Grace" }).click();
    await page.getByRole("dialog").getByText("1 session", { exact: true }).waitFor();
    await page.getByLabel("Role of Grace").selectOption("operator");
    await page.getByRole("status").getByText("Grace is now: Operator.").waitFor();
    // Their session had the other role, so it ended.
    await guest.reload();
    await guest.getByRole("button", { name: "Sign in" }).waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("status").getByText("Grace was disabled.").waitFor();
    await guest.getByLabel("Name").fill("Grace");
    await guest.getByLabel("Password").fill(PASSWORD);
    await guest.getByRole("button", { name: "Sign in" }).click();
    assertMatch(await guest.getByRole("alert").innerText(), /do not match/);
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove the administrator" }).click();
    await page.getByRole("row", { name: /Grace/ }).waitFor({ state: "detached" });
    await theirs.close();
  },
);

browserTest(
  "administrators of the settings file are text, and a viewer changes nothing",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Change viewer" }).click();
    const dialog = page.getByRole("dialog", { name: "viewer" });
    await dialog.getByText("Stands in the settings file").first().waitFor();
    assertEquals(await dialog.getByRole("combobox").count(), 0);
    assertEquals(await dialog.getByRole("button", { name: "Remove" }).isDisabled(), true);
    await openAccess(page, { site, role: "viewer" });
    const invite = page.getByRole("button", { name: "Invite an administrator" });
    assertEquals(await invite.isDisabled(), true);
    assertEquals(await invite.getAttribute("title"), "Needs the owner role");
  },
);

browserTest("an API token is shown once, works, and is refused once revoked", async ({ page }) => {
  await using site = await startConsole({ dist });
  await openAccess(page, { site, hash: "#tokens" });
  await page.getByText("No API tokens.").waitFor();
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByLabel("Name of the token").fill("backup");
  await page.getByRole("dialog").getByRole("button", { name: "Make a token" }).click();
  const token = await secretShown(page).innerText();
  await staysOpen(page, "Token backup");
  const ask = () => site.call("/console/api/live", { headers: { authorization: `Bearer ${token}` } });
  const first = await ask();
  await first.body?.cancel();
  assertEquals(first.status, 200);
  await page.getByLabel("I have kept it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Revoke backup" }).click();
  await page.getByRole("button", { name: "Revoke the token" }).click();
  await page.getByText("No API tokens.").waitFor();
  const after = await ask();
  assertEquals([after.status, (await after.json()).error.code], [401, "bad_api_token"]);
});

browserTest("sessions are listed with where they came from, and can be ended", async ({ page }) => {
  await using site = await startConsole({ dist });
  const other = await site.signIn("owner");
  await openAccess(page, { site, hash: "#sessions" });
  await page.getByText("(this one)").waitFor();
  const rows = page.getByRole("row", { name: /127\.0\.0\.1/ });
  assertEquals(await rows.count() >= 2, true);
  for (let left = await page.getByRole("button", { name: /^End / }).count(); left > 0; left -= 1) {
    await page.getByRole("button", { name: /^End / }).first().click();
    await page.waitForFunction((n) => document.querySelectorAll("tbody button").length < n, left);
  }
  const answer = await site.call("/console/api/live", { cookie: other });
  await answer.body?.cancel();
  assertEquals(answer.status, 401);
});

browserTest("the end of a session is announced two minutes before, with a way to stay", async ({ page }) => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ dist, clock, sessionMs: 3_600_000, idleMs: 900_000 });
  await openAccess(page, { site });
  // The list was the last use.
  await page.getByRole("row", { name: /viewer/ }).waitFor();
  clock.advance(900_000 - 100_000);
  await page.reload();
  await page.getByText("Your session ends in less than two minutes.").waitFor();
  await page.getByRole("button", { name: "Stay signed in" }).click();
  await page.getByText("Your session ends in less than two minutes.").waitFor({ state: "detached" });
});

browserTest(
  "the sign-in provider lets in, its refusal is a sentence, and it makes a factor fresh in another tab",
  async ({ page, context }) => {
    const clock = createManualClock(Date.now());
    await using provider = await startOidcProvider({ nowMs: clock.nowMs });
    await using site = await startConsole({
      dist,
      clock,
      change: (deps) => ({ ...deps, console: { ...deps.console, oidc: oidcSettings(provider) } }),
    });
    provider.wishes = { claims: { groups: ["guests"] } };
    await page.goto(`${site.origin}/access`);
    await page.getByRole("button", { name: "Go on with Example ID" }).click();
    await page.getByText("The sign-in provider knows you, but gives you no role here.").waitFor();
    await page.waitForURL((url) => url.search === "");
    provider.wishes = {};
    await page.goto(`${site.origin}/access`);
    await page.getByRole("button", { name: "Go on with Example ID" }).click();
    await page.getByRole("button", { name: "Invite an administrator" }).click();
    await page.getByLabel("Name").fill("Grace");
    clock.advance(STEP_UP_MS + 1);
    await page.getByRole("button", { name: "Make the link" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    const opened = context.waitForEvent("page");
    await asked.getByRole("button", { name: "Go on with Example ID" }).click();
    const tab = await opened;
    await tab.getByRole("heading", { name: "Access", level: 1 }).waitFor();
    await tab.close();
    await page.bringToFront();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await secretShown(page).waitFor();
  },
);

browserTest("sign-in speaks German to a browser that asks for it", async ({ page }) => {
  await using site = await startConsole({ dist });
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await page.goto(site.origin);
  await page.getByRole("button", { name: "Anmelden" }).waitFor();
});

browserTest("sign-in says when codes are taken again after five wrong ones", async ({ page }) => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ dist, clock });
  await openAccess(page, { site, hash: "#sign-in" });
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  await page.getByLabel("Code", { exact: true }).waitFor();
  await page.getByLabel("Code", { exact: true }).fill(await codeShown(page, clock.nowMs()));
  await page.getByRole("button", { name: "Check the code" }).click();
  await secretShown(page).waitFor();
  await page.context().clearCookies();
  await page.goto(site.origin);
  await page.getByLabel("Name").fill("owner");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  for (let round = 1; round <= 5; round += 1) {
    await page.getByLabel("Code", { exact: true }).fill(`00000${round}`);
    const answered = page.waitForResponse(/\/session$/);
    await page.getByRole("button", { name: "Sign in" }).click();
    await answered;
  }
  await page.getByText("Too many wrong codes for this account. Try again in 15 min.").waitFor();
});

closeBrowserAtEnd();
