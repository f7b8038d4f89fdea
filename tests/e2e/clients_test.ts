// RADIUS clients in a real browser, over the real gateway: added, given another secret, changed by two, removed.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { openRadiusClient, type RadiusClient } from "../support/radius_client.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, scrollsSideways } from "./browser.ts";
import { enter, start } from "./connect_pages.ts";
import { endSession } from "./session_end.ts";

closeBrowserAtEnd();
await currentDist();

const SECRET = "first secret of vpn";
const OTHER_SECRET = "other secret of vpn";
const SECRETS = { first: SECRET.replaceAll(" ", "-"), other: OTHER_SECRET.replaceAll(" ", "-") };

const withSecret = (gateway: RunningGateway, secret: string): RadiusClient =>
  openRadiusClient({ port: gateway.radiusPort, secret });

/** Sends a login and lets it go: there may be no answer. */
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
    await dialog.getByText(/open now|No login came through/).waitFor();
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

browserTest("clients: the dialog asks for a login only when the server listens", async ({ page }) => {
  await using gateway = await start();
  await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
  const release = Promise.withResolvers<void>();
  await page.route("**/clients/heard", async (route) => {
    await release.promise;
    await route.continue();
  });
  const asked = page.waitForRequest("**/clients/heard");
  await page.getByRole("button", { name: "Add a client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a client" });
  await dialog.getByRole("heading", { name: "Listening for the first packet" }).waitFor();
  await asked;
  const hint = dialog.getByText("Send a login from the client now.");
  assertEquals(await hint.count(), 0);
  release.resolve();
  await hint.waitFor();
});

browserTest(
  "clients: one of the settings file is text, and a viewer reads why nothing can be done",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients/of-file", heading: "of-file", role: "viewer" });
    await page.getByText("This client is defined in the settings file. Change it there.").waitFor();
    const rotate = page.getByRole("button", { name: "Rotate the secret" });
    assertEquals(await rotate.isDisabled(), true);
    assertEquals(await rotate.getAttribute("title"), "Needs the owner role");
  },
);

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
    await raced.getByText("Changed fields: NAS-Identifier.").waitFor();
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
    // Refusals come a second late, from this server as from others; on a slow machine later still.
    await factor.getByLabel("Its answer is awaited for").selectOption("10000");
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
  "clients: a session that ends in the middle of the form loses nothing that was typed",
  async ({ page }) => {
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
    await endSession(page);
    await dialog.getByRole("button", { name: "Add a client" }).click();
    const again = page.getByRole("dialog", { name: "Sign in again" });
    await again.getByLabel("Name").fill("owner");
    await again.getByLabel("Password").fill(PASSWORD);
    await again.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The client vpn-2 was added.").waitFor();
    await page.getByRole("link", { name: "vpn-2" }).waitFor();
  },
);
