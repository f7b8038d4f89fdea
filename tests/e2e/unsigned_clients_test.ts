// Clients whose unsigned requests are accepted, in a real browser over the real gateway: the row of the Health page, and the button that
// requires signed requests.

import { assertEquals } from "@std/assert";
import { openRadiusClient } from "../support/radius_client.ts";
import { CODES } from "../support/radius_packets.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { enter, start } from "./connect_pages.ts";

closeBrowserAtEnd();
await currentDist();

const SECRET = "a-secret-of-the-test";
const UNSIGNED = { userName: "ada", password: "", messageAuthenticator: "none" } as const;

browserTest(
  "an owner sees that unsigned requests are accepted, and requires signed ones with one button",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    await page.getByRole("button", { name: "Add a client" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a client" });
    await dialog.getByLabel("Shared secret").fill(SECRET);
    await dialog.getByLabel("Name", { exact: true }).fill("vpn-1");
    await dialog.getByLabel("Addresses").fill("127.0.0.1");
    await dialog.getByRole("button", { name: "Add a client" }).click();
    await page.getByText("The client vpn-1 was added.").waitFor();
    using client = openRadiusClient({ port: gateway.radiusPort, secret: SECRET });
    assertEquals((await client.ask({ ...UNSIGNED, nasPort: 1 })).code, CODES.accessChallenge);

    await page.goto(`${gateway.httpUrl}/health`);
    const row = page.getByRole("row", { name: /Unsigned requests are accepted:.*vpn-1/ });
    await row.getByText("Warning").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);

    await page.goto(`${gateway.httpUrl}/clients/vpn-1`);
    await page.getByText("Last unsigned request").waitFor();
    await page.getByText("Unsigned requests of this client are accepted.").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("button", { name: "Require signed requests" }).click();
    await page.getByText("Signed requests of vpn-1 are required now.").waitFor();
    await page.getByText("Unsigned requests of this client are accepted.").waitFor({ state: "detached" });
    await page.getByText("Always required").first().waitFor({ state: "attached" });

    await client.sendRaw(client.build({ ...UNSIGNED, nasPort: 2 }).bytes);
    await gateway.logged("reason=missing_message_authenticator");
    assertEquals(
      (await client.ask({ userName: "ada", password: "", nasPort: 3 })).code,
      CODES.accessChallenge,
    );

    await page.goto(`${gateway.httpUrl}/health`);
    await page.getByRole("heading", { name: "Health", level: 1 }).waitFor();
    await page.getByRole("row", { name: /Unsigned requests are accepted:.*of-file/ }).waitFor();
    assertEquals(await row.count(), 0);
  },
);

browserTest(
  "a viewer and a client of the settings file get the reason instead of the button",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients/of-file", heading: "of-file", role: "viewer" });
    const button = page.getByRole("button", { name: "Require signed requests" });
    await button.waitFor();
    assertEquals([await button.isDisabled(), await button.getAttribute("title")], [
      true,
      "Needs the owner role",
    ]);
  },
);
