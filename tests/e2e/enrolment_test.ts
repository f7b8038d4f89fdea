// The enrolment of users from end to end: an invitation in the console, its mail, the page of its link, and logins by radclient.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { type ReceivedMail, startSmtpServer } from "../fakes/smtp_server.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { browserTest, enterAs, LOOKS, openTab } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";

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
      const { seed, recovery } = await setUpApp(program, linkFor(smtp.received, "ada"));
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

async function setUpApp(
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
