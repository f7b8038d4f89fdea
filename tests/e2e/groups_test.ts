// Groups, devices, deeds on many users and imports in a real browser, found by role and label.

import { Buffer } from "node:buffer";
import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { PASSWORD } from "../fakes/console_app.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/pure/totp.ts";
import { type RunningGateway, startGateway } from "../ground/gateway.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

closeBrowserAtEnd();

const dist = await currentDist();
const HOSTILE = `"><img src=x onerror=alert(1)>`;
const REPLIES = '[radius.reply.group.staff]\n"Filter-Id" = "vpn-staff"\n';
const CSV = `userName,displayName,groups
ada,Ada,staff
bob,Bob,
eve,Eve,staff
,Nobody,
ADA,Twice,
`;

async function open(
  page: Page,
  site: PeopleConsole,
  { path, heading, role = "user_manager" }: { path: string; heading: string; role?: string },
): Promise<void> {
  await enterAs(page, { site, role, path, heading });
}

/** Nothing that axe objects to in either theme, and no sideways scroll. */
async function holds(page: Page): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    assertEquals(await findAccessibilityProblems(page), [], scheme);
  }
  assertEquals(await scrollsSideways(page), false);
}

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const LOGIN = `[radius]
append_mode = true
secret = "a-secret-of-the-groups-test"

[radius.reply.default]
Session-Timeout = 600

[[console.admin]]
name = "owner"
password = "${PASSWORD}"
role = "owner"
`;

/** A session of the real gateway's console, as its cookie. */
async function signInAt(origin: string): Promise<string> {
  const response = await fetch(`${origin}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

/** What FreeRADIUS' radclient says of one Access-Request and its answer. */
async function radclient(gateway: RunningGateway, attributes: Record<string, string>): Promise<string> {
  const child = new Deno.Command("radclient", {
    args: [
      "-x",
      "-r",
      "1",
      "-t",
      "8",
      `127.0.0.1:${gateway.radiusPort}`,
      "auth",
      "a-secret-of-the-groups-test",
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const given = Object.entries({ ...attributes, "Message-Authenticator": "0x00" })
    .map(([name, value]) => name === "Message-Authenticator" ? `${name} = ${value}` : `${name} = "${value}"`);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${given.join("\n")}\n`));
  await writer.close();
  const { stdout, stderr } = await child.output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

async function inactiveOf(site: PeopleConsole): Promise<string[]> {
  const names: string[] = [];
  for await (const { content } of site.target.directory.all("user")) {
    if (content.kind === "user" && !content.active) names.push(content.name);
  }
  return names;
}

async function membersOf(site: PeopleConsole, name: string): Promise<readonly string[]> {
  const stored = await site.target.directory.read("group", name);
  return stored?.content.kind === "group" ? stored.content.members : [];
}

async function chooseFile(page: Page, text: string): Promise<void> {
  await page.getByLabel("File", { exact: true }).setInputFiles({
    name: "people.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(text),
  });
}

browserTest(
  "groups: one is created, filled by the picker, shows its replies, and is emptied with a way back",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, toml: REPLIES });
    await site.put("ada", { displayName: "Ada Lovelace" });
    await open(page, site, { path: "/groups", heading: "Groups" });
    await page.getByText("No groups yet.").waitFor();
    await page.getByRole("button", { name: "Create group" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create group" });
    await dialog.getByLabel("Group name").fill("staff");
    await holds(page);
    await dialog.getByRole("button", { name: "Create group" }).click();
    await page.getByRole("heading", { name: "staff", level: 1 }).waitFor();
    await page.getByRole("row", { name: /Filter-Id.*vpn-staff.*this group/ }).waitFor();
    await page.getByRole("searchbox", { name: "Add a member" }).fill("lovel");
    await page.getByRole("list", { name: "Users found" }).getByRole("button", { name: /ada/ }).click();
    await page.getByText("ada is in staff.").waitFor();
    const table = page.getByRole("table", { name: "Members of staff" });
    await table.getByRole("link", { name: "ada" }).waitFor();
    assertEquals(await membersOf(site, "staff"), ["ada"]);
    await holds(page);
    await table.getByRole("button", { name: "Take out ada" }).click();
    await page.getByText("Nobody is in this group.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await table.getByRole("link", { name: "ada" }).waitFor();
    assertEquals(await membersOf(site, "staff"), ["ada"]);
  },
);

browserTest(
  "groups: a deletion says from where, how many leave and what they lose, and keeps unless told",
  async ({ page }) => {
    await using site = await startPeopleConsole({
      dist,
      toml: REPLIES,
      shape: { local: "store", ldap: "sync" },
    });
    await site.put("ada");
    await site.putGroup("staff", ["ada", "ghost"]);
    await open(page, site, { path: "/groups/staff", heading: "staff" });
    await page.getByRole("button", { name: "Delete group" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the group staff?" });
    await dialog.getByText("It is deleted from 2 backends: local, ldap").waitFor();
    await dialog.getByText("2 members leave it and stay users.").waitFor();
    await dialog.getByText("Filter-Id = vpn-staff").waitFor();
    assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Keep");
    await holds(page);
    await dialog.getByRole("button", { name: "Delete staff" }).click();
    await page.getByText("No groups yet.").waitFor();
    assertEquals(await site.target.directory.read("group", "staff"), null);
  },
);

browserTest(
  "groups: a backend that fails is said on the page, and the group stays as it was",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, shape: { local: "store", ldap: "sync" } });
    await site.put("ada");
    await site.putGroup("staff");
    await open(page, site, { path: "/groups/staff", heading: "staff" });
    site.backend("ldap").trouble({
      operation: "put",
      how: "before",
      fault: { kind: "refused", retry: false },
    });
    await page.getByRole("searchbox", { name: "Add a member" }).fill("ada");
    await page.getByRole("list", { name: "Users found" }).getByRole("button", { name: "ada" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("staff was not changed.").waitFor();
    await alert.getByText("ldap: failed").waitFor();
    assertEquals(await membersOf(site, "staff"), []);
    await holds(page);
  },
);

browserTest("groups: a viewer sees all of it, and each deed says what it needs", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await site.putGroup(HOSTILE, [HOSTILE]);
  await open(page, site, { path: "/groups", heading: "Groups", role: "viewer" });
  await page.getByRole("link", { name: HOSTILE }).click();
  await page.getByRole("heading", { name: HOSTILE, level: 1 }).waitFor();
  await page.getByText("Not in the directory").waitFor();
  for (const name of ["Delete group", /^Take out/]) {
    const button = page.getByRole("button", { name });
    assertEquals([await button.isDisabled(), await button.getAttribute("title")], [
      true,
      "Needs the user manager role",
    ]);
  }
  assertEquals(await page.locator("main img").count(), 0);
});

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
    await dialog.getByRole("searchbox", { name: "Add to a group" }).fill("staff");
    await dialog.getByRole("button", { name: "staff" }).click();
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
    site.backend("ldap").slowBy(150);
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
    assertMatch(page.url(), /backend=crm&sync=pending/);
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

browserTest(
  "groups: a member added with the picker, and attributes given in the editor, are in radclient's Access-Accept",
  async ({ page }) => {
    await using gateway = await startGateway({ toml: LOGIN });
    const told = await gateway.pair("ada", "--totp", SEED);
    assertEquals(told.code, 0, told.stderr);
    const [name = "", value = ""] = (await signInAt(gateway.httpUrl)).split("=");
    await page.context().addCookies([{ name, value, url: gateway.httpUrl }]);
    await page.goto(`${gateway.httpUrl}/users`);
    await page.getByRole("button", { name: "Create user" }).first().click();
    const creating = page.getByRole("dialog", { name: "Create user" });
    await creating.getByLabel("User name").fill("ada");
    await creating.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
    await page.goto(`${gateway.httpUrl}/groups`);
    await page.getByRole("button", { name: "Create group" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create group" });
    await dialog.getByLabel("Group name").fill("vpn");
    await dialog.getByRole("button", { name: "Create group" }).click();
    await page.getByRole("heading", { name: "vpn", level: 1 }).waitFor();
    const answer = async () => {
      const code = totpAt(decodeBase32(SEED) ?? new Uint8Array(), Math.floor(Date.now() / TOTP_STEP_MS), 6);
      return await radclient(gateway, { "User-Name": "ada", "User-Password": `pw,${code}` });
    };

    await page.getByRole("row", { name: /Session-Timeout.*600.*every login/ }).waitFor();
    await page.getByRole("button", { name: "Edit reply attributes" }).click();
    const editor = page.getByRole("dialog", { name: "Reply attributes of vpn" });
    const first = editor.getByRole("group", { name: "Attribute 1" });
    await first.getByLabel("Attribute").fill("Session-Timeout");
    await first.getByLabel("Value").fill("soon");
    await editor.getByRole("button", { name: "Save" }).click();
    await editor.getByRole("alert").getByText(/"soon" is no whole number/).waitFor();
    await first.getByLabel("Value").fill("7200");
    await editor.getByRole("button", { name: "Add an attribute" }).click();
    const second = editor.getByRole("group", { name: "Attribute 2" });
    await second.getByLabel("Attribute").fill("Filter-Id");
    await second.getByLabel("Value").fill("vpn-users");
    await holds(page);
    await editor.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /Filter-Id.*vpn-users.*this group/ }).waitFor();
    await page.getByRole("searchbox", { name: "Add a member" }).fill("ada");
    await page.getByRole("list", { name: "Users found" }).getByRole("button", { name: /ada/ }).click();
    await page.getByText("ada is in vpn.").waitFor();
    await holds(page);

    const accepted = await answer();
    assertMatch(accepted, /Received Access-Accept/);
    assertMatch(accepted, /Filter-Id = "vpn-users"/);
    assertMatch(accepted, /Session-Timeout = 7200/);
    await page.getByRole("button", { name: "Delete group" }).click();
    const deleting = page.getByRole("dialog", { name: "Delete the group vpn?" });
    await deleting.getByText("1 member leaves it and stays a user.").waitFor();
    await deleting.getByText("Filter-Id = vpn-users").waitFor();
  },
  { peers: ["radclient"] },
);

browserTest(
  "import: each row says what every backend made of it",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, shape: { local: "store", crm: "async" } });
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await open(page, site, { path: "/users/import", heading: "Import users" });
    await chooseFile(page, "userName\nada\nbob\n");
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByText("The import is done.").waitFor();
    for (const name of ["ada", "bob"]) {
      await page.getByRole("row", { name: new RegExp(`${name}.*Saved to 1 of 2 backends.*crm: queued`) })
        .waitFor();
    }
  },
);

browserTest(
  "import: three good and two bad rows; a dry run, one put right, one skipped, then applied",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    await open(page, site, { path: "/users", heading: "Users" });
    await page.getByRole("link", { name: "Import users" }).click();
    await page.getByRole("heading", { name: "Import users", level: 1 }).waitFor();
    await holds(page);
    await chooseFile(page, CSV);
    const table = page.getByRole("table", { name: "Rows of people.csv" });
    await table.getByText("Line 2 has that name already.").waitFor();
    await page.getByText("2 rows are refused").waitFor();
    assertEquals(await site.target.directory.read("user", "ada"), null);
    await holds(page);
    await table.getByRole("button", { name: "Put right Line 5" }).click();
    const dialog = page.getByRole("dialog", { name: "Line 5" });
    await dialog.getByLabel("userName").fill("grace");
    await holds(page);
    // The session ends in the middle of the form: nothing typed is lost.
    await page.context().clearCookies();
    await dialog.getByRole("button", { name: "Check the row" }).click();
    const signIn = page.getByRole("dialog").filter({ has: page.getByRole("button", { name: "Sign in" }) })
      .last();
    await signIn.getByLabel("Name", { exact: true }).fill("user_manager");
    await signIn.getByLabel("Password").fill(PASSWORD);
    await signIn.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await table.getByRole("row", { name: /grace/ }).getByText("Create").waitFor();
    await table.getByRole("button", { name: "Skip Line 6" }).click();
    await page.getByRole("button", { name: "Import 4 rows" }).click();
    await page.getByText("The import is done.").waitFor();
    assertMatch(
      await page.getByRole("status").filter({ hasText: "The import is done." }).innerText(),
      /4 created/,
    );
    await holds(page);
    assertEquals((await membersOf(site, "staff")).toSorted(), ["ada", "eve"]);
    assertEquals((await site.target.directory.read("user", "grace"))?.content.name, "grace");
  },
);

browserTest("import: a file that is no table says why, and another one can be chosen", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await open(page, site, { path: "/users/import", heading: "Import users" });
  await chooseFile(page, "colour,size\nred,3\n");
  await page.getByRole("alert").getByText(/no userName/).waitFor();
  await holds(page);
  await chooseFile(page, CSV);
  await page.getByText("2 rows are refused").waitFor();
}, { look: "small" });

browserTest("devices: all are listed, narrowed and revoked", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  for (const [name, number] of [["ada", "+4915112345678"], ["bob", "+4915187654321"]] as const) {
    const user = { canonical: name, shown: name };
    const { mutation, pairing } = site.pairings.prepare(user, { kind: "sms", number });
    await site.store.commit({ mutations: [mutation] });
    site.pairings.adopt(pairing);
  }
  await open(page, site, { path: "/devices", heading: "Devices" });
  await page.getByLabel("Search by user").fill("ada");
  await page.getByRole("row", { name: /bob/ }).waitFor({ state: "detached" });
  await holds(page);
  await page.getByRole("button", { name: "Revoke Text message ada" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke Text message of ada?" });
  await holds(page);
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Nothing matches.").waitFor();
  assertEquals(site.pairings.of("ada"), []);
});

browserTest("groups and devices fit 320 px", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await site.put("ada");
  await site.putGroup("a-group-with-a-rather-long-name-that-goes-on", ["ada"]);
  await open(page, site, { path: "/groups", heading: "Groups" });
  await holds(page);
  await page.getByRole("link", { name: /a-group/ }).click();
  await page.getByRole("table", { name: /Members of/ }).waitFor();
  await holds(page);
}, { look: "small" });
