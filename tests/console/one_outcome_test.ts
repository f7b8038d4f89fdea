// One outcome for each sign-in: Live, Overview, Reports, History and its export count the same records over the window that they name. The
// sign-ins are played at a real gateway, and the phones decide over HTTP.

import { assertEquals } from "@std/assert";
import type { ChartAnswer } from "../../console/api/charts/chart_store.ts";
import type { AccountLogins } from "../../console/api/account/account_types.ts";
import type { NoticeList } from "../../console/api/notices/notices.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { LiveSnapshot } from "../../console/api/api_types.ts";
import type { BreakdownAnswer } from "../../console/api/reports/report_routes.ts";
import { recentQuery } from "../../console/web/pages/live/live_context.tsx";
import { createLogin, type Login } from "../radius/rows/login.ts";
import { becomes, jump, pass } from "../radius/rows/passing_time.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { totpCode } from "../support/totp.ts";
import { type Ask, type HelpDeskSite, openHelpDesk, type Phone } from "./help_desk_site.ts";

const SECRET = "a-secret-of-the-tests";
const SEED = new Uint8Array(20).fill(3);
const MINUTE_MS = 60_000;
const USERS = ["ada", "bob", "eve", "kim", "lea", "max"];

type Window = { readonly fromMs: number; readonly toMs: number };

/** A gateway with a socket, users with phones, and one with an authenticator app. */
async function openWorld() {
  const toml = `[[radius.client]]\nname = "vpn"\naddress = ["127.0.0.1"]\nsecret = "${SECRET}"\n`;
  const site = await openHelpDesk({ toml, users: USERS });
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const serving = site.radius.server.serve(socket);
  const client = openRadiusClient({ port: (socket.addr as Deno.NetAddr).port, secret: SECRET });
  let ports = 1;
  return {
    site,
    login: (user: string): Login =>
      createLogin({ client, clock: site.clock }, {
        user,
        nasPort: ports++,
        callingStationId: "198.51.100.7",
      }),
    async [Symbol.asyncDispose]() {
      await site.radius.server.stop(0);
      await serving;
      client.close();
      await site[Symbol.asyncDispose]();
    },
  };
}

async function decide(phone: Phone, decision: { approve: boolean; number?: string }): Promise<void> {
  const requestId = (await phone.view())?.requests[0]?.requestId ?? "";
  await phone.ask("POST", `/requests/${requestId}`, { number: null, ...decision });
}

async function giveApp({ radius, store }: HelpDeskSite, user: string): Promise<void> {
  const { mutation, pairing } = radius.pairings.prepare({ canonical: user, shown: user }, {
    kind: "totp",
    seed: SEED,
  });
  await store.commit({ mutations: [mutation] });
  radius.pairings.adopt(pairing);
}

/** The export of a window, by outcome and by reason. */
async function exported(ask: Ask, { fromMs, toMs }: Window) {
  const { body } = await ask<{ outcome: string; factor: string | null }[]>(
    "GET",
    `/history/export?format=json&from=${fromMs}&to=${toMs}`,
  );
  const count = (name: "outcome" | "factor") => {
    const counts: Record<string, number> = {};
    for (const { [name]: value } of body) if (value !== null) counts[value] = (counts[value] ?? 0) + 1;
    return counts;
  };
  return { total: body.length, outcomes: count("outcome"), factors: count("factor") };
}

const withoutZeros = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

/** The figures of each page for its own window, compared with the export of that window. */
async function comparePages(ask: Ask, nowMs: number): Promise<Record<string, number>> {
  const windows = {
    live: recentQuery(nowMs),
    overview: {
      from: String((Math.floor(nowMs / (60 * MINUTE_MS)) - 23) * 60 * MINUTE_MS),
      to: String(nowMs),
    },
    reports: { from: String(nowMs - 24 * 60 * MINUTE_MS), to: String(nowMs) },
    hour: { from: String(nowMs - 60 * MINUTE_MS - 1234), to: String(nowMs) },
  };
  for (const [page, { from, to }] of Object.entries(windows)) {
    const { body: counts } = await ask<ChartAnswer & Window>("GET", `/charts?from=${from}&to=${to}`);
    const records = await exported(ask, counts);
    assertEquals(withoutZeros(counts.totals.outcomes), records.outcomes, page);
    assertEquals(counts.totals.total, records.total, page);
    const { body: tables } = await ask<BreakdownAnswer>("GET", `/reports/breakdown?from=${from}&to=${to}`);
    assertEquals(
      [tables.fromMs, tables.toMs, tables.counted],
      [counts.fromMs, counts.toMs, records.total],
      page,
    );
    const byFactor = tables.factors.map(({ name, total }) => [name, total]);
    assertEquals(
      withoutZeros(Object.fromEntries(byFactor.filter(([name]) => name !== ""))),
      records.factors,
      page,
    );
  }
  const { body: live } = await ask<ChartAnswer>("GET", `/charts?from=${windows.live.from}&to=${nowMs}`);
  return withoutZeros(live.totals.outcomes);
}

Deno.test("every page counts the sign-ins of the export of its window, also after a reload, in a second session, and later", async () => {
  await using world = await openWorld();
  const { site, login } = world;
  const phones = new Map<string, Phone>();
  for (const user of ["ada", "bob", "eve", "kim"]) phones.set(user, await site.pair(user));
  await giveApp(site, "lea");
  const phone = (user: string) => phones.get(user) as Phone;
  const me = await site.account("eve");

  // Accepted on the phone.
  const accepted = login("ada");
  const { message } = await accepted.start();
  await decide(phone("ada"), { approve: true, number: /number (\d\d)/.exec(message)?.[1] ?? "" });
  assertEquals((await accepted.answer("")).kind, "accept");
  // Denied on the phone, by a wrong number, by an administrator: no further packet arrives.
  await login("ada").start();
  await decide(phone("ada"), { approve: false });
  const wrong = await login("bob").start();
  const number = /number (\d\d)/.exec(wrong.message)?.[1] ?? "";
  await decide(phone("bob"), { approve: true, number: number === "10" ? "11" : "10" });
  await login("bob").start();
  const operator = await site.as("operator");
  const pending = await operator<LiveSnapshot>("GET", "/live");
  await operator("POST", `/approvals/${pending.body.approvals?.items[0]?.requestId}/deny`, {});
  // Reported.
  await login("eve").start();
  assertEquals((await me("POST", "/not-me", { conversationId: null })).status, 200);
  // Codes of an app: right and wrong.
  for (const isRight of [true, false, false]) {
    const coded = login("lea");
    await coded.start();
    await coded.answer(isRight ? totpCode(SEED, site.clock.nowMs()) : "000000");
  }
  // Timed out, and started over.
  await login("kim").start();
  const over = login("max");
  await over.start("");
  await over.answer("cancel");
  await jump(site.clock, 6 * MINUTE_MS);
  await becomes("all have ended", () => site.radius.monitor.alive() === 0);
  await pass(site.clock, 2000);

  const expected = { accepted: 2, rejected: 6, expired: 2, cancelled: 1 };
  const viewer = await site.as("viewer");
  assertEquals(await comparePages(viewer, site.clock.nowMs()), expected);
  // Six minutes later the gateway has forgotten the ended sign-ins. A reload in another session shows the same.
  await jump(site.clock, 6 * MINUTE_MS);
  const second = await site.as("viewer");
  assertEquals(await comparePages(second, site.clock.nowMs()), expected);
  const { body: snapshot } = await second<LiveSnapshot>("GET", "/live");
  const listed: Record<string, number> = {};
  for (const { outcome } of snapshot.conversations) listed[outcome ?? ""] = (listed[outcome ?? ""] ?? 0) + 1;
  assertEquals(listed, expected);
  // The wrong codes belong to the app.
  const { body: tables } = await second<BreakdownAnswer>(
    "GET",
    `/reports/breakdown?from=0&to=${site.clock.nowMs()}`,
  );
  const app = tables.factors.find(({ name }) => name === "totp");
  assertEquals([app?.total, app?.accepted, app?.rejected], [3, 1, 2]);
  assertEquals(tables.reasons.filter(({ name }) => name === "not_me").map(({ rejected }) => rejected), [1]);
});

Deno.test("a denial on the phone is rejected in every list in the same second, without a further packet", async () => {
  await using world = await openWorld();
  const { site, login } = world;
  const phone = await site.pair("ada", "Pixel");
  await login("ada").start();
  await pass(site.clock, 2000);
  const decidedMs = site.clock.nowMs();
  await decide(phone, { approve: false });
  const viewer = await site.as("viewer");
  const { body: live } = await viewer<LiveSnapshot>("GET", "/live");
  const [row] = live.conversations;
  assertEquals([row?.outcome, row?.phone, row?.moments.at(-2)?.row], ["rejected", "Pixel", "decided_phone"]);
  assertEquals(row?.moments.at(-2)?.atMs, decidedMs);
  assertEquals((row?.updatedMs ?? Infinity) - decidedMs < 1000, true);
  assertEquals(live.approvals?.total, 0);
  const history = await viewer<{ items: { outcome: string; reason: { code: string } }[] }>("GET", "/history");
  assertEquals(history.body.items.map(({ outcome, reason }) => [outcome, reason.code]), [
    ["rejected", "denied_on_phone"],
  ]);
  assertEquals(await comparePages(viewer, site.clock.nowMs()), { rejected: 1 });
  // The watcher of alerts counts these records.
  assertEquals((await site.audited("login.rejected")).map(({ because }) => because), ["phone"]);
  const { body } = await viewer<ChartAnswer>("GET", `/charts?from=0&to=${site.clock.nowMs()}`);
  assertEquals(body.totals.p95Ms !== null && body.totals.p95Ms <= 3000, true);
});

Deno.test("the phone that denied a sign-in reports it in one call, and the account page lists it as denied at once", async () => {
  await using world = await openWorld();
  const { site, login } = world;
  const phone = await site.pair("ada", "Pixel");
  const other = await site.pair("bob");
  const me = await site.account("ada");
  await login("ada").start();
  await pass(site.clock, 2000);
  const requestId = (await phone.view())?.requests[0]?.requestId ?? "";
  const logins = async () => {
    const { body } = await me<AccountLogins>("GET", "/logins");
    return [body.open.length, body.recent.map(({ outcome, reason }) => `${outcome} ${reason}`)];
  };
  assertEquals(await logins(), [1, []]);
  await decide(phone, { approve: false });
  assertEquals(await logins(), [0, ["rejected denied_on_phone"]]);
  const report = (by: Phone, id: string) => by.ask("POST", `/requests/${id}/not-me`, {});
  assertEquals((await report(other, requestId)).code, "unknown_request");
  assertEquals((await report(phone, "other")).code, "unknown_request");
  assertEquals(site.radius.limits.isLocked("ada"), false);
  assertEquals((await report(phone, requestId)).status, 200);
  assertEquals(site.radius.limits.isLocked("ada"), true);
  const { body } = await (await site.as("viewer"))<NoticeList>("GET", "/notices");
  assertEquals(body.items.map(({ kind, client, place }) => [kind, client, place]), [
    ["not_me", "vpn", "198.51.100.7"],
  ]);
  assertEquals((await site.audited("user.not_me")).map(({ object }) => object), ["user:ada"]);
});

Deno.test("the phone page shows a change of factors for a week, and never the pairing of the phone itself", async () => {
  await using site = await openHelpDesk();
  const first = await site.pair("ada");
  const second = await site.pair("ada");
  const notices = async ({ ask }: Phone) =>
    (await ask<{ notices: { what: string }[] }>("GET", "/view")).body.notices.map(({ what }) => what);
  assertEquals([await notices(first), await notices(second)], [["device"], ["device"]]);
  await jump(site.clock, 8 * 24 * 60 * MINUTE_MS);
  assertEquals([await notices(first), await notices(second)], [[], []]);
});

Deno.test("the notice of a report and the lock of its user show the present state", async () => {
  await using world = await openWorld();
  const { site, login } = world;
  await site.pair("eve");
  const me = await site.account("eve");
  const operator = await site.as("operator");
  const shown = async () => {
    const { body: notices } = await operator<NoticeList>("GET", "/notices");
    const { body: user } = await operator<UserView>("GET", "/users/eve");
    const { locked, isReported, failures } = user.login?.lock ?? {};
    return {
      noticeIsLocked: notices.items.map(({ lockedUntilMs }) => lockedUntilMs > site.clock.nowMs()),
      ...{ locked, isReported, failures },
    };
  };
  await login("eve").start();
  await me("POST", "/not-me", { conversationId: null });
  assertEquals(await shown(), { noticeIsLocked: [true], locked: true, isReported: true, failures: 0 });
  assertEquals((await site.ask("POST", "/users/eve/unlock", {})).status, 200);
  assertEquals(await shown(), { noticeIsLocked: [false], locked: false, isReported: false, failures: 0 });
});
