// A user made by clicking logs in: a real browser, the real gateway, a real phone page, and radclient.

import { assertEquals, assertMatch } from "@std/assert";
import type { BrowserContext, Page } from "../packages/playwright.ts";
import { decodeBase32 } from "../../platform/base32.ts";
import { TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { setUpRadclient } from "../interop/peers/radclient.ts";
import { browserTest, closeBrowserAtEnd } from "./browser.ts";

closeBrowserAtEnd();

const PASSWORD = "a long password of the manager";
const SETTINGS = `[[console.admin]]
name = "manager"
password = "${PASSWORD}"
role = "owner"

[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the user-login test"
first_factor = "directory"
`;

/** Signs in by the API and gives the browser the session. */
async function enter(context: BrowserContext, gateway: RunningGateway): Promise<void> {
  const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: gateway.httpUrl },
    body: JSON.stringify({ name: "manager", password: PASSWORD }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  const [name = "", value = ""] = (response.headers.get("set-cookie") ?? "").split(";")[0]?.split("=") ?? [];
  await context.addCookies([{ name, value, url: gateway.httpUrl }]);
}

async function createUser(page: Page, gateway: RunningGateway, { name, password }: Person): Promise<void> {
  await page.goto(`${gateway.httpUrl}/users`);
  await page.getByRole("button", { name: "Create user" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("User name").fill(name);
  await dialog.getByLabel("Password").fill(password);
  await dialog.getByRole("button", { name: "Create user" }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

interface Person {
  readonly name: string;
  readonly password: string;
}

/** Reads the secret off the dialog and types the code that an app would show. */
async function addAuthenticator(page: Page): Promise<Uint8Array> {
  await page.getByRole("link", { name: /Second factors/ }).click();
  await page.getByRole("button", { name: "Add an authenticator app" }).click();
  const dialog = page.getByRole("dialog");
  const secret = (await dialog.getByRole("note", { name: "Secret" }).textContent() ?? "").replaceAll(" ", "");
  const seed = decodeBase32(secret);
  if (seed === null) throw new Error("The dialog shows no base32 secret");
  await dialog.getByLabel("Code of the app").fill(totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS), 6));
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("has an authenticator app.").waitFor();
  return seed;
}

const ADA: Person = { name: "ada", password: "first factor of ada" };
const codeOf = (seed: Uint8Array, stepsAhead = 0) =>
  totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS) + stepsAhead, 6);

const NEEDS = { peers: ["radclient"] } as const;

browserTest(
  "a user created by clicking logs in with radclient, and not once deactivated",
  async ({ page, context }) => {
    await using gateway = await startGateway({ toml: SETTINGS });
    await using peer = setUpRadclient({ port: gateway.radiusPort, secret: gateway.secret }, {
      nasPort: true,
      signed: true,
    });
    await enter(context, gateway);
    await createUser(page, gateway, ADA);
    const seed = await addAuthenticator(page);

    const wrong = await peer.login({ name: "ada", password: "not the first factor" });
    assertEquals((await wrong.end()).verdict, "reject");
    const login = await peer.login(ADA);
    await login.shows("Enter the passcode that your device generates");
    // The code that proved the app counts no more (RFC 6238 §5.2); the next is within the tolerance.
    await login.answer(codeOf(seed, 1));
    assertEquals((await login.end()).verdict, "accept");

    await page.getByRole("link", { name: "Timeline" }).click();
    await page.getByText("Login accepted").waitFor();
    await page.getByText("Login rejected").waitFor();
    await page.getByRole("button", { name: "Deactivate" }).click();
    const asked = page.getByRole("dialog", { name: "Deactivate ada?" });
    await asked.getByText("1 factor stops working at once:").waitFor();
    await asked.getByRole("button", { name: "Deactivate ada" }).click();
    await page.getByText("ada may not log in any more.").first().waitFor();
    const refused = await peer.login(ADA);
    assertEquals((await refused.end()).verdict, "reject");
    await page.getByRole("button", { name: "Try a login" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Try a login" }).click();
    await page.getByText("The user is deactivated.").waitFor();
  },
  NEEDS,
);

browserTest(
  "a phone that was invited by clicking approves a login; revoked, it does not",
  async ({ page, context }) => {
    await using gateway = await startGateway({ toml: SETTINGS });
    await using peer = setUpRadclient({ port: gateway.radiusPort, secret: gateway.secret }, {
      nasPort: true,
      signed: true,
    });
    await enter(context, gateway);
    await createUser(page, gateway, ADA);
    await page.getByRole("link", { name: /Second factors/ }).click();
    await page.getByRole("button", { name: "Invite a phone" }).click();
    const link = await page.getByRole("dialog").getByText(/#invite=/).textContent();
    if (link === null) throw new Error("The dialog shows no link");
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

    const phone = await context.newPage();
    await phone.goto(`${gateway.httpUrl}${new URL(link).pathname}${new URL(link).hash}`);
    await phone.getByRole("button", { name: "Pair this phone" }).click();
    await phone.getByText("This phone is paired.").waitFor();

    const login = await peer.login(ADA);
    await login.shows("Authorize this login on your device");
    const number = /with the number (\d\d)/.exec(login.message())?.[1] ?? "";
    await phone.getByLabel("Number shown in your login").fill(number);
    await phone.getByRole("button", { name: "Approve" }).click();
    await phone.getByText("Approved. Go back to your login.").waitFor();
    await login.answer("");
    assertEquals((await login.end()).verdict, "accept");

    await page.reload();
    await page.getByRole("button", { name: /^Revoke Phone/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No second factor yet.").waitFor();
    const after = await peer.login(ADA);
    assertMatch(after.message(), /Choose a second factor/);
  },
  NEEDS,
);
