// Sign-in to the console in a browser: set-up, passwords, apps, passkeys, a provider, and sessions that end.

import { assert, assertEquals } from "@std/assert";
import { decodeBase32, totpAt } from "../../radius/factors/totp.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation } from "../fakes/console_gateway.ts";
import type { Page } from "../packages/playwright.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { oidcSettings, startOidcProvider } from "../fakes/oidc_provider.ts";
import { browserTest, currentDist, enterAs, holds, signIn, submitPassword } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import {
  endSession,
  openAccess,
  secretShown,
  staysOpen,
  users,
  waitForUsers,
  waiting,
} from "./page_actions.ts";

// The console in a browser: set-up, sign-in, the end of a session, a server that stops, and the theme.

const test = consoleTests(startConsole, { role: "viewer" });

const dist = await currentDist();

test(
  "the set-up link creates the first owner, disappears from the address bar, and works once",
  { admins: [] },
  async ({ page, context, site }) => {
    await page.goto(site.origin);
    await page.getByText("open the set-up link").waitFor();
    const link = await site.admins.setupLink() ?? "";
    await page.goto(link);
    await page.getByLabel("Name").fill("Ada");
    await page.waitForURL((url) => url.hash === "");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create owner" }).click();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await page.getByRole("link", { name: "Open Live" }).click();
    await page.getByRole("heading", { name: "Sign-in log" }).waitFor();
    const other = await context.newPage();
    await other.goto(link);
    await other.getByLabel("Name").fill("Eve");
    await other.getByLabel("Password").fill(PASSWORD);
    const refused = other.waitForResponse(/\/console\/api\/setup$/);
    await other.getByRole("button", { name: "Create owner" }).click();
    assertEquals((await refused).ok(), false);
    await holds(() => other.getByRole("alert").innerText(), /no longer valid/);
  },
);

test("sign-in shows a message for a wrong password, accepts the right one, and signs out", async ({ page, context, site }) => {
  await page.goto(`${site.origin}/live`);
  await page.getByLabel("Name").fill("viewer");
  await page.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  await holds(() => page.getByRole("alert").innerText(), "Wrong name or password.");
  await signIn(page, "viewer");
  const [cookie] = await context.cookies();
  assertEquals([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  assertEquals(await page.evaluate(() => document.cookie + Object.keys(localStorage).join()), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assertEquals(await context.cookies(), []);
});

test("a session that ends during work opens the sign-in dialog, and the action completes after the sign-in", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  await page.getByRole("searchbox").fill("kept");
  // The list of approvals is loaded before the session ends.
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  await endSession(page);
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).click();
  const dialog = page.getByRole("dialog");
  await holds(() => dialog.getByLabel("Name").inputValue(), "operator");
  assertEquals(site.secondFactorAdmin.decided, []);
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("No pending push requests").waitFor();
  assertEquals(site.secondFactorAdmin.decided, [{ id: "r1", verb: "deny" }]);
  await holds(() => page.getByRole("searchbox").inputValue(), "kept");
});

test("a dialog that opens while the sign-in dialog closes stays open", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  await endSession(page);
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.getByLabel("Password").fill(PASSWORD);
  await page.evaluate(() => {
    const next = document.createElement("dialog");
    next.ariaLabel = "Next";
    next.append("Next");
    const watch = new MutationObserver(() => {
      if (document.querySelector("dialog") !== null) return;
      watch.disconnect();
      document.body.append(next);
      next.showModal();
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("dialog", { name: "Next" }).waitFor();
  await page.getByText("No pending push requests").waitFor();
});

test(
  "the end of a session is announced, and a new sign-in keeps the page",
  { sessionMs: 100_000 },
  async ({ page, open }) => {
    await open("/live", "Sign-in log");
    await page.getByRole("searchbox").fill("kept");
    await page.getByText("Your session expires in less than two minutes.").waitFor();
    // The absolute limit cannot be extended, so a new session is needed.
    await page.getByRole("button", { name: "Stay signed in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    await holds(() => page.getByRole("searchbox").inputValue(), "kept");
  },
);

browserTest("a lost server is reported, and the page recovers by itself", async ({ page }) => {
  const first = await startConsole({ dist });
  const port = Number(new URL(first.origin).port);
  first.watch.put(conversation(1, { user: "before", startedMs: Date.now() }));
  await enterAs(page, { site: first, role: "viewer" });
  await waitForUsers(page, ["before"]);
  await first[Symbol.asyncDispose]();
  await page.getByText("The server is not responding.").waitFor();
  assertEquals(await users(page), ["before"], "what is known stays on the page");
  await using second = await startConsole({ dist, port });
  second.watch.put(conversation(2, { user: "after", startedMs: Date.now() }));
  // The new server has another store, so the session ended with the old one.
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await waitForUsers(page, ["after"]);
  assertEquals(await page.getByText("The server is not responding.").count(), 0);
});

test("the theme follows the system until the user selects one, and the selection is stored", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  const dark = await background();
  assert(light !== dark);
  await page.reload();
  await page.getByRole("button", { name: "Light" }).waitFor();
  assertEquals(await background(), dark);
});

// Sign-in in a browser: authenticator apps, recovery codes, passkeys, and an OpenID Connect provider.

const ownerTest = consoleTests(startConsole, { role: "owner" });

/** The code of an app that was set up with the key on the page. */
async function codeShown(page: Page, nowMs: number): Promise<string> {
  const typed = await page.locator("code").first().innerText();
  const seed = decodeBase32(typed);
  if (seed === null) throw new Error(`The page shows no base32 seed: ${typed}`);
  return totpAt(seed, Math.floor(nowMs / 30_000), 6);
}

/** Gives the browser a virtual authenticator, which answers without a user. */
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

/** The same site by its host name, which passkeys need. */
const byName = (site: TestConsole) => site.origin.replace("127.0.0.1", "localhost");

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Passkey name").fill(name);
  await page.getByRole("dialog").getByRole("button", { name: "Add a passkey" }).click();
}

async function enterByName(page: Page, { site, path }: { site: TestConsole; path: string }): Promise<void> {
  const [name = "", value = ""] = (await site.signIn("owner")).split("=");
  await page.context().addCookies([{ name, value, url: byName(site) }]);
  await page.goto(byName(site) + path);
  await page.getByRole("heading", { name: "Administrators", level: 1 }).waitFor();
}

ownerTest("an authenticator app is set up with its QR code, and then sign-in requires its code", {
  manualClock: true,
}, async ({ page, site, clock }) => {
  await openAccess(page, { site, hash: "#sign-in" });
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
  await page.getByLabel("Code", { exact: true }).fill("000000");
  await page.getByRole("button", { name: "Verify code" }).click();
  await holds(() => page.getByRole("alert").innerText(), /That code is wrong/);
  const code = await codeShown(page, clock.nowMs());
  const seed = decodeBase32(await page.locator("code").first().innerText());
  await page.getByLabel("Code", { exact: true }).fill(code);
  await page.getByRole("button", { name: "Verify code" }).click();
  const codes = (await secretShown(page).innerText()).split("\n");
  assertEquals(codes.length, 10);
  await staysOpen(page, "Save your recovery codes");
  await holds(() => page.getByRole("button", { name: "Done" }).isDisabled(), true);
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("10 recovery codes left").waitFor();

  await page.getByRole("button", { name: "Sign out" }).click();
  await submitPassword(page, "owner");
  const field = page.getByLabel("Code", { exact: true });
  await field.waitFor();
  assertEquals(await field.evaluate((input) => document.activeElement === input), true);
  // The code of the set-up was already used.
  await field.fill(code);
  await page.keyboard.press("Enter");
  await holds(() => page.getByRole("alert").innerText(), /was already used/);
  clock.advance(60_000);
  await field.fill(totpAt(seed ?? new Uint8Array(), Math.floor(clock.nowMs() / 30_000), 6));
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign out" }).click();
  await submitPassword(page, "owner");
  await field.fill(codes[3] ?? "");
  await page.keyboard.press("Enter");
  await page.getByText("9 recovery codes left").waitFor();
});

ownerTest("a passkey is added, signs in with one click, and is removed", async ({ page, site }) => {
  await giveAuthenticator(page);
  // The virtual authenticator would accept the first suggestion by itself; this test uses the button.
  await page.addInitScript(() =>
    Object.assign(PublicKeyCredential, { isConditionalMediationAvailable: () => Promise.resolve(false) })
  );
  await enterByName(page, { site, path: "/access#sign-in" });
  await addPasskey(page, "laptop");
  await page.getByRole("status").getByText("The passkey laptop was added.").waitFor();
  await addPasskey(page, "laptop again");
  await holds(() => page.getByRole("alert").innerText(), /already registered/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Discard your changes?" })
    .getByRole("button", { name: "Discard", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("heading", { name: "Administrators", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Remove laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No passkeys yet.").waitFor();
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => value?.action), [
    "administrator.passkey_add",
    "administrator.sign_out",
    "administrator.passkey_remove",
  ]);
});

ownerTest("a passkey signs in from the suggestions of the name field, and makes a factor fresh", {
  manualClock: true,
}, async ({ page, site, clock }) => {
  await giveAuthenticator(page);
  await enterByName(page, { site, path: "/access#sign-in" });
  await addPasskey(page, "laptop");
  await page.getByRole("status").getByText("The passkey laptop was added.").waitFor();
  clock.advance(RECENT_FACTOR_MS + 1);
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  const asked = page.getByRole("dialog", { name: "Confirm it's you" });
  await asked.getByRole("button", { name: "Use a passkey" }).and(page.locator(":focus")).click();
  await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
  await page.keyboard.press("Escape");
  await page.context().clearCookies();
  await page.goto(`${byName(site)}/access`);
  // No button is pressed: the browser offers a suggestion, and its authenticator accepts it.
  await page.getByRole("button", { name: "Invite administrator" }).waitFor();
});

ownerTest(
  "an account of a link can be created with only a passkey, which signs in afterwards",
  { admins: [] },
  async ({ page, site }) => {
    await giveAuthenticator(page);
    const link = new URL(await site.admins.setupLink() ?? "");
    await page.goto(`${byName(site)}/setup${link.hash}`);
    await page.getByLabel("Name").fill("Ada");
    await page.getByRole("button", { name: "Create owner with a passkey" }).click();
    await holds(async () => (await page.locator(".secret pre").innerText()).split("\n").length, 10);
    await page.getByRole("checkbox").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "Add a second key" }).waitFor();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("link", { name: "Open Live" }).click();
    await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
    assertEquals(await site.admins.check("Ada", ""), null);
    await page.context().clearCookies();
    await page.goto(`${byName(site)}/access#sign-in`);
    await page.getByRole("button", { name: "Remove First passkey" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await holds(() => page.getByRole("alert").innerText(), /your only sign-in method/);
  },
);

ownerTest("a passkey cannot be created at an IP address, and the page says why", async ({ page, site }) => {
  await page.goto(site.origin);
  await page.getByText("To use a passkey, open this console by its host name").waitFor();
  assertEquals(await page.getByRole("button", { name: "Use a passkey" }).count(), 0);
  await openAccess(page, { site, hash: "#sign-in" });
  await holds(() => page.getByRole("button", { name: "Add a passkey" }).isDisabled(), true);
});

browserTest(
  "a sign-in by the provider works, its refusal shows a message, and it makes a factor fresh in another tab",
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
    await page.getByRole("button", { name: "Continue with Example ID" }).click();
    await page.getByText("Your account at the sign-in provider has no role in this console.").waitFor();
    await page.waitForURL((url) => url.search === "");
    provider.wishes = {};
    await page.goto(`${site.origin}/access`);
    await page.getByRole("button", { name: "Continue with Example ID" }).click();
    await page.getByRole("button", { name: "Invite administrator" }).click();
    await page.getByLabel("Name").fill("Grace");
    clock.advance(RECENT_FACTOR_MS + 1);
    await page.getByRole("button", { name: "Create link" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    const opened = context.waitForEvent("page");
    await asked.getByRole("button", { name: "Continue with Example ID" }).click();
    const tab = await opened;
    await tab.getByRole("heading", { name: "Administrators", level: 1 }).waitFor();
    await tab.close();
    await page.bringToFront();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await secretShown(page).waitFor();
  },
);

ownerTest("sign-in is German in a German browser", async ({ page, site }) => {
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await page.goto(site.origin);
  await page.getByRole("button", { name: "Anmelden" }).waitFor();
});

ownerTest(
  "sign-in shows when codes are accepted again after five wrong ones",
  { manualClock: true },
  async ({ page, site, clock }) => {
    await openAccess(page, { site, hash: "#sign-in" });
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    await page.getByLabel("Code", { exact: true }).waitFor();
    await page.getByLabel("Code", { exact: true }).fill(await codeShown(page, clock.nowMs()));
    await page.getByRole("button", { name: "Verify code" }).click();
    await secretShown(page).waitFor();
    await page.context().clearCookies();
    await page.goto(site.origin);
    await submitPassword(page, "owner");
    for (let round = 1; round <= 5; round += 1) {
      await page.getByLabel("Code", { exact: true }).fill(`00000${round}`);
      const answered = page.waitForResponse(/\/session$/);
      await page.getByRole("button", { name: "Sign in" }).click();
      await answered;
    }
    await page.getByText("Too many wrong codes for this account. Try again in 15 min.").waitFor();
  },
);
