// Clients, targets, credentials and health in a real browser, over the real gateway: packets, a directory server that stops.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { type RunningGateway, startGateway } from "../ground/gateway.ts";
import { openRadiusClient, type RadiusClient } from "../ground/radius_client.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { startSlapd } from "../ground/slapd.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways, signIn } from "./browser.ts";

closeBrowserAtEnd();
await currentDist();

const ADMINS = ["owner", "viewer"].map((name) =>
  `[[console.admin]]
name = "${name}"
password = "${PASSWORD}"
role = "${name}"
`
).join("\n");
const OTHER_CLIENT = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;
const SECRET = "first secret of vpn";
const OTHER_SECRET = "other secret of vpn";
const SECRETS = { first: SECRET.replaceAll(" ", "-"), other: OTHER_SECRET.replaceAll(" ", "-") };

const start = (toml = OTHER_CLIENT) => startGateway({ toml: `${toml}\n${ADMINS}` });

async function enter(
  page: Page,
  { gateway, path, heading, role = "owner" }: {
    gateway: RunningGateway;
    path: string;
    heading: string;
    role?: string;
  },
): Promise<void> {
  await page.goto(`${gateway.httpUrl}/live`);
  await signIn(page, role);
  await page.goto(gateway.httpUrl + path);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}

const withSecret = (gateway: RunningGateway, secret: string): RadiusClient =>
  openRadiusClient({ port: gateway.radiusPort, secret });

/** Sends a login and lets it go: nobody may answer. */
async function knock(client: RadiusClient): Promise<void> {
  const nasIdentifier = new TextEncoder().encode("vpn-1");
  const { bytes } = client.build({
    userName: "ada",
    password: "pw",
    more: [{ type: 32, value: nasIdentifier }],
  });
  await client.sendRaw(bytes);
}

async function addByListening(page: Page, gateway: RunningGateway): Promise<void> {
  await page.getByRole("button", { name: "Add a client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a client" });
  await dialog.getByText("Send a login from the client now.").waitFor();
  await dialog.getByLabel("Shared secret").fill(SECRETS.first);
  using client = withSecret(gateway, SECRETS.first);
  await knock(client);
  await dialog.getByText("Signed with this secret").waitFor();
  await dialog.getByRole("button", { name: "Use this one 127.0.0.1" }).click();
  assertEquals(await dialog.getByLabel("Addresses").inputValue(), "127.0.0.1");
  assertEquals(await dialog.getByLabel("Name", { exact: true }).inputValue(), "vpn-1");
  await dialog.getByRole("button", { name: "Add a client" }).click();
  await page.getByText("The client vpn-1 was added.").waitFor();
}

browserTest(
  "clients: one is added by listening for its first packet, logs in, and gets another secret with an overlap",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    await page.getByRole("link", { name: "of-file" }).waitFor();
    await addByListening(page, gateway);
    using first = withSecret(gateway, SECRETS.first);
    assertEquals((await first.ask({ userName: "ada", password: "pw" })).problems, []);

    await page.getByRole("link", { name: "vpn-1" }).click();
    await page.getByRole("heading", { name: "vpn-1", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Rotate the secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Rotate the secret of vpn-1" });
    await dialog.getByText(/open now|Nobody came through/).waitFor();
    await dialog.getByLabel("New shared secret").fill(SECRETS.other);
    await dialog.getByRole("button", { name: "Rotate the secret" }).click();
    await page.getByText("vpn-1 has a new secret.").waitFor();
    await page.getByText("Nothing was heard since.").waitFor();
    assertEquals((await first.ask({ userName: "grace", password: "pw" })).problems, []);
    await page.reload();
    await page.getByText("The client still uses the old one.").waitFor();
    using second = withSecret(gateway, SECRETS.other);
    assertEquals((await second.ask({ userName: "grace", password: "pw" })).problems, []);
    await page.reload();
    await page.getByText("The client uses the new one.").waitFor();
    await page.getByRole("button", { name: "End it now" }).click();
    await page.getByText("Only the new secret is accepted.").waitFor();
    await knock(first);
    assertEquals(await first.collect(300), []);

    await page.getByRole("button", { name: "Remove the client" }).click();
    const removing = page.getByRole("dialog", { name: "Remove the client vpn-1?" });
    await removing.getByRole("button", { name: "Remove the client" }).click();
    await page.getByText("The client vpn-1 was removed.").waitFor();
    await page.getByRole("link", { name: "of-file" }).waitFor();
    await knock(second);
    assertEquals(await second.collect(300), []);
    const told = gateway.logLines().join("\n");
    assert(!told.includes(SECRETS.first) && !told.includes(SECRETS.other), "the log holds no secret");
  },
);

browserTest(
  "clients: one of the settings file is text, and a viewer reads why nothing can be done",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients/of-file", heading: "of-file", role: "viewer" });
    await page.getByText("This client stands in the settings file. Change it there.").waitFor();
    const rotate = page.getByRole("button", { name: "Rotate the secret" });
    assertEquals(await rotate.isDisabled(), true);
    assertEquals(await rotate.getAttribute("title"), "Needs the owner role");
  },
);

/** Adds a client of the console by what the form sends, so that a test begins where it is interesting. */
async function addClient(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Add a client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a client" });
  await dialog.getByLabel("Shared secret").fill(SECRETS.first);
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel("Addresses").fill("127.0.0.1");
  await dialog.getByRole("button", { name: "Add a client" }).click();
  await page.getByText(`The client ${name} was added.`).waitFor();
  await page.getByRole("link", { name }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

async function clean(page: Page): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    assertEquals(await findAccessibilityProblems(page), [], scheme);
  }
  await page.emulateMedia({ colorScheme: "light" });
  assertEquals(await scrollsSideways(page), false);
}

browserTest(
  "clients: two owners change one; the second sees what the first did, keeps it, and saves on top",
  async ({ page, context }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    await addClient(page, "vpn-1");
    const other = await context.newPage();
    await other.goto(`${gateway.httpUrl}/clients/vpn-1`);
    const save = async (on: Page, title: RegExp) => {
      await on.getByRole("button", { name: "Review changes" }).click();
      const dialog = on.getByRole("dialog", { name: title });
      await dialog.getByRole("button", { name: "Save", exact: true }).click();
    };
    await other.getByLabel("NAS-Identifier").fill("edge");
    await page.getByLabel("While the phone decides").selectOption("hold");
    await save(other, /^Save these changes/);
    await other.getByText("The client vpn-1 was changed.").waitFor();
    await save(page, /^Save these changes/);
    const raced = page.getByRole("dialog", { name: "vpn-1 was changed meanwhile" });
    await raced.getByText("They changed: NAS-Identifier.").waitFor();
    const table = raced.getByRole("table");
    assertEquals(await table.getByRole("row").count(), 2);
    await table.getByRole("row", { name: /While the phone decides.*Hold the answer/ }).waitFor();
    await clean(page);
    await raced.getByRole("button", { name: "Save mine on top" }).click();
    await page.getByText("The client vpn-1 was changed.").waitFor();
    assertEquals(await page.getByLabel("NAS-Identifier").inputValue(), "edge");
    await page.reload();
    await page.getByRole("heading", { name: "vpn-1", level: 1 }).waitFor();
    assertEquals(await page.getByLabel("While the phone decides").inputValue(), "hold");
  },
);

browserTest(
  "clients: the first factor is another RADIUS server; it is tested, saved, asked, and its secret never shown",
  async ({ page }) => {
    const serverSecret = "shared-with-the-server";
    await using server = await startGateway({
      toml: `[radius]\nunknown_users = "reject"\nsecret = "${serverSecret}"\n`,
    });
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    await addClient(page, "vpn-1");
    await page.getByLabel("First factor", { exact: true }).selectOption("radius");
    const factor = page.getByRole("group", { name: "Password at another RADIUS server" });
    const test = factor.getByRole("button", { name: "Test the first factor" });
    assertEquals([await test.isDisabled(), await test.getAttribute("title")], [
      true,
      "Type the address and the secret first.",
    ]);
    await factor.getByLabel("Server", { exact: true }).fill(`127.0.0.1:${server.radiusPort}`);
    await factor.getByLabel("Secret of the server").fill("another-secret-than-that");
    await factor.getByLabel("Its answer is awaited for").selectOption("1000");
    await test.click();
    await factor.getByText("No answer within 1 s that fits this secret.").waitFor();
    await factor.getByLabel("Secret of the server").fill(serverSecret);
    // Refusals come a second late, from this server as from others.
    await factor.getByLabel("Its answer is awaited for").selectOption("3000");
    await test.click();
    await factor.getByText("The server answers, and the secret is right.").waitFor();
    await clean(page);
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Save these changes of vpn-1?" });
    await dialog.getByRole("row", { name: /Secret of the server.*another one/ }).waitFor();
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The client vpn-1 was changed.").waitFor();
    await factor.getByText("One is kept. Type another to replace it.").waitFor();
    assertEquals(await factor.getByLabel("Secret of the server").inputValue(), "");
    await test.click();
    await factor.getByText("The server answers, and the secret is right.").waitFor();
    using client = withSecret(gateway, SECRETS.first);
    const reply = await client.ask({ userName: "ada", password: "pw" });
    assertEquals(reply.code, 3, "the server refuses ada, and so does the gateway");
    assert(!(await page.content()).includes(serverSecret));
    assert(!gateway.logLines().join("\n").includes(serverSecret));
  },
);

browserTest(
  "credentials: one is made, shown once with a line to try, works, and is revoked",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/credentials", heading: "SCIM credentials" });
    await page.getByText("No SCIM credentials yet.").waitFor();
    await page.getByRole("button", { name: "Add a credential" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("hr");
    await dialog.getByRole("button", { name: "Add a credential" }).click();
    const password = await page.getByRole("group", { name: "Password of hr" }).innerText();
    assertMatch(await page.getByRole("group", { name: "curl" }).innerText(), /^curl --user 'hr:/);
    const read = async () => {
      const headers = { authorization: `Basic ${btoa(`hr:${password}`)}` };
      const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users?count=1`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await read(), 200);
    await page.getByLabel("I have kept it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke hr" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("The credential hr was revoked.").waitFor();
    assertEquals(await read(), 401);
  },
);

browserTest("health: a directory server that stops is said, and that it is back", async ({ page }) => {
  const slapd = await startSlapd();
  try {
    await using gateway = await start(`[targets.default.backends.local]
kind = "store"

[targets.default.backends.ldap]
kind = "ldap"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
timeout_ms = 2000
`);
    await enter(page, { gateway, path: "/health", heading: "Health" });
    const row = page.getByRole("row", { name: /default \/ ldap/ });
    const test = row.getByRole("button", { name: "Test default / ldap" });
    await test.click();
    await row.getByText("Good").waitFor();
    await page.getByText("Everything works.").waitFor();
    await slapd.stop();
    await test.click();
    await row.getByText("Failing").waitFor();
    await page.getByText("1 part fails.").waitFor();
    await page.goto(`${gateway.httpUrl}/targets`);
    await page.getByText("ldap: Failing").waitFor();
    await slapd.start();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByRole("button", { name: "Test ldap" }).click();
    await page.getByRole("region", { name: "Backends" }).getByText("Good").last().waitFor();
    await page.getByRole("button", { name: "Refresh now" }).click();
    await page.getByText(/0 created, 0 updated/).waitFor();
  } finally {
    await slapd.dispose();
  }
}, { peers: ["slapd"] });

browserTest(
  "clients: a session that ends in the middle of the form loses nothing that was typed",
  async ({ page, context }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    await page.getByRole("button", { name: "Add a client" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a client" });
    await dialog.getByLabel("Shared secret").fill(SECRETS.first);
    await dialog.getByLabel("Name", { exact: true }).fill("vpn-2");
    await dialog.getByLabel("Addresses").fill("not an address");
    await dialog.getByRole("button", { name: "Add a client" }).click();
    await dialog.getByRole("alert").getByText(/Not an IP address/).waitFor();
    await dialog.getByLabel("Addresses").fill("198.51.100.0/24");
    await context.clearCookies();
    await dialog.getByRole("button", { name: "Add a client" }).click();
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.getByLabel("Name").fill("owner");
    await again.getByLabel("Password").fill(PASSWORD);
    await again.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The client vpn-2 was added.").waitFor();
    await page.getByRole("link", { name: "vpn-2" }).waitFor();
  },
);

browserTest(
  "targets: a mapping is tried on a real user, a hostile name is text, and the settings are not written",
  async ({ page }) => {
    await using site = await startConnectConsole({ dist: await currentDist() });
    const hostile = '"><img src=x onerror=alert(1)>';
    await site.people.put("ada", { title: hostile });
    await enterAs(page, { site, role: "owner", path: "/targets/default", heading: "default" });
    await page.getByLabel("Preview on user").fill("nobody");
    await page.getByText("That user is not in this target.").waitFor();
    await page.getByLabel("Preview on user").fill("ada");
    await page.getByText("For ada nothing changes.").waitFor();
    await page.getByText(/^[0-9]+ rows$/).click();
    await page.getByLabel("Another SCIM attribute").fill("title");
    await page.getByLabel("Its name at backends").fill("jobTitle");
    await page.getByText("For ada 2 attributes change.").waitFor();
    await page.getByRole("row", { name: /^jobTitle/ }).getByText(hostile).waitFor();
    await page.getByText(/\[targets\.default\.mapping\.user\]/).waitFor();
    assertEquals(await page.locator("img[src=x]").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);
  },
);

browserTest(
  "targets: what a backend refused is a dead letter, tried again by a button",
  async ({ page }) => {
    const shape = { local: "store", crm: "async" } as const;
    await using site = await startConnectConsole({ dist: await currentDist(), shape });
    const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
    site.people.backend("crm").trouble({ operation: "put", how: "before", fault });
    await site.people.put("ada");
    await enterAs(page, { site, role: "owner", path: "/targets", heading: "Targets" });
    await page.getByText("crm: Dead letters").waitFor();
    await page.getByRole("link", { name: "default" }).click();
    const owed = page.getByRole("region", { name: "Owed writes" });
    await owed.getByText("the attribute is not allowed").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("button", { name: "Try again crm" }).click();
    await page.getByText("Dead letters are tried again.").waitFor();
    assert((await site.audits()).some(({ action }) => action === "outbox.retry"));
    await page.goto(`${site.origin}/health`);
    await page.getByRole("heading", { name: "Health", level: 1 }).waitFor();
    await page.getByRole("row", { name: /Outbox/ }).waitFor();
  },
);

const PAGES = [
  ["/clients", "RADIUS clients"],
  ["/clients/of-file", "of-file"],
  ["/targets", "Targets"],
  ["/targets/default", "default"],
  ["/credentials", "SCIM credentials"],
  ["/health", "Health"],
] as const;

for (const look of ["light", "small"] as const) {
  browserTest(`connect: axe finds nothing on the pages and their dialogs, ${look}`, async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    const problems: string[] = [];
    const check = async (what: string) => {
      if (await scrollsSideways(page)) problems.push(`${what}: scrolls sideways`);
      problems.push(...(await findAccessibilityProblems(page)).map((one) => `${what}: ${one}`));
    };
    for (const [path, heading] of PAGES) {
      await page.goto(gateway.httpUrl + path);
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await page.locator(".skeleton").waitFor({ state: "detached" });
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await check(`${path} ${scheme}`);
      }
    }
    await page.goto(`${gateway.httpUrl}/clients`);
    await page.getByRole("button", { name: "Add a client" }).click();
    await page.getByText("Send a login from the client now.").waitFor();
    await check("adding a client");
    await page.goto(`${gateway.httpUrl}/credentials`);
    await page.getByRole("button", { name: "Add a credential" }).click();
    await page.getByRole("dialog").waitFor();
    await check("adding a credential");
    assertEquals(problems, []);
  }, { look });
}
