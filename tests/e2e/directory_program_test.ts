// A directory of the console with a real OpenLDAP: created, tested, mapped, used for a sign-in, reordered, and removed.

import { assertEquals } from "@std/assert";
import type { Locator, Page } from "../packages/playwright.ts";
import { type Slapd, startSlapd } from "../support/slapd.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { findAccessibilityProblems } from "./page_checks.ts";

await currentDist();

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
  assertEquals(await connector.locator("option").allTextContents(), ["None", "ldap"]);
  await page.getByRole("link", { name: "Sign-in", exact: true }).click();
  const directory = page.getByLabel("Directory for sign-ins");
  assertEquals(await directory.locator("option").allTextContents(), ["default (default)", "corp"]);
  await directory.selectOption("default");
  await page.getByRole("link", { name: "RADIUS", exact: true }).click();
  assertEquals(await connector.locator("option").allTextContents(), [
    "None",
    "ldap (no longer exists)",
  ]);
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByText('There is no LDAP connector "ldap", and the directory default has none.').waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  assertEquals(await connector.inputValue(), "ldap");
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
  assertEquals(await findAccessibilityProblems(page), []);
  await review.getByRole("button", { name: "Save mapping" }).click();
  await page.getByText("Mapping saved.").waitFor();
  assertEquals(await mail.inputValue(), "workMail");
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
  assertEquals(await findAccessibilityProblems(page), []);
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
  assertEquals(await page.getByRole("button", { name: "Remove directory" }).isDisabled(), true);
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
