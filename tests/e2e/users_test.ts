// The pages of users in a browser, with elements found by role and label.

import { assert, assertEquals, assertNotMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";
import { answerQuestion, endSession, runUserAction } from "./page_actions.ts";
import { consoleTests } from "./console_tests.ts";
import { startConsoleProgram } from "./console_program.ts";
import { findAccessibilityProblems } from "./page_checks.ts";

// The pages of users in a browser, with elements found by role and label.

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
  await holds(() => page.getByLabel("First name").inputValue(), "Ada");
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
  await holds(() => dialog.getByText(/exists/).count(), 1, "it is said once");
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
  await holds(() => page.getByLabel("Full name").inputValue(), "Harry Potter");
  await holds(() => page.getByLabel("Display name").getAttribute("placeholder"), "Default: Harry Potter");
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
  await holds(() => create.isDisabled(), true);
  await holds(() => create.getAttribute("title"), "Requires the user manager role");
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
  await holds(() => page.getByLabel("Title").inputValue(), "title of the first");
  await holds(() => page.getByLabel("Department").inputValue(), "department of the second");
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
  await holds(() => page.getByLabel("Title").inputValue(), "typed before the session ended");
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

// Factors, locks and lost servers on the pages of users, with elements found by role and label.

const programTest = consoleTests(startConsoleProgram, { role: "owner" });

const OTHER_APP = "otpauth://totp/Old:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA256&digits=8";

test("users: numbers are added, shown masked, preferred and revoked", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users/ada#devices", "ada");
  await page.getByText("No second factors yet.").waitFor();
  const add = async (number: string, kind: string) => {
    await page.getByRole("button", { name: "Add number" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Phone number").fill(number);
    await dialog.getByLabel("Use for").selectOption({ label: kind });
    await dialog.getByRole("button", { name: "Add number" }).click();
    return dialog;
  };
  const refused = await add("12", "Text message");
  await refused.getByText(/Enter the number with \+ and country code/).waitFor();
  await holds(() => refused.getByLabel("Phone number").inputValue(), "12", "what was typed stays");
  await refused.getByRole("button", { name: "Cancel" }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Discard", exact: true }).click();
  await add("+49 151 1234 5678", "Text message");
  await page.getByText("Number added for ada.").waitFor();
  await add("+49 151 8765 4321", "Call");
  await page.getByLabel("Default factor").selectOption({ label: "Call" });
  await page.getByText("The default factor of ada is now: Call.").waitFor();
  assertEquals(site.pairings.preferred("ada"), "voice");
  assertNotMatch(await page.locator("body").innerText(), /1511234|1518765/);
  await page.getByRole("button", { name: "Add authenticator app" }).click();
  const app = page.getByRole("dialog", { name: "Add an authenticator app for ada" });
  await app.getByLabel("Or the secret of an existing app").fill("not a secret 1");
  await app.getByLabel("Code from the app").waitFor({ state: "detached" });
  await app.getByRole("button", { name: "Confirm" }).click();
  await app.getByRole("alert").waitFor();
  await app.getByLabel("Or the secret of an existing app").fill(OTHER_APP);
  await app.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Authenticator app added for ada.").waitFor();
  assertEquals(site.pairings.of("ada").filter(({ kind }) => kind === "totp").length, 1);
  await page.getByRole("button", { name: /^Revoke Authenticator app/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Authenticator app removed from ada.").waitFor();
  await page.getByRole("button", { name: /^Revoke Text message/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Text message removed from ada.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ kind }) => kind), ["voice"]);
});

programTest(
  "users: the invitation, the tab and the list show that the phone was paired, without a reload",
  async ({ page, site, open }) => {
    // The user is not in the directory, as after `deno task pair`.
    await open("/users/zoe#devices", "zoe");
    await page.getByText("No second factors yet.").waitFor();
    // The header offers it, too, because the user has no factor.
    await page.getByRole("region", { name: "Authenticators" }).getByRole("button", { name: "Pair a phone" })
      .click();
    const dialog = page.getByRole("dialog");
    const link = await dialog.getByText("/device#invite=").innerText();
    const phone = await page.context().newPage();
    await phone.goto(link);
    await phone.getByRole("button", { name: "Pair this phone" }).click();
    await phone.getByText("This phone is paired.").waitFor();
    await dialog.getByText(/is now paired with zoe/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: /^Revoke Phone/ }).waitFor();
    assertEquals(await page.getByText("No second factors yet.").count(), 0);
    await page.goto(`${site.origin}/users?q=zoe`);
    await page.getByRole("link", { name: "zoe", exact: true }).click();
    await page.getByRole("button", { name: "Create this user" }).click();
    const form = page.getByRole("dialog", { name: "Create user" });
    await holds(() => form.getByLabel("User name").inputValue(), "zoe");
    await form.getByRole("button", { name: "Create user" }).click();
    await page.getByText("The directory has no user with this name.").waitFor({ state: "detached" });
  },
);

test("users: two phones are distinguished by their names; one is renamed and revoked", async ({ page, site, open }) => {
  await site.put("ada");
  const phone = { userName: "ada", totpLength: 6 };
  await site.pairings.addDevice({ ...phone, id: "p1", name: "Pixel of Ada" });
  await site.pairings.addDevice({ ...phone, id: "p2" });
  await open("/devices", "Authenticators");
  await page.getByRole("row", { name: /Phone, paired \d/ }).waitFor();
  assertEquals(await page.getByText("p2", { exact: true }).count(), 0, "an id is no name");
  await open("/users/ada#devices", "ada");
  await page.getByText("Pixel of Ada").first().waitFor();
  await page.getByRole("button", { name: /^Rename Phone, paired \d/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("\u202eevil");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await dialog.getByText(/A phone name has 1 to 60 characters/).waitFor();
  await dialog.getByLabel("Name").fill(`"><img src=x onerror=alert(1)>`);
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByText("The phone of ada was renamed.").waitFor();
  await page.getByText(`"><img src=x onerror=alert(1)>`).first().waitFor();
  await page.getByRole("button", { name: "Revoke Phone Pixel of Ada" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Phone removed from ada.").waitFor();
  assertEquals(site.pairings.of("ada").map(({ id }) => id), ["p2"]);
  await page.getByRole("link", { name: /Timeline/ }).click();
  await page.getByText("Phone renamed").waitFor();
  await page.getByText("Pairing: p1, Factor: Phone, Phone: Pixel of Ada").waitFor();
  await page.goto(`${site.origin}/devices?q=onerror`);
  await page.getByRole("row", { name: /onerror=alert/ }).waitFor();
});

test("users: a lock is shown and removed; logins in progress are listed", async ({ page, site, open }) => {
  await site.put("ada");
  site.watch.put(conversation(1, { user: "Ada", client: "vpn-7", startedMs: Date.now() }));
  site.watch.put(conversation(2, { user: "grace", client: "vpn-8", startedMs: Date.now() }));
  while (!site.limits.isLocked("ada")) site.limits.countFailure("ada");
  await open("/users?status=locked", "Users");
  await page.getByRole("link", { name: "ada" }).click();
  await page.getByText("Locked until").waitFor();
  await page.getByRole("link", { name: "vpn-7" }).waitFor();
  assertEquals(await page.getByText("vpn-8").count(), 0);
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.getByText("ada was unlocked.").waitFor();
  assertEquals(site.limits.isLocked("ada"), false);
  assertEquals(await page.getByText("Locked", { exact: true }).count(), 0);
});

test("users: remembered devices are counted and forgotten", async ({ page, site, open }) => {
  await site.put("ada");
  const { remembered } = site.policies;
  for (const place of ["192.0.2.1", "192.0.2.2"]) {
    const change = remembered.prepareRemember({ user: "ada", client: "vpn-7", place }, {
      hours: 8,
      used: "totp",
    });
    if (change === null) throw new Error("The device is not remembered");
    await site.store.commit({ mutations: [...change.mutations] });
    change.done();
  }
  await open("/users/ada#devices", "ada");
  await page.getByText("2 remembered devices sign in without a second factor.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.getByRole("button", { name: "Forget remembered devices" }).click();
  await answerQuestion(page, "Forget the remembered devices of ada?", "Forget remembered devices");
  await page.getByText("The next sign-in of ada needs a second factor on every device.").waitFor();
  await page.getByRole("button", { name: "Forget remembered devices" }).waitFor({ state: "detached" });
  assertEquals(remembered.count("ada"), 0);
});

test("users: while the server is unreachable the old rows stay, and a retry loads new ones", async ({ page, site, open }) => {
  await site.put("ada");
  await site.put("grace");
  await open("/users", "Users", { role: "viewer" });
  await page.getByRole("link", { name: "grace" }).waitFor();
  await page.route("**/console/api/users?*", (route) => route.abort());
  await page.getByRole("searchbox", { name: "Search users" }).fill("ada");
  await page.getByRole("alert").getByText("The users could not be loaded.").waitFor();
  await page.getByRole("link", { name: "grace" }).waitFor();
  await page.unroute("**/console/api/users?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "grace" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await page.getByRole("alert").count(), 0);
});
