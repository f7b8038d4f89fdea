// The users of one target are not shown, and cannot be changed, while those of another target are fetched.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holdCalls } from "./held_calls.ts";
import { open } from "./people_pages.ts";
import { goWithin } from "./place_walk.ts";

closeBrowserAtEnd();

const dist = await currentDist();

/** The list offers a second target, "crm". */
async function offerTargets(page: Page): Promise<void> {
  await page.route(/\/console\/api\/users\?*$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), targets: ["people", "crm"] } });
  });
}

browserTest("users: another target starts with an empty list", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await site.put("ada");
  await offerTargets(page);
  await open(page, site, { path: "/users", heading: "Users" });
  await page.getByLabel("Choose ada").check();
  const other = await holdCalls(page, /\/console\/api\/users\?.*target=crm/);
  const target = page.getByRole("combobox", { name: "Target" });
  await target.focus();
  await target.selectOption("crm");
  await other.begun;
  assertEquals(await page.getByRole("row", { name: /ada/ }).count(), 0);
  assertEquals(await page.getByRole("region", { name: /chosen/ }).count(), 0);
  assertEquals(await target.evaluate((one) => one === document.activeElement), true, "the focus stays");
  other.release();
});

browserTest("users: the page of a user starts empty for another target", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await site.put("ada");
  await open(page, site, { path: "/users/ada", heading: "ada" });
  const actions = page.getByRole("button", { name: "Deactivate" });
  await actions.waitFor();
  const other = await holdCalls(page, /\/console\/api\/users\/ada\?.*target=crm/);
  await goWithin(page, "/users/ada?target=crm");
  await other.begun;
  assertEquals(await actions.count(), 0);
  other.release();
});
