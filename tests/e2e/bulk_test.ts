// Deeds on many users in a real browser: they count first, show how far they are, and can be taken back.

import { assertEquals } from "@std/assert";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holds, membersOf, open } from "./people_pages.ts";

closeBrowserAtEnd();

const dist = await currentDist();

async function inactiveOf(site: PeopleConsole): Promise<string[]> {
  const names: string[] = [];
  for await (const { content } of site.target.directory.all("user")) {
    if (content.kind === "user" && !content.active) names.push(content.name);
  }
  return names;
}

browserTest(
  "bulk: users are chosen, deactivated and taken back; all that match go into a group",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    for (let number = 1; number <= 60; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
    await site.putGroup("staff", ["user01"]);
    await open(page, site, { path: "/users", heading: "Users" });
    await page.getByLabel("Choose user02").check();
    await page.getByLabel("Choose user03").check();
    const bar = page.getByRole("region", { name: "2 chosen" });
    // All rows are seen: what lies below the bar cannot be judged.
    await page.setViewportSize({ width: 1280, height: 2800 });
    await bar.waitFor();
    await holds(page);
    await bar.getByRole("button", { name: "Deactivate" }).click();
    await page.getByText("2 users were deactivated.").waitFor();
    await page.getByRole("row", { name: /user02/ }).getByText("Deactivated").waitFor();
    await holds(page);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("2 users were activated.").waitFor();
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("button", { name: "Choose all 60 that match" }).click();
    await page.getByRole("region", { name: "60 chosen" }).getByRole("button", { name: "Add to a group" })
      .click();
    const dialog = page.getByRole("dialog", { name: "Add to a group" });
    await dialog.getByRole("combobox", { name: "Add to a group" }).fill("staff");
    await dialog.getByRole("option", { name: "staff" }).click();
    await page.getByText("59 users were added to the group.").waitFor();
    await page.getByText("1 were so already.").or(page.getByText("1 was so already.")).waitFor();
    assertEquals((await membersOf(site, "staff")).length, 60);
  },
);

browserTest(
  "bulk: a deactivation that takes memberships along asks first, and offers no way back",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    for (const name of ["ada", "grace"]) await site.put(name);
    await site.putGroup("staff", ["ada"]);
    await open(page, site, { path: "/users", heading: "Users" });
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("region", { name: "2 chosen" }).getByRole("button", { name: "Deactivate" }).click();
    const dialog = page.getByRole("dialog", { name: "Deactivate 2 users?" });
    await dialog.getByText("1 membership ends.").waitFor();
    await dialog.getByText("Activating again does not bring this back.").waitFor();
    await holds(page);
    await dialog.getByRole("button", { name: "Deactivate 2 users" }).click();
    await page.getByText("2 users were deactivated.").waitFor();
    assertEquals(await page.getByRole("button", { name: "Undo" }).count(), 0);
    assertEquals((await membersOf(site, "staff")).length, 0);
  },
);

browserTest(
  "bulk: all that match a filter are chosen beyond the page; progress is seen, and stopped half-way",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, shape: { local: "store", ldap: "sync" } });
    for (let number = 1; number <= 60; number += 1) {
      await site.put(`match${String(number).padStart(2, "0")}`);
      if (number <= 5) await site.put(`other${number}`);
    }
    await open(page, site, { path: "/users?q=match", heading: "Users" });
    await page.getByText("1 to 50 of 60").waitFor();
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("button", { name: "Choose all 60 that match" }).click();
    // A minute for all of them: there is time to see the progress and to stop.
    site.backend("ldap").slowBy(1000);
    await page.getByRole("region", { name: "60 chosen" }).getByRole("button", { name: "Deactivate" }).click();
    await page.getByText(/^[1-9]\d? of 60 users$/).waitFor();
    await page.getByRole("progressbar").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped.").waitFor();
    const inactive = await inactiveOf(site);
    assertEquals(inactive.length > 0 && inactive.length < 60, true, `${inactive.length} were deactivated`);
    assertEquals(inactive.filter((name) => !name.startsWith("match")), []);
    site.backend("ldap").slowBy(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/users? (was|were) activated\./).waitFor();
    assertEquals(await inactiveOf(site), []);
  },
);

browserTest(
  "bulk: what a backend gets later is no green tick, and leads to those who wait",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, shape: { local: "store", crm: "async" } });
    for (const name of ["ada", "bob"]) await site.put(name);
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await open(page, site, { path: "/users", heading: "Users" });
    await page.getByLabel("Choose all on this page").check();
    await page.getByRole("button", { name: "Deactivate" }).click();
    const note = page.getByRole("status").filter({ hasText: "2 users were deactivated." });
    await note.getByText("2 are still on their way to crm.").waitFor();
    assertEquals(await note.evaluate((node) => node.className.includes("tone-ok")), false);
    await holds(page);
    await note.getByRole("link", { name: "Show them" }).click();
    await page.getByRole("row", { name: /ada/ }).waitFor();
    await page.waitForURL(/backend=crm&sync=pending/);
  },
);

browserTest("bulk: a deletion counts first, and from 25 on its number is typed", async ({ page }) => {
  await using site = await startPeopleConsole({ dist, shape: { local: "store", ldap: "sync" } });
  for (let number = 1; number <= 30; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
  await open(page, site, { path: "/users", heading: "Users" });
  await page.getByLabel("Choose all on this page").check();
  await page.getByRole("region", { name: "30 chosen" }).getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete 30 users?" });
  await dialog.getByText("From ldap: 30").waitFor();
  const verb = dialog.getByRole("button", { name: "Delete 30 users" });
  assertEquals(await verb.isDisabled(), true);
  await holds(page);
  await dialog.getByLabel(/30/).fill("30");
  await verb.click();
  await page.getByText("30 users were deleted.").waitFor();
  await page.getByText("No users yet.").waitFor();
});
