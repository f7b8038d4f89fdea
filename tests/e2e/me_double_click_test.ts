// The account page while a call runs: a second click does not send it again.

import { assertEquals } from "@std/assert";
import { enterByLink, startMeConsole } from "../fakes/console_me.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holdCalls } from "./held_calls.ts";

const dist = await currentDist();
const look = "small" as const;
closeBrowserAtEnd();

browserTest("me: a double click makes recovery codes once", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await enterByLink(page, site);
  const made = await holdCalls(page, /\/recovery-codes$/);
  await page.getByRole("button", { name: "Make recovery codes" }).dblclick();
  made.release();
  await page.getByRole("dialog").getByRole("listitem").nth(9).waitFor();
  assertEquals(made.count(), 1);
}, { look });

browserTest("me: Enter pressed twice renames a phone once", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await site.addPhone("p1");
  await enterByLink(page, site);
  await page.getByRole("button", { name: "Rename Phone" }).click();
  const renamed = await holdCalls(page, /\/devices\/p1$/);
  await page.getByLabel("Name of the phone").fill("Pixel of Ada");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  renamed.release();
  await page.getByText("The phone has its new name.").first().waitFor();
  assertEquals(renamed.count(), 1);
}, { look });

browserTest("me: a double click keeps an unconfirmed factor once", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await page.route(/\/me\/api\/factors$/, async (route) => {
    const response = await route.fetch();
    const unconfirmed = [{ id: "f1", kind: "totp", addedBy: "Phone", createdMs: 0 }];
    await route.fulfill({ response, json: { ...await response.json(), unconfirmed } });
  });
  await enterByLink(page, site);
  const kept = await holdCalls(page, /\/unconfirmed\/f1\/keep$/);
  await page.getByRole("button", { name: /^Keep/ }).dblclick();
  kept.release();
  // The fake site does not know this factor.
  await page.getByRole("alert").waitFor();
  assertEquals(kept.count(), 1);
}, { look });
