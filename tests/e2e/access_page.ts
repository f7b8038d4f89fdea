// Opens the Access page, and reads the one-time secret that it shows.

import type { Page } from "../packages/playwright.ts";
import type { TestConsole } from "../fakes/console_app.ts";
import { enterAs } from "./browser.ts";

/** The secret that the page shows once. */
export const secretShown = (page: Page) => page.locator(".secret pre");

export const openAccess = (
  page: Page,
  { site, role = "owner", hash = "" }: { site: TestConsole; role?: string; hash?: string },
) => enterAs(page, { site, role, path: `/access${hash}`, heading: "Administrators" });
