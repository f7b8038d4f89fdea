// The pages of users in a browser, with elements found by role and label.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { endSession } from "./session_end.ts";
import { consoleTests } from "./console_tests.ts";
import { runUserAction } from "./user_menu.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

async function openUsers(
  page: Page,
  site: PeopleConsole,
  { role = "user_manager", path = "/users", heading = "Users" as string | RegExp } = {},
): Promise<void> {
  await enterAs(page, { site, role, path, heading });
}

async function openUser(
  page: Page,
  site: PeopleConsole,
  name: string,
  { role = "user_manager", hash = "#profile" } = {},
) {
  const path = `/users/${encodeURIComponent(name)}${hash}`;
  await enterAs(page, { site, role, path, heading: name });
}

async function saveChanges(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
}

test("users: a user is created in the dialog, and the page of that user opens", async ({ page, site }) => {
  await openUsers(page, site);
  await page.getByText("No users yet.").waitFor();
  await page.getByRole("button", { name: "Create user" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("User name").fill("ada");
  await dialog.getByLabel("First name").fill("Ada");
  await dialog.getByLabel("Last name").fill("Lovelace");
  await dialog.getByRole("button", { name: "Add email address" }).click();
  await dialog.getByLabel("Email address 1").fill("ada@");
  await dialog.getByText("Not a valid email address.").waitFor();
  await dialog.getByLabel("Email address 1").fill("ada@example.org");
  await dialog.getByText("Not a valid email address.").waitFor({ state: "detached" });
  await dialog.getByLabel("Password").fill("a long password of ada");
  await dialog.getByRole("button", { name: "Create user" }).click();
  await page.getByRole("heading", { name: "Ada Lovelace", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Profile", exact: true }).click();
  await page.getByLabel("First name").waitFor();
  assertEquals(await page.getByLabel("First name").inputValue(), "Ada");
  const stored = await site.target.directory.read("user", "ada");
  assertEquals(stored?.content.attributes.emails, [{ value: "ada@example.org", type: "work" }]);
  await page.getByRole("link", { name: "All users" }).click();
  const row = page.getByRole("row", { name: /ada/ });
  await row.getByText("ada@example.org").waitFor();
  await row.getByText("Active").waitFor();
  await page.getByRole("button", { name: "Create user" }).first().click();
  await dialog.getByLabel("User name").fill("Ada");
  await dialog.getByRole("button", { name: "Create user" }).click();
  await dialog.getByText("A user with this name already exists.").waitFor();
  assertEquals(await dialog.getByText(/exists/).count(), 1, "it is said once");
  assertEquals(await dialog.getByRole("alert").count(), 0);
});

test("users: the name of a user from LDAP is a field, and a directory number is a factor", async ({ page, site }) => {
  await site.put("hpotter", {
    name: { formatted: "Harry Potter", familyName: "Potter", givenName: "Harry" },
    phoneNumbers: [{ value: "+4915112345678", type: "mobile" }],
  });
  await enterAs(page, {
    site,
    role: "user_manager",
    path: "/users/hpotter#profile",
    heading: "Harry Potter",
  });
  await page.getByLabel("Full name").waitFor();
  assertEquals(await page.getByLabel("Full name").inputValue(), "Harry Potter");
  assertEquals(await page.getByLabel("Display name").getAttribute("placeholder"), "Default: Harry Potter");
  assertEquals(await page.getByText("formatted").count(), 0);
  await page.getByRole("main").getByRole("link", { name: /^Authenticators/ }).click();
  await page.getByText("From the directory, not verified.").waitFor();
  assertEquals(await page.getByText("No second factors yet.").count(), 0);
  await page.getByRole("link", { name: "All users" }).click();
  await page.getByRole("row", { name: /hpotter/ }).getByText("Text message (directory)").waitFor();
});

test("users: the list is searched, filtered and paged in the address", async ({ page, site }) => {
  for (let number = 1; number <= 60; number += 1) {
    const name = `user${String(number).padStart(2, "0")}`;
    await site.put(name, {
      active: number !== 7,
      displayName: `Person ${number}`,
      emails: [{ value: `${name}@example.org` }],
    });
  }
  await openUsers(page, site, { role: "viewer" });
  await page.getByText("1–50 of 60").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("51–60 of 60").waitFor();
  await page.waitForURL(/page=2/);
  await page.getByLabel("Status", { exact: true }).selectOption({ label: "Deactivated" });
  await page.getByRole("link", { name: "user07" }).waitFor();
  await page.getByText("1–1 of 1").waitFor();
  await page.reload();
  await page.getByRole("link", { name: "user07" }).waitFor();
  await page.getByRole("button", { name: /Status: Deactivated/ }).click();
  await page.getByText("1–50 of 60").waitFor();
  await page.getByRole("searchbox", { name: "Search users" }).fill("unknown");
  await page.getByText("No users match.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("1–50 of 60").waitFor();
  const create = page.getByRole("button", { name: "Create user" });
  assertEquals(await create.isDisabled(), true);
  assertEquals(await create.getAttribute("title"), "Requires the user manager role");
});

test("users: a change shows the old and the new value before it is saved", async ({ page, site }) => {
  await site.put("ada", { title: "Countess", nickName: "the enchantress" });
  await openUser(page, site, "ada");
  await page.getByLabel("First name").waitFor();
  await page.keyboard.press("e");
  await page.locator("input:focus").and(page.getByLabel("First name")).waitFor();
  await page.getByLabel("Title").fill("Analyst");
  await page.getByRole("button", { name: "Review changes" }).click();
  const dialog = page.getByRole("dialog", { name: "Save these changes to ada?" });
  await dialog.getByText("Countess").waitFor();
  await dialog.getByText("Analyst").waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("ada was changed.").waitFor();
  const { attributes } = (await site.target.directory.read("user", "ada"))?.content ?? {};
  assertEquals([attributes?.title, attributes?.nickName], ["Analyst", "the enchantress"]);
});

test("users: the second of two administrators sees the first change, and both changes stay", async ({ page, context, site }) => {
  await site.put("ada", { title: "old title" });
  await openUser(page, site, "ada");
  const other = await context.newPage();
  await other.goto(`${site.origin}/users/ada#profile`);
  await other.getByLabel("Title").fill("title of the first");
  await page.getByLabel("Department").fill("department of the second");
  await saveChanges(other);
  await other.getByText("ada was changed.").waitFor();
  await saveChanges(page);
  const dialog = page.getByRole("dialog", { name: "ada was changed in the meantime" });
  await dialog.getByText("Changed fields: Job title.").waitFor();
  await dialog.getByText("department of the second").waitFor();
  await dialog.getByRole("button", { name: "Save my changes" }).click();
  await page.getByText("ada was changed.").waitFor();
  assertEquals(await page.getByLabel("Title").inputValue(), "title of the first");
  assertEquals(await page.getByLabel("Department").inputValue(), "department of the second");
});

browserTest(
  "users: a failing backend is named, and a pending one does not show as in sync",
  async ({ page }) => {
    const shape = { local: "store", ldap: "sync", crm: "async" } as const;
    await using site = await startPeopleConsole({ shape, dist: await currentDist() });
    await site.put("ada", {
      displayName: "Ada Lovelace",
      emails: [{ value: "ada@example.org", type: "work" }],
    });
    const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
    site.backend("ldap").trouble({ operation: "put", how: "before", fault });
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await openUser(page, site, "ada");
    await page.getByLabel("Title").fill("Countess");
    await saveChanges(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("alert").getByText("the attribute is not allowed").first().waitFor();
    await dialog.getByText("ldap: failed").waitFor();
    await dialog.getByRole("checkbox", { name: /^ldap/ }).uncheck();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("crm: queued").waitFor();
    await page.getByRole("link", { name: /^Attributes by connector/ }).click();
    const truth = page.getByRole("region", { name: "Attributes by connector, for ada" });
    await truth.getByText("Differs").first().waitFor();
    site.backend("ldap").heal();
    await page.getByRole("button", { name: "Resolve differences ldap" }).click();
    await page.getByText("Retry started for ldap.").waitFor();
    await truth.getByText("Differs").first().waitFor({ state: "detached" });
  },
);

test("users: a session that ends during editing loses no input", async ({ page, site }) => {
  await site.put("ada");
  await openUser(page, site, "ada");
  await page.getByLabel("Title").fill("typed before the session ended");
  await endSession(page);
  await saveChanges(page);
  const dialog = page.getByRole("dialog").filter({ has: page.getByLabel("Name", { exact: true }) });
  await dialog.getByLabel("Name", { exact: true }).fill("user_manager");
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("ada was changed.").waitFor();
  assertEquals(await page.getByLabel("Title").inputValue(), "typed before the session ended");
});

const HOSTILE = `"><img src=x onerror=alert(1)>`;

test("users: a hostile name is text wherever it is shown", async ({ page, site }) => {
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  await site.put(HOSTILE, {
    displayName: HOSTILE,
    title: HOSTILE,
    emails: [{ value: HOSTILE, type: HOSTILE }],
  });
  await site.putGroup(HOSTILE, [HOSTILE]);
  await openUsers(page, site);
  await page.getByRole("link", { name: HOSTILE }).click();
  await page.getByRole("heading", { name: HOSTILE, level: 1 }).waitFor();
  for (const part of ["Groups", "Authenticators", "Attributes by connector", "Timeline"]) {
    await page.getByRole("navigation", { name: /^Sections of/ }).getByRole("link", { name: part }).click();
    await page.getByRole("region", { name: part }).first().waitFor();
  }
  await runUserAction(page, "Delete");
  await page.getByRole("dialog").getByText(HOSTILE).first().waitFor();
  assertEquals(await page.locator("img").count(), 0);
  assertEquals(asked, []);
});

test("users: groups are found on the server, joined, and left with an undo", async ({ page, site }) => {
  await site.put("ada");
  for (const name of ["staff", "storage", "vpn"]) await site.putGroup(name);
  await openUser(page, site, "ada", { hash: "#groups" });
  await page.getByText("Not a member of any group.").waitFor();
  await page.getByRole("combobox", { name: "Add to group" }).fill("st");
  await page.getByRole("listbox", { name: "Matching groups" }).getByRole("option", { name: "staff" }).click();
  await page.getByText("Added ada to staff.").waitFor();
  await page.getByRole("button", { name: "Remove staff" }).click();
  const undo = page.getByRole("button", { name: "Undo" });
  // The message stays while the pointer is on it.
  await undo.hover();
  await page.getByText("Not a member of any group.").waitFor();
  await undo.click();
  await page.getByRole("button", { name: "Remove staff" }).waitFor();
  assertEquals((await site.target.directory.read("user", "ada"))?.groups, ["staff"]);
});

test("users: the delete dialog lists what is deleted with the user, and from which backend", {
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site }) => {
  await site.put("ada");
  await site.putGroup("staff", ["ada"]);
  await openUser(page, site, "ada");
  await runUserAction(page, "Delete");
  const dialog = page.getByRole("dialog", { name: "Delete ada?" });
  await dialog.getByText("Deleted from 2 connectors: local, ldap").waitFor();
  await dialog.getByText("Removed from 1 group: staff").waitFor();
  assertEquals(
    await dialog.getByRole("button", { name: "Cancel" }).evaluate((one) => one === document.activeElement),
    true,
  );
  await dialog.getByRole("button", { name: "Delete ada" }).click();
  await page.getByText("ada was deleted. Deleted from 2 connectors").waitFor();
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  assertEquals(await site.target.directory.read("user", "ada"), null);
  assert(!site.backend("ldap").users.has("ada"));
});

test(
  "users: at 320 px a menu has the less frequent actions, and lists show whole names",
  { look: "narrow" },
  async ({ page, site }) => {
    const name = "maximiliane.featherstonehaugh-cholmondeley@example.org";
    await site.put(name);
    await site.putGroup("staff", [name]);
    await site.pairings.addDevice({ id: "p1", userName: name, totpLength: 6 });
    await openUser(page, site, name);
    const more = page.getByRole("button", { name: `More ${name}` });
    await more.click();
    await page.getByRole("menuitem", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert(await more.evaluate((button) => button === document.activeElement));
    for (const path of ["/groups/staff", "/devices"]) {
      await page.goto(site.origin + path);
      const shown = page.getByRole("table").getByRole("link", { name }).first();
      await shown.waitFor();
      // More than one line of it, within the window.
      const box = await shown.boundingBox();
      assert(box !== null && box.height > 30 && box.x + box.width <= 320, path);
    }
  },
);
