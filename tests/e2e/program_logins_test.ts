// Logins from end to end: radclient, the real program, phone and account pages in Chromium, mail, and the console.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import type { RadclientLogin } from "../interop/peers/radclient.ts";
import type { Page } from "../packages/playwright.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { type ReceivedMail, startSmtpServer } from "../fakes/smtp_server.ts";
import { browserTest, currentDist, enterAs, holds, LOOKS, openTab } from "./browser.ts";
import { type ConsoleProgram, pairPhone, startConsoleProgram } from "./console_program.ts";
import { runUserAction } from "./page_actions.ts";
import { consoleTests } from "./console_tests.ts";

// Logins from end to end: radclient, the real program, a phone page and an account page in Chromium, and the console.

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the whole-login test"
`;
const programTest = consoleTests(startConsoleProgram, {
  role: "owner",
  toml: CLIENT,
  peers: ["radclient"],
  isShared: true,
});

programTest(
  "a login by radclient is approved on a paired phone with its number, shown live, and accepted",
  async ({ page: live, site: program, open }) => {
    await open("/live?approvals=open", "Sign-in log");
    const { context } = await openTab(LOOKS.narrow);
    const phone = await pairPhone(context, { program, user: "ada" });
    await using peer = program.radclient();
    await loginIsApproved(await peer.login({ name: "ada", password: "pw" }), { live, phone });
    await loginIsDeniedByAWrongNumber(await peer.login({ name: "ada", password: "pw" }), { live, phone });
    await context.close();
  },
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

programTest(
  "me: “this was not me” rejects a waiting login by radclient, locks the user, and notifies the administrators",
  async ({ page: live, site: program, open }) => {
    await using peer = program.radclient();
    const { context } = await openTab(LOOKS.narrow);
    const phone = await pairPhone(context, { program, user: "bea" });
    await phone.getByRole("link", { name: /^My account/ }).click();
    await phone.getByRole("button", { name: "Continue as bea" }).click();
    await phone.getByText("No sign-ins yet.").waitFor();
    const login = await peer.login({ name: "bea", password: "pw" });
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
    const next = await peer.login({ name: "bea", password: "pw" });
    assertEquals((await next.end()).verdict, "reject", "the user is locked");
    await phone.getByRole("region", { name: "Recent sign-ins" }).getByText("You reported: this was not me.")
      .waitFor();
    await open("/live?approvals=open", "Sign-in log");
    await live.getByText(/bea.*was not/).first().waitFor();
    await context.close();
  },
);

programTest(
  "me: with a link from the user's page an app and recovery codes are set up; each is accepted once",
  async ({ page: owner, site: program, open }) => {
    await using peer = program.radclient();
    await open("/users/grace", "grace");
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
    await holds(() => recent.getByText("Accepted", { exact: true }).count(), 2);
    await page.goto("about:blank");
    await page.context().clearCookies();
    await page.goto(link);
    await page.getByRole("alert").getByText("This link was used").waitFor();
    await context.close();
  },
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

// A user who was created in a browser logs in: the real gateway, a real phone page, and radclient.

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
const BEA: Person = { name: "bea", password: "first factor of bea" };
const codeOf = (seed: Uint8Array, stepsAhead = 0) =>
  totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS) + stepsAhead, 6);

const test = consoleTests(startConsoleProgram, {
  role: "owner",
  toml: SETTINGS,
  peers: ["radclient"],
  isShared: true,
});

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
  await createUser(page, BEA);
  await page.getByRole("main").getByRole("link", { name: /^Authenticators/ }).click();
  await page.getByRole("button", { name: "Pair a phone" }).first().click();
  const link = await page.getByRole("dialog").getByText(/#invite=/).textContent();
  if (link === null) throw new Error("The dialog shows no link");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

  const phone = await context.newPage();
  await phone.goto(`${site.origin}${new URL(link).pathname}${new URL(link).hash}`);
  await phone.getByRole("button", { name: "Pair this phone" }).click();
  await phone.getByText("This phone is paired.").waitFor();

  const login = await peer.login(BEA);
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
  const after = await peer.login(BEA);
  assertMatch(after.message(), /Choose a second factor/);
});

// The enrolment of users from end to end: an invitation in the console, its mail, the page of its link, and logins by radclient.

const NEXT_CODE_MS = 30_000;
const USERS = ["ada", "grace"];

browserTest(
  "a user without a phone is invited by mail and sets up an app; after the deadline the others are refused",
  async ({ page }) => {
    const smtp = await startSmtpServer();
    try {
      await using program = await startConsoleProgram({ toml: settings(smtp.port) });
      const cookie = await program.signIn("owner");
      for (const name of USERS) {
        const user = { userName: name, emails: [{ value: `${name}@example.com`, primary: true }] };
        await post(program, { cookie, path: "/users", body: { user } });
      }
      await inviteEveryone(page, program);
      await smtp.receives(USERS.length);
      assertEquals(smtp.received.map(({ to }) => to).sort(), USERS.map((name) => `${name}@example.com`));
      const { seed, recovery } = await enrolWithApp(program, linkFor(smtp.received, "ada"));
      await page.reload();
      await page.getByRole("row", { name: /ada/ }).getByText("Enrolled").waitFor();
      await fitsSmallestScreen(program, linkFor(smtp.received, "grace"));
      await setDeadlineToThePast({ program, cookie });
      await using peer = program.radclient();
      const byApp = await peer.login({ name: "ada", password: "pw" });
      // The code that proved the app counts once: the login uses the next one, which is within the tolerance.
      await byApp.answer(totpCode(seed, Date.now() + NEXT_CODE_MS));
      assertEquals((await byApp.end()).verdict, "accept");
      const byCode = await peer.login({ name: "ada", password: "pw" });
      await byCode.answer(recovery);
      assertEquals((await byCode.end()).verdict, "accept");
      const { verdict, message } = await (await peer.login({ name: "grace", password: "pw" })).end();
      assertEquals(verdict, "reject");
      assertMatch(message ?? "", /Set up a second factor first.*Call 4711\./);
    } finally {
      await smtp.close();
    }
  },
  { peers: ["radclient"] },
);

function settings(smtpPort: number): string {
  return `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the enrolment test"

[mail]
host = "127.0.0.1"
port = ${smtpPort}
security = "none"
from = "it@example.com"
per_minute = 6000

[enrolment]
help_text = "Call 4711."
`;
}

async function inviteEveryone(page: Page, program: ConsoleProgram): Promise<void> {
  await enterAs(page, { site: program, role: "owner", path: "/enrolment", heading: "Enrolment" });
  await page.getByRole("button", { name: "Invite…" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite users" });
  await dialog.getByText("2 of 2 users get a mail.").waitFor();
  await dialog.getByRole("button", { name: "Send invitations" }).click();
  await dialog.waitFor({ state: "detached" });
  // The page follows the invitations without a reload, and names the time of its counts.
  await page.getByRole("link", { name: /^Invited\s*2$/ }).waitFor();
  await page.getByText(/^As of \d\d:\d\d:\d\d$/).waitFor();
}

/** The address of the phone page in the mail of a user, without its origin. */
function linkFor(mails: readonly ReceivedMail[], user: string): string {
  const mail = mails.find(({ to }) => to === `${user}@example.com`);
  const text = (mail?.data ?? "").replaceAll("=\r\n", "").replaceAll("=3D", "=");
  const link = /\/device#invite=[\w-]+/.exec(text)?.[0];
  if (link === undefined) throw new Error(`The mail has no link: ${text}`);
  return link;
}

async function enrolWithApp(
  program: ConsoleProgram,
  link: string,
): Promise<{ seed: Uint8Array; recovery: string }> {
  const { page, context } = await openTab(LOOKS.narrow);
  await page.goto(program.origin + link);
  await page.getByRole("button", { name: "Use an authenticator app instead" }).click();
  const card = page.getByRole("region", { name: "Set up an authenticator app" });
  await card.getByRole("img", { name: "QR code of the app's key" }).waitFor();
  const seed = fromBase32((await card.locator("code").innerText()).replaceAll(" ", ""));
  await card.getByLabel("Code from the app").fill(totpCode(seed, Date.now()));
  await card.getByRole("button", { name: "Confirm code" }).click();
  const codes = page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
  await codes.first().waitFor();
  const recovery = await codes.allInnerTexts();
  assertEquals(recovery.length, 10);
  await page.getByRole("button", { name: "I have saved them" }).click();
  await page.goto("about:blank");
  await page.goto(program.origin + link);
  await page.getByText("This invitation was already used.").waitFor();
  await context.close();
  return { seed, recovery: recovery[0] ?? "" };
}

/** German has the longest labels. */
async function fitsSmallestScreen(program: ConsoleProgram, link: string): Promise<void> {
  const { page, context } = await openTab({ ...LOOKS.narrow, locale: "de-DE" });
  // A page that is too wide also makes `innerWidth` larger.
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await page.goto(program.origin + link);
  const choose = page.getByRole("button", { name: "Stattdessen eine Authenticator-App verwenden" });
  await choose.waitFor();
  assertEquals(await width(), LOOKS.narrow.viewport.width);
  await choose.click();
  await page.getByLabel("Code der App").waitFor();
  assertEquals(await width(), LOOKS.narrow.viewport.width);
  await page.getByLabel("Code der App").fill("000000");
  await page.getByRole("button", { name: "Code bestätigen" }).click();
  const problem = page.getByRole("region", { name: "Authenticator-App einrichten" })
    .getByText("Der Code ist falsch.");
  await problem.waitFor();
  const { y = -1 } = await problem.boundingBox() ?? {};
  assert(y >= 0 && y < LOOKS.narrow.viewport.height, `the message is in sight, not at ${y}`);
  await context.close();
}

async function setDeadlineToThePast(
  { program, cookie }: { program: ConsoleProgram; cookie: string },
): Promise<void> {
  const changed = await post(program, {
    cookie,
    path: "/enrolment/deadline",
    body: { choice: { names: USERS }, deadlineMs: Date.now() - 1_000 },
  });
  assertEquals(changed, { changed: USERS.length });
}

async function post(
  program: ConsoleProgram,
  { cookie, path, body }: { cookie: string; path: string; body: unknown },
): Promise<unknown> {
  const response = await fetch(`${program.origin}/console/api${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": program.origin, cookie },
    body: JSON.stringify(body),
  });
  const answer = await response.text();
  assert(response.ok, `${path}: ${response.status} ${answer}`);
  return JSON.parse(answer);
}

// Settings in the console of the real program: a change takes effect on the next packet, and survives a restart.

await currentDist();

/** The code of the reply to a first request of a user who is not in the directory. */
async function replyTo(program: ConsoleProgram, user: string): Promise<number> {
  using client = program.client();
  const { code } = await client.ask({ userName: user, password: "pw", nasPort: 1 });
  return code;
}

const CHALLENGE = 11;
const REJECT = 3;

async function saveOne(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("1 setting saved. It is in effect now.").last().waitFor();
}

browserTest(
  "settings: a change takes effect on the next packet, is undone on the next one, and survives a restart",
  async ({ page }) => {
    await using program = await startConsoleProgram({});
    assertEquals(await replyTo(program, "stranger"), CHALLENGE);
    await enterAs(page, { site: program, role: "owner", path: "/settings/radius", heading: "Settings" });
    await page.getByLabel("Unknown users").selectOption("reject");
    await saveOne(page);
    assertEquals(await replyTo(program, "stranger"), REJECT);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The change was undone.").waitFor();
    assertEquals(await replyTo(program, "stranger"), CHALLENGE);
    await page.getByLabel("Unknown users").selectOption("reject");
    await saveOne(page);
    await program.restart();
    assertEquals(await replyTo(program, "stranger"), REJECT);
    await enterAs(page, { site: program, role: "owner", path: "/settings/radius", heading: "Settings" });
    await holds(() => page.getByLabel("Unknown users").inputValue(), "reject");
  },
);
