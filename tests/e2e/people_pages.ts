// Opening the pages about people, judging how they stand, and what the directory behind them has.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import type { PeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { enterAs, scrollsSideways } from "./browser.ts";

export async function open(
  page: Page,
  site: PeopleConsole,
  { path, heading, role = "user_manager" }: { path: string; heading: string; role?: string },
): Promise<void> {
  await enterAs(page, { site, role, path, heading });
}

/** Nothing that axe objects to in either theme, and no sideways scroll. */
export async function holds(page: Page): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    assertEquals(await findAccessibilityProblems(page), [], scheme);
  }
  assertEquals(await scrollsSideways(page), false);
}

/** The members of a group as the directory has them. */
export async function membersOf(site: PeopleConsole, name: string): Promise<readonly string[]> {
  const stored = await site.target.directory.read("group", name);
  return stored?.content.kind === "group" ? stored.content.members : [];
}
