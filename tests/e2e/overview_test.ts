// The Overview and the Reports page in a browser.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { approval } from "../fakes/console_gateway.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { CODES } from "../support/radius_packets.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import {
  enrolUsers,
  type PastLogin,
  type ReportsOptions,
  startReportsConsole,
} from "../fakes/console_reports.ts";
import { startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { holdCalls, runUserAction } from "./page_actions.ts";
import { assertHoldsInBothLooks, scrollsSideways } from "./page_checks.ts";
import { holds } from "./browser.ts";

// The Overview page: each tile opens its list, real RADIUS packets change the counts, and a slow count holds up nothing.

const SECRET = "a secret of the overview test";
const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "directory"

[factors.lockout]
failures = 2
`;

const tile = (page: Page, label: string) =>
  page.getByRole("list", { name: "Counts" }).getByRole("link", { name: new RegExp(`^${label}`) });

/** Waits for the count of a tile. The page reads the counts every few seconds. */
async function shows(page: Page, label: string, count: string): Promise<void> {
  await tile(page, label).getByText(count, { exact: true }).waitFor();
}

const programTest = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS });

programTest(
  "overview: real packets lock a user; the tile leads to the list and to the user, who is unlocked there",
  async ({ page, site, open }) => {
    await open("/users", "Users");
    await page.getByRole("button", { name: "Create user" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create user" });
    await dialog.getByLabel("User name").fill("ada");
    await dialog.getByLabel("Display name").fill("Ada Lovelace");
    await dialog.getByLabel("Password").fill("the password of ada");
    await dialog.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "Ada Lovelace", level: 1 }).waitFor();
    await page.getByText("No sign-ins yet.").waitFor();

    await open("/overview", "Overview");
    await shows(page, "Locked users", "0");
    await shows(page, "Users without a second factor", "1");
    await page.getByText("No rejected sign-ins in the last 24 hours.").waitFor();
    using client = openRadiusClient({ port: site.radiusPort, secret: SECRET });
    for (const password of ["wrong", "wrong again", "the password of ada"]) {
      const { code } = await client.ask({ userName: "ada", password });
      assertEquals(code, CODES.accessReject, password);
    }
    await page.reload();
    await shows(page, "Locked users", "1");
    await shows(page, "Sign-ins", "3");
    await shows(page, "Rejected sign-ins", "3");
    const rejected = page.getByRole("region", { name: "Latest rejected sign-ins" });
    await rejected.getByRole("link", { name: "User locked" }).waitFor();
    await holds(() => rejected.getByRole("link", { name: "Wrong password" }).count(), 2);
    await page.getByRole("region", { name: "Needs attention" }).getByText("1 user is locked: ada").first()
      .waitFor();

    await tile(page, "Rejected sign-ins").click();
    await page.getByRole("heading", { name: /History|Sign-in log/, level: 1 }).waitFor();
    await page.locator("td").getByText("Wrong password").first().waitFor();
    await page.goBack();
    await tile(page, "Locked users").click();
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    await page.getByRole("link", { name: "ada", exact: true }).click();
    await page.getByRole("heading", { name: "Ada Lovelace", level: 1 }).waitFor();
    const latest = page.getByRole("region", { name: "Latest sign-ins" });
    await latest.getByText("User locked").waitFor();
    await holds(() => latest.getByText("Wrong password").count(), 2);
    await page.getByText(/^Locked until/).waitFor();
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("ada was unlocked.").waitFor();
    await open("/overview", "Overview");
    await shows(page, "Locked users", "0");

    await tile(page, "Users without a second factor").click();
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    await page.getByRole("link", { name: "ada", exact: true }).waitFor();
    await page.getByRole("button", { name: /enrolled/i }).first().waitFor();
  },
);

const test = consoleTests(startFullConsole, { role: "owner" });

/** Where each tile leads. */
const TILES: readonly (readonly [label: string, path: string, query: Record<string, string | RegExp>])[] = [
  ["Sign-ins", "/history", { from: /^\d{4}-/ }],
  ["Rejected sign-ins", "/history", { outcome: "rejected", from: /^\d{4}-/ }],
  ["Pending approvals", "/live", { approvals: "open" }],
  ["Users without a second factor", "/users", { status: "active", enrolled: "no" }],
  ["Locked users", "/users", { status: "locked" }],
  ["Sync problems", "/targets", { sync: "problem" }],
];

test("overview: each tile is reached by keyboard and opens its filtered list", async ({ page, open }) => {
  await open("/overview", "Overview");
  for (const [label, path, query] of TILES) {
    const link = tile(page, label);
    await link.getByText(/^[\d ]+$/).waitFor();
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === path);
    const { searchParams } = new URL(page.url());
    for (const [name, value] of Object.entries(query)) {
      const given = searchParams.get(name) ?? "";
      assert(typeof value === "string" ? given === value : value.test(given), `${label}: ${name}=${given}`);
    }
    await page.goBack();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  }
});

test("overview: counts that do not answer leave the rest of the page, and come later", async ({ page, site, open }) => {
  const slow = await holdCalls(page, /\/console\/api\/(overview|charts)/);
  await open("/overview", "Overview");
  await slow.begun;
  await page.getByRole("region", { name: "Latest rejected sign-ins" }).getByRole("listitem").first()
    .waitFor();
  await page.getByText("SMS and calls are captured, not sent").first().waitFor();
  await holds(
    async () => await tile(page, "Locked users").innerText().then((text) => text.includes("–")),
    true,
  );
  site.secondFactorAdmin.wait(approval("of the overview test"));
  slow.release();
  await shows(page, "Locked users", "0");
  assert(/[1-9]/.test(await tile(page, "Pending approvals").innerText()));
});

test("overview: a count that fails is named, the others stay, and a retry brings it", async ({ page, open }) => {
  await page.route("**/console/api/overview", (route) => route.fulfill({ status: 500, json: {} }));
  await open("/overview", "Overview");
  await tile(page, "Locked users").getByText("Unavailable").waitFor();
  await tile(page, "Users without a second factor").getByText(/^\d+$/).waitFor();
  await page.unroute("**/console/api/overview");
  await page.getByRole("region", { name: "Needs attention" }).getByRole("button", { name: "Try again" })
    .click();
  await tile(page, "Locked users").getByText(/^\d+$/).waitFor();
});

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

peopleTest(
  "user: the header has one primary action, by the factors of the user; the test speaks words",
  async ({ page, site, open }) => {
    await site.put("ada", { displayName: "Ada Lovelace" });
    await open("/users/ada", "Ada Lovelace");
    const primary = page.locator("main header .button-primary");
    await holds(() => primary.innerText(), "Pair a phone");
    await page.getByText("User name ada").or(page.getByRole("term").filter({ hasText: "User name" })).first()
      .waitFor();
    await runUserAction(page, "Test sign-in");
    const dialog = page.getByRole("dialog", { name: "Test sign-in of ada" });
    await dialog.getByRole("button", { name: "Test sign-in" }).click();
    await dialog.getByText("No password check is configured for this client").waitFor();
    await dialog.getByText("The user has no factor; menu shown").waitFor();
    assertEquals(await dialog.getByText(/_|\{/).count(), 0, "no row names and no placeholders");
    await page.keyboard.press("Escape");
    await site.pairings.addDevice({ userName: "ada", id: "p1", totpLength: 6, name: "Pixel" });
    await page.reload();
    await page.getByText("Phone (automatic)").waitFor();
    await holds(() => primary.innerText(), "Test sign-in");
    await primary.click();
    await dialog.getByRole("button", { name: "Test sign-in" }).click();
    await dialog.getByText("Result: a push is sent to the phone; the answer decides.").waitFor();
    await dialog.getByText("Push selected (paired phone)").waitFor();
  },
);

// The Reports page in a browser: the time range by drag and by keyboard, the lists behind the numbers, exports, and both looks.

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

/** The sign-ins are counted from the start of each test, which may be long after this file is loaded. */
const reportsTest = consoleTests(
  (options: ReportsOptions) => startReportsConsole({ logins: logins(), ...options }),
  { role: "viewer" },
);
const SUMMARY = "20 accepted, 5 rejected, 0 other";

async function rangeOf(page: Page): Promise<{ fromMs: number; toMs: number }> {
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  return {
    fromMs: Date.parse(searchParams.get("from") ?? ""),
    toMs: Date.parse(searchParams.get("to") ?? ""),
  };
}

reportsTest(
  "a drag across the bars narrows the time range, and the range can be reset",
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

reportsTest("the keyboard reads the bars and narrows the time range", async ({ page, open }) => {
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

reportsTest(
  "the keyboard reads the time to answer, and both charts select the same time",
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
    await holds(() => page.locator(".time-plot .chosen").count(), 2);
    await page.keyboard.press("Home");
    await read.getByText(/: Median: no sign-ins, 95th percentile: no sign-ins\./).waitFor();
    await page.keyboard.press("Shift+End");
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Enter");
    const { fromMs, toMs } = await rangeOf(page);
    assertEquals(Math.floor((toMs - fromMs) / MINUTE_MS), 60, "all bars but the last");
  },
);

reportsTest("numbers and names open the sign-ins behind them", async ({ page, open }) => {
  await open("/charts?range=1h", "Reports");
  const rejected = page.getByRole("table", { name: "Users with the most rejected sign-ins" });
  await rejected.getByRole("rowheader").first().waitFor();
  await holds(() => rejected.getByRole("rowheader").allInnerTexts(), ["grace"]);
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

reportsTest("a report is exported with the filters of the page", async ({ page, open }) => {
  await open("/charts?range=1h&client=vpn-1", "Reports");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export By client as CSV" }).click(),
  ]);
  assertEquals(download.suggestedFilename(), "clients.csv");
  const link = page.getByRole("link", { name: "Export By reason as JSON" });
  await holds(() => link.getAttribute("href"), /client=vpn-1.*report=reasons&format=json/);
});

reportsTest(
  "enrolment leads to the users without a factor and without a recent sign-in",
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

reportsTest(
  "without a GeoIP database, the page says how to add one",
  { noGeoIp: true },
  async ({ page, open }) => {
    await open("/charts?range=1h", "Reports");
    await page.getByText(/^To see countries and networks, set geoip\.database in the settings file/)
      .waitFor();
    assertEquals(await page.getByRole("table", { name: "By country" }).count(), 0);
  },
);

for (const range of ["1h", "7d"]) {
  reportsTest(
    `the reports of ${range} have no problem, wide in light and at 320 px in dark`,
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
