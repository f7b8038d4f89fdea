// The sign-in log, the audit log and the dropped packets in a browser: inspector, replay, filters, days, and the caller of a login.

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  bucketOf,
  encodeLoginRecord,
  historyKey,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import type { PacketRecord } from "../../radius/ports.ts";
import { copyRedacted, dissectPacket } from "../../radius/protocol/dissect_packet.ts";
import type { Locator, Page } from "../packages/playwright.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { buildRequest } from "../support/radius_packets.ts";
import { startWorkingDay } from "../screenshots/working_day.ts";
import { findAccessibilityProblems, laidOut, scrollsSideways } from "./page_checks.ts";
import { consoleTests } from "./console_tests.ts";
import { enterAs, holds, openTab } from "./browser.ts";

// The inspector with packets, replay and explanation; dropped packets; the history; many tabs. In a browser.

const test = consoleTests(startConsole, { role: "viewer" });

const HOSTILE = `"><img src=x onerror=document.title='owned'>`;

/** A request as the gateway records it. */
function recorded(userName: string, values: Partial<PacketRecord> = {}): PacketRecord {
  const { bytes } = buildRequest("secret", { userName, password: "planted-password", nasPort: 7 });
  const target = new Uint8Array(4096);
  const octets = target.subarray(0, copyRedacted(bytes, target, 0));
  const rows = dissectPacket(octets);
  return {
    inbound: true,
    atMs: Date.now(),
    copies: 1,
    verdict: "signed",
    hex: octets.toHex(),
    rows,
    ...values,
  };
}

function putRejected(site: TestConsole, user = "ada") {
  const startedMs = Date.now() - 20_000;
  const view = conversation(1, { user, startedMs });
  site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6240 }));
  site.watch.packetsOf(view.id, [
    recorded(user, { atMs: startedMs, copies: 3 }),
    recorded(user, { atMs: startedMs + 6000 }),
  ]);
  return view;
}

async function keepHistory(site: TestConsole, users: readonly string[]): Promise<void> {
  const nowMs = Date.now();
  await site.store.commit({
    mutations: users.map((user, at) => {
      const startedMs = nowMs - (users.length - at) * 60_000;
      const outcome = at % 2 === 0 ? "rejected" : "accepted";
      const id = `${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`;
      const value = encodeLoginRecord({
        ...{ user, client: at % 3 === 0 ? "wifi" : "vpn-1", source: "10.1.0.7", place: "", factor: "totp" },
        ...{ startedMs, endedMs: startedMs + 4000, outcome, refusedFor: null, passwordRight: false },
        target: at === 0 ? "guests" : "staff",
        moments: [{ atMs: startedMs + 4000, step: outcome, row: at % 2 === 0 ? "code_wrong" : "totp_right" }],
      });
      return { type: "set", key: historyKey(id), value };
    }),
  });
}

function drop(
  site: TestConsole,
  { reason = "wrong_message_authenticator", user = "eve", id = 1, source = "192.0.2.9" } = {},
): void {
  const nowMs = Date.now();
  const place = { source, client: reason === "unknown_client" ? null : "vpn-1" };
  site.watch.stray(
    { ...recorded(user), ...place, id, reason, verdict: reason, answered: false, lastMs: nowMs },
    { ...place, reason, count: 14, firstMs: nowMs - 60_000, lastMs: nowMs },
  );
  site.watch.drop(reason);
}

/** Opens a page other than Live, with a prepared session. */
async function openAs(page: Page, { site, path }: { site: TestConsole; path: string }): Promise<void> {
  const [name = "", value = ""] = (await site.signIn("viewer")).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(site.origin + path);
}

test("the inspector explains a rejection, suggests a fix, and highlights octets with their attribute", async ({ page, site, open }) => {
  putRejected(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "ada" }).click();
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByText("The push was denied, or it expired").waitFor();
  await inspector.getByText("Recommended action:").waitFor();
  await inspector.getByRole("tab", { name: "Packets" }).click();
  const packets = inspector.getByRole("region", { name: "Packets" });
  await packets.getByText("3×").waitFor();
  await packets.getByText("Access-Request").first().click();
  const row = packets.getByRole("row", { name: /^User-Name 1 ada/ });
  await row.hover();
  await packets.locator(".octets .lit").first().waitFor();
  const lit = await packets.locator(".octets .lit").allInnerTexts();
  assertEquals(lit.join(""), "0105616461");
  await packets.getByRole("row", { name: /^User-Password 2 redacted/ }).waitFor();
  assert(await packets.locator(".octets .masked").count() >= 16);
});

test("a login has its own page, whose link contains the moment of the replay", async ({ page, site }) => {
  const view = putRejected(site);
  await openAs(page, { site, path: `/live/c/${view.id}?t=3` });
  const moment = page.getByRole("slider", { name: "Replay position" });
  await moment.waitFor();
  await holds(() => moment.getAttribute("aria-valuetext"), "3.0 s Waiting for the phone");
  await holds(() => page.locator(".moments .to-come").count(), 1);
  await page.getByRole("button", { name: "Step", exact: true }).click();
  await page.waitForURL(/t=6$/);
  await page.getByRole("button", { name: "Step", exact: true }).click();
  await page.waitForURL(/t=6.24/);
  assertEquals(await page.locator(".moments .to-come").count(), 0);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForURL((url) => url.search === "");
});

test("the diagram counts, filters, and highlights the path of the selected sign-in", async ({ page, site, open }) => {
  putRejected(site);
  site.watch.put(conversation(2, { user: "grace", startedMs: Date.now(), step: "CHOOSE_WHICH_MULTIFACTOR" }));
  await open("/live", "Sign-in log");
  const flow = page.getByRole("region", { name: "Sign-in flow" });
  await flow.getByRole("button", { name: "Flow diagram" }).click();
  // The ways of a node are drawn while it has the pointer or the focus.
  await flow.getByRole("button", { name: "Menu 1" }).hover();
  assert(await flow.locator("path").count() > 5);
  await page.getByRole("link", { name: "ada" }).click();
  await flow.locator("path.taken").first().waitFor({ state: "attached" });
  await holds(() => flow.locator("path.taken").count(), 2);
  await flow.getByRole("button", { name: "Menu 1" }).click();
  await page.getByText("1 of 2 sign-ins").waitFor();
});

test("dropped packets are explained, with their number and the time of the first one", async ({ page, site, open }) => {
  drop(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "1 packet dropped" }).click();
  await page.getByRole("heading", { name: "Dropped packets" }).waitFor();
  await holds(
    () => page.locator(".stray .explain").innerText(),
    /^vpn-1 uses another shared secret\. 14 packets failed since \d\d:\d\d:\d\d\.$/,
  );
  await page.getByText("Set the same secret at vpn-1 and here.").waitFor();
});

test("dropped packets appear when they are dropped, do not move during use, and are filtered", async ({ page, site }) => {
  drop(site);
  await openAs(page, { site, path: "/live/dropped" });
  const strays = page.locator(".stray");
  await page.getByText("1 dropped since the last start").waitFor();
  await strays.first().waitFor();
  drop(site, { id: 2, source: "192.0.2.20", reason: "unknown_client" });
  await page.getByText("2 dropped since the last start").waitFor();
  await page.getByRole("heading", { name: /192\.0\.2\.20/ }).waitFor();
  await strays.first().hover();
  drop(site, { id: 3, source: "192.0.2.30", reason: "unknown_client" });
  const newer = page.getByRole("button", { name: "Show newer packets" });
  await newer.waitFor();
  await holds(() => strays.count(), 2);
  await newer.click();
  await page.getByRole("heading", { name: /192\.0\.2\.30/ }).waitFor();
  await page.getByRole("region", { name: "Ongoing problems" }).getByRole("button", { name: "192.0.2.20" })
    .click();
  await page.waitForURL(/source=192\.0\.2\.20/);
  await holds(() => strays.count(), 1);
  assertEquals(await findAccessibilityProblems(page), []);
  await page.getByRole("button", { name: /Clear filter/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".stray").length === 3);
  await page.getByRole("combobox", { name: "Time", exact: true }).selectOption({ label: "Yesterday" });
  await page.getByText("No packets match").waitFor();
  await page.getByRole("combobox", { name: "Time", exact: true }).selectOption({ label: "Last 24 hours" });
  await page.waitForFunction(() => document.querySelectorAll(".stray").length === 3);
});

test("the history is filtered by a click on a cell, and the filter is in the address", async ({ page, site }) => {
  await keepHistory(site, ["ada", "grace", HOSTILE, "alan"]);
  await openAs(page, { site, path: "/history" });
  const rows = page.locator("tbody tr[data-key]");
  await rows.getByText("Wrong passcode").first().waitFor();
  await holds(() => rows.count(), 4);
  await page.getByLabel("Outcome", { exact: true }).selectOption("Accepted");
  await page.getByRole("button", { name: "grace", exact: true }).waitFor();
  await page.waitForURL(/outcome=accepted/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 2);
  await page.getByRole("button", { name: "grace", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 1);
  await page.reload();
  await page.getByRole("button", { name: /Clear filter User contains: grace/ }).click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 2);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export CSV" }).click(),
  ]);
  assertEquals(download.suggestedFilename(), "logins.csv");
  await page.getByRole("table").getByRole("link", { name: /\d:\d\d/ }).first().click();
  await page.getByRole("heading", { name: /^Sign-in of (ada|grace|alan)$/ }).waitFor();
  await page.locator("dl.facts").getByText("User", { exact: true }).waitFor();
  await page.getByText("Authenticator app code correct").waitFor();
  assertMatch(await page.title(), /^Sign-in of .* · Countersign$/);
});

test("the history and the reports are filtered by target", async ({ page, site }) => {
  await keepHistory(site, ["ada", "grace", "alan"]);
  await openAs(page, { site, path: "/history" });
  await page.getByRole("button", { name: "guests" }).click();
  await page.waitForURL(/target=guests/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr[data-key]").length === 1);
  await page.getByRole("button", { name: "ada", exact: true }).waitFor();
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  times[bucketOf(4000)] = 4;
  const tally = (target: string, accepted: number) => ({
    client: "vpn-1",
    target,
    outcomes: { accepted },
    times,
  });
  const atMs = Math.floor(Date.now() / 60_000) * 60_000;
  await site.store.commit({
    mutations: [{
      type: "set",
      key: ["chart", "minute", atMs, "other"],
      value: JSON.stringify([tally("staff", 9), tally("guests", 4)]),
    }],
  });
  await page.goto(`${site.origin}/charts?range=1h`);
  await page.getByRole("img", { name: "13 accepted, 0 rejected, 0 other" }).waitFor();
  const targets = page.getByRole("table", { name: "By directory" });
  await targets.getByRole("button", { name: "guests" }).click();
  await page.getByRole("img", { name: "4 accepted, 0 rejected, 0 other" }).waitFor();
  await page.waitForURL((url) => url.searchParams.get("target") === "guests");
  await page.getByRole("button", { name: /Clear filter Directory: guests/ }).waitFor();
});

test("nine tabs share one stream, and another tab continues it when the leading tab closes", async ({ page, context, site, open }) => {
  await open("/live", "Sign-in log");
  const tabs = [page];
  for (let count = 1; count < 9; count++) {
    const tab = await context.newPage();
    await tab.goto(`${site.origin}/live`);
    await tab.getByText("No sign-ins yet").waitFor();
    tabs.push(tab);
  }
  site.watch.put(conversation(1, { user: "ada", startedMs: Date.now() }));
  for (const tab of tabs) await tab.getByRole("link", { name: "ada" }).waitFor();
  const metrics = await (await fetch(`${site.origin}/metrics`)).text();
  assertMatch(metrics, /^countersign_live_streams_open 1$/m);
  await page.close();
  site.watch.put(conversation(2, { user: "grace", startedMs: Date.now() }));
  for (const tab of tabs.slice(1)) await tab.getByRole("link", { name: "grace" }).waitFor();
});

// The RADIUS client and the caller (Calling-Station-Id) of a login are two labelled values, in the history and in the
// audit log.

const CLIENT_ADDRESS = "10.1.0.7";
const CALLER = "198.51.100.23";
const WIDTHS_PX = [1440, 1024, 390, 320] as const;

async function keepCallers(site: TestConsole): Promise<void> {
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

async function fitsAllWidths(page: Page): Promise<void> {
  for (const width of WIDTHS_PX) {
    await page.setViewportSize({ width, height: 860 });
    await laidOut(page);
    assertEquals(await scrollsSideways(page), false, `${width} px`);
  }
}

test("/history has the client and the caller in two columns", async ({ page, site, open }) => {
  await keepCallers(site);
  // The window is resized before the page opens: a table updates its columns only in the frame after a resize.
  await page.setViewportSize({ width: 1440, height: 860 });
  await open("/history", "Sign-in log");
  for (const [user, caller] of [["ada", CALLER], ["grace", ""]] as const) {
    const row = page.getByRole("row").filter({ hasText: user });
    await holds(async () => await (await cellOf(page, row, "Client")).innerText(), "vpn-1");
    await holds(async () => await (await cellOf(page, row, "Caller")).innerText(), caller);
  }
  await fitsAllWidths(page);
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
    await holds(async () => (await cell.innerText()).split(/\s+/), values, event);
  }
  await holds(() => page.getByText(CALLER).count(), 1, "it is said once");
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
  await fitsAllWidths(page);
});

// The logs in a browser: clock times below the title of their day, ranges and filters in the bar, and no cut cell in either language.

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

const dayTest = consoleTests(startWorkingDay, { role: "viewer", isShared: true });

dayTest(
  "the sign-in log and the audit log have clock times, days and whole cells in both languages",
  async ({ site }) => {
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

dayTest(
  "/history has its range, reason, factor and caller in the bar; a custom range has two whole fields",
  async ({ page, site, open }) => {
    await open("/history", "Sign-in log");
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

dayTest(
  "/audit leaves out sign-ins until they are chosen, and has the changes by administrators",
  async ({ page, site, open }) => {
    await site.store.commit({
      mutations: Array.from({ length: 60 }, (_, at) => ({
        type: "set",
        key: ["audit", `zzzz${String(at).padStart(8, "0")}`],
        value: { atMs: Date.now(), actor: "radius", action: "login.accepted", object: "user:ada.lovelace" },
      })),
    });
    await open("/audit", "Audit log");
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
