// Nothing moves while a page loads its parts, whichever answer comes last, in a browser.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enrolUsers, type PastLogin, startReportsConsole } from "../fakes/console_reports.ts";
import { consoleTests } from "./console_tests.ts";
import { LOOKS } from "./browser.ts";
import { laidOut } from "./page_checks.ts";

const API = "/console/api/";
const MINUTE_MS = 60_000;

const logins = Array.from({ length: 120 }, (_, at): PastLogin => ({
  endedMs: Date.now() - (at * 11 + 1) * MINUTE_MS,
  client: at % 3 === 0 ? "wifi" : "vpn-1",
  ...(at % 5 === 0 ? { outcome: "rejected", row: "code_wrong", user: "grace" } : {}),
}));
const test = consoleTests(startReportsConsole, { role: "viewer" });

/** The calls that each page makes for its parts. */
const PAGES = {
  "/overview": ["overview", "overview/factorless", "charts", "health", "history"],
  "/charts": ["charts", "reports/breakdown", "reports/enrolment"],
} as const;

/** Adds up the shifts of everything that is shown. */
function countShifts(): void {
  const shifts: string[] = [];
  Object.assign(globalThis, { shifts });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { sources } = entry as unknown as { sources: { node: Element | null }[] };
      shifts.push(sources.map(({ node }) => node?.className ?? "").join());
    }
  }).observe({ type: "layout-shift", buffered: true });
}

/** Opens the page. The answer to the call `last` comes after those of the others are shown. */
async function openWithLast(page: Page, { path, last }: { path: keyof typeof PAGES; last: string }) {
  const others = new Set<string>(PAGES[path].filter((name) => name !== last));
  const { promise, resolve } = Promise.withResolvers<void>();
  page.on("requestfinished", (request) => {
    others.delete(new URL(request.url()).pathname.slice(API.length));
    if (others.size === 0) resolve();
  });
  await page.route(`**${API}${last}**`, async (route) => {
    if (new URL(route.request().url()).pathname === API + last) {
      await promise;
      await laidOut(page);
    }
    await route.continue();
  });
  await page.goto(new URL(path, page.url()).href);
  await promise;
  await page.waitForFunction(() => document.querySelector(".page .skeleton") === null);
  await laidOut(page);
  await page.unrouteAll({ behavior: "ignoreErrors" });
}

for (const look of ["wide", "narrow"] as const) {
  for (const path of ["/overview", "/charts"] as const) {
    test(`nothing moves on ${path} at ${LOOKS[look].viewport.width} px, whichever answer comes last`, {
      ...{ look, logins },
    }, async ({ page, site, open }) => {
      await enrolUsers(site);
      await open("/users", "Users");
      await page.addInitScript(countShifts);
      for (const last of PAGES[path]) {
        await openWithLast(page, { path, last });
        const shifts = await page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
        assertEquals([last, ...shifts], [last]);
      }
    });
  }
}
