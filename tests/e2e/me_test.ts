// The account page in a browser at 320 px: sign-in, factors, recovery codes, logins, refusals, and lost servers.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enterByLink, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { FAKE_INVITATION } from "../fakes/console_phone.ts";
import { scrollsSideways } from "./page_checks.ts";
import { consoleTests } from "./console_tests.ts";
import { endSession, holdCalls } from "./page_actions.ts";
import { holds } from "./browser.ts";

// The account page in a browser at 320 px: sign-in, factors, recovery codes, logins, and every refusal.

const test = consoleTests(startMeConsole, { role: "owner", look: "narrow" });

const section = (page: Page, name: string) => page.getByRole("region", { name });
const dialog = (page: Page) => page.getByRole("dialog");

test("me: a link opens the account by a button, once; viewing it does not use it up", async ({ page, context, site }) => {
  const link = await site.link();
  await page.goto(link);
  await page.getByRole("heading", { name: "Open the account of ada?" }).waitFor();
  await page.waitForURL((url) => url.hash === "");
  assertEquals(await context.cookies(), []);
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("button", { name: "Open my account" }).click();
  await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor();
  await page.getByText("Opened with a one-time link").waitFor();
  const [cookie] = await context.cookies();
  assertEquals([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("alert").getByText("This link was used").waitFor();
  await page.getByRole("button", { name: "Continue without the link" }).click();
  await page.getByRole("heading", { name: "With a one-time link" }).waitFor();
});

test("me: without a session the page lists the sign-in methods, and accepts a pasted link", async ({ page, site }) => {
  await page.goto(`${site.origin}/me`);
  await page.getByRole("textbox", { name: "One-time link" }).fill("https://gate.example.org/");
  await page.getByRole("button", { name: "Use link" }).click();
  await page.getByText("This is not a valid account link").waitFor();
  await page.getByRole("textbox", { name: "One-time link" }).fill(await site.link());
  await page.getByRole("button", { name: "Use link" }).click();
  await page.getByRole("button", { name: "Open my account" }).click();
  await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor();
  assertEquals(await scrollsSideways(page), false);
});

test("me: an authenticator app is set up with its first code, and removed", async ({ page, site }) => {
  await enterByLink(page, site);
  await page.getByRole("button", { name: "Set up app" }).click();
  await dialog(page).getByRole("img", { name: /QR code/ }).waitFor();
  const uri =
    await dialog(page).getByRole("link", { name: "Open in an app on this device" }).getAttribute("href") ??
      "";
  assertMatch(uri, /^otpauth:\/\/totp\//);
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  await holds(async () => (await dialog(page).locator("code").innerText()).replaceAll(" ", ""), secret);
  // The code of the moment in which it is typed.
  const right = () => totpCode(fromBase32(secret), Date.now());
  const check = dialog(page).getByRole("button", { name: "Verify code" });
  await holds(() => check.isDisabled(), true);
  await dialog(page).getByLabel("Code from the app").fill(right() === "000000" ? "000001" : "000000");
  await check.click();
  await dialog(page).getByText("The code does not match this secret.").waitFor();
  await dialog(page).getByLabel("Code from the app").fill(right());
  await check.click();
  await page.getByText("The authenticator app was set up.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["totp"]);
  await section(page, "Authenticator app").getByRole("button", { name: /^Remove/ }).click();
  await dialog(page).getByRole("button", { name: "Remove app" }).click();
  await page.getByText("The authenticator app was removed.").waitFor();
  assertEquals(site.pairings.of("ada"), []);
});

test("me: recovery codes are shown once, and closing asks whether they are stored", async ({ page, site }) => {
  await enterByLink(page, site);
  await page.getByRole("button", { name: "Generate recovery codes" }).click();
  const list = dialog(page).getByRole("list", { name: "Recovery codes of ada" }).getByRole("listitem");
  await list.nth(9).waitFor();
  const codes = await list.allInnerTexts();
  assertEquals(new Set(codes).size, 10);
  await page.emulateMedia({ media: "print" });
  assertEquals(await dialog(page).getByText(codes[0] ?? "none").isVisible(), true);
  for (const name of ["Phones", "Recent sign-ins"]) {
    assertEquals(await section(page, name).isVisible(), false, "on paper there are the codes alone");
  }
  await page.emulateMedia({ media: "screen" });
  await holds(() => dialog(page).getByRole("button", { name: "Done" }).isDisabled(), true);
  await page.keyboard.press("Escape");
  await dialog(page).getByRole("alert").getByText("Confirm that you have saved the codes").waitFor();
  await dialog(page).getByLabel("I have saved them").check();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await section(page, "Recovery codes").getByText("10 of 10 codes left").waitFor();
  assertNotMatch(await page.locator("body").innerText(), new RegExp(codes[0] ?? "none"));
  await page.reload();
  await section(page, "Recovery codes").getByRole("button", { name: "Generate new codes" }).click();
  await dialog(page).getByText("Your 10 remaining codes stop working immediately.").waitFor();
  await dialog(page).getByRole("button", { name: "Generate new codes" }).click();
  await list.nth(9).waitFor();
  const next = await list.allInnerTexts();
  assertEquals(new Set(next).size, 10);
  assertEquals(next.some((code) => codes.includes(code)), false);
});

test("me: the default factor can be selected if there are several", async ({ page, site }) => {
  await site.addPhone("p1");
  await site.addApp();
  await enterByLink(page, site);
  await page.getByLabel("Use first").selectOption({ label: "Code from the authenticator app" });
  await page.getByText("Your default factor was changed.").waitFor();
  assertEquals(site.pairings.preferred("ada"), "totp");
});

test("me: waiting logins come first, recent ones show how and why they ended", async ({ page, site }) => {
  await site.fillHistory();
  await site.fillHistory("grace");
  site.waits("vpn-7");
  await enterByLink(page, site);
  const waiting = section(page, "A sign-in is waiting");
  await waiting.getByText("vpn-7", { exact: true }).waitFor();
  const recent = section(page, "Recent sign-ins").getByRole("listitem");
  await recent.first().getByText("Accepted", { exact: true }).waitFor();
  await holds(() => recent.count(), 6);
  await section(page, "Recent sign-ins").getByRole("button", { name: "Show 2 more" }).click();
  await holds(() => recent.count(), 8, "and none of another user's");
  const denied = recent.nth(1);
  for (const text of ["Rejected", "vpn-1", "203.0.113.9", "Denied on the phone"]) {
    await denied.getByText(text, { exact: !text.startsWith("Denied") }).waitFor();
  }
  await holds(() => denied.locator("time").getAttribute("title"), /\d\d:\d\d/);
});

test("me: “this was not me” explains its effect, acts, and reports the result", async ({ page, site }) => {
  await site.fillHistory();
  await enterByLink(page, site);
  await section(page, "Recent sign-ins").getByRole("button", { name: /^This was not me Rejected/ }).first()
    .click();
  const asked = page.getByRole("dialog", { name: "Report this sign-in?" });
  for (
    const text of [
      "pending sign-ins are denied",
      "blocked for one hour",
      "signed out of your account page",
      "administrators are notified",
    ]
  ) {
    await asked.getByText(text).waitFor();
  }
  await asked.getByRole("button", { name: "It was me", exact: true }).click();
  assertEquals(site.limits.isLocked("ada"), false);
  await page.getByRole("button", { name: "Lock my sign-ins" }).click();
  await page.getByRole("dialog", { name: "Lock your sign-ins?" }).getByRole("button", {
    name: "Cancel",
  })
    .click();
  await section(page, "Recent sign-ins").getByRole("button", { name: /^This was not me Rejected/ }).first()
    .click();
  await asked.getByRole("button", { name: "This was not me" }).click();
  const done = page.getByRole("group", { name: "Sign-ins locked, administrators notified" });
  await done.getByText(/Your sign-ins are locked until \d\d:\d\d/).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "group");
  assertEquals(site.limits.isLocked("ada"), true);
  await done.getByRole("button", { name: "Dismiss" }).click();
  await page.getByText("Your sign-ins are locked", { exact: true }).waitFor();
  const records = await site.audits();
  assert(records.some(({ action, actor }) => action === "user.not_me" && actor === "user:ada"));
});

test("me: the switches in the footer set German and dark, also for the next visit", async ({ page, site }) => {
  await enterByLink(page, site);
  await page.getByLabel("Language").selectOption({ label: "Deutsch" });
  await page.getByRole("heading", { name: "Letzte Anmeldungen" }).waitFor();
  await page.getByLabel("Design").selectOption({ label: "Dunkel" });
  await page.reload();
  await page.getByRole("heading", { name: "Letzte Anmeldungen" }).waitFor();
  assertEquals(
    await page.evaluate(
      () => [document.documentElement.lang, document.documentElement.dataset.theme, document.title],
    ),
    ["de", "dark", "Ihr Konto · Countersign"],
  );
  assertNotMatch(await page.locator("body").innerText(), /\bme\.[a-z_]+/, "no key without its word");
  assertEquals(await scrollsSideways(page), false);
});

const HOSTILE = '"><img src=x onerror=alert(1)>';
test("me: a hostile name is text", { user: HOSTILE }, async ({ page, site }) => {
  await enterByLink(page, site, HOSTILE);
  await page.getByRole("heading", { level: 1, name: HOSTILE }).waitFor();
  assertEquals(await page.locator("img[src=x]").count(), 0);
  assertEquals(await scrollsSideways(page), false);
});

test("me: every action works by keyboard", async ({ page, site }) => {
  await site.addPhone("p1");
  await enterByLink(page, site);
  await section(page, "Phones").getByRole("listitem").waitFor();
  for (const name of ["Set up app", "Generate recovery codes", "Lock my sign-ins"]) {
    await page.getByRole("button", { name }).waitFor();
  }
  const order: string[] = [];
  for (let at = 0; at < 10; at += 1) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement?.textContent?.trim() ?? ""));
  }
  assertEquals(order.slice(0, 6), [
    "Pair another phone",
    "Rename Phone",
    "Remove Phone",
    "Set up app",
    "Generate recovery codes",
    "Lock my sign-ins",
  ]);
  await section(page, "Phones").getByRole("button", { name: "Remove Phone" }).focus();
  await page.keyboard.press("Enter");
  await dialog(page).waitFor();
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Cancel");
  await page.keyboard.press("Escape");
  assertMatch(await page.evaluate(() => document.activeElement?.textContent ?? ""), /Remove/);
});

// The account page: names of phones, sessions that end, a lost server, and double clicks.

test("me: a paired phone signs its user in; the last factor stays, another one can be removed", async ({ page, site }) => {
  await pairThisBrowser(page, site);
  await page.getByRole("link", { name: /^My account/ }).click();
  await page.getByRole("button", { name: "Continue as ada" }).click();
  await page.getByText("Opened on your paired phone").waitFor();
  const phones = section(page, "Phones");
  await phones.locator(".chip").getByText("This phone", { exact: true }).waitFor();
  await phones.getByText("You can't remove your only factor here").waitFor();
  assertEquals(await phones.getByRole("button", { name: "Remove" }).count(), 0);
  await site.addPhone("p2");
  await site.addApp();
  await page.reload();
  await phones.getByRole("button", { name: "Remove Phone", exact: true }).click();
  await dialog(page).getByText("Sign-ins no longer send requests to it").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  assertEquals(site.pairings.of("ada").length, 3);
  await phones.getByRole("button", { name: "Remove Phone", exact: true }).click();
  await dialog(page).getByRole("button", { name: "Remove phone" }).click();
  // A code of a factor that this phone did not add, because the phone may be stolen.
  const stepUp = page.getByRole("dialog", { name: "Confirm it's you" });
  await stepUp.getByLabel("Code").fill(site.code());
  await stepUp.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("The phone was removed.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind).sort(), ["device", "totp"]);
  const records = await site.audits();
  assert(records.some(({ action, actor }) => action === "pairing.revoke" && actor === "user:ada"));
});

test("me: two phones are distinguished by the names that their user gives them", async ({ page, site }) => {
  await site.addPhone("p1");
  await site.addPhone("p2");
  await enterByLink(page, site);
  const phones = section(page, "Phones");
  await phones.getByRole("button", { name: "Rename Phone" }).first().click();
  await dialog(page).getByLabel("Phone name").fill("\u202e");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await dialog(page).getByText(
    "A phone name has 1 to 60 characters, no control characters and no text direction marks.",
  ).waitFor();
  await dialog(page).getByLabel("Phone name").fill("Pixel of Ada");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await page.getByText("The phone was renamed.").waitFor();
  await phones.getByText("Pixel of Ada", { exact: true }).first().waitFor();
  await phones.getByRole("button", { name: "Remove Pixel of Ada" }).click();
  await dialog(page).getByRole("heading", { name: "Remove “Pixel of Ada”?" }).waitFor();
});

test("me: removing the current phone shows a warning, and ends the session", async ({ page, site }) => {
  await pairThisBrowser(page, site);
  await site.addApp();
  await page.goto(`${site.origin}/me`);
  await page.getByRole("button", { name: "Continue as ada" }).click();
  await section(page, "Phones").getByRole("button", { name: "Remove This phone" }).click();
  await dialog(page).getByText("This is the phone that you are using").waitFor();
  await dialog(page).getByRole("button", { name: "Remove phone" }).click();
  await page.getByText("You are signed out.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["totp"]);
});

test("me: another phone is paired by QR code and link; the dialog closes when it is paired", async ({ page, site }) => {
  await enterByLink(page, site);
  await section(page, "Phones").getByText("No phones paired.").waitFor();
  await page.getByRole("button", { name: "Pair a phone" }).click();
  await dialog(page).getByRole("img", { name: "QR code of the pairing link" }).waitFor();
  await dialog(page).getByText(`/device#invite=${FAKE_INVITATION}`).waitFor();
  await dialog(page).getByText(/Works once, expires in/).waitFor();
  assertEquals(await scrollsSideways(page), false);
  await site.addPhone("p9");
  await page.getByText("Another phone is paired.").waitFor();
  assertEquals(await dialog(page).count(), 0);
  await section(page, "Phones").getByText("not used yet").waitFor();
});

/** From now on the page polls only on demand. Otherwise it polls every few seconds. */
async function lookAway(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
  });
}

test("me: a session that ends keeps the page and the input, and continues after the sign-in", async ({ page, site }) => {
  await enterByLink(page, site);
  await page.getByRole("button", { name: "Set up app" }).click();
  const app = page.getByRole("dialog", { name: "Set up an authenticator app" });
  const uri = await app.getByRole("link").getAttribute("href") ?? "";
  const code = totpCode(fromBase32(new URL(uri).searchParams.get("secret") ?? ""), Date.now());
  await app.getByLabel("Code from the app").fill(code);
  await endSession(page);
  await app.getByRole("button", { name: "Verify code" }).click();
  const again = page.getByRole("dialog", { name: "Your session has ended" });
  await again.getByText("Your input is still here.").waitFor();
  await again.getByRole("textbox", { name: "One-time link" }).fill(await site.link());
  await again.getByRole("button", { name: "Use link" }).click();
  await again.waitFor({ state: "detached" });
  await holds(() => app.getByLabel("Code from the app").inputValue(), code);
  // The key belonged to the old session: there is a message, and nothing is added.
  await app.getByText("The secret was not confirmed in time. Start again.").waitFor();
  assertEquals(site.pairings.of("ada"), []);
});

test("me: the end of the session is announced two minutes before, and postponed", async ({ page, site }) => {
  // The end is set with the first answer. The page polls every few seconds, and no answer moves it.
  let endsMs = 0;
  await page.route("**/me/api/session**", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    if (body.me === null) return await route.fulfill({ response: answer });
    endsMs ||= body.nowMs + 90_000;
    await route.fulfill({ response: answer, json: { ...body, me: { ...body.me, endsMs } } });
  });
  await enterByLink(page, site);
  await page.getByText("Your session expires in less than two minutes.").waitFor();
  await page.getByRole("button", { name: "Stay signed in" }).click();
  await page.getByText("You can't extend it.").waitFor();
  endsMs = Date.now() + 900_000;
  await page.reload();
  await page.getByRole("heading", { level: 2, name: "Phones" }).waitFor();
  assertEquals(await page.getByText("Your session expires").count(), 0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("me: after the loss of the server the data stays, with its age, and a retry updates it", async ({ page, site }) => {
  await site.addPhone("p1");
  await enterByLink(page, site);
  await section(page, "Phones").getByRole("listitem").waitFor();
  await section(page, "Recent sign-ins").waitFor();
  await page.route("**/me/api/**", (route) => route.abort());
  await page.getByRole("button", { name: "Remove Phone" }).click();
  await dialog(page).getByRole("button", { name: "Remove phone" }).click();
  await dialog(page).getByRole("alert").getByText("The server is not responding.").waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
  await page.getByText(/This page shows the data of \d\d:\d\d/).waitFor();
  await holds(() => section(page, "Phones").getByRole("listitem").count(), 1);
  await lookAway(page);
  await page.unroute("**/me/api/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("This page shows the data of").waitFor({ state: "detached" });
  assertEquals(site.pairings.of("ada").length, 1);
});

test("me: a failed first fetch shows a button to retry", async ({ page, site }) => {
  await page.route("**/me/api/session", (route) => route.abort());
  await page.goto(`${site.origin}/me`);
  await page.getByRole("heading", { name: "Your account could not be loaded." }).waitFor();
  await page.unroute("**/me/api/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "With a one-time link" }).waitFor();
  await page.route("**/me/api/{factors,logins}", (route) => route.fulfill({ status: 500, body: "{}" }));
  await page.goto("about:blank");
  await page.goto(await site.link());
  await page.getByRole("button", { name: "Open my account" }).click();
  await page.getByText("Your factors could not be loaded.").waitFor();
  await page.getByText("Your sign-ins could not be loaded.").waitFor();
  await lookAway(page);
  await page.unroute("**/me/api/{factors,logins}");
  await page.getByRole("button", { name: "Try again" }).first().click();
  await section(page, "Phones").waitFor();
});

test("me: a double click creates recovery codes once", async ({ page, site }) => {
  await enterByLink(page, site);
  const made = await holdCalls(page, /\/recovery-codes$/);
  await page.getByRole("button", { name: "Generate recovery codes" }).dblclick();
  made.release();
  await page.getByRole("dialog").getByRole("listitem").nth(9).waitFor();
  assertEquals(made.count(), 1);
});

test("me: Enter pressed twice renames a phone once", async ({ page, site }) => {
  await site.addPhone("p1");
  await enterByLink(page, site);
  await page.getByRole("button", { name: "Rename Phone" }).click();
  const renamed = await holdCalls(page, /\/devices\/p1$/);
  await page.getByLabel("Phone name").fill("Pixel of Ada");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  renamed.release();
  await page.getByText("The phone was renamed.").first().waitFor();
  assertEquals(renamed.count(), 1);
});

test("me: a double click keeps an unconfirmed factor once", async ({ page, site }) => {
  await page.route(/\/me\/api\/factors$/, async (route) => {
    const response = await route.fetch();
    const unconfirmed = [{ id: "f1", kind: "totp", addedBy: "Phone", createdMs: 0 }];
    await route.fulfill({ response, json: { ...await response.json(), unconfirmed } });
  });
  await enterByLink(page, site);
  const kept = await holdCalls(page, /\/unconfirmed\/f1\/keep$/);
  await page.getByRole("button", { name: /^Confirm/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Confirm", exact: true }).dblclick();
  kept.release();
  // The fake site does not know this factor.
  await page.getByRole("alert").waitFor();
  assertEquals(kept.count(), 1);
});
