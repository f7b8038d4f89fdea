// Actions on many users in a browser: bulk actions, import, and the picker of members.

import { assertEquals } from "@std/assert";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds } from "./page_checks.ts";
import { endSession, holdCalls, listensFor } from "./page_actions.ts";
import { chooseFile } from "./pages/page_walk.ts";
import { holds } from "./browser.ts";

// Bulk actions on users in a browser: they count first, show their progress, can be undone, and run once.

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
  await bar.waitFor();
  await bar.getByRole("button", { name: "Deactivate" }).click();
  const question = page.getByRole("dialog", { name: "Deactivate 2 users?" });
  await question.getByText("user02, user03").waitFor();
  await question.getByText("Deactivated users cannot sign in.").waitFor();
  await question.getByRole("button", { name: "Deactivate 2 users" }).click();
  await page.getByText("2 users were deactivated.").waitFor();
  await page.getByRole("row", { name: /user02/ }).getByText("Deactivated").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("2 users were activated.").waitFor();
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Select all 60 matching users" }).click();
  await page.getByRole("region", { name: "60 selected" }).getByRole("button", { name: "Add to group" })
    .click();
  const dialog = page.getByRole("dialog", { name: "Add 60 users to a group" });
  const verb = dialog.getByRole("button", { name: "Add 60 users" });
  await holds(() => verb.isDisabled(), true);
  const picker = dialog.getByRole("combobox", { name: "Add to group" });
  await picker.fill("staff");
  await dialog.getByRole("option", { name: "staff" }).waitFor();
  await picker.press("Enter");
  await dialog.getByText("1 is a member already and stays as is.").waitFor();
  await dialog.getByText(/and \d+ more/).waitFor();
  await picker.press("Enter");
  assertEquals((await site.membersOf("staff")).length, 1, "Enter only selects the group");
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
  const bar = page.getByRole("region", { name: "2 selected" });
  await bar.waitFor();
  await assertHolds(page);
  await bar.getByRole("button", { name: "Deactivate" }).click();
  const dialog = page.getByRole("dialog", { name: "Deactivate 2 users?" });
  await dialog.getByText("1 membership ends.").waitFor();
  await dialog.getByText("Activating the user again does not restore this.").waitFor();
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
  await holds(() => verb.isDisabled(), true);
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

// Import of users from a file in a browser: preview, correction, and import.

const CSV = `userName,displayName,groups
ada,Ada,staff
bob,Bob,
eve,Eve,staff
,Unnamed,
ADA,Twice,
`;

const choose = (page: Page, text: string) => chooseFile(page.getByLabel("File", { exact: true }), text);

test(
  "import: each row shows the result of every backend",
  { shape: { local: "store", crm: "async" } },
  async ({ page, site, open }) => {
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await open("/users/import", "Import users");
    await choose(page, "userName\nada\nbob\n");
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByText("Import completed.").waitFor();
    for (const name of ["ada", "bob"]) {
      await page.getByRole("row", { name: new RegExp(`${name}.*Saved to 1 of 2 connectors.*crm: queued`) })
        .waitFor();
    }
  },
);

test("import: three good and two bad rows; a dry run, one corrected, one skipped, then applied", async ({ page, site, open }) => {
  await open("/users", "Users");
  await page.getByRole("link", { name: "Import users" }).click();
  await page.getByRole("heading", { name: "Import users", level: 1 }).waitFor();
  await choose(page, CSV);
  const table = page.getByRole("table", { name: "Rows of people.csv" });
  await table.getByText("Line 2 already has this name.").waitFor();
  await page.getByText("2 rows have errors").waitFor();
  assertEquals(await site.target.directory.read("user", "ada"), null);
  await assertHolds(page);
  await table.getByRole("button", { name: "Fix Line 5" }).click();
  const dialog = page.getByRole("dialog", { name: "Fix line 5" });
  await dialog.getByLabel("userName").fill("grace");
  // The session ends during editing: no input is lost.
  await endSession(page);
  await dialog.getByRole("button", { name: "Check row" }).click();
  const signIn = page.getByRole("dialog").filter({ has: page.getByRole("button", { name: "Sign in" }) })
    .last();
  await signIn.getByLabel("Name", { exact: true }).fill("user_manager");
  await signIn.getByLabel("Password").fill(PASSWORD);
  await signIn.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await table.getByRole("row", { name: /grace/ }).getByText("Create").waitFor();
  await table.getByRole("button", { name: "Skip Line 6" }).click();
  await page.getByRole("button", { name: "Import 4 rows" }).click();
  await page.getByText("Import completed.").waitFor();
  await holds(
    () => page.getByRole("status").filter({ hasText: "Import completed." }).innerText(),
    /4 created/,
  );
  await assertHolds(page);
  assertEquals((await site.membersOf("staff")).toSorted(), ["ada", "eve"]);
  assertEquals((await site.target.directory.read("user", "grace"))?.content.name, "grace");
});

test("import: updates are a choice; each row shows the old and the new value, and a new name is called a rename", async ({ page, site, open }) => {
  await site.put("adler", { displayName: "Adler", title: "Analyst" });
  await site.put("bob", { displayName: "Bob", title: "Analyst" });
  await open("/users/import", "Import users");
  await choose(page, "userName,displayName,title\nadler,X,Analyst\nbob,Bob,Lead\nnew,New,\n");
  await page.getByRole("button", { name: "Import 1 row" }).waitFor();
  await page.getByText("2 rows have errors").waitFor();
  await page.getByLabel("Update existing users and groups").click();
  await page.getByRole("row", { name: /adler Rename displayName: Adler → X/ }).waitFor();
  await page.getByRole("row", { name: /bob Update title: Analyst → Lead/ }).waitFor();
  await page.getByRole("button", { name: "Import 3 rows" }).click();
  await page.getByText("Import completed.").waitFor();
  assertEquals((await site.target.directory.read("user", "adler"))?.content.attributes["displayName"], "X");
});

test(
  "import: a file that is no table shows the reason, and another one can be selected",
  { look: "narrow" },
  async ({ page, open }) => {
    await open("/users/import", "Import users");
    await choose(page, "colour,size\nred,3\n");
    await page.getByRole("alert").getByText(/no userName/).waitFor();
    await choose(page, CSV);
    await page.getByText("2 rows have errors").waitFor();
  },
);

// The member picker by keyboard, and messages that do not move the page.

const search = (page: Page) => page.getByRole("combobox", { name: "Add member" });
const hasFocus = (page: Page) => search(page).evaluate((field) => field === document.activeElement);
const topOf = async (page: Page, selector: string) => (await page.locator(selector).boundingBox())?.y;

test("picker: Enter picks the single, exact or highlighted match, arrow keys move, and the focus stays", async ({ page, site, open }) => {
  for (const name of ["ada", "adam", "adele", "grace"]) await site.put(name);
  await site.putGroup("staff", ["seed"]);
  await open("/groups/staff", "staff");
  const table = page.getByRole("table", { name: "Members of staff" });
  await table.waitFor();
  const before = await topOf(page, ".table-frame");
  await search(page).focus();
  // Enter before the matches arrive selects a single match when it arrives.
  await page.keyboard.type("grac");
  await page.keyboard.press("Enter");
  // The message disappears after a while, so the test waits for it first.
  await page.getByText("Added grace to staff.").waitFor();
  await table.getByRole("link", { name: "grace" }).waitFor();
  await holds(async () => [await hasFocus(page), await search(page).inputValue()], [true, ""]);
  assertEquals(await topOf(page, ".table-frame"), before, "the message does not push the page down");
  // Several matches: nothing is selected without a highlight. The text is set at once: if it were typed key by key,
  // matches of its beginning could appear first, and Enter selects none of those.
  await page.keyboard.insertText("ad");
  await page.getByRole("option").nth(2).waitFor();
  await page.keyboard.press("Enter");
  assertEquals(await page.getByRole("option", { selected: true }).count(), 0);
  await assertHolds(page);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.getByRole("option", { name: "adam", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await table.getByRole("link", { name: "adam" }).waitFor();
  // The exact name among several matches.
  assertEquals(await hasFocus(page), true);
  await page.keyboard.insertText("ada");
  await page.getByRole("option", { name: "ada", exact: true, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await table.getByRole("link", { name: "ada", exact: true }).waitFor();
  // With the mouse, too, the focus stays in the field.
  await page.keyboard.insertText("adele");
  await page.getByRole("option", { name: "adele" }).click();
  await table.getByRole("link", { name: "adele" }).waitFor();
  assertEquals(await hasFocus(page), true);
  assertEquals(await topOf(page, ".table-frame"), before);
  await page.keyboard.type("zzz");
  await page.keyboard.press("Escape");
  await holds(async () => [await search(page).inputValue(), new URL(page.url()).pathname], [
    "",
    "/groups/staff",
  ]);
  assertEquals((await site.membersOf("staff")).toSorted(), ["ada", "adam", "adele", "grace", "seed"]);
});

test("bulk: the result is visible and the list does not scroll", async ({ page, site, open }) => {
  for (let number = 1; number <= 40; number += 1) await site.put(`user${String(number).padStart(2, "0")}`);
  await open("/users", "Users");
  for (const [width, height] of [[1440, 900], [390, 844]] as const) {
    await page.setViewportSize({ width, height });
    await page.getByRole("row", { name: /user02/ }).getByRole("checkbox").check();
    const bar = page.locator(".selection-bar");
    const isSmall = width === 390;
    const button = bar.getByRole("button", {
      name: isSmall ? "Actions for the selection" : "Deactivate",
      exact: true,
    });
    await button.scrollIntoViewIfNeeded();
    const scrolled = await page.evaluate(() => scrollY);
    await button.click();
    if (isSmall) await page.getByRole("menuitem", { name: "Activate", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^(A|Dea)ctivate 1 user$/ }).click();
    const result = page.locator(".bulk-foot > .note");
    await result.getByText(/1 user was (de)?activated\./).waitFor();
    const box = await result.boundingBox();
    const { top, bottom } = { top: box?.y ?? -1, bottom: (box?.y ?? 0) + (box?.height ?? 0) };
    assertEquals(top >= 0 && bottom <= height - (isSmall ? 57 : 0), true, `${top} to ${bottom}`);
    await result.getByRole("button", { name: "Dismiss" }).focus();
    const now = await page.evaluate(() => scrollY);
    assertEquals(now <= scrolled, true, `scrolled from ${scrolled} to ${now}`);
    await result.getByRole("button", { name: "Dismiss" }).click();
  }
});

test("users: Esc from a user returns to the row, with the filters and the selection", async ({ page, site, open }) => {
  for (const name of ["ada", "adam", "grace"]) await site.put(name);
  await open("/users?q=ada", "Users");
  await page.getByRole("row", { name: /adam/ }).getByRole("checkbox").check();
  await page.getByRole("link", { name: "ada", exact: true }).click();
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  // Another tab of the user is one more entry of the history.
  await page.locator("main").getByRole("link", { name: /^Groups/ }).click();
  await page.getByRole("combobox", { name: "Add to group" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  await page.locator('tr[data-key="ada"] a:focus').waitFor();
  await page.waitForURL((url) => url.search === "?q=ada");
  await holds(() => page.getByRole("row", { name: /adam/ }).getByRole("checkbox").isChecked(), true);
  // The row has the focus when it is drawn, and the table's keys are ready a moment later.
  await listensFor(page, ["j"]);
  await page.keyboard.press("j");
  await page.locator('tr[data-key="adam"] a:focus').waitFor();
  // A visit from another page starts without a selection.
  await page.getByRole("link", { name: "Groups", exact: true }).click();
  await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor();
  await page.evaluate(() => history.back());
  await page.getByRole("row", { name: /adam/ }).waitFor();
  assertEquals(await page.getByRole("checkbox", { checked: true }).count(), 0);
});
