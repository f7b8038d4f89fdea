// Reports, and charts of several nodes.

import { assert, assertEquals } from "@std/assert";
import { readBreakdown } from "../../console/api/reports/breakdown.ts";
import { hoursOfWeek, totalsOf } from "../../console/api/charts/chart_summary.ts";
import { createStore } from "../../platform/store.ts";
import {
  bucketOf,
  encodeLoginRecord,
  historyKey,
  historyKeyAt,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import {
  enrolUsers,
  openTestGeoIp,
  type PastLogin,
  pastLogin,
  startReportsConsole,
} from "../fakes/console_reports.ts";
import { ChartStore } from "../../console/api/charts/chart_store.ts";
import { NO_LEASE } from "../../platform/cluster/lease.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createFakeWatch } from "../fakes/console_gateway.ts";
import { openNode } from "../fakes/shared_store.ts";

// Reports: breakdowns of a known history, the range before, hours of the week, exports, and the lists that they link to.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const nowMs = Date.now();
const API = "/console/api";
const GERMAN = "198.51.100.23";
const FRENCH = "203.0.113.9";

/** An hour of sign-ins: 3 accepted, 3 rejected, 1 expired. */
const LOGINS: readonly PastLogin[] = [
  { endedMs: nowMs - 50 * MINUTE_MS, factor: "device", place: FRENCH },
  { endedMs: nowMs - 40 * MINUTE_MS, factor: "totp", user: "Grace" },
  { endedMs: nowMs - 30 * MINUTE_MS, factor: null, client: "wifi", place: "10.1.2.3" },
  { endedMs: nowMs - 25 * MINUTE_MS, outcome: "rejected", row: "code_wrong", user: "grace" },
  { endedMs: nowMs - 24 * MINUTE_MS, outcome: "rejected", row: "code_wrong", user: "GRACE", place: FRENCH },
  {
    ...{ endedMs: nowMs - 23 * MINUTE_MS, outcome: "rejected", row: "refused", refusedFor: "locked" },
    ...{ user: "=cmd", factor: null, target: "guests" },
  },
  { endedMs: nowMs - 20 * MINUTE_MS, outcome: "expired", row: "expired", factor: "device" },
  // The hour before.
  { endedMs: nowMs - 90 * MINUTE_MS },
  { endedMs: nowMs - 91 * MINUTE_MS, outcome: "rejected", row: "code_wrong" },
];
const HOUR = `from=${nowMs - HOUR_MS}&to=${nowMs}`;

interface NamedRow {
  readonly name: string;
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
}
const rowsOf = (rows: readonly NamedRow[]) =>
  rows.map(({ name, total, accepted, rejected }) => `${name}: ${total} ${accepted} ${rejected}`);

type Answer = Record<"factors" | "reasons" | "users" | "addresses" | "countries" | "networks", NamedRow[]> & {
  counted: number;
  sinceMs: number | null;
  geoIp: { isConfigured: boolean };
};

async function openApi(options: Parameters<typeof startReportsConsole>[0] = { logins: LOGINS }) {
  const site = await startReportsConsole(options);
  const call = apiCaller(site, await site.signIn("viewer"));
  return {
    site,
    get: <T>(path: string) => call<T>(`${API}${path}`),
    [Symbol.asyncDispose]: site[Symbol.asyncDispose],
  };
}

Deno.test("GET /reports/breakdown counts a known history by factor, reason, user, address, country and network", async () => {
  await using api = await openApi();
  const all = await api.get<Answer>(`/reports/breakdown?${HOUR}`);
  assertEquals([all.counted, all.sinceMs, all.geoIp.isConfigured], [7, null, true]);
  assertEquals(rowsOf(all.factors), ["totp: 3 1 2", "device: 2 1 0", ": 2 1 1"]);
  assertEquals(rowsOf(all.reasons), ["passcode_wrong: 2 0 2", "expired: 1 0 0", "user_locked: 1 0 1"]);
  assertEquals(rowsOf(all.users), ["GRACE: 3 1 2", "=cmd: 1 0 1"]);
  assertEquals(rowsOf(all.addresses), [`${GERMAN}: 4 1 2`, `${FRENCH}: 2 1 1`]);
  assertEquals(rowsOf(all.countries), ["DE: 4 1 2", "FR: 2 1 1", ": 1 1 0"]);
  assertEquals(rowsOf(all.networks), ["AS64500: 4 1 2"]);
  const wifi = await api.get<Answer>(`/reports/breakdown?${HOUR}&client=wifi`);
  assertEquals([wifi.counted, rowsOf(wifi.factors)], [1, [": 1 1 0"]]);
  const guests = await api.get<Answer>(`/reports/breakdown?${HOUR}&target=guests`);
  assertEquals(rowsOf(guests.users), ["=cmd: 1 0 1"]);
});

Deno.test("GET /reports/breakdown has no countries without a GeoIP database", async () => {
  await using api = await openApi({ logins: LOGINS, noGeoIp: true });
  const { countries, networks, geoIp } = await api.get<Answer>(`/reports/breakdown?${HOUR}`);
  assertEquals([countries, networks, geoIp], [[], [], { isConfigured: false, files: [] } as never]);
});

Deno.test("readBreakdown() stops at its limit, with the newest sign-ins, and says since when they are", async () => {
  const clock = createManualClock(nowMs);
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const endedMs = (at: number) => nowMs - at * 1000;
  const mutations = Array.from(
    { length: 300 },
    (_, at) => pastLogin({ endedMs: endedMs(at), user: `u${at}` }, at),
  );
  await store.commit({ mutations });
  const query = { fromMs: nowMs - HOUR_MS, toMs: nowMs, client: "", target: "" };
  const part = await readBreakdown({ store, clock }, query, { maxSignIns: 100 });
  assertEquals([part.counted, part.sinceMs], [100, endedMs(99) - 4000]);
  const whole = await readBreakdown({ store, clock }, query);
  assertEquals([whole.counted, whole.sinceMs], [300, null]);
  // Time passes while the history is read.
  let ms = nowMs;
  const slow = { ...clock, nowMs: () => ms += 3000 };
  const many = Array.from(
    { length: 900 },
    (_, at) => pastLogin({ endedMs: endedMs(at), user: "ada" }, 300 + at),
  );
  await store.commit({ mutations: many });
  const late = await readBreakdown({ store, clock: slow }, query);
  assertEquals([late.counted, late.sinceMs !== null], [1000, true]);
  await store.close();
});

Deno.test("readBreakdown() reads what all nodes wrote, and limits the names in memory", async () => {
  const clock = createManualClock(nowMs);
  const kv = await Deno.openKv(":memory:");
  const nodes = ["a", "b"].map((node) => createStore(kv, { nowMs: clock.nowMs, node }));
  for (const [at, store] of nodes.entries()) {
    const logins = Array.from({ length: 150 }, (_, number) =>
      pastLogin({
        ...{ endedMs: nowMs - number * 10, user: `${at}-${number}`, place: `198.51.100.${number}` },
        ...{ outcome: "rejected", row: "code_wrong", client: `vpn-${at}` },
      }, at * 1000 + number));
    await store.commit({ mutations: logins });
  }
  const geoIp = await openTestGeoIp();
  const query = { fromMs: nowMs - HOUR_MS, toMs: nowMs, client: "", target: "" };
  for (const store of nodes) {
    const counted = await readBreakdown({ store, clock, geoIp }, query);
    assertEquals([counted.counted, rowsOf(counted.reasons)], [300, ["passcode_wrong: 300 0 300"]]);
    assertEquals([counted.users.length, counted.addresses[0]?.rejected], [100, 2]);
  }
  await nodes[0]?.close();
});

Deno.test("GET /charts has the totals of the range and of the range before", async () => {
  await using api = await openApi();
  interface Totals {
    total: number;
    outcomes: Record<string, number>;
    p50Ms: number | null;
  }
  const { totals, previous, isCut } = await api.get<
    { totals: Totals; previous: Totals | null; isCut: boolean }
  >(
    `/charts?${HOUR}`,
  );
  assertEquals([totals.total, totals.outcomes.accepted, totals.outcomes.rejected], [7, 3, 3]);
  assertEquals([previous?.total, previous?.outcomes.accepted, previous?.outcomes.rejected], [2, 1, 1]);
  assert(totals.p50Ms !== null && totals.p50Ms > 2500 && totals.p50Ms < 6000);
  assertEquals(isCut, false);
  const wifi = await api.get<{ totals: Totals; previous: Totals | null }>(`/charts?${HOUR}&client=wifi`);
  assertEquals([wifi.totals.total, wifi.previous?.total], [1, 0]);
  const long = await api.get<{ previous: Totals | null }>(`/charts?from=${nowMs - 60 * DAY_MS}&to=${nowMs}`);
  assertEquals(long.previous, null, "the counts go back 90 days");
});

Deno.test("hoursOfWeek() counts in the time zone, from Monday on", () => {
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  // Sunday, 22:30 UTC, in summer.
  const atMs = Date.UTC(2026, 6, 5, 22, 30);
  const records = [
    { atMs, tallies: [{ client: "a", target: "staff", outcomes: { accepted: 3, rejected: 1 }, times }] },
    { atMs, tallies: [{ client: "b", target: "staff", outcomes: { expired: 5 }, times }] },
  ];
  const found = (zone: string, client = "") => {
    const { total, rejected } = hoursOfWeek(records, { zone, client, target: "" });
    return total.flatMap((count, hour) => count > 0 ? [[hour, count, rejected[hour]]] : []);
  };
  assertEquals(found("UTC"), [[6 * 24 + 22, 9, 1]]);
  assertEquals(found("Europe/Berlin"), [[0, 9, 1]]);
  assertEquals(found("Asia/Kolkata", "a"), [[4, 4, 1]]);
  assertEquals(totalsOf(records, { client: "", target: "staff" }).total, 9);
  assertEquals(totalsOf(records, { client: "", target: "guests" }).total, 0);
});

Deno.test("the reports refuse unknown time zones, reports and periods, and a range that ends before it begins", async () => {
  await using api = await openApi({});
  const cookie = await api.site.signIn("viewer");
  for (
    const path of [
      "/charts?zone=Mars/Base",
      "/reports/breakdown?from=2000&to=1000",
      "/reports/export?report=secrets",
      "/reports/export?report=inactive_users&days=5",
      "/history?country=Germany",
      "/users?inactive=7",
    ]
  ) {
    const response = await api.site.call(API + path, { cookie });
    assertEquals([path, response.status, (await response.json()).error?.code], [path, 400, "bad_query"]);
  }
});

Deno.test("GET /history finds the sign-ins of a row, with country and network, also in the export", async () => {
  await using api = await openApi();
  const found = async (query: string) => {
    type Items = { items: { user: string; location: { country: string; asn: number | null } | null }[] };
    const { items } = await api.get<Items>(`/history?${HOUR}&${query}`);
    return items.map(({ user, location }) => `${user} ${location?.country ?? "-"} ${location?.asn ?? "-"}`);
  };
  assertEquals(await found("country=FR"), ["GRACE FR -", "ada FR -"]);
  assertEquals(await found("country=none"), ["ada - -"]);
  assertEquals(await found("reason=user_locked"), ["=cmd DE 64500"]);
  assertEquals(await found("factor=none"), ["=cmd DE 64500", "ada - -"]);
  assertEquals(await found("factor=device&outcome=expired"), ["ada DE 64500"]);
  assertEquals(await found(`place=${FRENCH}&outcome=rejected`), ["GRACE FR -"]);
  const cookie = await api.site.signIn("viewer");
  const csv = await api.site.call(`${API}/history/export?${HOUR}&reason=user_locked`, { cookie });
  const [head = "", line = ""] = (await csv.text()).split("\r\n");
  assert(head.endsWith(",country,asn,policy,token") && line.endsWith(",DE,64500,,"), line);
});

Deno.test("GET /reports/export writes each report as CSV and JSON, and escapes cells that a spreadsheet would calculate", async () => {
  await using api = await openApi();
  await enrolUsers(api.site);
  const cookie = await api.site.signIn("viewer");
  const read = async (report: string, query = HOUR) => {
    const get = (format: string) =>
      api.site.call(`${API}/reports/export?report=${report}&format=${format}&${query}`, { cookie });
    const [csv, json] = [await get("csv"), await get("json")];
    assertEquals(csv.headers.get("content-disposition"), `attachment; filename="${report}.csv"`);
    const lines = (await csv.text()).trimEnd().split("\r\n");
    const rows: unknown[] = await json.json();
    assertEquals(rows.length, lines.length - 1, report);
    return lines;
  };
  assertEquals((await read("outcomes")).length, 62);
  assertEquals((await read("hours"))[1], "Monday,0,0,0");
  assertEquals((await read("clients")).map((line) => line.split(",").slice(0, 4).join()), [
    "client,total,accepted,rejected",
    "vpn-1,6,2,3",
    "wifi,1,1,0",
  ]);
  assertEquals((await read("targets")).length, 3);
  assertEquals((await read("factors"))[1]?.startsWith("totp,3,1,2,"), true);
  assertEquals((await read("reasons"))[1]?.startsWith("passcode_wrong,2,0,2,"), true);
  assertEquals((await read("users")).at(-1)?.startsWith("'=cmd,1,0,1,"), true);
  assertEquals((await read("addresses"))[1]?.startsWith(`${GERMAN},4,1,2,`), true);
  assertEquals((await read("countries"))[1]?.startsWith("DE,4,1,2,"), true);
  assertEquals((await read("networks"))[1]?.startsWith("AS64500,Example Net,4,1,2,"), true);
  const enrolled = await read("enrolled_factors");
  assertEquals(enrolled.map((line) => line.split(",").slice(0, 4).join()), [
    "factor,users,not_used_for_90_days,never_used",
    ...["device,0,0,0", "sms,2,1,1", "voice,0,0,0", "totp,0,0,0"],
  ]);
  const without = await read("users_without_factor");
  assertEquals(without.map((line) => line.split(",")[0]), ["user", "alan"]);
  assertEquals(await read("inactive_users", "days=30"), ["user,display_name,created,last_sign_in"]);
  const unused = await read("unused_factors");
  assertEquals(unused.map((line) => line.split(",").slice(0, 2).join()), ["user,factor", "Grace,sms"]);
});

// Charts on several nodes: the counts of all nodes add up, and what a node lost is counted again by one of the others.

/** The beginning of an hour. */
const START_MS = 1_800_000_000_000;

function startNodes(kv: Deno.Kv) {
  const clock = createManualClock(START_MS);
  const living = new Set<string>();
  /** The node that has the lease. */
  let holder = "";
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  let logins = 0;
  const start = async (node: string) => {
    const { store } = await openNode(kv, node);
    living.add(node);
    holder ||= node;
    const claim = () => {
      if (!living.has(holder)) holder = node;
      return Promise.resolve(holder === node);
    };
    const cluster = {
      isShared: true,
      list: () => [...living].map((one) => ({ node: one, isAlive: true }) as never),
      openLease: () => ({ ...NO_LEASE, claim }),
    };
    const watch = { ...createFakeWatch(), countsSinceMs: clock.nowMs() };
    const charts = new ChartStore({ store, clock, log, watch, cluster, random: createSystemRandom() });
    charts.start();
    return {
      store,
      charts,
      async login() {
        const endedMs = clock.nowMs();
        const id = `${historyKeyAt(endedMs - 2000)}${String(logins++).padStart(6, "0")}`;
        const record = encodeLoginRecord({
          ...{ user: "ada", client: node, source: "10.1.0.7", place: "", factor: null, outcome: "accepted" },
          ...{ startedMs: endedMs - 2000, endedMs, refusedFor: null, passwordRight: false, moments: [] },
        });
        await store.commit({ mutations: [{ type: "set", key: historyKey(id), value: record }] });
        const times = new Array<number>(TIME_BUCKETS).fill(0);
        times[bucketOf(2000)] = 1;
        const minuteMs = Math.floor(endedMs / MINUTE_MS) * MINUTE_MS;
        watch.finish({ client: node, outcomes: { accepted: 1 }, times, minuteMs });
      },
      /** The process ends before it writes its counts. */
      die() {
        living.delete(node);
        watch.takeFinishedCounts();
        charts.stop();
      },
    };
  };
  return { clock, start };
}

type ChartNode = Awaited<ReturnType<ReturnType<typeof startNodes>["start"]>>;

/** Logins by node, by the minute and by the hour. */
async function totals({ charts }: ChartNode, toMs: number): Promise<string[]> {
  const figures: string[] = [];
  for (const hours of [11, 30]) {
    const { clients } = await charts.read({ fromMs: toMs - hours * HOUR_MS, toMs, client: "" });
    figures.push(clients.map(({ client, total }) => `${client} ${total}`).toSorted().join(", "));
  }
  return figures;
}

/** Lets `count` minutes pass, with a login on each node every minute. */
async function minutes(
  { clock, nodes }: { clock: ReturnType<typeof createManualClock>; nodes: readonly ChartNode[] },
  count: number,
): Promise<void> {
  for (let at = 0; at < count; at++) {
    clock.advance(MINUTE_MS);
    for (const node of nodes) await node.login();
    // The timers of the charts work on the store.
    for (const node of nodes) await node.charts.flush();
  }
}

Deno.test("the counts of two nodes add up, also after a third one starts", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 90);
  const expected = ["a 90, b 90", "a 90, b 90"];
  assertEquals([await totals(a, clock.nowMs()), await totals(b, clock.nowMs())], [expected, expected]);
  const c = await start("c");
  assertEquals(await totals(c, clock.nowMs()), expected);
  await minutes({ clock, nodes: [a, b, c] }, 100);
  assertEquals(await totals(c, clock.nowMs()), Array(2).fill("a 190, b 190, c 100"));
  for (const { charts } of [a, b, c]) charts.stop();
});

Deno.test("what a node lost is counted again when the hour is over, once, and the counts of living nodes stay", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 30);
  await b.login();
  b.die();
  await minutes({ clock, nodes: [a] }, 10);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 40, b 30"));
  await minutes({ clock, nodes: [a] }, 90);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 130, b 31"));
  const again = await start("d");
  await minutes({ clock, nodes: [a, again] }, 70);
  assertEquals(await totals(again, clock.nowMs()), Array(2).fill("a 200, b 31, d 70"));
  const marks = (await Array.fromAsync(a.store.list(["chart_flushed"]))).map(({ key }) => key[1]);
  assertEquals(marks, ["a", "d"]);
  for (const { charts } of [a, again]) charts.stop();
});

Deno.test("after the node that has the lease ends, the other one counts", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 30);
  await a.login();
  a.die();
  await minutes({ clock, nodes: [b] }, 100);
  assertEquals(await totals(b, clock.nowMs()), Array(2).fill("a 31, b 130"));
  b.charts.stop();
});

Deno.test("several nodes continue the counts of a process that used the store alone, and count what it lost", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const store = createStore(kv);
  const watch = { ...createFakeWatch(), countsSinceMs: clock.nowMs() };
  const alone = new ChartStore({ store, clock, log, watch, random: createSystemRandom() });
  alone.start();
  await alone.read({ fromMs: START_MS - HOUR_MS, toMs: START_MS, client: "" });
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  for (const isLost of [false, true]) {
    clock.advance(5 * MINUTE_MS);
    const endedMs = clock.nowMs();
    const value = encodeLoginRecord({
      ...{ user: "ada", client: "old", source: "10.1.0.7", place: "", factor: null, outcome: "accepted" },
      ...{ startedMs: endedMs - 2000, endedMs, refusedFor: null, passwordRight: false, moments: [] },
    });
    await store.commit({
      mutations: [{ type: "set", key: historyKey(historyKeyAt(endedMs - 2000) + "x"), value }],
    });
    if (!isLost) watch.finish({ client: "old", outcomes: { accepted: 1 }, times, minuteMs: endedMs });
    await alone.flush();
  }
  alone.stop();
  const a = await start("a");
  await minutes({ clock, nodes: [a] }, 80);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 80, old 2"));
  a.charts.stop();
});
