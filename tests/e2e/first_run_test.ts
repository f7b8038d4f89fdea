// The first run as a new administrator walks it: nothing is set up, the printed link is opened, and at the end a login by
// radclient was let in. The real gateway, its real pages, a phone page in another tab.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { BrowserContext, Page } from "../packages/playwright.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { setUpRadclient } from "../interop/peers/radclient.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const SECRET = "a-secret-of-the-first-run";
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 });
const goOn = (page: Page) => page.getByRole("button", { name: "Go on", exact: true });

async function becomeOwner(page: Page, gateway: RunningGateway): Promise<void> {
  const told = await Deno.readTextFile(`${gateway.dataDir}/first-start.txt`);
  const link = /http\S+\/setup#\S+/.exec(told)?.[0] ?? "";
  assertStringIncludes(link, `${gateway.httpUrl}/setup#`, "the link has the port that was got");
  await page.goto(link);
  await page.getByLabel("Name").fill("owner");
  await page.getByLabel("Password", { exact: true }).fill("a long password for the owner");
  await page.getByRole("button", { name: "Create the owner" }).click();
  await page.getByRole("button", { name: "Later" }).click();
}

async function addClient(page: Page, gateway: RunningGateway): Promise<void> {
  await heading(page, "Step 2 of 4: Add a RADIUS client").waitFor();
  assertEquals(await goOn(page).getAttribute("title"), "Not done yet: do it, or skip it");
  await page.getByText(`(UDP port ${gateway.radiusPort})`).waitFor();
  await page.getByRole("button", { name: "Add a client" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a client" });
  await dialog.getByLabel("Shared secret").fill(SECRET);
  await dialog.getByText("Send a login from the client now.").waitFor();
  await using stranger = setUpRadclient({ port: gateway.radiusPort, secret: SECRET }, {
    nasPort: true,
    signed: true,
  });
  // There is no answer yet; only its arrival counts.
  const knock = stranger.login({ name: "zoe", password: "pw" }).catch(() => undefined);
  await dialog.getByRole("button", { name: "Use this one 127.0.0.1" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("vpn-1");
  await dialog.getByRole("button", { name: "Add a client" }).click();
  await page.getByRole("link", { name: "vpn-1" }).waitFor();
  await knock;
}

async function addUser(page: Page): Promise<void> {
  await heading(page, "Step 3 of 4: Connect a target, or make users").waitFor();
  await page.getByText("No users yet").waitFor();
  await page.getByRole("button", { name: "Create user" }).click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("User name").fill("zoe");
  await dialog.getByRole("button", { name: "Create user" }).click();
  await page.getByRole("region", { name: "zoe" }).waitFor();
}

async function openPhone(context: BrowserContext, gateway: RunningGateway): Promise<Page> {
  const { stdout } = await gateway.pair("zoe", "--invite");
  const path = /\/device#invite=\S+/.exec(stdout)?.[0];
  assert(path !== undefined, "the command prints the link");
  const phone = await context.newPage();
  await phone.goto(gateway.httpUrl + path);
  await phone.getByRole("button", { name: "Pair this phone" }).click();
  await phone.getByText("This phone is paired.").waitFor();
  return phone;
}

browserTest(
  "from the printed link to a login that is let in, step by step, with nothing set up before",
  async ({ page, context }) => {
    await using gateway = await startGateway();
    await becomeOwner(page, gateway);
    await addClient(page, gateway);
    await page.reload();
    await heading(page, "Step 2 of 4: Add a RADIUS client").waitFor();
    await page.getByRole("listitem").filter({ hasText: /Done:\s*Add a RADIUS client/ }).waitFor();
    await goOn(page).click();
    await addUser(page);
    await goOn(page).click();
    await heading(page, "Live").waitFor();
    const step = page.getByRole("region", { name: "Step 4 of 4: Try a login" });
    await step.getByText("Waiting for a login").waitFor();
    await step.getByText(`deno task try 127.0.0.1:${gateway.radiusPort} --user zoe`, { exact: true })
      .waitFor();

    const phone = await openPhone(context, gateway);
    await using peer = setUpRadclient({ port: gateway.radiusPort, secret: SECRET }, {
      nasPort: true,
      signed: true,
    });
    const login = await peer.login({ name: "zoe", password: "pw" });
    const number = /with the number (\d\d)/.exec(login.message())?.[1] ?? "";
    await step.getByText("Waiting for the phone").waitFor();
    await page.locator(".ways path.taken").first().waitFor({ state: "attached" });
    const card = phone.getByRole("form", { name: "Is this you signing in?" });
    await card.getByLabel("Number shown in your login").fill(number);
    await card.getByRole("button", { name: "Approve" }).click();
    await phone.getByText("Approved. Go back to your login.").waitFor();
    await login.answer("");
    assertEquals((await login.end()).verdict, "accept");
    await step.getByText("A login was let in.").waitFor();
    await step.getByRole("button", { name: "Done" }).click();
    await step.waitFor({ state: "detached" });
    await page.goto(`${gateway.httpUrl}/first-run`);
    await page.getByText("All steps are done").waitFor();
    await page.getByRole("link", { name: "Run the sign-in test" }).click();
    await step.getByText("Waiting for a login").waitFor();
    await step.getByText(`127.0.0.1:${gateway.radiusPort} --user zoe`).waitFor();
  },
  { peers: ["radclient"] },
);

browserTest("each step can be skipped, and what is left comes back at the same step", async ({ page }) => {
  await using site = await startConnectConsole({ dist, shape: { local: "store", ldap: "sync" } });
  await site.people.put("ada");
  const first = "Step 2 of 4: Add a RADIUS client";
  await enterAs(page, { site, role: "owner", path: "/first-run", heading: first });
  await page.getByRole("button", { name: "Skip this step" }).click();
  await heading(page, "Step 3 of 4: Connect a target, or make users").waitFor();
  await page.getByRole("button", { name: "Test ldap" }).click();
  await page.getByRole("region", { name: "ada" }).waitFor();
  await page.reload();
  await heading(page, "Step 3 of 4: Connect a target, or make users").waitFor();
  await goOn(page).click();
  const step = page.getByRole("region", { name: "Step 4 of 4: Try a login" });
  await step.getByRole("button", { name: "Skip this step" }).click();
  await step.waitFor({ state: "detached" });
});

browserTest(
  "a login of before is not the one that is tried, also when it is shown only after the step",
  async ({ page }) => {
    await using site = await startConnectConsole({ dist, shape: { local: "store" } });
    site.watch.put(conversation(1, { startedMs: Date.now() - 60_000 }));
    const step = page.getByRole("region", { name: "Step 4 of 4: Try a login" });
    // What is there comes once the step stands.
    await page.route("**/console/api/live", async (route) => {
      await step.waitFor();
      await route.fallback();
    });
    await enterAs(page, { site, role: "owner", path: "/live?step=login" });
    await page.getByRole("row").nth(1).waitFor();
    await step.getByText("Waiting for a login").waitFor();
    site.watch.put(conversation(2, { startedMs: Date.now() + 60_000 }));
    await page.waitForURL(/[?&]c=/);
    await step.getByText("Waiting for a login").waitFor({ state: "detached" });
  },
);

const STATES: Readonly<Record<string, { path: string; heading: string; role?: string }>> = {
  "the client": { path: "/first-run?step=client", heading: "Step 2 of 4: Add a RADIUS client" },
  "the client, as a viewer": {
    path: "/first-run?step=client",
    heading: "Step 2 of 4: Add a RADIUS client",
    role: "viewer",
  },
  "the target": { path: "/first-run?step=target", heading: "Step 3 of 4: Connect a target, or make users" },
  "the login": { path: "/live?step=login", heading: "Live" },
};

for (const look of ["light", "small"] as const) {
  browserTest(`the first steps hold, ${look}, in light and dark`, async ({ page }) => {
    await using site = await startConnectConsole({ dist, shape: { local: "store", ldap: "sync" } });
    for (const [name, { path, heading, role = "owner" }] of Object.entries(STATES)) {
      await enterAs(page, { site, role, path, heading });
      if (path.startsWith("/live")) await page.getByRole("region", { name: /^Step 4/ }).waitFor();
      else await page.getByRole("region").first().waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assertEquals(await findAccessibilityProblems(page), [], `${name}, ${colorScheme}`);
      }
      assertEquals(await scrollsSideways(page), false, name);
      if (role === "viewer") {
        const skip = page.getByRole("button", { name: "Skip this step" });
        assertEquals([await skip.isDisabled(), await skip.getAttribute("title")], [
          true,
          "Needs the owner role",
        ]);
      }
      await page.context().clearCookies();
    }
  }, { look });
}
