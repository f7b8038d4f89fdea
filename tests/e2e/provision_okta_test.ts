// From the console to a refused packet: an administrator connects Okta, Okta provisions a user, and deactivates the user.

import { assertEquals, assertMatch } from "@std/assert";
import { createOktaClient } from "../fakes/okta_client.ts";
import type { Page } from "../packages/playwright.ts";
import { browserTest, LOOKS, openTab } from "./browser.ts";
import { becomeOwner, pairPhone, startFirstProgram } from "./console_program.ts";

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
