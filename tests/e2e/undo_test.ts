// "Undo" in a message outlives its page: when the change is not taken back, a message says so.

import type { Page } from "../packages/playwright.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { open } from "./people_pages.ts";
import { goWithin } from "./place_walk.ts";

closeBrowserAtEnd();

const dist = await currentDist();

interface UndoCase {
  readonly path: string;
  readonly heading: string;
  readonly change: (page: Page) => Promise<void>;
  /** The calls that take the change back. */
  readonly calls: RegExp;
  readonly failed: string;
}

const CASES: Readonly<Record<string, UndoCase>> = {
  "a deactivation": {
    path: "/users/ada",
    heading: "ada",
    change: (page) => page.getByRole("button", { name: "Deactivate" }).click(),
    calls: /\/users\/ada\/active/,
    failed: "ada was not changed.",
  },
  "a user's group": {
    path: "/users/eve#groups",
    heading: "eve",
    change: (page) => page.getByRole("button", { name: "Take out staff" }).click(),
    calls: /\/users\/eve\/groups/,
    failed: "staff was not changed.",
  },
  "a group's member": {
    path: "/groups/staff",
    heading: "staff",
    async change(page) {
      await page.getByLabel("Choose eve").check();
      await page.getByRole("button", { name: "Take out", exact: true }).click();
    },
    calls: /\/groups\/staff\/members/,
    failed: "staff was not changed.",
  },
};

for (const [what, { path, heading, change, calls, failed }] of Object.entries(CASES)) {
  browserTest(
    `undo: ${what} that is not restored is a message on whatever page is open`,
    async ({ page }) => {
      await using site = await startPeopleConsole({ dist });
      for (const name of ["ada", "eve"]) await site.put(name);
      await site.putGroup("staff", ["eve"]);
      await open(page, site, { path, heading });
      await change(page);
      const undo = page.locator(".toast").getByRole("button", { name: "Undo" });
      await undo.waitFor();
      await goWithin(page, "/users");
      await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
      await page.route(calls, (route) => route.abort());
      await undo.click();
      await page.locator(".toast").getByText(failed).waitFor();
    },
  );
}
