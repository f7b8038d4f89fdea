// Bulk actions on users in a browser: they count first, show their progress, can be undone, and run once.

import { assertEquals } from "@std/assert";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds } from "./page_checks.ts";
import { holdCalls } from "./held_calls.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

async function inactiveOf(site: PeopleConsole): Promise<string[]> {
  const names: string[] = [];
  for await (const { content } of site.target.directory.all("user")) {
    if (content.kind === "user" && !content.active) names.push(content.name);
  }
  return names;
}

test("bulk: selected users are deactivated and restored; all matches join a group", async ({ page, site, open }) => {
  for (let number = 1; number <= 60; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
  await site.putGroup("staff", ["user01"]);
  await open("/users", "Users");
  await page.getByLabel("Select user02").check();
  await page.getByLabel("Select user03").check();
  const bar = page.getByRole("region", { name: "2 selected" });
  // All rows are visible: rows below the action bar could not be checked.
  await page.setViewportSize({ width: 1280, height: 2800 });
  await bar.waitFor();
  await assertHolds(page);
  await bar.getByRole("button", { name: "Deactivate" }).click();
  const question = page.getByRole("dialog", { name: "Deactivate 2 users?" });
  await question.getByText("user02, user03").waitFor();
  await question.getByText("Deactivated users cannot sign in.").waitFor();
  await question.getByRole("button", { name: "Deactivate 2 users" }).click();
  await page.getByText("2 users were deactivated.").waitFor();
  await page.getByRole("row", { name: /user02/ }).getByText("Deactivated").waitFor();
  await assertHolds(page);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("2 users were activated.").waitFor();
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Select all 60 matching users" }).click();
  await page.getByRole("region", { name: "60 selected" }).getByRole("button", { name: "Add to group" })
    .click();
  const dialog = page.getByRole("dialog", { name: "Add 60 users to a group" });
  const verb = dialog.getByRole("button", { name: "Add 60 users" });
  assertEquals(await verb.isDisabled(), true);
  const picker = dialog.getByRole("combobox", { name: "Add to group" });
  await picker.fill("staff");
  await dialog.getByRole("option", { name: "staff" }).waitFor();
  await picker.press("Enter");
  await dialog.getByText("1 is a member already and stays as is.").waitFor();
  await dialog.getByText(/and \d+ more/).waitFor();
  await picker.press("Enter");
  assertEquals((await site.membersOf("staff")).length, 1, "Enter only selects the group");
  await assertHolds(page);
  await verb.click();
  await page.getByText("59 users were added to staff.").waitFor();
  await page.getByText("1 unchanged (already in that state).").waitFor();
  assertEquals((await site.membersOf("staff")).length, 60);
});

test("bulk: a deactivation that removes memberships asks first, and offers no undo", async ({ page, site, open }) => {
  for (const name of ["ada", "grace"]) await site.put(name);
  await site.putGroup("staff", ["ada"]);
  await open("/users", "Users");
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("region", { name: "2 selected" }).getByRole("button", { name: "Deactivate" }).click();
  const dialog = page.getByRole("dialog", { name: "Deactivate 2 users?" });
  await dialog.getByText("1 membership ends.").waitFor();
  await dialog.getByText("Activating the user again does not restore this.").waitFor();
  await assertHolds(page);
  await dialog.getByRole("button", { name: "Deactivate 2 users" }).click();
  await page.getByText("2 users were deactivated.").waitFor();
  assertEquals(await page.getByRole("button", { name: "Undo" }).count(), 0);
  assertEquals((await site.membersOf("staff")).length, 0);
});

test("bulk: all matches beyond the page are selected; progress is shown, and the job stopped half-way", {
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site, open }) => {
  for (let number = 1; number <= 60; number += 1) {
    await site.put(`match${String(number).padStart(2, "0")}`);
    if (number <= 5) await site.put(`other${number}`);
  }
  await open("/users?q=match", "Users");
  await page.getByText("1–50 of 60").waitFor();
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Select all 60 matching users" }).click();
  // A minute for all of them: enough time to see the progress and to stop.
  site.backend("ldap").slowBy(1000);
  await page.getByRole("region", { name: "60 selected" }).getByRole("button", { name: "Deactivate" }).click();
  await page.getByRole("dialog").getByLabel(/60/).fill("60");
  await page.getByRole("dialog").getByRole("button", { name: "Deactivate 60 users" }).click();
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
});

test("bulk: a pending write to a backend shows no green tick, and links to the pending users", {
  shape: { local: "store", crm: "async" },
}, async ({ page, site, open }) => {
  for (const name of ["ada", "bob"]) await site.put(name);
  site.backend("crm").trouble({ operation: "put", how: "before" });
  await open("/users", "Users");
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Deactivate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deactivate 2 users" }).click();
  const note = page.getByRole("status").filter({ hasText: "2 users were deactivated." });
  await note.getByText("2 changes are pending at crm.").waitFor();
  assertEquals(await note.evaluate((node) => node.className.includes("tone-ok")), false);
  await assertHolds(page);
  await note.getByRole("link", { name: "Show pending users" }).click();
  await page.getByRole("row", { name: /ada/ }).waitFor();
  await page.waitForURL(/backend=crm&sync=pending/);
});

test("bulk: a deletion counts first, and from 25 users on the number must be typed", {
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site, open }) => {
  for (let number = 1; number <= 30; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
  await open("/users", "Users");
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("region", { name: "30 selected" }).getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete 30 users?" });
  await dialog.getByText("From ldap: 30").waitFor();
  const verb = dialog.getByRole("button", { name: "Delete 30 users" });
  assertEquals(await verb.isDisabled(), true);
  await assertHolds(page);
  await dialog.getByLabel(/30/).fill("30");
  await verb.click();
  await page.getByText("30 users were deleted.").waitFor();
  await page.getByText("No users yet.").waitFor();
});

test("bulk: each action asks first, with the users who were selected at the click", async ({ page, site, open, step }) => {
  for (const name of ["ada", "bob"]) await site.put(name);
  await site.putGroup("staff", ["ada"]);
  await open("/users", "Users");
  await page.getByLabel("Select ada").check();
  const jobs = await holdCalls(page, /\/console\/api\/bulk$/);
  for (const action of ["Activate", "Deactivate", "Add to group", "Remove from group", "Delete"]) {
    await step(action, async () => {
      await page.getByRole("region", { name: "1 selected" }).getByRole("button", {
        name: action,
        exact: true,
      })
        .click();
      const dialog = page.getByRole("dialog", { name: /1 user/ });
      if (action.endsWith("group")) {
        await dialog.getByRole("combobox").fill("staff");
        await dialog.getByRole("option", { name: "staff" }).click();
      }
      await dialog.getByRole("listitem").filter({ hasText: "ada" }).waitFor();
      await dialog.getByRole("button", { name: /^(Cancel|Keep)$/ }).click();
      if (action.endsWith("group")) await page.getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
    });
  }
  assertEquals(jobs.count(), 0);
});

test("bulk: a double click starts one job, and undoes it once", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users", "Users");
  await page.getByLabel("Select ada").check();
  const jobs = await holdCalls(page, /\/console\/api\/bulk$/);
  await page.getByRole("button", { name: "Deactivate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deactivate 1 user" }).dblclick();
  await jobs.begun;
  jobs.release();
  await page.getByText("1 user was deactivated.").waitFor();
  assertEquals(jobs.count(), 1);
  const undos = await holdCalls(page, /\/jobs\/[^/]+\/undo$/);
  await page.getByRole("button", { name: "Undo" }).dblclick();
  undos.release();
  await page.getByText("1 user was activated.").waitFor();
  assertEquals(undos.count(), 1);
});
