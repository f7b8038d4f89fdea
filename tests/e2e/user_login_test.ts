// A user who was created in a browser logs in: the real gateway, a real phone page, and radclient.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { consoleTests } from "./console_tests.ts";
import { startConsoleProgram } from "./console_program.ts";
import { runUserAction } from "./user_menu.ts";

const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the user-login test"
first_factor = "directory"
`;

async function createUser(page: Page, { name, password }: Person): Promise<void> {
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

/** Reads the secret from the dialog and types the code that an app would show. */
async function addAuthenticator(page: Page): Promise<Uint8Array> {
  await page.getByRole("main").getByRole("link", { name: /^Authenticators/ }).click();
  await page.getByRole("button", { name: "Add authenticator app" }).click();
  const dialog = page.getByRole("dialog");
  const secret = (await dialog.getByRole("note", { name: "Secret" }).textContent() ?? "").replaceAll(" ", "");
  const seed = decodeBase32(secret);
  if (seed === null) throw new Error("The dialog shows no base32 secret");
  await dialog.getByLabel("Code from the app").fill(totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS), 6));
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Authenticator app added for").waitFor();
  return seed;
}

const ADA: Person = { name: "ada", password: "first factor of ada" };
const codeOf = (seed: Uint8Array, stepsAhead = 0) =>
  totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS) + stepsAhead, 6);

const test = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS, peers: ["radclient"] });

test("a user created in the console logs in with radclient, and cannot after a deactivation", async ({ page, site, open }) => {
  await using peer = site.radclient();
  await open("/users", "Users");
  await createUser(page, ADA);
  const seed = await addAuthenticator(page);

  const wrong = await peer.login({ name: "ada", password: "not the first factor" });
  assertEquals((await wrong.end()).verdict, "reject");
  const login = await peer.login(ADA);
  await login.shows("Enter the passcode that your device generates");
  // The code that proved the app is not accepted again (RFC 6238 §5.2); the next one is within the tolerance.
  await login.answer(codeOf(seed, 1));
  assertEquals((await login.end()).verdict, "accept");

  await page.getByRole("link", { name: "Timeline" }).click();
  await page.getByText("Sign-in accepted").waitFor();
  await page.getByText("Sign-in rejected").waitFor();
  await runUserAction(page, "Deactivate");
  const asked = page.getByRole("dialog", { name: "Deactivate ada?" });
  await asked.getByText("1 factor stops working immediately:").waitFor();
  await asked.getByRole("button", { name: "Deactivate ada" }).click();
  await page.getByText("ada can no longer sign in.").first().waitFor();
  const refused = await peer.login(ADA);
  assertEquals((await refused.end()).verdict, "reject");
  await page.getByRole("button", { name: "Test sign-in" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Test sign-in" }).click();
  await page.getByText("The user is deactivated.").waitFor();
});

test("a phone that was invited in the console approves a login; revoked, it does not", async ({ page, context, site, open }) => {
  await using peer = site.radclient();
  await open("/users", "Users");
  await createUser(page, ADA);
  await page.getByRole("main").getByRole("link", { name: /^Authenticators/ }).click();
  await page.getByRole("button", { name: "Pair a phone" }).first().click();
  const link = await page.getByRole("dialog").getByText(/#invite=/).textContent();
  if (link === null) throw new Error("The dialog shows no link");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

  const phone = await context.newPage();
  await phone.goto(`${site.origin}${new URL(link).pathname}${new URL(link).hash}`);
  await phone.getByRole("button", { name: "Pair this phone" }).click();
  await phone.getByText("This phone is paired.").waitFor();

  const login = await peer.login(ADA);
  await login.shows("Authorize this login on your device");
  const number = /with the number (\d\d)/.exec(login.message())?.[1] ?? "";
  await phone.getByLabel("Number shown at your sign-in").fill(number);
  await phone.getByRole("button", { name: "Approve" }).click();
  await phone.getByText("Approved. Return to your sign-in.").waitFor();
  await login.answer("");
  assertEquals((await login.end()).verdict, "accept");

  await page.reload();
  await page.getByRole("button", { name: /^Revoke Phone/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No second factors yet.").waitFor();
  const after = await peer.login(ADA);
  assertMatch(after.message(), /Choose a second factor/);
});
