// The Reports page in a browser: the time range by drag and by keyboard, the lists behind the numbers, exports, and both looks.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enrolUsers, type PastLogin, startReportsConsole } from "../fakes/console_reports.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks, scrollsSideways } from "./page_checks.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LONG_NAME = "bastion-frankfurt-am-main-datacenter-2-rack-17";

/** Sign-ins of the last 50 minutes, one each two minutes, and some of the last week. */
function logins(): PastLogin[] {
  const nowMs = Date.now();
  const recent = Array.from({ length: 25 }, (_, at): PastLogin => ({
    endedMs: nowMs - (at * 2 + 1) * MINUTE_MS,
    client: at % 4 === 0 ? LONG_NAME : "vpn-1",
    place: at % 3 === 0 ? "203.0.113.9" : "198.51.100.23",
    ...(at % 5 === 0 ? { outcome: "rejected", row: "code_wrong", user: "grace" } : {}),
  }));
  const older = Array.from({ length: 40 }, (_, at): PastLogin => ({
    endedMs: nowMs - (3 + at * 4) * HOUR_MS,
    ...(at % 8 === 0 ? { outcome: "expired", row: "expired", factor: null } : { factor: "device" }),
  }));
  return [...recent, ...older];
}

const test = consoleTests(startReportsConsole, { role: "viewer" });
const start = { logins: logins() };
const SUMMARY = "20 accepted, 5 rejected, 0 other";

async function rangeOf(page: Page): Promise<{ fromMs: number; toMs: number }> {
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  return {
    fromMs: Date.parse(searchParams.get("from") ?? ""),
    toMs: Date.parse(searchParams.get("to") ?? ""),
  };
}

test(
  "a drag across the bars narrows the time range, and the range can be reset",
  start,
  async ({ page, open }) => {
    await open("/charts?range=1h", "Reports");
    await page.getByRole("img", { name: SUMMARY }).waitFor();
    const bars = page.getByRole("group", { name: /^Bars of sign-in outcomes/ });
    const { x, y, width } = await bars.boundingBox() ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width * 0.5, y + 60);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + 60, { steps: 5 });
    await page.getByText(/Accepted \d+, Rejected \d+, Other 0\. Press Enter/).waitFor();
    await page.mouse.up();
    const { fromMs, toMs } = await rangeOf(page);
    const spanMs = toMs - fromMs;
    assert(spanMs > 20 * MINUTE_MS && spanMs < 30 * MINUTE_MS, `${spanMs / MINUTE_MS} minutes`);
    await page.getByRole("img", { name: /^\d+ accepted/ }).waitFor();
    await page.getByRole("button", { name: "Reset time range" }).click();
    await page.waitForURL((url) => !url.searchParams.has("from"));
  },
);

test("the keyboard reads the bars and narrows the time range", start, async ({ page, open }) => {
  await open("/charts?range=1h", "Reports");
  await page.getByRole("img", { name: SUMMARY }).waitFor();
  const bars = page.getByRole("group", { name: /^Bars of sign-in outcomes/ });
  await bars.focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByText(/, so far: Accepted \d+, Rejected \d+, Other 0\./).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("To narrow the time range, drag across the bars.").waitFor();
  await page.keyboard.press("End");
  for (let step = 0; step < 10; step++) await page.keyboard.press("ArrowLeft");
  for (let step = 0; step < 9; step++) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  const { fromMs, toMs } = await rangeOf(page);
  assertEquals((toMs - fromMs) / MINUTE_MS, 10, "ten bars of a minute");
  await page.getByRole("img", { name: /^\d+ accepted, \d rejected, 0 other$/ }).waitFor();
  assertEquals(await bars.evaluate((element) => element === document.activeElement), true, "the focus stays");
});

test(
  "the keyboard reads the time to answer, and both charts select the same time",
  start,
  async ({ page, open }) => {
    await open("/charts?range=1h", "Reports");
    await page.getByRole("img", { name: /^Median \d\.\d s, 95th percentile \d\.\d s$/ }).waitFor();
    const lines = page.getByRole("group", { name: /^Lines of the time to answer/ });
    await lines.focus();
    await page.keyboard.press("Home");
    for (let step = 0; step < 20; step++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    const read = page.locator("figcaption [aria-live=polite]");
    await read.getByText(/: Median \d\.\d s, 95th percentile \d\.\d s\. Press Enter/).waitFor();
    const span = (text: string | null) => text?.split(": ")[0];
    const quiet = page.locator("figcaption [aria-live=off]");
    assertEquals(
      span(await quiet.textContent()),
      span(await read.textContent()),
      "the outcomes of this time",
    );
    assertEquals(await page.locator(".time-plot .chosen").count(), 2);
    await page.keyboard.press("Home");
    await read.getByText(/: Median: no sign-ins, 95th percentile: no sign-ins\./).waitFor();
    await page.keyboard.press("Shift+End");
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Enter");
    const { fromMs, toMs } = await rangeOf(page);
    assertEquals(Math.floor((toMs - fromMs) / MINUTE_MS), 60, "all bars but the last");
  },
);

test("numbers and names open the sign-ins behind them", start, async ({ page, open }) => {
  await open("/charts?range=1h", "Reports");
  const rejected = page.getByRole("table", { name: "Users with the most rejected sign-ins" });
  assertEquals(await rejected.getByRole("rowheader").allInnerTexts(), ["grace"]);
  await rejected.getByRole("row", { name: /grace/ }).getByRole("link", { name: "5", exact: true }).click();
  await page.waitForURL(/\/history\?.*user=grace.*outcome=rejected.*from=/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 5);
  await page.goBack();
  await page.getByRole("table", { name: "By country" }).getByRole("link", { name: "France" }).click();
  await page.waitForURL(/country=FR/);
  await page.getByRole("button", { name: /Clear filter Country: France/ }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 9);
  await page.goBack();
  await page.getByRole("table", { name: "By reason" }).getByRole("link", { name: "Wrong passcode" }).click();
  await page.getByRole("button", { name: /Clear filter .*: Wrong passcode/ }).waitFor();
  await page.goBack();
  await page.getByRole("table", { name: "By client" }).getByRole("button", { name: LONG_NAME }).click();
  await page.getByRole("button", { name: `Clear filter Client: ${LONG_NAME}` }).waitFor();
  await page.getByRole("img", { name: "5 accepted, 2 rejected, 0 other" }).waitFor();
});

test("a report is exported with the filters of the page", start, async ({ page, open }) => {
  await open("/charts?range=1h&client=vpn-1", "Reports");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export By client as CSV" }).click(),
  ]);
  assertEquals(download.suggestedFilename(), "clients.csv");
  const link = page.getByRole("link", { name: "Export By reason as JSON" });
  assertMatch(await link.getAttribute("href") ?? "", /client=vpn-1.*report=reasons&format=json/);
});

test(
  "enrolment leads to the users without a factor and without a recent sign-in",
  start,
  async ({ page, site, open }) => {
    await enrolUsers(site);
    await open("/charts", "Reports");
    const tiles = page.getByRole("list", { name: "Enrolment" });
    await tiles.getByRole("link", { name: "Without a factor 1 25 % of active users" }).click();
    await page.waitForURL(/\/users\?status=active&enrolled=no/);
    await page.getByRole("table").getByText("alan").first().waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Users without a sign-in for 60 days", exact: true }).click();
    await page.waitForURL(/inactive=60/);
    await page.getByRole("button", { name: "Clear filter No sign-in for: 60 days" }).waitFor();
  },
);

test(
  "without a GeoIP database, the page says how to add one",
  { ...start, noGeoIp: true },
  async ({ page, open }) => {
    await open("/charts?range=1h", "Reports");
    await page.getByText(/^To see countries and networks, set geoip\.database in the settings file/)
      .waitFor();
    assertEquals(await page.getByRole("table", { name: "By country" }).count(), 0);
  },
);

for (const range of ["1h", "7d"]) {
  test(
    `the reports of ${range} have no problem, wide in light and at 320 px in dark`,
    start,
    async ({ page, site, open }) => {
      await enrolUsers(site);
      await open(`/charts?range=${range}`, "Reports");
      await page.getByRole("table", { name: "By network" }).waitFor();
      await page.getByRole("table", { name: "To review" }).waitFor();
      await page.getByRole("img", { name: /^Median / }).waitFor();
      await assertHoldsInBothLooks(page);
      assertEquals(await scrollsSideways(page), false);
    },
  );
}
