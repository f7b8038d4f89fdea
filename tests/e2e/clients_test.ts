// RADIUS clients in a browser, their setup guide, and changes that conflict with those of another administrator.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { startProgram } from "../support/program.ts";
import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { assertHolds, assertHoldsInBothLooks } from "./page_checks.ts";
import { consoleTests } from "./console_tests.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { answerQuestion, endSession, holdCalls, runUserAction } from "./page_actions.ts";
import { browserTest, currentDist, enterAs, holds } from "./browser.ts";
import { goWithin } from "./pages/page_walk.ts";

// RADIUS clients in a browser, with the real gateway: add a client, rotate its secret, edit it concurrently, remove it.

const OF_FILE = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;
const programTest = consoleTests(startConsoleProgram, { role: "owner", toml: OF_FILE });
const test = consoleTests(startConnectConsole, { role: "owner", toml: OF_FILE });

const SECRET = "first secret of vpn";
const OTHER_SECRET = "other secret of vpn";
const SECRETS = { first: SECRET.replaceAll(" ", "-"), other: OTHER_SECRET.replaceAll(" ", "-") };

const withSecret = (gateway: ConsoleProgram, secret: string): RadiusClient =>
  openRadiusClient({ port: gateway.radiusPort, secret });

/** Sends a login without waiting, because there may be no answer. */
async function knock(client: RadiusClient): Promise<void> {
  const nasIdentifier = new TextEncoder().encode("vpn-1");
  const { bytes } = client.build({
    userName: "ada",
    password: "pw",
    more: [{ type: 32, value: nasIdentifier }],
  });
  await client.sendRaw(bytes);
}

/** A client that sends CHAP is proposed as one whose server checks the password. */
async function proposeForChap(page: Page, gateway: ConsoleProgram): Promise<void> {
  const listens = page.waitForResponse("**/clients/heard");
  await page.getByRole("button", { name: "Add client" }).click();
  await listens;
  const dialog = page.getByRole("dialog", { name: "Add client" });
  using client = withSecret(gateway, SECRETS.first);
  const { bytes } = client.build({ userName: "ada", more: [{ type: 3, value: new Uint8Array(17) }] });
  await client.sendRaw(bytes);
  const sender = dialog.getByRole("listitem").filter({ has: page.getByText("CHAP", { exact: true }) });
  const method = dialog.getByLabel("How do users sign in at this client?");
  await holds(() => method.inputValue(), "pap");
  await sender.getByRole("button", { name: "Use this address 127.0.0.1" }).click();
  await holds(() => method.inputValue(), "relay");
  // Its settings are open, because the server has no default.
  await dialog.getByLabel("Servers", { exact: true }).waitFor();
  await holds(() => dialog.getByLabel("First factor", { exact: true }).inputValue(), "radius");
  await dialog.getByRole("button", { name: "Cancel" }).click();
}

async function addByListening(page: Page, gateway: ConsoleProgram): Promise<void> {
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByText("Start a sign-in on the client now.").waitFor();
  await dialog.getByLabel("Shared secret").fill(SECRETS.first);
  using client = withSecret(gateway, SECRETS.first);
  await knock(client);
  await dialog.getByText("Signed with this secret").waitFor();
  await dialog.getByRole("button", { name: "Use this address 127.0.0.1" }).click();
  await holds(() => dialog.getByLabel("Addresses").inputValue(), "127.0.0.1");
  await holds(() => dialog.getByLabel("Name", { exact: true }).inputValue(), "vpn-1");
  await dialog.getByRole("button", { name: "Add client" }).click();
  await page.getByText("The client vpn-1 was added.").waitFor();
}

/** Adds a client of the console with the form's request, to shorten the test. */
async function addClient(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByLabel("Shared secret").fill(SECRETS.first);
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel("Addresses").fill("127.0.0.1");
  await dialog.getByRole("button", { name: "Add client" }).click();
  await page.getByText(`The client ${name} was added.`).waitFor();
  await page.getByRole("link", { name }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

programTest(
  "clients: one is added from its first packet, logs in, and gets another secret with an overlap",
  async ({ page, site, open }) => {
    await open("/clients", "RADIUS clients");
    await page.getByRole("link", { name: "of-file" }).waitFor();
    await addByListening(page, site);
    using first = withSecret(site, SECRETS.first);
    assertEquals((await first.ask({ userName: "ada", password: "pw" })).problems, []);

    await page.getByRole("link", { name: "vpn-1" }).click();
    await page.getByRole("heading", { name: "vpn-1", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Rotate secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Rotate the secret of vpn-1" });
    await dialog.getByText(/in progress/).waitFor();
    await dialog.getByLabel("New shared secret").fill(SECRETS.other);
    await dialog.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByText("vpn-1 has a new secret.").waitFor();
    await page.getByText("No packets received since.").waitFor();
    assertEquals((await first.ask({ userName: "grace", password: "pw" })).problems, []);
    await page.reload();
    await page.getByText("The client still uses the old secret.").waitFor();
    using second = withSecret(site, SECRETS.other);
    assertEquals((await second.ask({ userName: "grace", password: "pw" })).problems, []);
    await page.reload();
    await page.getByText("The client uses the new secret.").waitFor();
    await page.getByRole("button", { name: "End overlap now" }).click();
    await answerQuestion(page, "End the overlap for vpn-1?", "End overlap now");
    await page.getByText("Only the new secret is accepted.").waitFor();
    await knock(first);
    assertEquals(await first.collect(300), []);

    await page.getByRole("button", { name: "Remove client" }).click();
    const removing = page.getByRole("dialog", { name: "Remove the client vpn-1?" });
    await removing.getByRole("button", { name: "Remove client" }).click();
    await page.getByText("The client vpn-1 was removed.").waitFor();
    await page.getByRole("link", { name: "of-file" }).waitFor();
    await knock(second);
    assertEquals(await second.collect(300), []);
    await proposeForChap(page, site);
    const told = site.logLines().join("\n");
    assert(!told.includes(SECRETS.first) && !told.includes(SECRETS.other), "the log holds no secret");
  },
);

test("clients: the dialog asks for a login only while the server listens", async ({ page, open }) => {
  await open("/clients", "RADIUS clients");
  const release = Promise.withResolvers<void>();
  await page.route("**/clients/heard", async (route) => {
    await release.promise;
    await route.continue();
  });
  const asked = page.waitForRequest("**/clients/heard");
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByRole("heading", { name: "Waiting for the first packet" }).waitFor();
  await asked;
  const hint = dialog.getByText("Start a sign-in on the client now.");
  assertEquals(await hint.count(), 0);
  release.resolve();
  await hint.waitFor();
});

test("clients: one of the settings file is read-only, and a viewer sees why nothing can be changed", async ({ page, open }) => {
  await open("/clients/of-file", "of-file", { role: "viewer" });
  await page.getByText("This client is defined in the settings file. Change it there.").waitFor();
  const rotate = page.getByRole("button", { name: "Rotate secret" });
  await holds(() => rotate.isDisabled(), true);
  await holds(() => rotate.getAttribute("title"), "Requires the owner role");
});

test("clients: two owners change one; the second sees the first change, keeps it, and saves on top", async ({ page, context, site, open }) => {
  await open("/clients", "RADIUS clients");
  await addClient(page, "vpn-1");
  const other = await context.newPage();
  await other.goto(`${site.origin}/clients/vpn-1`);
  const save = async (on: Page, title: RegExp) => {
    await on.getByRole("button", { name: "Review changes" }).click();
    const dialog = on.getByRole("dialog", { name: title });
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
  };
  await other.getByLabel("NAS-Identifier").fill("edge");
  await page.getByLabel("Push handling").selectOption("hold");
  await save(other, /^Save these changes/);
  await other.getByText("The client vpn-1 was changed.").waitFor();
  await save(page, /^Save these changes/);
  const raced = page.getByRole("dialog", { name: "vpn-1 was changed in the meantime" });
  await raced.getByText("Changed fields: NAS-Identifier.").waitFor();
  const table = raced.getByRole("table");
  await holds(() => table.getByRole("row").count(), 2);
  await table.getByRole("row", { name: /Push handling.*Hold the request/ }).waitFor();
  await assertHolds(page);
  await raced.getByRole("button", { name: "Save my changes" }).click();
  await page.getByText("The client vpn-1 was changed.").waitFor();
  await holds(() => page.getByLabel("NAS-Identifier").inputValue(), "edge");
  await page.reload();
  await page.getByRole("heading", { name: "vpn-1", level: 1 }).waitFor();
  await holds(() => page.getByLabel("Push handling").inputValue(), "hold");
});

programTest(
  "clients: the first factor is another RADIUS server; it is tested, saved and used, and its secret is never shown",
  async ({ page, site, open }) => {
    const serverSecret = "shared-with-the-server";
    await using server = await startProgram({
      toml: `[radius]\nunknown_users = "reject"\nsecret = "${serverSecret}"\n`,
    });
    await open("/clients", "RADIUS clients");
    await addClient(page, "vpn-1");
    await page.getByLabel("First factor", { exact: true }).selectOption("radius");
    const factor = page.getByRole("group", { name: "Password at another RADIUS server" });
    const test = factor.getByRole("button", { name: "Test first factor" });
    await holds(async () => [await test.isDisabled(), await test.getAttribute("title")], [
      true,
      "Enter the address and the secret first.",
    ]);
    const address = `127.0.0.1:${server.radiusPort}`;
    await factor.getByLabel("Servers", { exact: true }).fill(`${address}\n`);
    await factor.getByLabel("Shared secret of the server").fill("another-secret-than-that");
    await factor.getByLabel("Response timeout").selectOption("1000");
    await test.click();
    await factor.getByText(`No valid response from ${address} within 1 s.`).waitFor();
    await factor.getByLabel("Shared secret of the server").fill(serverSecret);
    // A Reject is delayed by a second, from this server as well; on a slow machine by more.
    await factor.getByLabel("Response timeout").selectOption("10000");
    await test.click();
    await factor.getByText("The server responds, and the secret is correct.").waitFor();
    await assertHolds(page);
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: "Save these changes to vpn-1?" });
    await dialog.getByRole("row", { name: /Shared secret of the server.*another secret/ }).waitFor();
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The client vpn-1 was changed.").waitFor();
    await factor.getByText("A secret is set. Enter another one to replace it.").waitFor();
    await holds(() => factor.getByLabel("Shared secret of the server").inputValue(), "");
    await test.click();
    await factor.getByText("The server responds, and the secret is correct.").waitFor();
    using client = withSecret(site, SECRETS.first);
    const reply = await client.ask({ userName: "ada", password: "pw" });
    assertEquals(reply.code, 3, "the server refuses ada, and so does the gateway");
    assert(!(await page.content()).includes(serverSecret));
    assert(!site.logLines().join("\n").includes(serverSecret));
  },
);

test("clients: a session that ends during editing loses no input", async ({ page, open }) => {
  await open("/clients", "RADIUS clients");
  await page.getByRole("button", { name: "Add client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add client" });
  await dialog.getByLabel("Shared secret").fill(SECRETS.first);
  await dialog.getByLabel("Name", { exact: true }).fill("vpn-2");
  await dialog.getByLabel("Addresses").fill("not an address");
  await dialog.getByRole("button", { name: "Add client" }).click();
  await dialog.getByRole("alert").getByText(/Not an IP address/).waitFor();
  await dialog.getByLabel("Addresses").fill("198.51.100.0/24");
  await endSession(page);
  await dialog.getByRole("button", { name: "Add client" }).click();
  const again = page.getByRole("dialog", { name: "Sign in again" });
  await again.getByLabel("Name").fill("owner");
  await again.getByLabel("Password").fill(PASSWORD);
  await again.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The client vpn-2 was added.").waitFor();
  await page.getByRole("link", { name: "vpn-2" }).waitFor();
});

// The setup guide of a RADIUS client in a browser.

const guideTest = consoleTests(startConnectConsole, { role: "owner" });

async function addChallengingClient(site: Awaited<ReturnType<typeof startConnectConsole>>): Promise<string> {
  const ask = apiCaller(site, await site.signIn("owner"));
  const json = { ...CLIENT_RULES, name: "vpn-1", address: ["192.0.2.10/32"], device: "challenge" };
  const { secret } = await ask<{ secret: string }>("/console/api/clients", { method: "POST", json });
  return secret;
}

guideTest(
  "client: a setup guide has the values of the client and never the secret, and says which settings differ",
  async ({ page, site, open, step }) => {
    const secret = await addChallengingClient(site);
    await open("/clients/vpn-1", "vpn-1");
    await page.getByLabel("Product").selectOption({ label: "OpenVPN" });
    const radius = page.getByRole("region", { name: "/etc/openvpn/radius.cnf" });
    await step("the configuration follows the typed address", async () => {
      await page.getByLabel("Address of this server").fill("radius.example.com");
      const text = await radius.textContent() ?? "";
      for (
        const value of ["name=radius.example.com", "NAS-IP-Address=192.0.2.10", "sharedsecret=SHARED_SECRET"]
      ) {
        assert(text.includes(value), value);
      }
      assert(!(await page.content()).includes(secret));
    });
    await step("another setting is recommended", async () => {
      await page.getByText("Set Push handling of this client to “Hold the request”.").waitFor();
      await page.getByLabel("Product").selectOption({ label: "ocserv" });
      await page.getByText("Tested with ocserv 1.1.6").waitFor();
      assertEquals(await page.getByText("Set Push handling of this client").count(), 0);
    });
    await step("a product without a test says so", async () => {
      await page.getByLabel("Product").selectOption({ label: "FortiGate" });
      await page.getByText("Not tested with this product.").waitFor();
      await page.getByRole("region", { name: "FortiOS CLI" }).getByText('edit "vpn-1"').waitFor();
    });
    await step("copy, by keyboard", async () => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy" }).first().focus();
      await page.keyboard.press("Enter");
      await page.getByText("Copied").first().waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert(copied.startsWith("config user radius\n"), copied);
    });
    await step("the page holds in both looks", () => assertHoldsInBothLooks(page));
  },
);

guideTest("client: a viewer can read the setup guide", { role: "viewer" }, async ({ page, site, open }) => {
  await addChallengingClient(site);
  await open("/clients/vpn-1", "vpn-1");
  await page.getByLabel("Product").selectOption({ label: "strongSwan" });
  await page.getByRole("region", { name: "/etc/swanctl/conf.d/vpn.conf" }).waitFor();
});

// Conflicting changes of an object, and two targets: dialogs name the other administrator, and no page shows the other
// target.

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

const dist = await currentDist();
/** "15 Jan 2027, 08:00:00", in English or German. */
const TIME = String.raw`\d{1,2}[ .]\w+[ .]\d{4}, \d\d:\d\d:\d\d`;

/** Changes the title of ada in another role, through the API. */
async function changeTitle(site: PeopleConsole, role: string, title: string): Promise<void> {
  const stored = await site.target.directory.read("user", "ada");
  const json = { user: { title }, version: stored?.version };
  const response = await site.call("/console/api/users/ada", {
    method: "PUT",
    json,
    cookie: await site.signIn(role),
  });
  assertEquals(response.status, 200, await response.text());
}

async function review(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
}

const alertOf = (page: Page) => page.getByRole("dialog").getByRole("alert");

peopleTest(
  "conflict: a user's dialog names the other administrator and the time",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await open("/users/ada#profile", "ada");
    await page.getByLabel("Department").fill("analysis");
    await changeTitle(site, "owner", "new");
    await review(page);
    await alertOf(page).getByText(new RegExp(`^owner changed this on ${TIME}\\.$`)).waitFor();
    await alertOf(page).getByText("Changed fields: Job title.").waitFor();
  },
);

peopleTest(
  "conflict: a user's dialog recognizes the same administrator in another tab",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await open("/users/ada#profile", "ada");
    const other = await page.context().newPage();
    await other.goto(`${site.origin}/users/ada#profile`);
    await other.getByLabel("Title").fill("new");
    await page.getByLabel("Department").fill("analysis");
    await review(other);
    await other.getByText("ada was changed.").waitFor();
    await review(page);
    await alertOf(page).getByText(new RegExp(`^You changed this in another tab on ${TIME}\\.$`)).waitFor();
  },
);

peopleTest(
  "conflict: a user's dialog names no other administrator after a change of memberships",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await site.putGroup("ops");
    await open("/users/ada#profile", "ada");
    await page.getByLabel("Department").fill("analysis");
    await site.target.changeMembers("ops", { add: ["ada"], remove: [] }, {
      actor: { name: "scim:hr", source: "192.0.2.7" },
    });
    await review(page);
    await alertOf(page).getByText("ada was changed while you were editing.").waitFor();
    await alertOf(page).getByText("Changed fields: Groups.").waitFor();
  },
);

peopleTest(
  "conflict: the dialog of a deletion names the administrator who changed the user",
  async ({ page, site, open }) => {
    await site.put("ada", { title: "old" });
    await open("/users/ada", "ada");
    // The heading appears before the user does; the menu appears with the version for the deletion.
    await page.getByRole("button", { name: "More ada" }).waitFor();
    await changeTitle(site, "owner", "new");
    await runUserAction(page, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete ada" }).click();
    await alertOf(page).getByText(
      new RegExp(`owner changed this on ${TIME}\\. Reload to see the latest version\\.`),
    ).waitFor();
  },
);

peopleTest(
  "conflict: a group's dialog names the administrator who changed the reply attributes, in both languages",
  async ({ page, site, open }) => {
    await site.putGroup("ops");
    const cookie = await site.signIn("owner");
    const change = async (version: number) => {
      const json = { attributes: [{ name: "Class", value: `v${version}` }], version };
      const response = await site.call("/console/api/groups/ops/replies", { method: "PUT", json, cookie });
      assertEquals(response.status, 200, await response.text());
    };
    await open("/groups/ops", "ops", { role: "owner" });
    for (
      const [language, edit, value, save, said] of [
        ["en", "Edit reply attributes", "Value", "Save", `You changed this in another tab on ${TIME}`],
        [
          "de",
          "Antwortattribute bearbeiten",
          "Wert",
          "Speichern",
          `Sie haben das am ${TIME} in einem anderen Tab geändert`,
        ],
      ] as const
    ) {
      await page.evaluate((language) => localStorage.setItem("countersign-language", language), language);
      await page.reload();
      await page.getByRole("button", { name: edit }).click();
      const dialog = page.getByRole("dialog");
      await change(language === "en" ? 0 : 1);
      if (language === "en") await dialog.getByLabel("Attribute", { exact: true }).fill("Filter-Id");
      await dialog.getByLabel(value, { exact: true }).fill("mine");
      await dialog.getByRole("button", { name: save, exact: true }).click();
      await alertOf(page).getByText(new RegExp(said)).waitFor();
    }
  },
);

browserTest("conflict: a client's dialog says who changed it, in German", async ({ page }) => {
  await using site = await startConnectConsole({ dist });
  const cookie = await site.signIn("owner");
  const call = async (path: string, method: string, json: unknown) => {
    const response = await site.call(`/console/api${path}`, { method, json, cookie });
    assertEquals(response.status, 200, await response.text());
  };
  await call("/clients", "POST", { ...CLIENT_RULES, name: "vpn-1", secret: "a-secret-of-16-octets" });
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await enterAs(page, { site, role: "owner", path: "/clients/vpn-1", heading: "vpn-1" });
  await page.getByLabel("NAS-Identifier").fill("edge");
  await call("/clients/vpn-1", "PUT", { ...CLIENT_RULES, device: "hold", version: 1 });
  await page.getByRole("button", { name: "Änderungen prüfen" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Speichern", exact: true }).click();
  await alertOf(page).getByText(new RegExp(`^Sie haben das am ${TIME} in einem anderen Tab geändert\\.$`))
    .waitFor();
});

/** The list offers a second target, "crm". */
async function offerTargets(page: Page): Promise<void> {
  await page.route(/\/console\/api\/users\?*$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), targets: ["people", "crm"] } });
  });
}

peopleTest("users: another target starts with an empty list", async ({ page, site, open }) => {
  await site.put("ada");
  await offerTargets(page);
  await open("/users", "Users");
  await page.getByLabel("Select ada").check();
  const other = await holdCalls(page, /\/console\/api\/users\?.*target=crm/);
  const target = page.getByRole("combobox", { name: "Directory" });
  await target.focus();
  await target.selectOption("crm");
  await other.begun;
  assertEquals(await page.getByRole("row", { name: /ada/ }).count(), 0);
  assertEquals(await page.getByRole("region", { name: /selected/ }).count(), 0);
  assertEquals(await target.evaluate((one) => one === document.activeElement), true, "the focus stays");
  other.release();
});

peopleTest("users: the page of a user starts empty for another target", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users/ada", "ada");
  const actions = page.getByRole("button", { name: "More ada" });
  await actions.waitFor();
  const other = await holdCalls(page, /\/console\/api\/users\/ada\?.*target=crm/);
  await goWithin(page, "/users/ada?target=crm");
  await other.begun;
  assertEquals(await actions.count(), 0);
  other.release();
});
