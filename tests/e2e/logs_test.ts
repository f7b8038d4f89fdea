// The logs in a browser: clock times below the title of their day, ranges and filters in the bar, and no cut cell in either language.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startWorkingDay } from "../screenshots/working_day.ts";
import { browserTest, currentDist, enterAs, openTab } from "./browser.ts";
import { laidOut } from "./page_checks.ts";
import { historyKey } from "../../radius/conversation/login_record.ts";

/** Cells of these columns that do not show their whole text. */
function cutCells(page: Page, columns: readonly string[]): Promise<string[]> {
  return page.evaluate((columns) =>
    [...document.querySelectorAll<HTMLElement>("main tbody tr[data-key] td")]
      .filter(({ dataset }) => columns.includes(dataset.label ?? ""))
      .flatMap((cell) => [cell, ...cell.querySelectorAll<HTMLElement>("*")])
      .filter((one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).display !== "inline")
      .map((one) => one.innerText), columns);
}

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  "en-GB": ["Started", "Outcome", "Reason", "Caller", "Time", "IP address"],
  "de-DE": ["Beginn", "Ergebnis", "Grund", "Anrufer", "Zeit", "IP-Adresse"],
};
const CLOCK = /^\d\d:\d\d:\d\d$/;

browserTest(
  "the sign-in log and the audit log have clock times, days and whole cells in both languages",
  async () => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    // A long reason and a long address.
    const [key, value] = await newestRecord(site);
    await site.store.commit({
      mutations: [{
        type: "set",
        key: [...key.slice(0, -1), `${String(key.at(-1))}z`],
        value: { ...value, place: "2001:db8:1234:5678:9abc:def0:1234:5678", outcome: "superseded" },
      }],
    });
    for (const [locale, columns] of Object.entries(COLUMNS)) {
      const { page, context } = await openTab({ viewport: { width: 1440, height: 900 }, locale });
      for (const path of ["/history", "/audit"]) {
        await enterAs(page, { site, role: "viewer", path, heading: /./ });
        await page.locator("main tbody tr[data-key]").first().waitFor();
        for (const width of [1440, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          await laidOut(page);
          await laidOut(page);
          assertEquals(await cutCells(page, columns), [], `${path} ${locale} ${width}`);
        }
        const times = await page.locator("main tbody tr[data-key] td:first-child time").allInnerTexts();
        assert(times.length > 5 && times.every((one) => CLOCK.test(one)), times.join(" "));
        const days = await page.locator("main .day-row").allInnerTexts();
        assert(days.length > 0 && days.every((one) => /\bUTC[+-]?\d*/.test(one)), days.join(" | "));
        assert((days[0] ?? "").startsWith(locale === "de-DE" ? "Heute ·" : "Today ·"), days[0]);
      }
      await context.close();
    }
  },
);

async function newestRecord(
  { store }: Pick<Awaited<ReturnType<typeof startWorkingDay>>, "store">,
): Promise<[Deno.KvKey, Record<string, unknown>]> {
  const all: [Deno.KvKey, Record<string, unknown>][] = [];
  for await (const { key, value } of store.list<Record<string, unknown>>(historyKey("").slice(0, 1))) {
    if (value !== null) all.push([key, value]);
  }
  const newest = all.at(-1);
  if (newest === undefined) throw new Error("The history is empty");
  return newest;
}

/** A choice in the bar, and what the address has then. */
const CHOICES: readonly (readonly [control: string, option: string, param: string, value: string])[] = [
  ["Time", "Last hour", "range", "hour"],
  ["Outcome", "Rejected", "outcome", "rejected"],
  ["Reason", "Wrong passcode", "reason", "passcode_wrong"],
  ["Factor", "Authenticator app", "factor", "totp"],
];

browserTest(
  "/history has its range, reason, factor and caller in the bar; a custom range has two whole fields",
  async ({ page }) => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    await enterAs(page, { site, role: "viewer", path: "/history", heading: "Sign-in log" });
    const bar = page.getByRole("search");
    for (const [control, option, param, value] of CHOICES) {
      await bar.getByRole("combobox", { name: control, exact: true }).selectOption({ label: option });
      await page.waitForURL((url) => url.searchParams.get(param) === value);
      await page.locator(".filter-chip").filter({ hasText: option }).waitFor();
    }
    await bar.getByRole("textbox", { name: "Caller" }).fill("203.0.113.57");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("place") === "203.0.113.57");
    await bar.getByRole("combobox", { name: "Time", exact: true }).selectOption({ label: "Custom range" });
    await page.waitForURL((url) => url.searchParams.has("from") && !url.searchParams.has("range"));
    for (const label of ["From", "To"]) {
      const field = bar.getByLabel(label, { exact: true });
      assertEquals(await field.evaluate((one) => one.scrollWidth > one.clientWidth), false, label);
    }
    await page.goto(`${site.origin}/history?from=2000-01-01T00:00:00.000Z&to=2000-01-02T00:00:00.000Z`);
    await page.getByText("No sign-ins match").waitFor();
  },
);

browserTest(
  "/audit leaves out sign-ins until they are chosen, and has the changes by administrators",
  async ({ page }) => {
    await using site = await startWorkingDay({ dist: await currentDist() });
    await site.store.commit({
      mutations: Array.from({ length: 60 }, (_, at) => ({
        type: "set",
        key: ["audit", `zzzz${String(at).padStart(8, "0")}`],
        value: { atMs: Date.now(), actor: "radius", action: "login.accepted", object: "user:ada.lovelace" },
      })),
    });
    await enterAs(page, { site, role: "viewer", path: "/audit", heading: "Audit log" });
    const rows = page.locator("main tbody tr[data-key]");
    await rows.filter({ hasText: "Client added" }).first().waitFor();
    assertEquals(await rows.filter({ hasText: "Sign-in accepted" }).count(), 0);
    const kind = page.getByRole("combobox", { name: "Kind of event" });
    await kind.selectOption({ label: "Sign-ins" });
    await rows.filter({ hasText: "Sign-in accepted" }).first().waitFor();
    await kind.selectOption({ label: "Changes by administrators" });
    await rows.filter({ hasText: "Client added" }).first().waitFor();
    assertEquals(await rows.filter({ hasText: "Signed in" }).count(), 0);
    const events = await page.getByRole("combobox", { name: "Event", exact: true }).locator("option")
      .allInnerTexts();
    assertEquals(events.filter((one, at) => events.indexOf(one) !== at), []);
    await page.goto(`${site.origin}/audit?object=user:ada.lovelace`);
    await rows.filter({ hasText: "Sign-in accepted" }).first().waitFor();
  },
);
