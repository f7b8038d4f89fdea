// The account page when its session ends, or its server is away: what is shown and typed stays, and there is a way on.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enterByLink, startMeConsole } from "../fakes/console_me.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { endSession } from "./session_end.ts";

const dist = await currentDist();
const look = "small" as const;
closeBrowserAtEnd();

const section = (page: Page, name: string) => page.getByRole("region", { name });
const dialog = (page: Page) => page.getByRole("dialog");

/** From now on the page asks only when it is told to: while it is looked at, it asks by itself every few seconds. */
async function lookAway(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
  });
}

browserTest(
  "me: a session that ends keeps the page and what is typed, and goes on after",
  async ({ page }) => {
    await using site = await startMeConsole({ dist });
    await enterByLink(page, site);
    await page.getByRole("button", { name: "Set up an app" }).click();
    const app = page.getByRole("dialog", { name: "Set up an authenticator app" });
    const uri = await app.getByRole("link").getAttribute("href") ?? "";
    const code = totpCode(fromBase32(new URL(uri).searchParams.get("secret") ?? ""), Date.now());
    await app.getByLabel("Code from the app").fill(code);
    await endSession(page);
    await app.getByRole("button", { name: "Check the code" }).click();
    const again = page.getByRole("dialog", { name: "Your session has ended" });
    await again.getByText("What you typed is still here.").waitFor();
    await again.getByRole("textbox", { name: "One-time link" }).fill(await site.link());
    await again.getByRole("button", { name: "Use the link" }).click();
    await again.waitFor({ state: "detached" });
    assertEquals(await app.getByLabel("Code from the app").inputValue(), code);
    // The key belonged to the session before: said in a sentence, and nothing is added.
    await app.getByText("The code came too late.").waitFor();
    assertEquals(site.pairings.of("ada"), []);
  },
  { look },
);

browserTest("me: the session's end is said two minutes before, and put off", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  // Decided with the first answer. The page asks again every few seconds, and no answer moves it.
  let endsMs = 0;
  await page.route("**/me/api/session**", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    if (body.me === null) return await route.fulfill({ response: answer });
    endsMs ||= body.nowMs + 90_000;
    await route.fulfill({ response: answer, json: { ...body, me: { ...body.me, endsMs } } });
  });
  await enterByLink(page, site);
  await page.getByText("Your session ends in less than two minutes.").waitFor();
  await page.getByRole("button", { name: "Stay signed in" }).click();
  await page.getByText("It cannot be made longer.").waitFor();
  endsMs = Date.now() + 900_000;
  await page.reload();
  await page.getByRole("heading", { level: 2, name: "Phones" }).waitFor();
  assertEquals(await page.getByText("Your session ends").count(), 0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
}, { look });

browserTest(
  "me: a lost server keeps what is shown, says since when, and a try mends it",
  async ({ page }) => {
    await using site = await startMeConsole({ dist });
    await site.addPhone("p1");
    await enterByLink(page, site);
    await section(page, "Phones").getByRole("listitem").waitFor();
    await section(page, "Recent logins").waitFor();
    await page.route("**/me/api/**", (route) => route.abort());
    await page.getByRole("button", { name: "Remove Phone" }).click();
    await dialog(page).getByRole("button", { name: "Remove the phone" }).click();
    await dialog(page).getByRole("alert").getByText("The server did not answer.").waitFor();
    await dialog(page).getByRole("button", { name: "Keep" }).click();
    await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    await page.getByText(/What you see is from \d\d:\d\d/).waitFor();
    assertEquals(await section(page, "Phones").getByRole("listitem").count(), 1);
    await lookAway(page);
    await page.unroute("**/me/api/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("What you see is from").waitFor({ state: "detached" });
    assertEquals(site.pairings.of("ada").length, 1);
  },
  { look },
);

browserTest("me: what could not be fetched at all is said with a way to try again", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await page.route("**/me/api/session", (route) => route.abort());
  await page.goto(`${site.origin}/me`);
  await page.getByRole("heading", { name: "Your account could not be fetched." }).waitFor();
  await page.unroute("**/me/api/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "With a one-time link" }).waitFor();
  await page.route("**/me/api/{factors,logins}", (route) => route.fulfill({ status: 500, body: "{}" }));
  await page.goto("about:blank");
  await page.goto(await site.link());
  await page.getByRole("button", { name: "Open my account" }).click();
  await page.getByText("Your factors could not be fetched.").waitFor();
  await page.getByText("Your logins could not be fetched.").waitFor();
  await lookAway(page);
  await page.unroute("**/me/api/{factors,logins}");
  await page.getByRole("button", { name: "Try again" }).first().click();
  await section(page, "Phones").waitFor();
}, { look });
