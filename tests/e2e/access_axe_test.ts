// Access and sign-in as axe sees them where the walk over all pages does not come: errors, hostile names, ways in, steps of set-up.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

const dist = await currentDist();

const openAccess = (page: Page, { site, hash = "" }: { site: TestConsole; hash?: string }) =>
  enterAs(page, { site, role: "owner", path: `/access${hash}`, heading: "Access" });

const HOSTILE = '"><img src=x onerror=alert(1)>';
/** What outlives the way to a state, such as another server. */
type Kept = Pick<AsyncDisposableStack, "use">;
type Reach = (page: Page, site: TestConsole, kept: Kept) => Promise<void>;

/** By what a person sees: how to get there. */
const STATES: Readonly<Record<string, Reach>> = {
  "an invitation with a problem": async (page, site) => {
    await openAccess(page, { site });
    await page.getByRole("button", { name: "Invite an administrator" }).click();
    await page.getByLabel("Name").fill("owner");
    await page.getByRole("button", { name: "Make the link" }).click();
    await page.getByRole("alert").waitFor();
  },
  "a hostile name": async (page, site) => {
    const cookie = await site.signIn("owner");
    const json = { name: HOSTILE, role: "viewer" };
    await (await site.call("/console/api/administrators", { method: "POST", json, cookie })).body?.cancel();
    await openAccess(page, { site });
    await page.getByText(HOSTILE).first().waitFor();
  },
  "one's own factors at a number address": async (page, site) => {
    await openAccess(page, { site, hash: "#sign-in" });
    await page.getByText("No passkey yet.").waitFor();
  },
  "sign-in by a name, with passkeys": async (page, site) => {
    await page.goto(site.origin.replace("127.0.0.1", "localhost"));
    await page.getByText("Use a password and code").click();
    await page.getByLabel("Name").waitFor();
  },
  "set-up, the first steps, none of them left": async (page, _site, kept) => {
    const empty = kept.use(await startConsole({ dist, admins: [] }));
    await page.goto(await empty.admins.setupLink() ?? "");
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create the owner" }).click();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
  },
  "set-up, the second factor": async (page, site) => {
    const cookie = await site.signIn("owner");
    const json = { name: "Grace", role: "viewer" };
    const made = await site.call("/console/api/administrators", { method: "POST", json, cookie });
    await page.goto((await made.json()).url);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.getByRole("heading", { name: "Add a second factor" }).waitFor();
  },
};

for (const [name, reach] of Object.entries(STATES)) {
  browserTest(
    `access: ${name} has nothing that axe objects to, in light, dark and at 320 px`,
    async ({ page }) => {
      await using kept = new AsyncDisposableStack();
      const site = kept.use(await startConsole({ dist }));
      await reach(page, site, kept);
      for (
        const { colorScheme, width } of [
          { colorScheme: "light", width: 1360 },
          { colorScheme: "dark", width: 1360 },
          { colorScheme: "light", width: 320 },
        ] as const
      ) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 860 });
        assertEquals(await findAccessibilityProblems(page), [], `${colorScheme}, ${width} px`);
        assertEquals(await scrollsSideways(page), false, `${width} px`);
      }
    },
  );
}

closeBrowserAtEnd();
