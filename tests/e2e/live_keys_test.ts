// Live: filters by a click on a cell, keys, and an inspector that shows each text completely.

import { assert, assertEquals } from "@std/assert";
import { STEPS } from "../../radius/protocol/steps.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import type { Page } from "../packages/playwright.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems } from "./page_checks.ts";
import { INSPECTOR_TABS } from "../../console/web/pages/live/inspector_tabs.tsx";
import { listensFor } from "./key_rows.ts";
import { goWithin } from "./pages/page_walk.ts";

const test = consoleTests(startConsole, { role: "viewer" });

const LIVE_KEYS = [" ", "n", "i", "r", "j", "k"];

function putThree(site: TestConsole): void {
  const startedMs = Date.now() - 5000;
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  const grace = conversation(2, { user: "grace", client: "wifi", startedMs });
  site.watch.put(ended(grace, { outcome: "accepted", row: "approved", atMs: startedMs + 2000 }));
  // Long enough that its replay does not end before it is stopped.
  site.watch.put(conversation(3, { user: "alan", client: "wifi", startedMs, updatedMs: startedMs + 60_000 }));
}

const focusIn = (page: Page, selector: string) =>
  page.waitForFunction((inside) => document.activeElement?.matches(inside) === true, selector);

for (
  const { cell, name, query, left } of [
    { cell: "user", name: "Show only alan", query: "?q=alan", left: "1 of 3 sign-ins" },
    { cell: "client", name: "wifi", query: "?client=wifi", left: "2 of 3 sign-ins" },
    { cell: "state", name: "Accepted", query: "?state=accepted", left: "1 of 3 sign-ins" },
  ]
) {
  test(`a click on the ${cell} of a row filters Live by it, and opens nothing`, async ({ page, site, open }) => {
    putThree(site);
    await open("/live", "Sign-in log");
    const list = page.getByRole("table", { name: "Sign-ins" });
    await list.getByRole("button", { name, exact: true }).first().click();
    await page.getByText(left).waitFor();
    await page.waitForURL((url) => url.search === query);
    assertEquals(await page.getByRole("complementary").count(), 0);
    await page.getByRole("button", { name: "Clear filter" }).click();
    await page.getByText("3 sign-ins", { exact: true }).waitFor();
  });
}

test("Live is filtered by directory, also in the address", async ({ page, site, open }) => {
  putThree(site);
  site.watch.put(conversation(4, { user: "visitor", target: "guests" }));
  await open("/live", "Sign-in log");
  await page.getByText("4 sign-ins", { exact: true }).waitFor();
  await page.getByLabel("Directory", { exact: true }).selectOption("guests");
  await page.getByText("1 of 4 sign-ins").waitFor();
  await page.waitForURL((url) => url.search === "?target=guests");
  await page.getByRole("link", { name: "visitor" }).waitFor();
});

test("keys on Live: i opens the inspector, r plays and stops, Space pauses, n shows newer logins", async ({ page, site, open }) => {
  putThree(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).waitFor();
  await listensFor(page, ["i"]);
  await page.keyboard.press("i");
  await focusIn(page, ".inspector .body");
  await page.waitForURL((url) => url.searchParams.get("c") === "c0000000003");
  // The key of the inspector. Before the inspector is there, the key would start from the beginning.
  await page.getByRole("button", { name: "Play" }).waitFor();
  await listensFor(page, ["r"]);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.waitForURL(/[?&]t=/);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Play" }).waitFor();
  await page.keyboard.press("j");
  await focusIn(page, ".rows .row a");
  await page.keyboard.press("j");
  site.watch.put(conversation(4, { user: "edsger", startedMs: Date.now() }));
  await page.getByRole("button", { name: "Show 1 new" }).waitFor();
  // The new row must not reuse the element that has the focus.
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "grace");
  await page.keyboard.press("n");
  await page.getByRole("link", { name: "edsger" }).waitFor();
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).focus();
  await page.keyboard.press(" ");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await page.keyboard.press(" ");
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

test("r without a selected login opens the newest at its beginning", async ({ page, site, open }) => {
  putThree(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).waitFor();
  await listensFor(page, ["r"]);
  await page.keyboard.press("r");
  await page.getByRole("slider", { name: "Replay position" }).waitFor();
  await page.waitForURL((url) => url.search === "?c=c0000000003&t=0&tab=steps");
  assertEquals(await page.locator(".moments .to-come").count(), 1);
});

test("the help lists every key of Live, and the filtered list is accessible", async ({ page, site, open }) => {
  putThree(site);
  await open("/live?client=wifi", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).focus();
  assertEquals(await findAccessibilityProblems(page), []);
  // The help shows the keys that are active when it opens.
  await listensFor(page, LIVE_KEYS);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog");
  await help.getByText("Pause or resume").waitFor();
  const keys = await help.locator("dt").allInnerTexts();
  for (const key of LIVE_KEYS) {
    const name = key === " " ? "Space" : key;
    assert(keys.some((one) => one.trim() === name), `${name} is not in the help`);
  }
});

const WIDTHS_PX = [1440, 1280, 1100, 1024, 390, 320] as const;
const USER = "a.rather.long.user.name.of.a.contractor@subsidiary.example.org";
const CALLER = "2001:db8:85a3:8d3:1319:8a2e:370:7348";

/** Texts of the inspector that are cut off at the edge of their box. */
function cutTexts(page: Page): Promise<string[]> {
  return page.getByRole("complementary").evaluate((inspector) => {
    const cut: string[] = [];
    for (const element of inspector.querySelectorAll("*")) {
      const { overflowX, clipPath } = getComputedStyle(element);
      const isHidden = clipPath !== "none" || !element.checkVisibility();
      if (isHidden || overflowX === "visible" || element.textContent.trim() === "") continue;
      if (element.scrollWidth > element.clientWidth) cut.push(element.textContent);
    }
    return cut;
  });
}

for (const language of ["en", "de"] as const) {
  test(`the inspector cuts off no text, at any step, in ${language}`, async ({ page, site, open }) => {
    await page.addInitScript((language) => localStorage.setItem("countersign-language", language), language);
    const steps = Object.keys(STEPS);
    const startedMs = Date.now() - 20_000;
    const views = steps.map((step, at) =>
      conversation(at + 1, {
        user: USER,
        place: CALLER,
        startedMs,
        step,
        moments: [{ atMs: startedMs, step, row: "pushed" }],
      })
    );
    const over = conversation(steps.length + 1, { user: USER, place: CALLER, startedMs });
    for (const view of views) site.watch.put(view);
    site.watch.put(ended(over, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6240 }));
    await page.setViewportSize({ width: 1440, height: 900 });
    await open("/live", language === "de" ? "Anmeldeprotokoll" : "Sign-in log");
    const problems: string[] = [];
    for (const { id, step } of [...views, over]) {
      await goWithin(page, "/live");
      await page.getByRole("complementary").waitFor({ state: "detached" });
      await goWithin(page, `/live?c=${id}`);
      for (const tab of INSPECTOR_TABS) {
        await page.locator(`#inspector-tab-${tab}`).click();
        // The steps come with the stream; the packets and the explanation are fetched.
        await page.locator(".inspector .body > *").last().waitFor();
        for (const width of WIDTHS_PX) {
          await page.setViewportSize({ width, height: 900 });
          problems.push(...(await cutTexts(page)).map((text) => `${step}, ${tab}, ${width} px: ${text}`));
        }
      }
    }
    assertEquals(problems, []);
  });
}
