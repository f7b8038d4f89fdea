// Layouts, measured in a browser: the Live page, logs at every width, and that nothing moves while a page loads.

import { assert, assertEquals } from "@std/assert";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import type { Page } from "../packages/playwright.ts";
import { enrolUsers, type PastLogin, startReportsConsole } from "../fakes/console_reports.ts";
import { DENIED_LOGIN, startWorkingDay } from "../screenshots/working_day.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, laidOut, scrollsSideways } from "./page_checks.ts";
import { waiting } from "./page_actions.ts";
import { goWithin } from "./pages/page_walk.ts";
import { browserTest, currentDist, enterAs, holds, LOOKS, openTab } from "./browser.ts";

// The layout of the Live page, measured in a browser: the height of the list, the inspector, the drawer, and that nothing moves.

const test = consoleTests(startConsole, { role: "operator" });

/** A busy log: finished sign-ins and some in progress, newest last. */
function fill(site: TestConsole, count = 60): void {
  const startedMs = Date.now() - 20_000;
  for (let number = 1; number <= count; number += 1) {
    const view = conversation(number, { user: `user${number}`, startedMs });
    site.watch.put(
      number % 3 === 0 ? view : ended(view, { outcome: "accepted", row: "approved", atMs: startedMs + 4000 }),
    );
  }
}

const id = (number: number) => conversation(number).id;

/** The height of the visible part of an element, as a share of the window. */
function shareOfHeight(page: Page, selector: string): Promise<number> {
  return page.locator(selector).evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return (Math.min(bottom, innerHeight) - Math.max(top, 0)) / innerHeight;
  });
}

const HEIGHTS: readonly (readonly [path: string, width: number, height: number])[] = [
  ["/live", 1440, 900],
  [`/live?c=${id(60)}`, 1440, 900],
  ["/live?approvals=open", 1440, 900],
  ["/live", 1024, 768],
  ["/live?approvals=open", 1024, 768],
  ["/live", 1920, 1080],
];
test("the list has at least 60 % of the height, and the page does not scroll", async ({ page, site, open, step }) => {
  fill(site);
  for (let number = 0; number < 12; number += 1) site.secondFactorAdmin.wait(waiting(`r${number}`));
  await open("/live", "Sign-in log");
  for (const [path, width, height] of HEIGHTS) {
    await step(`${path} at ${width}x${height}`, async () => {
      await page.setViewportSize({ width, height });
      await goWithin(page, path);
      await page.getByRole("link", { name: "user60", exact: true }).first().waitFor();
      const deny = page.getByRole("button", { name: /^Deny/ }).first();
      await deny.waitFor({ state: path.includes("approvals") ? "visible" : "detached" });
      await laidOut(page);
      const share = await shareOfHeight(page, "section.list");
      assert(share >= 0.6, `the list has ${Math.round(100 * share)} % of the height`);
      assert(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight));
    });
  }
});

/** Collects layout shifts from the first paint on. Without a recent input, each counts. */
async function watchShifts(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    interface Shift extends PerformanceEntry {
      readonly value: number;
      readonly sources: readonly { readonly node: Node | null }[];
    }
    const shifts: string[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as Shift[]) {
        const nodes = entry.sources.map(({ node }) =>
          node instanceof Element ? `${node.tagName}.${node.className}` : node?.textContent ?? "?"
        );
        shifts.push(`${entry.value.toFixed(4)} ${nodes.join(", ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
}

for (const [width, height] of [[1440, 900], [1024, 768], [390, 844]] as const) {
  test(`nothing shifts at ${width}x${height} while sign-ins, approvals and outcomes arrive`, async ({ page, site, open }) => {
    const shifts = await watchShifts(page);
    fill(site, 5);
    await page.setViewportSize({ width, height });
    await open("/live", "Sign-in log");
    await page.getByText("user5", { exact: true }).waitFor();
    // Their ages become two digits long.
    const startedMs = Date.now() - 8500;
    for (let number = 6; number <= 40; number += 1) {
      const view = conversation(number, { user: `user${number}`, startedMs });
      site.watch.put(view);
      if (number % 3 === 0) site.secondFactorAdmin.wait(waiting(`r${number}`));
      if (number % 2 === 0) {
        site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 1000 }));
      }
      await page.waitForTimeout(40);
    }
    await page.getByText("user40", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Rejected 18" }).waitFor();
    await page.getByText(/^1[0-9] s$/).first().waitFor();
    assertEquals(await shifts(), []);
  });
}

test("a click on a row opens the inspector at the right, over the full height, and moves no row", async ({ page, site, open }) => {
  fill(site);
  await page.setViewportSize({ width: 1440, height: 900 });
  await open("/live", "Sign-in log");
  const row = page.locator(".row").filter({ hasText: "user55" });
  await row.waitFor();
  const before = await row.boundingBox();
  await row.getByRole("link").click();
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByRole("tab", { name: "Summary", selected: true }).waitFor();
  const { x, y, height: rowHeight } = await row.boundingBox() ?? {};
  assertEquals([x, y, rowHeight], [before?.x, before?.y, before?.height]);
  assertEquals(await inspector.boundingBox(), { x: 960, y: 0, width: 480, height: 900 });
});

test("the columns end within their row beside the inspector", async ({ page, site, open }) => {
  fill(site, 5);
  await open(`/live?c=${id(5)}`, "Sign-in log");
  const row = page.locator(".row").filter({ hasText: "user5" });
  await row.waitFor();
  for (const width of [1120, 1360, 1440]) {
    await page.setViewportSize({ width, height: 860 });
    await laidOut(page);
    const over = await row.evaluate((row) =>
      Math.max(...[...row.children].map((cell) => cell.getBoundingClientRect().right)) -
      row.getBoundingClientRect().right
    );
    assert(over <= 0, `at ${width} px a column ends ${over} px behind its row`);
  }
});

test("below 1,100 px the inspector is below the list, within the window", async ({ page, site, open }) => {
  fill(site);
  await page.setViewportSize({ width: 1024, height: 768 });
  await open(`/live?c=${id(60)}`, "Sign-in log");
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByRole("tab", { name: "Packets" }).waitFor();
  const list = await page.locator("section.list").boundingBox();
  const { y = 0, height = 0 } = await inspector.boundingBox() ?? {};
  assert(list !== null && y >= list.y + list.height, "the inspector is below the list");
  assert(y + height <= 768, "the inspector ends in the window");
});

test("on a phone, a sign-in is a page with the user in its heading, and Back restores the list", {
  look: "narrow",
}, async ({ page, site, open }) => {
  fill(site);
  await open("/live?q=user", "Sign-in log");
  await page.getByRole("link", { name: "user60" }).click();
  await page.getByRole("heading", { name: "Sign-in of user60", level: 1 }).waitFor();
  await page.waitForURL((url) => url.pathname === `/live/c/${id(60)}`);
  assertEquals(await scrollsSideways(page), false);
  await page.getByRole("link", { name: "Back to the sign-in log" }).click();
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
  await holds(() => page.getByRole("searchbox").inputValue(), "user");
});

test("the page of a sign-in in progress follows it", async ({ page, site, open }) => {
  const view = conversation(1, { user: "ada", startedMs: Date.now() });
  site.watch.put(view);
  await open(`/live/c/${view.id}`, "Sign-in of ada");
  await page.getByText("Waiting for the phone").first().waitFor();
  site.watch.put(ended(view, { outcome: "accepted", row: "approved", atMs: Date.now() }));
  await page.getByText("Approved on the phone").waitFor();
});

test("the drawer counts approvals while it is closed, and keeps the focus when its rows disappear", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1", "ada"));
  site.secondFactorAdmin.wait(waiting("r2", "grace"));
  await open("/live", "Sign-in log");
  const toggle = page.getByRole("button", { name: "Pending approvals 2" });
  await toggle.waitFor();
  assertEquals(await page.getByRole("button", { name: /^Deny/ }).count(), 0);
  await toggle.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("approvals") === "open");
  const deny = page.getByRole("button", { name: /^Deny the sign-in/ });
  await deny.first().focus();
  await page.keyboard.press("d");
  await page.getByRole("button", { name: "Pending approvals 1" }).waitFor();
  await page.waitForFunction(() => document.activeElement?.matches("button.deny"));
  await page.keyboard.press("Enter");
  await page.getByText("No pending push requests").waitFor();
  await page.waitForFunction(() => document.activeElement?.matches(".drawer-button"));
  await page.keyboard.press("Enter");
  await page.getByText("No pending push requests").waitFor({ state: "detached" });
});

test("the funnel filters the list by its stages, and a sign-in that ended stays for five seconds", async ({ page, site, open }) => {
  const startedMs = Date.now();
  const ada = conversation(1, { user: "ada", startedMs });
  site.watch.put(ada);
  site.watch.put(conversation(2, { user: "grace", startedMs, step: "CHOOSE_WHICH_MULTIFACTOR" }));
  await open("/live", "Sign-in log");
  await page.getByRole("button", { name: "Factor 1" }).click();
  await page.waitForURL((url) => url.search === "?state=factor");
  await page.getByText("1 of 2 sign-ins").waitFor();
  await page.getByRole("button", { name: "Waiting 1" }).click();
  await page.getByRole("link", { name: "ada" }).waitFor();
  site.watch.put(ended(ada, { outcome: "rejected", row: "not_approved", atMs: startedMs + 100 }));
  await page.getByRole("row").getByText("Rejected").waitFor();
  await page.getByRole("link", { name: "ada" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Rejected \d+$/ }).click();
  await page.getByRole("link", { name: "ada" }).waitFor();
});

test("user, client, directory and addresses of the inspector are links; Escape closes it and returns the focus", async ({ page, site, open }) => {
  fill(site, 3);
  site.watch.put(conversation(4, { user: "a b", client: "vpn/2", target: "staff", place: "2001:db8::7" }));
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "a b" }).click();
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByRole("tab", { name: "Summary" }).waitFor();
  const hrefs = await inspector.locator(".facts a").evaluateAll((links) =>
    links.map((link) => link.getAttribute("href"))
  );
  assertEquals(hrefs, [
    "/users/a%20b?target=staff",
    "/clients/vpn%2F2",
    `/live?q=10.1.0.7&c=${id(4)}`,
    `/live?q=2001%3Adb8%3A%3A7&c=${id(4)}`,
    "/targets/staff",
  ]);
  await inspector.getByRole("link", { name: "2001:db8::7" }).click();
  await page.getByText("1 of 4 sign-ins").waitFor();
  await inspector.getByRole("tab", { name: "Summary" }).focus();
  await page.keyboard.press("ArrowRight");
  await inspector.getByRole("tab", { name: "Steps", selected: true }).waitFor();
  await page.keyboard.press("End");
  await inspector.getByRole("tab", { name: "Packets", selected: true }).waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
  await page.keyboard.press("Escape");
  await inspector.waitFor({ state: "detached" });
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "a b");
});

// Nothing moves while a page loads its parts, whichever answer comes last, in a browser.

const API = "/console/api/";
const MINUTE_MS = 60_000;

const logins = Array.from({ length: 120 }, (_, at): PastLogin => ({
  endedMs: Date.now() - (at * 11 + 1) * MINUTE_MS,
  client: at % 3 === 0 ? "wifi" : "vpn-1",
  ...(at % 5 === 0 ? { outcome: "rejected", row: "code_wrong", user: "grace" } : {}),
}));
const reportsTest = consoleTests(startReportsConsole, { role: "viewer" });

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
    reportsTest(`nothing moves on ${path} at ${LOOKS[look].viewport.width} px, whichever answer comes last`, {
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

// The layout of Live, History and Audit at every width with every state: filters set, the inspector open, long counts, both languages.

const WIDTHS = [390, 800, 1024, 1280, 1440];
const STATES = [
  "/live",
  `/live?c=${DENIED_LOGIN}`,
  `/live?state=accepted&c=${DENIED_LOGIN}`,
  `/live?q=a&state=waiting&client=vpn-1&target=default&c=${DENIED_LOGIN}`,
  "/history?outcome=rejected&reason=passcode_wrong&range=week&client=citrix",
  "/history?from=2026-01-01T00:00:00.000Z&to=2027-01-01T00:00:00.000Z",
  "/audit?events=administrator_changes&range=today",
];

/** What is broken in the page, as lines. Only the layout counts, so nothing is drawn. */
function findBroken(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const root = document.documentElement;
    root.style.visibility = "hidden";
    // As twice laidOut().
    for (let frames = 0; frames < 4; frames += 1) {
      await new Promise((done) => requestAnimationFrame(done));
    }
    const shown = (selector: string) =>
      [...document.querySelectorAll<HTMLElement>(selector)].filter((one) => one.checkVisibility());
    const lines = root.scrollWidth > innerWidth ? ["scrolls sideways"] : [];
    for (const chip of shown(".filter-chip, .chip")) {
      const { height } = chip.getBoundingClientRect();
      if (height > 34 || chip.scrollWidth > chip.clientWidth + 1) {
        lines.push(`broken chip: ${chip.textContent}`);
      }
    }
    // Neighbours of the funnel, and fields of a bar, that lie over each other.
    for (
      const list of [
        shown(".funnel-bar .stage, .funnel-since"),
        shown(".filters > *"),
        shown(".list-bar .input"),
      ]
    ) {
      const boxes = list.map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }));
      for (const [at, one] of boxes.entries()) {
        for (const other of boxes.slice(at + 1)) {
          if (one.box.width < 2 || other.box.width < 2) continue;
          const isBeside = one.box.right <= other.box.left + 0.5 || other.box.right <= one.box.left + 0.5;
          const isBelow = one.box.bottom <= other.box.top + 0.5 || other.box.bottom <= one.box.top + 0.5;
          if (!isBeside && !isBelow) lines.push(`overlap: ${one.text} and ${other.text}`);
        }
      }
    }
    for (const stage of shown(".funnel-bar .stage")) {
      const item = stage.closest("li");
      if (item !== null && stage.getBoundingClientRect().right > item.getBoundingClientRect().right + 0.5) {
        lines.push(`glued: ${stage.textContent}`);
      }
    }
    for (const field of shown(".filters .input, .list-bar select.input")) {
      if (field instanceof HTMLInputElement && field.placeholder !== "" && field.value === "") {
        const text = document.createElement("canvas").getContext("2d");
        if (text === null) continue;
        text.font = getComputedStyle(field).font;
        const { paddingLeft, paddingRight } = getComputedStyle(field);
        const roomPx = field.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
        if (text.measureText(field.placeholder).width > roomPx) lines.push(`cut: ${field.placeholder}`);
      }
    }
    return lines;
  });
}

browserTest("logs: no state breaks the layout at any width, in both languages", async () => {
  await using site = await startWorkingDay({ dist: await currentDist() });
  const problems: string[] = [];
  for (const locale of ["en-GB", "de-DE"]) {
    const { page, context } = await openTab({ viewport: { width: 1440, height: 900 }, locale });
    await enterAs(page, { site, role: "operator", heading: /./ });
    for (const path of STATES) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.evaluate(() => document.documentElement.style.removeProperty("visibility"));
      await goWithin(page, path);
      await page.locator("main .row, main tbody tr, main .empty").first().waitFor();
      // Counts of a busy day.
      await page.evaluate(() => {
        for (const count of document.querySelectorAll(".stage b")) count.textContent = "1\u202f216";
      });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        problems.push(...(await findBroken(page)).map((one) => `${locale}, ${path} at ${width}: ${one}`));
      }
    }
    await context.close();
  }
  assertEquals(problems, []);
});
