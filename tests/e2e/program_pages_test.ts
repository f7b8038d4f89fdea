// Pages of the real program after real packets and requests of an identity provider.

import { assertEquals, assertMatch } from "@std/assert";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import type { Page } from "../packages/playwright.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { runProgram } from "../support/child.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { CODES } from "../support/radius_packets.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { createOktaClient } from "../fakes/okta_client.ts";
import { browserTest, currentDist, enterAs, holds, LOOKS, openTab } from "./browser.ts";
import {
  becomeOwner,
  type ConsoleProgram,
  pairPhone,
  startConsoleProgram,
  startFirstProgram,
} from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems } from "./page_checks.ts";

// Pages of the real program after real packets: similar names, unsigned clients, VPN sessions, and replies of a group.

const test = consoleTests(startConsoleProgram, { role: "owner" });

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a-secret-of-the-test"
unknown_users = "reject"
`;

/** Opens the rejected login of the name on the Live page. */
async function inspect(page: Page, { name, label }: { name: string; label: string }) {
  await page.getByRole("link", { name }).click();
  return page.getByRole("complementary", { name: label });
}

test(
  "the inspector and the dropped packets name the user whom an unknown name resembles, in English and in German",
  { toml: CLIENT + credentialsToml(["default"]) },
  async ({ page, context, site, open }) => {
    const scim = createCaller(site, { account: WRITER, target: "default" });
    assertEquals((await scim.post("/Users", { userName: "alice", active: true })).status, 201);
    using client = site.client();
    for (const userName of ["alice@corp.example", "alice "]) {
      assertEquals((await client.ask({ userName, password: "pw" })).code, CODES.accessReject);
    }
    await open("/live", "Sign-in log");
    const inspector = await inspect(page, { name: "alice@corp.example", label: "Selected sign-in" });
    await inspector.getByText("Differs from alice only in the realm.", { exact: true }).waitFor();
    await inspector.getByText("add corp.example to strip_realms of vpn-1").waitFor();
    assertEquals(await inspector.getByText("Create the user, or check").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);

    await page.goto(`${site.origin}/live/dropped`);
    await page.getByText("Differs from alice only in spaces at the beginning or the end.").waitFor();
    await page.getByText("Sign in as alice.").waitFor();

    // The tabs share their settings, so the German tab is the last one.
    const german = await context.newPage();
    await german.addInitScript(() => localStorage.setItem("countersign-language", "de"));
    await german.goto(`${site.origin}/live`);
    const details = await inspect(german, { name: "alice@corp.example", label: "Ausgewählte Anmeldung" });
    await details.getByText("Unterscheidet sich von alice nur durch den Realm.", { exact: true }).waitFor();
    await details.getByText("tragen Sie corp.example in strip_realms von vpn-1 ein").waitFor();
  },
);

const OF_FILE = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;
const SECRET = "a-secret-of-the-test";
const UNSIGNED = { userName: "ada", password: "", messageAuthenticator: "none" } as const;

test("an owner sees that unsigned requests are accepted, and requires signed ones with one button", {
  toml: OF_FILE,
}, async ({ page, site, open }) => {
  await open("/clients", "RADIUS clients");
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByLabel("Shared secret").fill(SECRET);
  await dialog.getByLabel("Name", { exact: true }).fill("vpn-1");
  await dialog.getByLabel("Addresses").fill("127.0.0.1");
  await dialog.getByRole("button", { name: "Add client" }).click();
  await page.getByText("The client vpn-1 was added.").waitFor();
  using client = openRadiusClient({ port: site.radiusPort, secret: SECRET });
  assertEquals((await client.ask({ ...UNSIGNED, nasPort: 1 })).code, CODES.accessChallenge);

  await page.goto(`${site.origin}/health`);
  const row = page.getByRole("row", { name: /Unsigned requests are accepted:.*vpn-1/ });
  await row.getByText("Warning").waitFor();

  await page.goto(`${site.origin}/clients/vpn-1`);
  await page.getByText("Last unsigned request").waitFor();
  await page.getByText("Unsigned requests of this client are accepted.").waitFor();
  await page.getByRole("button", { name: "Require signed requests" }).click();
  await page.getByText("Signed requests are now required for vpn-1.").waitFor();
  await page.getByText("Unsigned requests of this client are accepted.").waitFor({ state: "detached" });
  await page.getByText("Always required").first().waitFor({ state: "attached" });

  await client.sendRaw(client.build({ ...UNSIGNED, nasPort: 2 }).bytes);
  await site.logged("reason=missing_message_authenticator");
  assertEquals(
    (await client.ask({ userName: "ada", password: "", nasPort: 3 })).code,
    CODES.accessChallenge,
  );

  await page.goto(`${site.origin}/health`);
  await page.getByRole("heading", { name: "System status", level: 1 }).waitFor();
  await page.getByRole("row", { name: /Unsigned requests are accepted:.*of-file/ }).waitFor();
  assertEquals(await row.count(), 0);
});

consoleTests(startConnectConsole, { role: "viewer", toml: OF_FILE })(
  "a viewer and a client of the settings file show the reason instead of the button",
  async ({ page, open }) => {
    await open("/clients/of-file", "of-file");
    const button = page.getByRole("button", { name: "Require signed requests" });
    await button.waitFor();
    await holds(async () => [await button.isDisabled(), await button.getAttribute("title")], [
      true,
      "Requires the owner role",
    ]);
  },
);

async function account(gateway: ConsoleProgram, attributes: string): Promise<void> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${gateway.accountingPort}`, "acct", gateway.secret],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  assertMatch(`${stdout}${stderr}`, /Received Accounting-Response/);
}

test("a viewer sees who is connected on Live, and a user's sessions on the user's page, in both languages", {
  role: "viewer",
  peers: ["radclient"],
}, async ({ page, site, open }) => {
  const ada = "User-Name=ada,Acct-Session-Id=1,Framed-IP-Address=10.8.0.6,Calling-Station-Id=198.51.100.7";
  await account(site, "User-Name=bob,Acct-Session-Id=2,Acct-Status-Type=Start");
  await account(site, `${ada},Acct-Status-Type=Start`);
  await account(site, `${ada},Acct-Status-Type=Interim-Update,Acct-Output-Octets=1500000`);
  await open("/live", "Sign-in log");
  await page.getByRole("button", { name: "Connected now 2" }).click();
  const panel = page.getByRole("list", { name: "Connected now" });
  const rows = panel.getByRole("listitem");
  await holds(
    () => rows.first().innerText(),
    /^Connected\s+ada\s+10\.8\.0\.6 ← 198\.51\.100\.7\s+Any address\s+.*\s+1\.5 MB down, 0 B up\s+Disconnect\s+ada 1$/s,
  );
  await holds(() => rows.count(), 2);
  // Before the session ends: Live polls the connected users every few seconds, and then the link disappears.
  await panel.getByRole("link", { name: "ada" }).click();
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  await account(site, `${ada},Acct-Status-Type=Stop,Acct-Terminate-Cause=Idle-Timeout`);
  await page.getByRole("link", { name: "VPN sessions" }).click();
  await page.getByRole("region", { name: "VPN sessions" })
    .getByText("The session was stopped: Idle-Timeout").waitFor();
  const { page: german, context } = await openTab({ locale: "de-DE" });
  await enterAs(german, { site, role: "viewer", path: "/users/ada#sessions", heading: "ada" });
  await german.getByRole("region", { name: "VPN-Sitzungen" })
    .getByText("Die Sitzung wurde beendet: Idle-Timeout").waitFor();
  await context.close();
});

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const LOGIN = `[radius]
append_mode = true
secret = "a-secret-of-the-groups-test"

[radius.reply.default]
Session-Timeout = 600
`;

test(
  "groups: a member added with the picker, and attributes given in the editor, are in radclient's Access-Accept",
  { toml: LOGIN, peers: ["radclient"] },
  async ({ page, site, open }) => {
    const told = await site.pair("ada", "--totp", SEED);
    assertEquals(told.code, 0, told.stderr);
    await open("/users", "Users");
    await page.getByRole("button", { name: "Create user" }).first().click();
    const creating = page.getByRole("dialog", { name: "Create user" });
    await creating.getByLabel("User name").fill("ada");
    await creating.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
    await page.goto(`${site.origin}/groups`);
    await page.getByRole("button", { name: "Create group" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create group" });
    await dialog.getByLabel("Group name").fill("vpn");
    await dialog.getByRole("button", { name: "Create group" }).click();
    await page.getByRole("heading", { name: "vpn", level: 1 }).waitFor();
    const answer = async () => {
      const code = totpAt(decodeBase32(SEED) ?? new Uint8Array(), Math.floor(Date.now() / TOTP_STEP_MS), 6);
      const { stdout, stderr } = await runProgram("radclient", {
        args: ["-x", "-r", "1", "-t", "8", `127.0.0.1:${site.radiusPort}`, "auth", site.secret],
        stdin: `User-Name = "ada", User-Password = "pw,${code}", Message-Authenticator = 0x00\n`,
      });
      return stdout + stderr;
    };

    await page.getByRole("row", { name: /Session-Timeout.*600.*all sign-ins/ }).waitFor();
    await page.getByRole("button", { name: "Edit reply attributes" }).click();
    const editor = page.getByRole("dialog", { name: "Reply attributes of vpn" });
    const first = editor.getByRole("group", { name: "Attribute 1" });
    await first.getByLabel("Attribute").fill("Session-Timeout");
    await first.getByLabel("Value").fill("soon");
    await editor.getByRole("button", { name: "Save" }).click();
    await editor.getByRole("alert").getByText(/"soon" is not a whole number/).waitFor();
    await first.getByLabel("Value").fill("7200");
    await editor.getByRole("button", { name: "Add attribute" }).click();
    const second = editor.getByRole("group", { name: "Attribute 2" });
    await second.getByLabel("Attribute").fill("Filter-Id");
    await second.getByLabel("Value").fill("vpn-users");
    await editor.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /Filter-Id.*vpn-users.*this group/ }).waitFor();
    await page.getByRole("combobox", { name: "Add member" }).fill("ada");
    await page.getByRole("listbox", { name: "Matching users" }).getByRole("option", { name: /ada/ }).click();
    await page.getByText("Added ada to vpn.").waitFor();

    const accepted = await answer();
    assertMatch(accepted, /Received Access-Accept/);
    assertMatch(accepted, /Filter-Id = "vpn-users"/);
    assertMatch(accepted, /Session-Timeout = 7200/);
    await page.getByRole("button", { name: "Delete group" }).click();
    const deleting = page.getByRole("dialog", { name: "Delete the group vpn?" });
    await deleting.getByText("1 member leaves the group. The user is not deleted.").waitFor();
    await deleting.getByText("Filter-Id = vpn-users").waitFor();
  },
);

// From the console to a refused packet: an administrator connects Okta, Okta provisions a user, and deactivates the user.

const TOML = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the provisioning test"
`;
const EVE = {
  key: "00u1",
  userName: "eve@example.com",
  givenName: "Eve",
  familyName: "Okta",
  email: "eve@example.com",
};

/** Connects Okta in the console. Returns the address and the token of the guided setup. */
async function connectOkta(page: Page): Promise<{ baseUrl: string; token: string }> {
  await page.getByRole("button", { name: "Connect Okta" }).click();
  await page.getByRole("dialog", { name: "Connect Okta" }).getByRole("button", {
    name: "Connect",
    exact: true,
  })
    .click();
  const setup = page.getByRole("dialog", { name: "Set up okta" });
  const valueOf = (name: string) => setup.getByRole("group", { name }).innerText();
  const values = { baseUrl: await valueOf("Base address"), token: await valueOf("Bearer token") };
  await setup.getByRole("button", { name: "Test", exact: true }).click();
  await setup.getByText("Waiting for the first request.").waitFor();
  return values;
}

browserTest(
  "Okta is connected, its requests are shown, its user signs in, and is refused after the deactivation",
  async ({ page }) => {
    await using program = await startFirstProgram({ toml: TOML });
    await becomeOwner(page, program);
    await page.goto(`${program.origin}/connections`);
    const { baseUrl, token } = await connectOkta(page);
    assertMatch(baseUrl, /\/scim\/v2\/default$/);
    const okta = createOktaClient({ baseUrl, authorization: () => `Bearer ${token}` });
    await okta.testCredentials();
    await page.getByText("The connection works.").waitFor();
    await page.getByLabel("I have saved it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "okta", level: 1 }).waitFor();
    const id = await okta.assignUser(EVE);
    const group = await okta.pushGroup("vpn", [id]);
    await page.getByRole("row", { name: /eve@example\.com/ }).first().waitFor();
    await using peer = program.radclient();
    const { context } = await openTab(LOOKS.narrow);
    await pairPhone(context, { program, user: EVE.userName });
    const waiting = await peer.login({ name: EVE.userName, password: "pw" });
    await waiting.shows("Authorize this login on your device");
    await okta.deactivateUser(id);
    await waiting.answer("");
    assertEquals((await waiting.end()).verdict, "reject");
    await page.getByRole("row", { name: /eve@example\.com/ }).nth(1).waitFor();
    const refused = await peer.login({ name: EVE.userName, password: "pw" });
    assertEquals((await refused.end()).verdict, "reject");
    await okta.deleteGroup(group);
    await context.close();
    await page.goto(`${program.origin}/users/${encodeURIComponent(EVE.userName)}`);
    await page.getByText("Deactivated").first().waitFor();
    await page.getByRole("link", { name: "okta" }).first().waitFor();
  },
  { peers: ["radclient"] },
);

// Two administrators change one directory: the second one sees the other change, keeps the input, and decides.

await currentDist();

const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Edit settings" });

async function openSettings(page: Page, program: ConsoleProgram): Promise<void> {
  await enterAs(page, { site: program, role: "owner", path: "/targets/default", heading: "default" });
  await page.getByRole("button", { name: "Edit settings" }).click();
  await dialogOf(page).waitFor();
}

async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await dialogOf(page).getByLabel(label).fill(value);
}

const save = (page: Page) => dialogOf(page).getByRole("button", { name: "Save settings" }).click();

/** Changes the directory in another browser. */
async function changeElsewhere(
  program: ConsoleProgram,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const { page, context } = await openTab();
  await openSettings(page, program);
  await fill(page, values);
  await save(page);
  await page.getByText("Settings saved.").waitFor();
  await context.close();
}

browserTest(
  "directories: a conflict keeps the input, shows the other change, and lets the administrator decide",
  async ({ page }) => {
    await using program = await startConsoleProgram({});
    await openSettings(page, program);
    await fill(page, { "Page size": "60" });
    await changeElsewhere(program, { "Page size": "70", "Deletion limit in percent": "30" });
    await save(page);
    const conflict = page.getByRole("dialog", { name: "This directory has changed" });
    await conflict.getByText(/You changed this in another tab on /).waitFor();
    await conflict.getByRole("row", { name: "Page size 100 70 (yours: 60)" }).waitFor();
    await conflict.getByRole("row", { name: "Deletion limit in percent 20 30" }).waitFor();
    // axe cannot tell colours of a dialog above another dialog.
    const problems = await findAccessibilityProblems(page);
    assertEquals(problems.filter((line) => !line.startsWith("incomplete color-contrast")), []);

    // Back to the form, with what was typed.
    await page.keyboard.press("Escape");
    await conflict.waitFor({ state: "detached" });
    await holds(() => dialogOf(page).getByLabel("Page size").inputValue(), "60");

    await save(page);
    await conflict.getByRole("button", { name: "Save mine on top" }).click();
    await page.getByText("Settings saved.").waitFor();
    const settings = page.getByRole("region", { name: "Settings" });
    await settings.getByText("60", { exact: true }).waitFor();
    await settings.getByText("30", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Edit settings" }).click();
    await fill(page, { "Page size": "80" });
    await changeElsewhere(program, { "Page size": "90" });
    await save(page);
    await conflict.getByRole("button", { name: "Use their version" }).click();
    await page.getByText("Your changes were not saved.").waitFor();
    await settings.getByText("90", { exact: true }).waitFor();
    assertEquals(await page.getByRole("dialog").count(), 0);
  },
);
