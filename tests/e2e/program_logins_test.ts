// Logins from end to end: radclient, the real program, a phone page and an account page in Chromium, and the console.

import { assertEquals, assertMatch } from "@std/assert";
import type { RadclientLogin } from "../interop/peers/radclient.ts";
import type { Page } from "../packages/playwright.ts";
import { browserTest, LOOKS, openTab } from "./browser.ts";
import { becomeOwner, pairPhone, startFirstProgram } from "./console_program.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { runUserAction } from "./user_menu.ts";

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the whole-login test"
`;
browserTest(
  "a login by radclient is approved on a paired phone with its number, shown live, and accepted",
  async ({ page: live }) => {
    await using program = await startFirstProgram({ toml: CLIENT });
    await becomeOwner(live, program);
    await live.goto(`${program.origin}/live?approvals=open`);
    await live.getByRole("heading", { name: "Sign-in log" }).waitFor();
    const { context } = await openTab(LOOKS.narrow);
    const phone = await pairPhone(context, { program, user: "ada" });
    await using peer = program.radclient();
    await loginIsApproved(await peer.login({ name: "ada", password: "pw" }), { live, phone });
    await loginIsDeniedByAWrongNumber(await peer.login({ name: "ada", password: "pw" }), { live, phone });
    await context.close();
  },
  { peers: ["radclient"] },
);

async function loginIsApproved(
  login: RadclientLogin,
  { live, phone }: { live: Page; phone: Page },
): Promise<void> {
  const number = await promptedNumber(login);
  const card = phone.getByRole("form", { name: "Is this you signing in?" });
  await card.waitFor();
  await live.getByRole("row").getByText("Waiting for the phone").first().waitFor();
  await live.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  await card.getByLabel("Number shown at your sign-in").fill(number);
  await card.getByRole("button", { name: "Approve" }).click();
  await phone.getByText("Approved. Return to your sign-in.").waitFor();
  // The next login has the same prompt.
  await card.waitFor({ state: "detached" });
  await login.answer("");
  assertEquals((await login.end()).verdict, "accept");
  await live.getByText("Accepted", { exact: true }).last().waitFor();
}

async function loginIsDeniedByAWrongNumber(
  login: RadclientLogin,
  { live, phone }: { live: Page; phone: Page },
): Promise<void> {
  const number = await promptedNumber(login);
  const card = phone.getByRole("form", { name: "Is this you signing in?" });
  await card.getByLabel("Number shown at your sign-in").fill(number === "10" ? "11" : "10");
  await card.getByRole("button", { name: "Approve" }).click();
  await phone.getByText("The number was wrong, so the sign-in was denied.").waitFor();
  await login.answer("");
  const { verdict, message } = await login.end();
  assertEquals(verdict, "reject");
  assertMatch(message ?? "", /approval was not given/i);
  await live.getByText("Rejected", { exact: true }).last().waitFor();
}

/** The two digits in the login prompt. */
async function promptedNumber(login: RadclientLogin): Promise<string> {
  await login.shows("Authorize this login on your device with the number");
  const number = /with the number (\d\d)/.exec(login.message())?.[1];
  if (number === undefined) throw new Error(`There is no number in "${login.message()}"`);
  return number;
}

browserTest(
  "me: “this was not me” rejects a waiting login by radclient, locks the user, and notifies the administrators",
  async ({ page: live }) => {
    await using program = await startFirstProgram({ toml: CLIENT });
    await using peer = program.radclient();
    const { context } = await openTab(LOOKS.narrow);
    const phone = await pairPhone(context, { program, user: "ada" });
    await phone.getByRole("link", { name: /^My account/ }).click();
    await phone.getByRole("button", { name: "Continue as ada" }).click();
    await phone.getByText("No sign-ins yet.").waitFor();
    const login = await peer.login({ name: "ada", password: "pw" });
    await login.shows("Authorize this login on your device");
    await phone.reload();
    const waiting = phone.getByRole("region", { name: "A sign-in is waiting" });
    await waiting.getByText("vpn-1", { exact: true }).waitFor();
    await waiting.getByRole("link", { name: "Answer" }).waitFor();
    await waiting.getByRole("button", { name: /^This was not me/ }).click();
    await phone.getByRole("dialog").getByRole("button", { name: "This was not me" }).click();
    await phone.getByText("Sign-ins locked, administrators notified").waitFor();
    await phone.getByText("1 pending sign-in was denied.").waitFor();
    await waiting.waitFor({ state: "detached" });
    await login.answer("");
    assertEquals((await login.end()).verdict, "reject");
    const next = await peer.login({ name: "ada", password: "pw" });
    assertEquals((await next.end()).verdict, "reject", "the user is locked");
    await phone.getByRole("region", { name: "Recent sign-ins" }).getByText("You reported: this was not me.")
      .waitFor();
    await becomeOwner(live, program);
    await live.goto(`${program.origin}/live?approvals=open`);
    await live.getByText(/ada.*was not/).first().waitFor();
    await context.close();
  },
  { peers: ["radclient"] },
);

browserTest(
  "me: with a link from the user's page an app and recovery codes are set up; each is accepted once",
  async ({ page: owner }) => {
    await using program = await startFirstProgram({ toml: CLIENT });
    await using peer = program.radclient();
    await becomeOwner(owner, program);
    await owner.goto(`${program.origin}/users/grace`);
    await runUserAction(owner, "Self-service link");
    await owner.getByRole("dialog").getByRole("button", { name: "Create link" }).click();
    const told = await owner.getByRole("dialog").locator("pre").innerText();
    const link = program.origin + told.slice(told.indexOf("/me#"));
    const { page, context } = await openTab(LOOKS.narrow);
    await page.goto(link);
    await page.getByRole("button", { name: "Open my account" }).click();
    const seed = await setUpApp(page);
    const codes = await makeCodes(page);
    const byApp = await peer.login({ name: "grace", password: "pw" });
    // The code that proved the app counts once: the login uses the next one, which is within the tolerance.
    await byApp.answer(totpCode(seed, Date.now() + 30_000));
    assertEquals((await byApp.end()).verdict, "accept");
    const byCode = await peer.login({ name: "grace", password: "pw" });
    await byCode.answer(codes[0] ?? "");
    assertEquals((await byCode.end()).verdict, "accept");
    const again = await peer.login({ name: "grace", password: "pw" });
    await again.answer(codes[0] ?? "");
    assertEquals((await again.end()).verdict, "reject", "a recovery code works once");
    await page.reload();
    await page.getByText("9 of 10 codes left").waitFor();
    const recent = page.getByRole("region", { name: "Recent sign-ins" });
    await recent.getByText("The passcode was wrong, already used, or expired.").waitFor();
    assertEquals(await recent.getByText("Accepted", { exact: true }).count(), 2);
    await page.goto("about:blank");
    await page.context().clearCookies();
    await page.goto(link);
    await page.getByRole("alert").getByText("This link was used").waitFor();
    await context.close();
  },
  { peers: ["radclient"] },
);

async function setUpApp(page: Page): Promise<Uint8Array> {
  await page.getByRole("button", { name: "Set up app" }).click();
  const dialog = page.getByRole("dialog");
  const seed = fromBase32((await dialog.locator("code").innerText()).replaceAll(" ", ""));
  await dialog.getByLabel("Code from the app").fill(totpCode(seed, Date.now()));
  await dialog.getByRole("button", { name: "Verify code" }).click();
  await page.getByText("The authenticator app was set up.").waitFor();
  return seed;
}

async function makeCodes(page: Page): Promise<string[]> {
  await page.getByRole("button", { name: "Generate recovery codes" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("listitem").first().waitFor();
  const codes = await dialog.getByRole("listitem").allInnerTexts();
  await dialog.getByLabel("I have saved them").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  return codes;
}
