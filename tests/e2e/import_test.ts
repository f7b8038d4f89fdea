// Import of users from a file in a browser: preview, correction, and import.

import { assertHolds } from "./page_checks.ts";
import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { chooseFile } from "./pages/page_walk.ts";
import { endSession } from "./session_end.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

const CSV = `userName,displayName,groups
ada,Ada,staff
bob,Bob,
eve,Eve,staff
,Unnamed,
ADA,Twice,
`;

const choose = (page: Page, text: string) => chooseFile(page.getByLabel("File", { exact: true }), text);

test(
  "import: each row shows the result of every backend",
  { shape: { local: "store", crm: "async" } },
  async ({ page, site, open }) => {
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await open("/users/import", "Import users");
    await choose(page, "userName\nada\nbob\n");
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByText("Import completed.").waitFor();
    for (const name of ["ada", "bob"]) {
      await page.getByRole("row", { name: new RegExp(`${name}.*Saved to 1 of 2 connectors.*crm: queued`) })
        .waitFor();
    }
  },
);

test("import: three good and two bad rows; a dry run, one corrected, one skipped, then applied", async ({ page, site, open }) => {
  await open("/users", "Users");
  await page.getByRole("link", { name: "Import users" }).click();
  await page.getByRole("heading", { name: "Import users", level: 1 }).waitFor();
  await assertHolds(page);
  await choose(page, CSV);
  const table = page.getByRole("table", { name: "Rows of people.csv" });
  await table.getByText("Line 2 already has this name.").waitFor();
  await page.getByText("2 rows have errors").waitFor();
  assertEquals(await site.target.directory.read("user", "ada"), null);
  await assertHolds(page);
  await table.getByRole("button", { name: "Fix Line 5" }).click();
  const dialog = page.getByRole("dialog", { name: "Fix line 5" });
  await dialog.getByLabel("userName").fill("grace");
  await assertHolds(page);
  // The session ends during editing: no input is lost.
  await endSession(page);
  await dialog.getByRole("button", { name: "Check row" }).click();
  const signIn = page.getByRole("dialog").filter({ has: page.getByRole("button", { name: "Sign in" }) })
    .last();
  await signIn.getByLabel("Name", { exact: true }).fill("user_manager");
  await signIn.getByLabel("Password").fill(PASSWORD);
  await signIn.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await table.getByRole("row", { name: /grace/ }).getByText("Create").waitFor();
  await table.getByRole("button", { name: "Skip Line 6" }).click();
  await page.getByRole("button", { name: "Import 4 rows" }).click();
  await page.getByText("Import completed.").waitFor();
  assertMatch(
    await page.getByRole("status").filter({ hasText: "Import completed." }).innerText(),
    /4 created/,
  );
  await assertHolds(page);
  assertEquals((await site.membersOf("staff")).toSorted(), ["ada", "eve"]);
  assertEquals((await site.target.directory.read("user", "grace"))?.content.name, "grace");
});

test("import: updates are a choice; each row shows the old and the new value, and a new name is called a rename", async ({ page, site, open }) => {
  await site.put("adler", { displayName: "Adler", title: "Analyst" });
  await site.put("bob", { displayName: "Bob", title: "Analyst" });
  await open("/users/import", "Import users");
  await choose(page, "userName,displayName,title\nadler,X,Analyst\nbob,Bob,Lead\nnew,New,\n");
  await page.getByRole("button", { name: "Import 1 row" }).waitFor();
  await page.getByText("2 rows have errors").waitFor();
  await page.getByLabel("Update existing users and groups").click();
  await page.getByRole("row", { name: /adler Rename displayName: Adler → X/ }).waitFor();
  await page.getByRole("row", { name: /bob Update title: Analyst → Lead/ }).waitFor();
  await assertHolds(page);
  await page.getByRole("button", { name: "Import 3 rows" }).click();
  await page.getByText("Import completed.").waitFor();
  assertEquals((await site.target.directory.read("user", "adler"))?.content.attributes["displayName"], "X");
});

test(
  "import: a file that is no table shows the reason, and another one can be selected",
  { look: "narrow" },
  async ({ page, open }) => {
    await open("/users/import", "Import users");
    await choose(page, "colour,size\nred,3\n");
    await page.getByRole("alert").getByText(/no userName/).waitFor();
    await assertHolds(page);
    await choose(page, CSV);
    await page.getByText("2 rows have errors").waitFor();
  },
);
