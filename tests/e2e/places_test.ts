// Every place of the rail as it stands with nothing in it yet: by its address, in both themes and at 320 px.

import { assertEquals } from "@std/assert";
import { railRows } from "../../console/web/places.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

const dist = await currentDist();

for (const [name, { pattern }] of railRows()) {
  browserTest(
    `place "${name}" opens by its address, lit in the rail, with nothing that axe objects to`,
    async ({ page }) => {
      await using site = await startPeopleConsole({ dist });
      await enterAs(page, { site, role: "owner", path: pattern, heading: /./ });
      assertEquals(await page.locator(".rail [aria-current=page]").getAttribute("href"), pattern);
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        assertEquals(await findAccessibilityProblems(page), [], scheme);
      }
    },
  );

  browserTest(`place "${name}" fits 320 px`, async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    await enterAs(page, { site, role: "viewer", path: pattern, heading: /./ });
    assertEquals(await scrollsSideways(page), false);
    assertEquals(await findAccessibilityProblems(page), []);
  }, { look: "small" });
}

closeBrowserAtEnd();
