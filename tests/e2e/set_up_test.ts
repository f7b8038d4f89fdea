// Setting up a factor after a one-time link, in a real browser: it may take longer than the link's own sign-in is fresh.

import { assertEquals } from "@std/assert";
import { STEP_UP_MS } from "../../console/api/auth/permissions.ts";
import { decodeBase32 } from "../../platform/base32.ts";
import { totpAt } from "../../radius/factors/totp.ts";
import { createManualClock, PASSWORD, startConsole } from "../fakes/console_app.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

browserTest(
  "setting up the app after the link may take longer than a factor is fresh: it is asked for over the page",
  async ({ page }) => {
    const clock = createManualClock(Date.now());
    await using site = await startConsole({ dist, clock, admins: [] });
    await page.goto(await site.admins.setupLink() ?? "");
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create the owner" }).click();
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    const seed = decodeBase32(await page.locator("code").first().innerText());
    if (seed === null) throw new Error("The page shows no base32 seed");
    clock.advance(STEP_UP_MS + 1);
    await page.getByLabel("Code", { exact: true }).fill(totpAt(seed, Math.floor(clock.nowMs() / 30_000), 6));
    await page.getByRole("button", { name: "Check the code" }).click();
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    await asked.getByLabel("Password").fill(PASSWORD);
    await asked.getByRole("button", { name: "Confirm" }).click();
    assertEquals((await page.locator(".secret pre").innerText()).split("\n").length, 10);
  },
);
