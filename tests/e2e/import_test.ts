// Users from a file, in a real browser: seen first, put right, then applied.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { holds, membersOf, open } from "./people_pages.ts";
import { chooseFile } from "./place_walk.ts";
import { endSession } from "./session_end.ts";

closeBrowserAtEnd();

const dist = await currentDist();
const CSV = `userName,displayName,groups
ada,Ada,staff
bob,Bob,
eve,Eve,staff
,Nobody,
ADA,Twice,
`;

const choose = (page: Page, text: string) => chooseFile(page.getByLabel("File", { exact: true }), text);

browserTest(
  "import: each row says what every backend made of it",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist, shape: { local: "store", crm: "async" } });
    site.backend("crm").trouble({ operation: "put", how: "before" });
    await open(page, site, { path: "/users/import", heading: "Import users" });
    await choose(page, "userName\nada\nbob\n");
    await page.getByRole("button", { name: "Import 2 rows" }).click();
    await page.getByText("The import is done.").waitFor();
    for (const name of ["ada", "bob"]) {
      await page.getByRole("row", { name: new RegExp(`${name}.*Saved to 1 of 2 backends.*crm: queued`) })
        .waitFor();
    }
  },
);

browserTest(
  "import: three good and two bad rows; a dry run, one put right, one skipped, then applied",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    await open(page, site, { path: "/users", heading: "Users" });
    await page.getByRole("link", { name: "Import users" }).click();
    await page.getByRole("heading", { name: "Import users", level: 1 }).waitFor();
    await holds(page);
    await choose(page, CSV);
    const table = page.getByRole("table", { name: "Rows of people.csv" });
    await table.getByText("Line 2 has that name already.").waitFor();
    await page.getByText("2 rows are refused").waitFor();
    assertEquals(await site.target.directory.read("user", "ada"), null);
    await holds(page);
    await table.getByRole("button", { name: "Put right Line 5" }).click();
    const dialog = page.getByRole("dialog", { name: "Line 5" });
    await dialog.getByLabel("userName").fill("grace");
    await holds(page);
    // The session ends in the middle of the form: nothing typed is lost.
    await endSession(page);
    await dialog.getByRole("button", { name: "Check the row" }).click();
    const signIn = page.getByRole("dialog").filter({ has: page.getByRole("button", { name: "Sign in" }) })
      .last();
    await signIn.getByLabel("Name", { exact: true }).fill("user_manager");
    await signIn.getByLabel("Password").fill(PASSWORD);
    await signIn.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await table.getByRole("row", { name: /grace/ }).getByText("Create").waitFor();
    await table.getByRole("button", { name: "Skip Line 6" }).click();
    await page.getByRole("button", { name: "Import 4 rows" }).click();
    await page.getByText("The import is done.").waitFor();
    assertMatch(
      await page.getByRole("status").filter({ hasText: "The import is done." }).innerText(),
      /4 created/,
    );
    await holds(page);
    assertEquals((await membersOf(site, "staff")).toSorted(), ["ada", "eve"]);
    assertEquals((await site.target.directory.read("user", "grace"))?.content.name, "grace");
  },
);

browserTest("import: a file that is no table says why, and another one can be chosen", async ({ page }) => {
  await using site = await startPeopleConsole({ dist });
  await open(page, site, { path: "/users/import", heading: "Import users" });
  await choose(page, "colour,size\nred,3\n");
  await page.getByRole("alert").getByText(/no userName/).waitFor();
  await holds(page);
  await choose(page, CSV);
  await page.getByText("2 rows are refused").waitFor();
}, { look: "small" });
