// Directories, credentials and health in a browser, with the real program and a real slapd.

import { assert, assertEquals } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import type { Locator, Page } from "../packages/playwright.ts";
import { runProgram } from "../support/child.ts";
import { ldapTarget, type Slapd, startSlapd } from "../support/slapd.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { browserTest, chooseRowAction, currentDist, enterAs, holds } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds, findAccessibilityProblems } from "./page_checks.ts";

// Targets, credentials and health, and a directory server that is down, with the real program and a real slapd.

const test = consoleTests(startConnectConsole, { role: "owner" });
const programTest = consoleTests(startConsoleProgram, { role: "owner" });

programTest(
  "credentials: one is created, shown once with a command to try, works, and is revoked",
  async ({ page, site, open }) => {
    await open("/credentials", "Provisioning tokens");
    await page.getByText("No provisioning tokens yet.").waitFor();
    await page.getByRole("button", { name: "Add token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("hr");
    await dialog.getByRole("button", { name: "Add token" }).click();
    const password = await page.getByRole("group", { name: "Password of hr" }).innerText();
    await holds(() => page.getByRole("group", { name: "curl" }).innerText(), /^curl --user 'hr:/);
    const read = async () => {
      const headers = { authorization: `Basic ${btoa(`hr:${password}`)}` };
      const response = await fetch(`${site.origin}/idm/scim/default/Users?count=1`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await read(), 200);
    await page.getByLabel("I have saved it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await chooseRowAction(page, { of: "hr", action: "Revoke" });
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("The token hr was revoked.").waitFor();
    assertEquals(await read(), 401);
  },
);

browserTest("health: shows that a directory server stopped and recovered", async ({ page }) => {
  const slapd = await startSlapd();
  try {
    await using site = await startConsoleProgram({ toml: ldapTarget(slapd, { mode: "sync" }) });
    await enterAs(page, { site, role: "owner", path: "/health", heading: "System status" });
    const row = page.getByRole("row", { name: /default \/ ldap/ });
    const test = row.getByRole("button", { name: "Test default / ldap" });
    await test.click();
    await row.getByText("OK").waitFor();
    await page.getByText(/^\d warnings\./).waitFor();
    await slapd.stop();
    await test.click();
    await row.getByText("Failing").waitFor();
    await page.getByText("1 component is failing.").waitFor();
    await page.goto(`${site.origin}/targets`);
    await page.getByText("ldap: Failing").waitFor();
    await slapd.start();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByRole("button", { name: "Test ldap" }).click();
    // The embedded store is always good. The tested backend is the one that counts.
    const backends = page.getByRole("region", { name: "Connectors" }).getByRole("listitem");
    const tested = page.getByRole("button", { name: "Test ldap" });
    await backends.filter({ has: tested }).getByText("OK", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Refresh now" }).click();
    await page.getByText(/^Users: 0 created, 0 updated/).waitFor();
    await page.getByText(/^Groups: 0 created, 0 updated/).waitFor();
  } finally {
    await slapd.dispose();
  }
}, { peers: ["slapd"] });

test("targets: a mapping is previewed for a real user, and a hostile name is text", async ({ page, site, open }) => {
  const hostile = '"><img src=x onerror=alert(1)>';
  await site.people.put("ada", { title: hostile });
  await open("/targets/default", "default");
  await page.getByLabel("Preview for user").fill("unknown");
  await page.getByText("This object is not in the directory.").waitFor();
  await page.getByLabel("Preview for user").fill("ada");
  await page.getByText("No value").first().waitFor();
  await page.getByLabel("SCIM attribute").fill("title");
  await page.getByLabel("Name at the connectors").fill("jobTitle");
  await page.getByText("2 attributes of ada change.").waitFor();
  await page.getByRole("row", { name: /^jobTitle/ }).getByText(hostile).waitFor();
  assertEquals(await page.locator("img[src=x]").count(), 0);
  assertEquals(await findAccessibilityProblems(page), []);
});

const OF_FILE = `
  [targets.default]
  page_size = 50
`;

test("targets: a directory of the settings file is text, and a mapping is printed for the file", {
  toml: OF_FILE,
}, async ({ page, site, open }) => {
  await site.people.put("ada", { title: "Countess" });
  await open("/targets/default", "default");
  await page.getByText("Set in /srv/countersign.toml").waitFor();
  await holds(() => page.getByRole("button", { name: "Add connector" }).isDisabled(), true);
  await holds(() => page.getByRole("button", { name: "Edit settings" }).isDisabled(), true);
  await page.getByLabel("SCIM attribute").fill("title");
  await page.getByLabel("Name at the connectors").fill("jobTitle");
  await page.getByText(/\[targets\.default\.mapping\.user\]/).waitFor();
  assertEquals(await page.getByRole("button", { name: "Review mapping" }).count(), 0);
});

browserTest(
  "targets: the mapping is edited by keyboard only, from the user to the review",
  async ({ page }) => {
    const shape = { local: "store", ldap: "sync" } as const;
    await using site = await startConnectConsole({ dist: await currentDist(), shape });
    await site.people.put("ada", { title: "Countess" });
    await enterAs(page, { site, role: "owner", path: "/targets/default", heading: "default" });
    await page.getByLabel("Preview for user").waitFor();
    /** Presses Tab until the wanted control has the focus. */
    const tabTo = async (role: "textbox" | "button", name: string | RegExp) => {
      const wanted = page.getByRole(role, { name }).first();
      await wanted.waitFor();
      for (let press = 0; press < 200; press += 1) {
        if (await wanted.evaluate((node) => node === document.activeElement)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`Tab never came to the ${role} ${name}`);
    };
    await tabTo("textbox", "Preview for user");
    await page.keyboard.type("ada");
    await page.getByText("No value").first().waitFor();
    await tabTo("textbox", "SCIM attribute");
    await page.keyboard.type("title");
    await page.keyboard.press("Tab");
    await page.keyboard.type("jobTitle");
    await page.getByText("2 attributes of ada change.").waitFor();
    await tabTo("button", "Review mapping");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Change the mapping of default?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assertEquals(
      await page.getByRole("button", { name: "Review mapping" }).evaluate((node) =>
        node === document.activeElement
      ),
      true,
    );
  },
);

browserTest("targets: a refused write is a dead letter, and a button retries it", async ({ page }) => {
  const shape = { local: "store", crm: "async" } as const;
  await using site = await startConnectConsole({ dist: await currentDist(), shape });
  const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
  site.people.backend("crm").trouble({ operation: "put", how: "before", fault });
  await site.people.put("ada");
  // The page fetches once; the outbox gives the write up in the background.
  await eventually("it is a dead letter", () => site.people.target.pendingWrites(1)[0]?.nextMs === null);
  await enterAs(page, { site, role: "owner", path: "/targets", heading: "Directories" });
  await page.getByText("crm: Failed writes").waitFor();
  await page.getByRole("link", { name: "default" }).click();
  const owed = page.getByRole("region", { name: "Pending writes" });
  await owed.getByText("the attribute is not allowed").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.getByRole("button", { name: "Try again crm" }).click();
  await page.getByText("Failed writes are retried.").waitFor();
  assert((await site.audits()).some(({ action }) => action === "outbox.retry"));
  await page.goto(`${site.origin}/health`);
  await page.getByRole("heading", { name: "System status", level: 1 }).waitFor();
  await page.getByRole("row", { name: /Pending writes/ }).waitFor();
});

await currentDist();
const PEERS = { peers: ["slapd", "ldapUtils"] } as const;

/** The titles in the directory, read with its own client program. */
async function titlesIn(slapd: Slapd): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runProgram("ldapsearch", {
    args: [
      ...["-x", "-LLL", "-H", slapd.url, "-D", slapd.bindDn, "-w", slapd.bindPassword],
      ...["-b", slapd.usersDn, "(title=*)", "title"],
    ],
  });
  if (code !== 0) throw new Error(`Cannot search slapd: ${stderr}`);
  return stdout.split("\n").flatMap((line) => line.startsWith("title: ") ? [line.slice(7)] : []);
}

async function createUser(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Create user" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create user" });
  await dialog.getByLabel("User name").fill(name);
  await dialog.getByLabel("Last name").fill("Lovelace");
  await dialog.getByRole("button", { name: "Create user" }).click();
  await page.waitForURL(`**/users/${name}`);
}

async function review(page: Page, title: string) {
  await page.getByRole("link", { name: "Profile", exact: true }).click();
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Review changes" }).click();
  return page.getByRole("dialog");
}

browserTest(
  "users: slapd stopped during a save undoes the whole write; saved without it, the user differs until a retry",
  async ({ page }) => {
    const slapd = await startSlapd();
    try {
      await using site = await startConsoleProgram({ toml: ldapTarget(slapd, { mode: "sync" }) });
      await enterAs(page, { site, role: "owner", path: "/users", heading: "Users" });
      await createUser(page, "ada");
      const dialog = await review(page, "Countess");
      await slapd.stop();
      await dialog.getByRole("button", { name: "Save" }).click();
      const alert = dialog.getByRole("alert");
      await alert.getByText(/Not saved\. The connector "ldap" cannot be reached/).waitFor();
      for (const backend of ["local", "ldap"]) await alert.getByText(`${backend}: not attempted`).waitFor();
      await assertHolds(page);
      await dialog.getByRole("checkbox", { name: /^ldap/ }).uncheck();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      await slapd.start();
      assertEquals(await titlesIn(slapd), [], "the excluded backend is not written later");
      await page.getByRole("link", { name: /^Attributes by connector/ }).click();
      const truth = page.getByRole("region", { name: "Attributes by connector, for ada" });
      await truth.getByText("Differs").first().waitFor();
      await page.getByRole("button", { name: "Resolve differences ldap" }).click();
      await page.getByText("Retry started for ldap.").waitFor();
      await truth.getByText("Differs").first().waitFor({ state: "detached" });
      assertEquals(await titlesIn(slapd), ["Countess"]);
    } finally {
      await slapd.dispose();
    }
  },
  PEERS,
);

browserTest(
  "users: a write waits in the outbox while slapd is stopped, shows as pending, and is delivered after the restart",
  async ({ page }) => {
    const slapd = await startSlapd();
    try {
      await using site = await startConsoleProgram({ toml: ldapTarget(slapd, { mode: "async" }) });
      await enterAs(page, { site, role: "owner", path: "/users", heading: "Users" });
      await createUser(page, "ada");
      await slapd.stop();
      const dialog = await review(page, "Countess");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("ldap: queued").waitFor();
      const said = page.getByRole("status").filter({ hasText: "ada was changed." });
      await said.getByText("Saved to 1 of 2 connectors").waitFor();
      assertEquals(await said.evaluate((node) => node.className.includes("tone-ok")), false);
      await page.getByRole("link", { name: /^Attributes by connector/ }).click();
      const truth = page.getByRole("region", { name: "Attributes by connector, for ada" });
      await truth.getByText("Pending").first().waitFor();
      const asked = Promise.withResolvers<void>();
      // The outbox also retries by itself: the button would disappear if the page noticed before the click.
      await page.route("**/users/ada/backends", async (route) => {
        await asked.promise;
        await route.fallback();
      });
      await slapd.start();
      await page.getByRole("button", { name: "Try again ldap" }).click();
      await page.getByText("Retry started for ldap.").waitFor();
      asked.resolve();
      await eventually("slapd has the title", async () => (await titlesIn(slapd)).includes("Countess"));
      // The page updates by itself.
      await page.getByText("In sync").nth(1).waitFor();
      assertEquals(await truth.getByText("Pending").count(), 0);
    } finally {
      await slapd.dispose();
    }
  },
  PEERS,
);

// A directory of the console with a real OpenLDAP: created, tested, mapped, used for a sign-in, reordered, and removed.

const ENTRIES = (baseDn: string) =>
  ["ada", "grace"].map((uid) => `
dn: uid=${uid},ou=people,${baseDn}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: Lovelace
mail: ${uid}@example.org
userPassword: pw-of-${uid}
`).join("\n");
const BASE_DN = "dc=example,dc=org";
const REJECT = 3;
const CHALLENGE = 11;

async function replyTo(program: ConsoleProgram, userName: string, password: string): Promise<number> {
  using client = program.client();
  return (await client.ask({ userName, password, nasPort: 1 })).code;
}

async function createDirectory(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/targets`);
  await page.getByRole("button", { name: "Create directory" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Create directory" });
  await dialog.getByLabel("Name").fill("12");
  await dialog.getByRole("button", { name: "Create directory" }).click();
  await dialog.getByText("but not digits alone").waitFor();
  await dialog.getByLabel("Name").fill("corp");
  assertEquals(await findAccessibilityProblems(page), []);
  await dialog.getByRole("button", { name: "Create directory" }).click();
  await page.getByRole("heading", { name: "corp", level: 1 }).waitFor();
}

async function addConnector(page: Page, slapd: Slapd): Promise<void> {
  await page.getByRole("button", { name: "Add connector" }).click();
  const dialog = page.getByRole("dialog", { name: "Add connector" });
  await dialog.getByLabel("Address", { exact: true }).fill(slapd.url);
  await dialog.getByLabel("Bind DN").fill(slapd.bindDn);
  await dialog.getByLabel("Bind password").fill("wrong");
  await dialog.getByLabel("Base DN of users").fill(slapd.usersDn);
  await dialog.getByLabel("Base DN of groups").fill(slapd.groupsDn);
  const test = dialog.getByRole("button", { name: "Test connection" });
  await test.click();
  await dialog.getByText("The server refused the sign-in or the search.").waitFor();
  await dialog.getByLabel("Bind password").fill(slapd.bindPassword);
  await test.click();
  const connected = dialog.getByText(/^Connected\. It took/);
  await connected.waitFor();
  assertEquals(await isInBody(connected), true, "the result is in the view of the dialog");
  await dialog.locator("summary", { hasText: "grace" }).waitFor();
  await dialog.locator("summary", { hasText: "ada" }).click();
  await dialog.getByText("ada@example.org").waitFor();
  await dialog.getByRole("button", { name: "Add connector" }).click();
  await page.getByText("ldap was saved. It is in effect now. Refresh the directory now").waitFor();
  const connectors = page.getByRole("region", { name: "Connectors" });
  await connectors.getByText("ldap").first().waitFor();
  assertEquals(await connectors.getByText("Not checked yet").count(), 0, "it was checked when it was saved");
}

/** Whether the whole element is in the visible part of the body of its dialog. */
function isInBody(element: Locator): Promise<boolean> {
  return element.evaluate((node) => {
    const body = node.closest(".dialog-body")?.getBoundingClientRect();
    const { top, bottom } = node.getBoundingClientRect();
    return body !== undefined && top >= body.top && bottom <= body.bottom;
  });
}

/** The connector of the other directory is marked, and so is the reason why it cannot be saved. */
async function chooseDirectoryWithoutConnector(page: Page): Promise<void> {
  const connector = page.getByLabel("LDAP connector");
  await holds(() => connector.locator("option").allTextContents(), ["None", "ldap"]);
  await page.getByRole("link", { name: "Sign-in", exact: true }).click();
  const directory = page.getByLabel("Directory for sign-ins");
  await holds(() => directory.locator("option").allTextContents(), ["default (default)", "corp"]);
  await directory.selectOption("default");
  await page.getByRole("link", { name: "RADIUS", exact: true }).click();
  await holds(() => connector.locator("option").allTextContents(), [
    "None",
    "ldap (no longer exists)",
  ]);
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByText('There is no LDAP connector "ldap", and the directory default has none.').waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await holds(() => connector.inputValue(), "ldap");
}

/** Changes the order, the mapping and the settings of the directory; removes its connector and the directory. */
async function changeAndRemove(page: Page, program: ConsoleProgram): Promise<void> {
  await page.goto(`${program.origin}/targets/corp`);
  const connectors = page.getByRole("region", { name: "Connectors" }).getByRole("listitem");
  await page.getByRole("button", { name: "Move up ldap" }).click();
  await page.getByText("ldap was moved.").waitFor();
  await connectors.first().getByRole("button", { name: "Edit ldap" }).waitFor();

  await page.getByLabel("Preview for user").fill("ada");
  const mail = page.getByRole("textbox", { name: "Email addresses" });
  await page.getByText("ada@example.org").waitFor();
  await mail.fill("workMail");
  await page.getByText("2 attributes of ada change.").waitFor();
  await page.getByRole("button", { name: "Review mapping" }).click();
  const review = page.getByRole("dialog", { name: "Change the mapping of corp?" });
  await review.getByRole("row", { name: "emails[].value mail workMail" }).waitFor();
  await review.getByRole("button", { name: "Save mapping" }).click();
  await page.getByText("Mapping saved.").waitFor();
  await holds(() => mail.inputValue(), "workMail");
  await page.getByRole("button", { name: "Undo", exact: true }).last().click();
  await page.getByText("The change was undone.").waitFor();
  await page.waitForFunction(() =>
    document.querySelector<HTMLInputElement>('[id="mapping-emails[].value"]')?.value === "mail"
  );

  await page.getByRole("button", { name: "Edit settings" }).click();
  const settings = page.getByRole("dialog", { name: "Edit settings" });
  await settings.getByLabel("Deletion limit in percent").fill("101");
  await settings.getByRole("button", { name: "Save settings" }).click();
  await settings.getByText("Enter a whole number from 1 to 100.").waitFor();
  await settings.getByLabel("Deletion limit in percent").fill("50");
  const extensions = settings.getByLabel("Schema extensions");
  await extensions.fill("/etc/passwd");
  await settings.getByRole("button", { name: "Save settings" }).click();
  await settings.getByText("Enter the JSON itself: the console cannot read files.").waitFor();
  await extensions.fill('[{ "id": "badge" }]');
  await settings.getByRole("button", { name: "Save settings" }).click();
  await settings.getByText("The id of an extension must be a URN").waitFor();
  await extensions.fill(
    '[{ "id": "urn:example:badge", "name": "Badge",\n"attributes": [{ "name": "number" }] }]',
  );
  await settings.getByRole("button", { name: "Save settings" }).click();
  await page.getByText("Settings saved.").waitFor();
  await page.getByText("urn:example:badge").waitFor();

  // The sign-ins use this connector.
  await page.getByRole("button", { name: "Remove ldap" }).click();
  const removal = page.getByRole("dialog", { name: "Remove ldap?" });
  await removal.getByRole("button", { name: "Remove ldap" }).click();
  await removal.getByRole("alert").waitFor();
  await removal.getByRole("button", { name: "Cancel" }).click();
  await holds(() => page.getByRole("button", { name: "Remove directory" }).isDisabled(), true);
}

browserTest(
  "directories: one with OpenLDAP is created in the console and its users sign in; it is changed and removed",
  async ({ page }) => {
    const slapd = await startSlapd({ entries: ENTRIES(BASE_DN) });
    try {
      await using program = await startConsoleProgram({});
      await enterAs(page, { site: program, role: "owner", path: "/targets", heading: /Targets|Directories/ });
      await createDirectory(page, program.origin);
      await addConnector(page, slapd);
      await page.getByRole("button", { name: "Refresh now" }).click();
      await page.getByText(/2 created/).waitFor();

      await page.goto(`${program.origin}/settings/sign_in`);
      await page.getByLabel("Directory for sign-ins").selectOption("corp");
      await page.getByRole("link", { name: "RADIUS", exact: true }).click();
      await page.getByLabel("First factor").selectOption("ldap");
      await page.getByLabel("LDAP connector").selectOption("ldap");
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save 3 changes" }).click();
      await page.getByText("3 settings saved.").waitFor();
      assertEquals(await replyTo(program, "ada", "wrong"), REJECT);
      assertEquals(await replyTo(program, "ada", "pw-of-ada"), CHALLENGE);

      await chooseDirectoryWithoutConnector(page);
      await changeAndRemove(page, program);
    } finally {
      await slapd.dispose();
    }
  },
  { peers: ["slapd"] },
);
