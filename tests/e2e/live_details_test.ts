// The inspector with its packets, replay and explanation; dropped packets; the history; charts; many tabs. In a real browser.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { bucketOf, TIME_BUCKETS } from "../../radius/conversation/duration_buckets.ts";
import { historyKey, packFinished } from "../../radius/conversation/login_record.ts";
import type { PacketRecord } from "../../radius/ports.ts";
import { copyMasked } from "../../radius/protocol/redact_packet.ts";
import { packetRows } from "../../radius/protocol/dissect_packet.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { buildRequest } from "../support/radius_packets.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

const dist = await currentDist();
const HOSTILE = `"><img src=x onerror=document.title='owned'>`;

/** A request as the gateway records it. */
function recorded(userName: string, values: Partial<PacketRecord> = {}): PacketRecord {
  const { bytes } = buildRequest("secret", { userName, password: "planted-password", nasPort: 7 });
  const target = new Uint8Array(4096);
  const octets = target.subarray(0, copyMasked(bytes, target, 0));
  const rows = packetRows(octets);
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
      const value = packFinished({
        ...{ user, client: at % 3 === 0 ? "wifi" : "vpn-1", source: "10.1.0.7", place: "", factor: "totp" },
        ...{ startedMs, endedMs: startedMs + 4000, outcome, refusedFor: null, passwordRight: false },
        target: at === 0 ? "guests" : "staff",
        moments: [{ atMs: startedMs + 4000, step: outcome, row: at % 2 === 0 ? "code_wrong" : "totp_right" }],
      });
      return { type: "set", key: historyKey(id), value };
    }),
  });
}

function count(site: TestConsole): void {
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  times[bucketOf(4000)] = 30;
  // As the gateway tells it. Without it the minute of the reading would count, which the page may not yet ask for.
  const minuteMs = Math.floor(Date.now() / 60_000) * 60_000;
  site.watch.finish({ client: "vpn-1", outcomes: { accepted: 25, rejected: 5 }, times, minuteMs });
}

function drop(
  site: TestConsole,
  { reason = "wrong_message_authenticator", user = "eve", id = 1, source = "192.0.2.9" } = {},
): void {
  const nowMs = Date.now();
  const place = { source, client: "vpn-1" };
  site.watch.stray(
    { ...recorded(user), ...place, id, reason, verdict: reason, answered: false, lastMs: nowMs },
    { ...place, reason, count: 14, firstMs: nowMs - 60_000, lastMs: nowMs },
  );
  site.watch.drop(reason);
}

/** Opens a page that is not Live, with a session that is there already. */
async function openAs(page: Page, { site, path }: { site: TestConsole; path: string }): Promise<void> {
  const [name = "", value = ""] = (await site.signIn("viewer")).split("=");
  await page.context().addCookies([{ name, value, url: site.origin }]);
  await page.goto(site.origin + path);
}

browserTest(
  "the inspector explains a rejection, says what to do, and lights octets with their attribute",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    putRejected(site);
    await enterAs(page, { site, role: "viewer" });
    await page.getByRole("link", { name: "ada" }).click();
    const inspector = page.getByRole("complementary", { name: "Chosen login" });
    await inspector.getByText("The push was denied, or it expired").waitFor();
    await inspector.getByText("What to do:").waitFor();
    const packets = inspector.getByRole("region", { name: "Packets" });
    await packets.getByText("3 times").waitFor();
    await packets.getByText("Access-Request").first().click();
    const row = packets.getByRole("row", { name: /^User-Name 1 ada/ });
    await row.hover();
    await packets.locator(".octets .lit").first().waitFor();
    const lit = await packets.locator(".octets .lit").allInnerTexts();
    assertEquals(lit.join(""), "0105616461");
    await packets.getByRole("row", { name: /^User-Password 2 masked for good/ }).waitFor();
    assert(await packets.locator(".octets .masked").count() >= 16);
  },
);

browserTest(
  "a login has a page of its own, whose link carries the moment of the replay",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    const view = putRejected(site);
    await openAs(page, { site, path: `/live/c/${view.id}?t=3` });
    const moment = page.getByRole("slider", { name: "Moment of the replay" });
    await moment.waitFor();
    assertEquals(await moment.getAttribute("aria-valuetext"), "3.0 s Waiting for the phone");
    assertEquals(await page.locator(".moments .to-come").count(), 1);
    await page.getByRole("button", { name: "Step", exact: true }).click();
    await page.waitForURL(/t=6$/);
    await page.getByRole("button", { name: "Step", exact: true }).click();
    await page.waitForURL(/t=6.24/);
    assertEquals(await page.locator(".moments .to-come").count(), 0);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForURL((url) => url.search === "");
  },
);

browserTest("the diagram counts, filters, and lights the way of the chosen login", async ({ page }) => {
  await using site = await startConsole({ dist });
  putRejected(site);
  site.watch.put(conversation(2, { user: "grace", startedMs: Date.now(), step: "CHOOSE_WHICH_MULTIFACTOR" }));
  await enterAs(page, { site, role: "viewer" });
  const flow = page.getByRole("region", { name: "Where logins stand" });
  await flow.getByRole("button", { name: "Menu 1" }).waitFor();
  assert(await flow.locator("path").count() > 10);
  await page.getByRole("link", { name: "ada" }).click();
  await flow.locator("path.taken").first().waitFor({ state: "attached" });
  assertEquals(await flow.locator("path.taken").count(), 2);
  await flow.getByRole("button", { name: "Menu 1" }).click();
  await page.getByText("1 of 2 logins").waitFor();
});

browserTest("dropped packets are explained, with how many failed since when", async ({ page }) => {
  await using site = await startConsole({ dist });
  drop(site);
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("link", { name: "1 packet dropped" }).click();
  await page.getByRole("heading", { name: "Dropped packets" }).waitFor();
  assertMatch(
    await page.locator(".stray .explain").innerText(),
    /^vpn-1 uses another shared secret: 14 packets failed since \d\d:\d\d:\d\d\.$/,
  );
  await page.getByText("Set the same secret at vpn-1 and here.").waitFor();
});

browserTest(
  "dropped packets come as they are dropped, stand still in use, and are narrowed",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    drop(site);
    await openAs(page, { site, path: "/live/dropped" });
    const strays = page.locator(".stray");
    await page.getByText("1 dropped since the start").waitFor();
    await strays.first().waitFor();
    drop(site, { id: 2, source: "192.0.2.20", reason: "unknown_client" });
    await page.getByText("2 dropped since the start").waitFor();
    await page.getByRole("heading", { name: /192\.0\.2\.20/ }).waitFor();
    await strays.first().hover();
    drop(site, { id: 3, source: "192.0.2.30", reason: "unknown_client" });
    const newer = page.getByRole("button", { name: "Newer ones came: show them" });
    await newer.waitFor();
    assertEquals(await strays.count(), 2);
    await newer.click();
    await page.getByRole("heading", { name: /192\.0\.2\.30/ }).waitFor();
    await page.getByRole("region", { name: "What goes on now" }).getByRole("button", { name: "192.0.2.20" })
      .click();
    await page.waitForURL(/source=192\.0\.2\.20/);
    assertEquals(await strays.count(), 1);
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("button", { name: /Clear the filter/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".stray").length === 3);
  },
);

browserTest(
  "the history is narrowed by a click on a cell, and the filter is in the address",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    await keepHistory(site, ["ada", "grace", HOSTILE, "alan"]);
    await openAs(page, { site, path: "/history" });
    const rows = page.getByRole("table").getByRole("row");
    await page.getByText("The passcode was wrong").first().waitFor();
    assertEquals(await rows.count(), 5);
    await page.getByLabel("Outcome", { exact: true }).selectOption("Accepted");
    await page.getByRole("button", { name: "grace" }).waitFor();
    await page.waitForURL(/outcome=accepted/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
    await page.getByRole("button", { name: "grace" }).click();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await page.reload();
    await page.getByRole("button", { name: /Clear the filter User contains: grace/ }).click();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export CSV" }).click(),
    ]);
    assertEquals(download.suggestedFilename(), "logins.csv");
    await page.getByRole("link", { name: /ago|now/ }).first().click();
    await page.getByRole("heading", { name: /^Login of (ada|grace|alan)$/ }).waitFor();
    await page.locator("dl.facts").getByText("User", { exact: true }).waitFor();
    await page.getByText("The authenticator app's code was right").waitFor();
    assertMatch(await page.title(), /^Login of .* · Countersign$/);
  },
);

browserTest("the history and the charts are narrowed to a target", async ({ page }) => {
  await using site = await startConsole({ dist });
  await keepHistory(site, ["ada", "grace", "alan"]);
  await openAs(page, { site, path: "/history" });
  await page.getByRole("button", { name: "guests" }).click();
  await page.waitForURL(/target=guests/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await page.getByRole("button", { name: "ada" }).waitFor();
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
  await page.getByRole("img", { name: "13 accepted, 0 rejected, 0 otherwise" }).waitFor();
  const targets = page.getByRole("table", { name: "By target" });
  await targets.getByRole("button", { name: "guests" }).click();
  await page.getByRole("img", { name: "4 accepted, 0 rejected, 0 otherwise" }).waitFor();
  await page.waitForURL((url) => url.searchParams.get("target") === "guests");
  await page.getByRole("button", { name: /Clear the filter Target: guests/ }).waitFor();
});

browserTest("charts draw what ended, and a drag narrows the range in the address", async ({ page }) => {
  await using site = await startConsole({ dist });
  count(site);
  await openAs(page, { site, path: "/charts?range=1h" });
  await page.getByRole("img", { name: "25 accepted, 5 rejected, 0 otherwise" }).waitFor();
  await page.getByRole("row", { name: /vpn-1 30 25 5 \(17 %\)/ }).waitFor();
  const over = page.locator(".u-over").first();
  await over.waitFor();
  const { x, y, width } = await over.boundingBox() ?? { x: 0, y: 0, width: 0 };
  await page.mouse.move(x + width * 0.5, y + 40);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.9, y + 40, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  const spanMs = Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "");
  assert(spanMs > 15 * 60_000 && spanMs < 30 * 60_000, `${spanMs / 60_000} minutes`);
});

browserTest(
  "nine tabs share one stream, and the next one goes on when the leading tab closes",
  async ({ page, context }) => {
    await using site = await startConsole({ dist });
    await enterAs(page, { site, role: "viewer" });
    const tabs = [page];
    for (let count = 1; count < 9; count++) {
      const tab = await context.newPage();
      await tab.goto(`${site.origin}/live`);
      await tab.getByText("No logins yet").waitFor();
      tabs.push(tab);
    }
    site.watch.put(conversation(1, { user: "ada", startedMs: Date.now() }));
    for (const tab of tabs) await tab.getByRole("link", { name: "ada" }).waitFor();
    const metrics = await (await fetch(`${site.origin}/metrics`)).text();
    assertMatch(metrics, /^countersign_live_streams_open 1$/m);
    await page.close();
    site.watch.put(conversation(2, { user: "grace", startedMs: Date.now() }));
    for (const tab of tabs.slice(1)) await tab.getByRole("link", { name: "grace" }).waitFor();
  },
);

const PLACES: Readonly<Record<string, (page: Page, site: TestConsole) => Promise<void>>> = {
  "a login with an open packet": async (page, site) => {
    const view = putRejected(site, HOSTILE);
    await openAs(page, { site, path: `/live/c/${view.id}?t=3` });
    await page.getByText("Access-Request").first().click();
    await page.getByText("masked for good").first().waitFor();
  },
  "a login that is not known": async (page, site) => {
    await openAs(page, { site, path: "/live/c/nothing" });
    await page.getByText("The details could not be fetched.").waitFor();
  },
  "dropped packets": async (page, site) => {
    drop(site, { user: HOSTILE });
    await openAs(page, { site, path: "/live/dropped" });
    await page.getByText("What to do:").waitFor();
  },
  "no dropped packets": async (page, site) => {
    await openAs(page, { site, path: "/live/dropped" });
    await page.getByText("No packet was dropped lately").waitFor();
  },
  "the history": async (page, site) => {
    await keepHistory(site, ["ada", HOSTILE, "grace"]);
    await openAs(page, { site, path: "/history?outcome=rejected" });
    await page.getByRole("table").waitFor();
  },
  "the history, nothing matches": async (page, site) => {
    await openAs(page, { site, path: "/history?user=nobody" });
    await page.getByText("No login matches").waitFor();
  },
  "charts": async (page, site) => {
    count(site);
    await openAs(page, { site, path: "/charts?range=1h" });
    await page.locator(".u-over").first().waitFor();
  },
  "charts, empty": async (page, site) => {
    await openAs(page, { site, path: "/charts" });
    await page.getByText("Nothing ended in this range").waitFor();
  },
};

for (const [name, open] of Object.entries(PLACES)) {
  for (const look of ["light", "small"] as const) {
    browserTest(`${name}: nothing that axe objects to, ${look} and dark`, async ({ page }) => {
      await using site = await startConsole({ dist });
      await open(page, site);
      assertEquals(await findAccessibilityProblems(page), []);
      assertEquals(await scrollsSideways(page), false);
      await page.emulateMedia({ colorScheme: "dark" });
      assertEquals(await findAccessibilityProblems(page), []);
      // The title of a login's page contains the user name as text; only a script that ran would make it exactly this.
      assert(await page.title() !== "owned", "the script in the user name ran");
      assertEquals(await page.locator('img[src="x"], [onerror]').count(), 0);
    }, { look });
  }
}

closeBrowserAtEnd();
