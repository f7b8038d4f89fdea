// Phones on the account page, in a real browser at 320 px: one goes on as its user, two by their names, one removed, one added.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { FAKE_INVITATION } from "../fakes/console_phone.ts";
import { enterByLink, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { browserTest, closeBrowserAtEnd, currentDist, scrollsSideways } from "./browser.ts";

const dist = await currentDist();
const look = "small" as const;
closeBrowserAtEnd();

const section = (page: Page, name: string) => page.getByRole("region", { name });
const dialog = (page: Page) => page.getByRole("dialog");

browserTest(
  "me: a paired phone goes on as its user; the last factor stays, another may go",
  async ({ page }) => {
    await using site = await startMeConsole({ dist });
    await pairThisBrowser(page, site);
    await page.getByRole("link", { name: /^My account/ }).click();
    await page.getByRole("button", { name: "Continue as ada" }).click();
    await page.getByText("Opened on your paired phone").waitFor();
    const phones = section(page, "Phones");
    await phones.locator(".chip").getByText("This phone", { exact: true }).waitFor();
    await phones.getByText("You cannot remove it here").waitFor();
    assertEquals(await phones.getByRole("button", { name: "Remove" }).count(), 0);
    await site.addPhone("p2");
    await page.reload();
    await phones.getByRole("button", { name: "Remove Phone", exact: true }).click();
    await dialog(page).getByText("Logins stop asking it at once").waitFor();
    await dialog(page).getByRole("button", { name: "Keep" }).click();
    assertEquals(site.pairings.of("ada").length, 2);
    await phones.getByRole("button", { name: "Remove Phone", exact: true }).click();
    await dialog(page).getByRole("button", { name: "Remove the phone" }).click();
    await page.getByText("The phone is removed.").waitFor();
    assertEquals(site.pairings.of("ada").map(({ id }) => id), ["p1"]);
    const records = await site.audits();
    assert(records.some(({ action, actor }) => action === "pairing.revoke" && actor === "user:ada"));
  },
  { look },
);

browserTest("me: two phones are told apart by the names that their person gives them", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await site.addPhone("p1");
  await site.addPhone("p2");
  await enterByLink(page, site);
  const phones = section(page, "Phones");
  await phones.getByRole("button", { name: "Rename Phone" }).first().click();
  await dialog(page).getByLabel("Name of the phone").fill("\u202e");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await dialog(page).getByText("A name has 1 to 60 characters that can be shown.").waitFor();
  await dialog(page).getByLabel("Name of the phone").fill("Pixel of Ada");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await page.getByText("The phone has its new name.").waitFor();
  await phones.getByText("Pixel of Ada", { exact: true }).first().waitFor();
  await phones.getByRole("button", { name: "Remove Pixel of Ada" }).click();
  await dialog(page).getByRole("heading", { name: "Remove “Pixel of Ada”?" }).waitFor();
});

browserTest("me: removing the phone in hand says so, and ends the visit", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await pairThisBrowser(page, site);
  await site.addApp();
  await page.goto(`${site.origin}/me`);
  await page.getByRole("button", { name: "Continue as ada" }).click();
  await section(page, "Phones").getByRole("button", { name: "Remove This phone" }).click();
  await dialog(page).getByText("It is the phone in your hand").waitFor();
  await dialog(page).getByRole("button", { name: "Remove the phone" }).click();
  await page.getByText("You are signed out.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["totp"]);
}, { look });

browserTest(
  "me: another phone is paired by QR code and link; the dialog closes when it is there",
  async ({ page }) => {
    await using site = await startMeConsole({ dist });
    await enterByLink(page, site);
    await section(page, "Phones").getByText("No phone is paired.").waitFor();
    await page.getByRole("button", { name: "Pair a phone" }).click();
    await dialog(page).getByRole("img", { name: "QR code of the link that pairs a phone" }).waitFor();
    await dialog(page).getByText(`/device#invite=${FAKE_INVITATION}`).waitFor();
    await dialog(page).getByText(/Good once, for/).waitFor();
    assertEquals(await scrollsSideways(page), false);
    await site.addPhone("p9");
    await page.getByText("Another phone is paired.").waitFor();
    assertEquals(await dialog(page).count(), 0);
    await section(page, "Phones").getByText("not used yet").waitFor();
  },
  { look },
);
