// Groups and devices in a browser, with elements found by role and label.

import { assertEquals } from "@std/assert";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { createManualClock, PASSWORD } from "../fakes/console_app.ts";
import { SCIM_ACTOR, startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, chooseRowAction, currentDist, enterAs, holds } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

const dist = await currentDist();
const HOSTILE = `"><img src=x onerror=alert(1)>`;
const REPLIES = '[radius.reply.group.staff]\n"Filter-Id" = "vpn-staff"\n';

test("groups: one is created, filled by the picker, shows its replies, and is emptied with an undo", {
  toml: REPLIES,
}, async ({ page, site, open }) => {
  await site.put("ada", { displayName: "Ada Lovelace" });
  await open("/groups", "Groups");
  await page.getByText("No groups yet.").waitFor();
  await page.getByRole("button", { name: "Create group" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create group" });
  await dialog.getByLabel("Group name").fill("staff");
  await dialog.getByRole("button", { name: "Create group" }).click();
  await page.getByRole("heading", { name: "staff", level: 1 }).waitFor();
  await page.getByRole("row", { name: /Filter-Id.*vpn-staff.*this group/ }).waitFor();
  await page.getByRole("combobox", { name: "Add member" }).fill("lovel");
  await page.getByRole("listbox", { name: "Matching users" }).getByRole("option", { name: /ada/ }).click();
  await page.getByText("Added ada to staff.").waitFor();
  const table = page.getByRole("table", { name: "Members of staff" });
  await table.getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await site.membersOf("staff"), ["ada"]);
  await table.getByRole("button", { name: "Remove ada" }).click();
  const undo = page.getByRole("button", { name: "Undo" });
  // The message stays while the pointer is on it.
  await undo.hover();
  await page.getByText("This group has no members.").waitFor();
  await undo.click();
  await table.getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await site.membersOf("staff"), ["ada"]);
});

test("groups: a deletion lists backends, members and lost replies, and Keep is the default", {
  toml: REPLIES,
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site, open }) => {
  await site.put("ada");
  await site.putGroup("staff", ["ada", "ghost"]);
  await open("/groups/staff", "staff");
  await page.getByRole("button", { name: "Delete group" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete the group staff?" });
  await dialog.getByText("Deleted from 2 connectors: local, ldap").waitFor();
  await dialog.getByText("2 members leave the group. The users are not deleted.").waitFor();
  await dialog.getByText("Filter-Id = vpn-staff").waitFor();
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Cancel");
  await dialog.getByRole("button", { name: "Delete staff" }).click();
  await page.getByText("No groups yet.").waitFor();
  assertEquals(await site.target.directory.read("group", "staff"), null);
});

test("groups: a failing backend is shown on the page, and the group stays unchanged", {
  shape: { local: "store", ldap: "sync" },
}, async ({ page, site, open }) => {
  await site.put("ada");
  await site.putGroup("staff");
  await open("/groups/staff", "staff");
  site.backend("ldap").trouble({
    operation: "put",
    how: "before",
    fault: { kind: "refused", retry: false },
  });
  await page.getByRole("combobox", { name: "Add member" }).fill("ada");
  await page.getByRole("listbox", { name: "Matching users" }).getByRole("option", { name: "ada" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("staff was not changed.").waitFor();
  await alert.getByText("ldap: failed").waitFor();
  assertEquals(await site.membersOf("staff"), []);
});

test("groups: a viewer sees every part, and each action names the role that it needs", async ({ page, site, open }) => {
  await site.putGroup(HOSTILE, [HOSTILE]);
  await open("/groups", "Groups", { role: "viewer" });
  await page.getByRole("link", { name: HOSTILE }).click();
  await page.getByRole("heading", { name: HOSTILE, level: 1 }).waitFor();
  await page.getByText("Not in the directory").waitFor();
  for (const name of ["Delete group", /^Remove/]) {
    const button = page.getByRole("button", { name });
    await holds(async () => [await button.isDisabled(), await button.getAttribute("title")], [
      true,
      "Requires the user manager role",
    ]);
  }
  assertEquals(await page.locator("main img").count(), 0);
});

test("devices: all are listed, filtered and revoked", async ({ page, site, open }) => {
  for (const [name, number] of [["ada", "+4915112345678"], ["bob", "+4915187654321"]] as const) {
    const user = { canonical: name, shown: name };
    const { mutation, pairing } = site.pairings.prepare(user, { kind: "sms", number });
    await site.store.commit({ mutations: [mutation] });
    site.pairings.adopt(pairing);
  }
  await open("/devices", "Authenticators");
  await page.getByLabel("Search by user or phone").fill("ada");
  await page.getByRole("row", { name: /bob/ }).waitFor({ state: "detached" });
  await chooseRowAction(page, { of: "Text message ada", action: "Revoke" });
  const dialog = page.getByRole("dialog", { name: "Revoke Text message of ada?" });
  await dialog.waitFor();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No second factors match.").waitFor();
  assertEquals(site.pairings.of("ada"), []);
});

test("devices: several are selected, counted, named and revoked together", async ({ page, site, open }) => {
  for (const name of ["ada", "bob", "eve"]) {
    await site.pairings.addDevice({ id: `phone-${name}`, userName: name, totpLength: 6 });
  }
  await open("/devices", "Authenticators");
  for (const name of ["ada", "eve"]) {
    await page.getByRole("checkbox", { name: new RegExp(` ${name}$`) }).click();
  }
  await page.getByRole("region", { name: "2 selected" }).getByRole("button", { name: "Revoke" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke 2 authenticators?" });
  await dialog.getByText("ada, Phone").waitFor();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("2 authenticators were revoked.").waitFor();
  await page.getByRole("link", { name: "eve" }).waitFor({ state: "detached" });
  assertEquals(["ada", "bob", "eve"].map((name) => site.pairings.of(name).length), [0, 1, 0]);
  assertEquals(await page.getByRole("region", { name: "selected" }).count(), 0);
});

browserTest("devices and users: removing a factor requires a recent factor first", async ({ page }) => {
  const now = createManualClock(Date.now());
  await using site = await startPeopleConsole({ dist, clock: now });
  await site.put("ada");
  for (const number of ["+4915112345678", "+4915187654321"]) {
    const { mutation, pairing } = site.pairings.prepare({ canonical: "ada", shown: "ada" }, {
      kind: "sms",
      number,
    });
    await site.store.commit({ mutations: [mutation] });
    site.pairings.adopt(pairing);
  }
  const confirm = async () => {
    const asked = page.getByRole("dialog", { name: "Confirm it's you" });
    await asked.getByLabel("Password").fill(PASSWORD);
    await asked.getByRole("button", { name: "Confirm" }).click();
    await asked.waitFor({ state: "detached" });
  };
  await enterAs(page, { site, role: "user_manager", path: "/devices", heading: "Authenticators" });
  now.advance(RECENT_FACTOR_MS + 1);
  await chooseRowAction(page, { of: "Text message ada", action: "Revoke" });
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await confirm();
  await page.getByText("Text message of ada was revoked.").waitFor();
  assertEquals(site.pairings.of("ada").length, 1);
  await page.goto(`${site.origin}/users/ada#devices`);
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  now.advance(RECENT_FACTOR_MS + 1);
  await page.getByRole("button", { name: /^Revoke Text message/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await confirm();
  await page.getByText("Text message removed from ada.").waitFor();
  assertEquals(site.pairings.of("ada").length, 0);
});

test(
  "groups: members that a backend does not know are named after the change and in the sync status, in both languages",
  { shape: { local: "store", ldap: "sync" }, knownMembersOnly: true },
  async ({ page, site, open }) => {
    await site.target.create({ kind: "user", name: "bob", active: true, attributes: {} }, {
      actor: SCIM_ACTOR,
      backends: ["local"],
    });
    await site.putGroup("staff", ["eve"]);
    await open("/groups/staff", "staff");
    await page.getByText("1 member not stored: eve").waitFor();
    await page.getByRole("combobox", { name: "Add member" }).fill("bob");
    await page.getByRole("option", { name: "bob" }).click();
    await page.locator(".toast").getByText(/2 connectors · ldap: 2 members not stored: (bob, eve|eve, bob)$/)
      .waitFor();
    await page.getByText("ldap: 2 members not stored", { exact: true }).waitFor();
    await page.evaluate(() => localStorage.setItem("countersign-language", "de"));
    await page.reload();
    await page.getByText(/2 Mitglieder nicht gespeichert: (bob, eve|eve, bob)$/).waitFor();
  },
);
