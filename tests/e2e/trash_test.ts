// Deleted users in a browser: undo, restore with groups, and the next sign-in after a phone is paired again.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";
import { answerQuestion, runUserAction } from "./page_actions.ts";
import { holds } from "./browser.ts";

const test = consoleTests(startPeopleConsole, { role: "owner" });

async function deleted(site: PeopleConsole, names: readonly string[]): Promise<void> {
  for (const name of names) await site.put(name, { displayName: `The ${name}` });
  await site.putGroup("ops", names);
  for (const name of names) {
    await site.target.remove("user", name, { actor: { name: "scim:hr", source: "192.0.2.7" } });
  }
}

async function deleteOnItsPage(page: Page, name: string): Promise<void> {
  await runUserAction(page, "Delete");
  const dialog = page.getByRole("dialog", { name: `Delete ${name}?` });
  await dialog.getByText("You can restore the user for 30 days.").waitFor();
  await dialog.getByRole("button", { name: `Delete ${name}` }).click();
  await page.getByText(`${name} was deleted.`).waitFor();
}

test("deleted users: a deletion is undone from its message, and the user's page opens with the groups", async ({ page, site, open }) => {
  await site.put("ada");
  await site.putGroup("ops", ["ada"]);
  await open("/users/ada", "ada");
  await deleteOnItsPage(page, "ada");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("ada was restored.").waitFor();
  await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
  assertEquals(await site.membersOf("ops"), ["ada"]);
});

test("deleted users: a bulk deletion is undone, and the result links to the deleted users", async ({ page, site, open }) => {
  for (const name of ["ada", "bob"]) await site.put(name);
  await open("/users", "Users");
  for (const name of ["ada", "bob"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("region", { name: "2 selected" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 2 users" }).click();
  const result = page.getByRole("status").filter({ hasText: "2 users were deleted." });
  await result.getByRole("link", { name: "Deleted users" }).waitFor();
  await result.getByRole("button", { name: "Undo" }).click();
  await page.getByText("2 users were restored.").waitFor();
  await page.getByRole("row", { name: /ada/ }).waitFor();
});

test("deleted users: several are restored, a taken name is not, and one is deleted permanently after a confirmation", async ({ page, site, open, step }) => {
  await deleted(site, ["ada", "bob", "cy", "dot"]);
  await site.put("bob");
  await site.target.remove("group", "ops", { actor: { name: "scim:hr", source: "" } });
  await open("/deleted-users", "Deleted users");
  await step("the list says who, and which name is taken", async () => {
    const row = page.getByRole("row", { name: /bob/ });
    await row.getByText("scim:hr").waitFor();
    await row.getByText("Name in use").waitFor();
  });
  await step("restore", async () => {
    for (const name of ["ada", "bob"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
    const bar = page.getByRole("region", { name: "2 selected" });
    await bar.getByRole("button", { name: "Restore" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore 2 users?" });
    await dialog.getByText("Users, passwords and group memberships (2) come back").waitFor();
    await holds(() => dialog.getByRole("listitem").allInnerTexts(), ["ada", "bob"]);
    await dialog.getByText("each user must enrol again").waitFor();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /ada/ }).waitFor();
    await bar.getByRole("button", { name: "Restore" }).click();
    await answerQuestion(page, "Restore 2 users?", "Restore");
    await page.getByText("1 user was restored. Group memberships: 0.").waitFor();
    await page.getByText("ada: these groups no longer exist, or were created again: ops.").waitFor();
    await page.getByText("1 user was not restored:").waitFor();
    await page.getByText("Another user has this name now.").waitFor();
    await page.getByRole("row", { name: /ada/ }).waitFor({ state: "detached" });
    await assertHoldsInBothLooks(page);
  });
  await step("restore from the row", async () => {
    await page.getByRole("button", { name: "Restore cy" }).click();
    await page.getByRole("row", { name: /cy/ }).waitFor({ state: "detached" });
  });
  await step("delete permanently", async () => {
    await page.getByRole("checkbox", { name: "Select dot" }).check();
    await page.getByRole("button", { name: "Delete permanently" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 1 user permanently?" });
    await dialog.getByText("dot").waitFor();
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("1 user was deleted permanently.").waitFor();
    await page.getByRole("row", { name: /dot/ }).waitFor({ state: "detached" });
  });
});

test("deleted users: a user manager finds and restores by keyboard, and cannot delete permanently", {
  role: "user_manager",
}, async ({ page, site, open }) => {
  await deleted(site, ["ada", "bob"]);
  await open("/deleted-users", "Deleted users");
  await page.keyboard.press("/");
  await page.keyboard.type("THE AD");
  await page.getByRole("row", { name: /bob/ }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  // The list is read again, without the search.
  await page.getByRole("row", { name: /bob/ }).waitFor();
  await page.getByRole("checkbox", { name: "Select ada" }).focus();
  await page.keyboard.press("Space");
  const purge = page.getByRole("button", { name: "Delete permanently" });
  await holds(() => purge.isDisabled(), true);
  await holds(() => purge.getAttribute("title"), "Requires the owner role");
  await page.getByRole("region", { name: "1 selected" }).getByRole("button", { name: "Restore" }).focus();
  await page.keyboard.press("Enter");
  await answerQuestion(page, "Restore 1 user?", "Restore");
  await page.getByText("1 user was restored. Group memberships: 1.").waitFor();
  await page.getByRole("link", { name: "All users" }).click();
  await page.getByRole("heading", { name: "Users", level: 1, exact: true }).waitFor();
});

test(
  "deleted users: a restore after five minutes asks for the factor and continues",
  { manualClock: true },
  async ({ page, site, clock, open }) => {
    await deleted(site, ["ada"]);
    await open("/deleted-users", "Deleted users");
    clock.advance(6 * 60_000);
    await page.getByRole("button", { name: "Restore ada" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("1 user was restored.").waitFor();
  },
);

const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "a secret of the trash test"
first_factor = "directory"
`;
const ADA = { name: "ada", password: "first factor of ada" };

/** Adds an authenticator app on the user's page, and returns its secret. */
async function addAuthenticator(page: Page): Promise<Uint8Array> {
  await page.getByRole("main").getByRole("link", { name: /^Authenticators/ }).click();
  await page.getByRole("button", { name: "Add authenticator app" }).click();
  const dialog = page.getByRole("dialog");
  const secret = (await dialog.getByRole("note", { name: "Secret" }).textContent() ?? "").replaceAll(" ", "");
  const seed = decodeBase32(secret);
  if (seed === null) throw new Error("The dialog shows no base32 secret");
  await dialog.getByLabel("Code from the app").fill(codeOf(seed));
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Authenticator app added for").waitFor();
  return seed;
}

const codeOf = (seed: Uint8Array, stepsAhead = 0) =>
  totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS) + stepsAhead, 6);

consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS, peers: ["radclient"] })(
  "deleted users: after kill -9, a restored user has the password but no factor, and signs in with a new app",
  async ({ page, site, open }) => {
    await using peer = site.radclient();
    await open("/users", "Users");
    await page.getByRole("button", { name: "Create user" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create user" });
    await dialog.getByLabel("User name").fill(ADA.name);
    await dialog.getByLabel("Password").fill(ADA.password);
    await dialog.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
    await addAuthenticator(page);
    await deleteOnItsPage(page, "ada");
    assertEquals((await (await peer.login(ADA)).end()).verdict, "reject");
    await site.kill9();
    await site.restart();

    await open("/deleted-users", "Deleted users");
    await page.getByRole("button", { name: "Restore ada" }).click();
    await page.getByText("1 user was restored.").waitFor();
    await page.getByRole("link", { name: "ada" }).click();
    await page.getByText("No second factors yet.").waitFor();
    const seed = await addAuthenticator(page);
    const wrong = await peer.login({ ...ADA, password: "not the first factor" });
    assertEquals((await wrong.end()).verdict, "reject");
    const login = await peer.login(ADA);
    await login.shows("Enter the passcode that your device generates");
    await login.answer(codeOf(seed, 1));
    assertEquals((await login.end()).verdict, "accept");
  },
);
