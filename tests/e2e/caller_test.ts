// The RADIUS client and the caller (Calling-Station-Id) of a login are two labelled values, in the history and in the
// audit log.

import { assertEquals } from "@std/assert";
import type { Locator, Page } from "../packages/playwright.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { findAccessibilityProblems, scrollsSideways } from "./page_checks.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startConsole, { role: "viewer" });

const CLIENT_ADDRESS = "10.1.0.7";
const CALLER = "198.51.100.23";
const WIDTHS_PX = [1440, 1024, 390, 320] as const;

async function keepHistory(site: TestConsole): Promise<void> {
  const callers = { ada: CALLER, grace: "" };
  await site.store.commit({
    mutations: Object.entries(callers).map(([user, place], at) => {
      const startedMs = Date.now() - (at + 1) * 60_000;
      const value = encodeLoginRecord({
        ...{ user, place, client: "vpn-1", source: CLIENT_ADDRESS, factor: "totp", startedMs },
        ...{ endedMs: startedMs + 4000, outcome: "accepted", refusedFor: null, passwordRight: false },
        moments: [{ atMs: startedMs + 4000, step: "accepted", row: "totp_right" }],
      });
      const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`;
      return { type: "set", key: historyKey(id), value };
    }),
  });
}

async function keepAudit(site: TestConsole): Promise<void> {
  const login = { actor: "radius", client: "vpn-1", source: CLIENT_ADDRESS, conversation: "x" };
  const records = [
    { ...login, action: "login.accepted", object: "user:ada", caller: CALLER },
    { ...login, action: "login.rejected", object: "user:grace" },
    { actor: "owner", action: "user.unlock", object: "user:ada", source: "192.0.2.7" },
  ];
  await site.store.commit({
    mutations: records.map((record, at) => ({
      type: "set",
      key: ["audit", `0000000000${at}`],
      value: { atMs: Date.now() - 60_000, ...record },
    })),
  });
}

/** The cell of a row below a heading. */
async function cellOf(page: Page, row: Locator, heading: string): Promise<Locator> {
  // The headings appear with the rows, which are fetched after the page.
  await row.waitFor();
  const headings = await page.getByRole("columnheader").allInnerTexts();
  assertEquals(headings.filter((one) => one === heading).length, 1, headings.join(", "));
  return row.getByRole("cell").nth(headings.indexOf(heading));
}

async function holdsAtAllWidths(page: Page): Promise<void> {
  for (const width of WIDTHS_PX) {
    await page.setViewportSize({ width, height: 860 });
    assertEquals(await findAccessibilityProblems(page), [], `${width} px`);
    assertEquals(await scrollsSideways(page), false, `${width} px`);
  }
}

test("/history has the client and the caller in two columns", async ({ page, site, open }) => {
  await keepHistory(site);
  // The window is resized before the page opens: a table updates its columns only in the frame after a resize.
  await page.setViewportSize({ width: 1440, height: 860 });
  await open("/history", "Sign-in log");
  for (const [user, caller] of [["ada", CALLER], ["grace", ""]] as const) {
    const row = page.getByRole("row").filter({ hasText: user });
    assertEquals(await (await cellOf(page, row, "Client")).innerText(), "vpn-1");
    assertEquals(await (await cellOf(page, row, "Caller")).innerText(), caller);
  }
  await holdsAtAllWidths(page);
});

test("/audit labels the address of the client and the caller of a sign-in", async ({ page, site, open }) => {
  await keepAudit(site);
  await page.setViewportSize({ width: 1440, height: 860 });
  await open("/audit?events=all", "Audit log");
  const rows = {
    "Sign-in accepted": ["Client", CLIENT_ADDRESS, "Caller", CALLER],
    "Sign-in rejected": ["Client", CLIENT_ADDRESS],
    "User unlocked": ["192.0.2.7"],
  };
  for (const [event, values] of Object.entries(rows)) {
    const cell = await cellOf(page, page.getByRole("row").filter({ hasText: event }), "IP address");
    assertEquals((await cell.innerText()).split(/\s+/), values, event);
  }
  assertEquals(await page.getByText(CALLER).count(), 1, "it is said once");
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 860 });
    const block = page.getByRole("row").filter({ hasText: CALLER });
    for (const text of ["Sign-in accepted", "radius", "user:ada", CLIENT_ADDRESS]) {
      await block.getByText(text, { exact: true }).waitFor();
    }
  }
  await page.setViewportSize({ width: 1440, height: 860 });
  await page.getByRole("table").getByRole("button", { name: CLIENT_ADDRESS }).first().click();
  await page.getByRole("button", { name: "User unlocked" }).waitFor({ state: "detached" });
  await page.waitForURL((url) => url.searchParams.get("source") === CLIENT_ADDRESS);
  await holdsAtAllWidths(page);
});
