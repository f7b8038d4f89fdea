// Actions on many users while a call runs: they apply to whom they were asked for, and a double click is one job.

import { assertEquals } from "@std/assert";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holdCalls } from "./held_calls.ts";
import { open } from "./people_pages.ts";

closeBrowserAtEnd();

const dist = await currentDist();

browserTest("bulk: a deactivation applies to the users who were chosen at the click", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  for (const name of ["ada", "bob"]) await site.put(name);
  await open(page, site, { path: "/users", heading: "Users" });
  await page.getByLabel("Choose ada").check();
  const preview = await holdCalls(page, /\/bulk\/preview$/);
  const deactivate = page.getByRole("region", { name: /chosen/ }).getByRole("button", { name: "Deactivate" });
  await deactivate.click();
  await preview.begun;
  await page.getByLabel("Choose bob").check();
  assertEquals(await deactivate.isDisabled(), true);
  preview.release();
  await page.getByText("1 user was deactivated.").waitFor();
  const stored = await site.target.directory.read("user", "bob");
  assertEquals(stored?.content.kind === "user" && stored.content.active, true);
});

browserTest("bulk: a double click starts one job, and takes it back once", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await site.put("ada");
  await open(page, site, { path: "/users", heading: "Users" });
  await page.getByLabel("Choose ada").check();
  const jobs = await holdCalls(page, /\/console\/api\/bulk$/);
  const previews = await holdCalls(page, /\/bulk\/preview$/);
  await page.getByRole("button", { name: "Deactivate" }).dblclick();
  previews.release();
  await jobs.begun;
  jobs.release();
  await page.getByText("1 user was deactivated.").waitFor();
  assertEquals([previews.count(), jobs.count()], [1, 1]);
  const undos = await holdCalls(page, /\/jobs\/[^/]+\/undo$/);
  await page.getByRole("button", { name: "Undo" }).dblclick();
  undos.release();
  await page.getByText("1 user was activated.").waitFor();
  assertEquals(undos.count(), 1);
});
