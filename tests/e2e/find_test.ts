// Find (Ctrl K) in a browser: objects, addresses and settings, each with what it is, and the page that Enter opens.

import { startWorkingDay } from "../screenshots/working_day.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { findPageProblems } from "./page_checks.ts";
import { assertEquals } from "@std/assert";

/** A text, what is found, and the address that it opens. */
const FOUND: readonly (readonly [typed: string, option: RegExp, address: RegExp])[] = [
  ["vpn-2", /^vpn-2 · 203[.]0[.]113[.]0\/24\s*RADIUS client/, /\/clients\/vpn-2$/],
  [
    "203.0.113.27",
    /^203[.]0[.]113[.]27\s*Sign-ins from this address/,
    /\/history\?place=203[.]0[.]113[.]27$/,
  ],
  ["lockout", /Lockout.*Setting$/, /\/settings\/limits#factors[.]lockout[.]/],
  ["public url", /Setting$/, /\/settings\/console#http[.]public_url$/],
  ["remote", /^remote · default\s*Group/, /\/groups\/remote/],
  ["ada.lov", /^ada[.]lovelace.*User$/, /\/users\/ada[.]lovelace$/],
];

browserTest(
  "Ctrl K finds clients, addresses, settings, groups and users, and opens them",
  async ({ page }) => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    await enterAs(page, { site, role: "viewer", path: "/overview", heading: "Overview" });
    for (const [typed, option, address] of FOUND) {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", {
        name: "Search pages, users, clients, addresses and settings",
      });
      await field.fill(typed);
      const found = page.getByRole("option").filter({ hasText: option });
      await found.first().waitFor();
      if (typed === "lockout") assertEquals(await findPageProblems(page), []);
      await found.first().click();
      await page.waitForURL(address);
    }
  },
);
