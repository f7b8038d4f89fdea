// Charts: what is counted, and their limits.

import { assert, assertEquals } from "@std/assert";
import {
  addTallies,
  encodeTallies,
  percentileMs,
  seriesOf,
  type TargetTally,
} from "../../console/api/charts/chart_series.ts";
import { ChartStore } from "../../console/api/charts/chart_store.ts";
import type { FinishedLoginCounts } from "../../radius/ports.ts";
import {
  answeredAfterMs,
  bucketOf,
  encodeLoginRecord,
  historyKey,
  historyKeyAt,
  MAX_COUNTED_CLIENTS,
  OTHER_CLIENTS,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Mutation, type Store } from "../../platform/store.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";
import { createFakeWatch } from "../fakes/console_gateway.ts";

// Charts: sums of counts, percentiles of buckets, and stored counts.

const MINUTE_MS = 60_000;
function tally(client: string, outcomes: Record<string, number>, tookMs = 1000) {
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  times[bucketOf(tookMs)] = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return { client, outcomes, times };
}

Deno.test("percentileMs() differs from the exact time by less than the factor between two buckets", () => {
  for (const tookMs of [1, 5, 40, 900, 6200, 60_000, 300_000]) {
    const times = new Array<number>(TIME_BUCKETS).fill(0);
    times[bucketOf(tookMs)] = 10;
    const found = percentileMs(times, 0.95) ?? 0;
    assert(found >= tookMs / Math.SQRT2 && found <= tookMs * Math.SQRT2, `${tookMs}: ${found}`);
  }
  assertEquals(percentileMs([], 0.5), null);
});

Deno.test("percentileMs() is never above the longest time", () => {
  for (const tookMs of [5, 290_000, 299_000]) {
    const times = new Array<number>(TIME_BUCKETS).fill(0);
    times[bucketOf(tookMs)] = 10;
    assert((percentileMs(times, 0.95, tookMs) ?? 0) <= tookMs, String(tookMs));
  }
});

/** How a login of ten seconds ended, and the time to answer. */
const ANSWERS:
  readonly (readonly [factor: string | null, outcome: string, rows: string, ms: number | null])[] = [
    ["device", "accepted", "decided_approved approved", 4000],
    ["device", "rejected", "decided_phone denied_while_waiting", 4000],
    ["device", "rejected", "decided_wrong_number not_approved", 4000],
    ["totp", "accepted", "totp_picked totp_right", 10_000],
    ["totp", "rejected", "totp_picked code_wrong", 10_000],
    ["sms", "rejected", "text_sent text_code_wrong", 10_000],
    ["device", "rejected", "decided_administrator denied_while_waiting", null],
    ["device", "rejected", "decided_expired denied_while_held", null],
    ["device", "rejected", "pushed held_to_the_end", null],
    ["device", "rejected", "pushed not_me", null],
    ["device", "expired", "pushed expired", null],
    ["totp", "cancelled", "totp_picked cancelled", null],
    [null, "rejected", "first_factor_wrong first_factor_wrong", null],
    [null, "accepted", "start bypassed_by_policy", null],
  ];
for (const [factor, outcome, rows, expectedMs] of ANSWERS) {
  Deno.test(`answeredAfterMs() of ${factor} ${outcome}, ${rows}`, () => {
    const [decided = "", last = ""] = rows.split(" ");
    const moments = [{ atMs: 5000, step: "", row: decided }, { atMs: 11_000, step: "", row: last }];
    const login = { factor, outcome, moments, startedMs: 1000, endedMs: 11_000 };
    assertEquals(answeredAfterMs(login), expectedMs);
  });
}

Deno.test("addTallies() adds up the counts of one client", () => {
  const [sum] = addTallies([tally("a", { accepted: 1 }), tally("a", { accepted: 2, rejected: 1 })]);
  assertEquals(sum?.outcomes, { accepted: 3, rejected: 1 });
  assertEquals(sum?.times.reduce((total, count) => total + count, 0), 4);
});

Deno.test("seriesOf() has a point for every minute, merges points of a long range, and filters by client", () => {
  const records = [
    { atMs: 0, tallies: [tally("a", { accepted: 1 }), tally("b", { rejected: 5 })] },
    { atMs: 2 * MINUTE_MS, tallies: [tally("a", { accepted: 3 })] },
  ];
  const series = seriesOf(records, { fromMs: 0, toMs: 3 * MINUTE_MS - 1, stepMs: MINUTE_MS, client: "a" });
  assertEquals(series.outcomes.accepted, [1, 0, 3]);
  assertEquals(series.outcomes.rejected, [0, 0, 0]);
  assertEquals(series.p50Ms[1], null);
  assertEquals(series.clients.map(({ client, total }) => [client, total]), [["b", 5], ["a", 4]]);
  const long = seriesOf(records, { fromMs: 0, toMs: 4000 * MINUTE_MS, stepMs: MINUTE_MS, client: "" });
  assert(long.atMs.length <= 401);
  assertEquals(long.outcomes.accepted[0], 4);
});

Deno.test("seriesOf() filters by target, and has figures of each known target", () => {
  const records = [{
    atMs: 0,
    tallies: [
      { ...tally("a", { accepted: 1 }), target: "staff" },
      { ...tally("a", { accepted: 2 }), target: "guests" },
      { ...tally("b", { rejected: 4 }), target: "guests" },
      tally("a", { accepted: 8 }),
    ],
  }];
  const span = { fromMs: 0, toMs: MINUTE_MS - 1, stepMs: MINUTE_MS };
  const guests = seriesOf(records, { ...span, client: "", target: "guests" });
  assertEquals([guests.outcomes.accepted, guests.outcomes.rejected], [[2], [4]]);
  assertEquals(guests.clients.map(({ client, total }) => [client, total]), [["b", 4], ["a", 2]]);
  assertEquals(guests.targets.map(({ target, total }) => [target, total]), [["guests", 6], ["staff", 1]]);
  const ofA = seriesOf(records, { ...span, client: "a" });
  assertEquals(ofA.outcomes.accepted, [11]);
  assertEquals(ofA.targets.map(({ target, accepted }) => [target, accepted]), [["guests", 2], ["staff", 1]]);
});

Deno.test("ChartStore stores the target of each count", async () => {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const watch = createFakeWatch();
  const deps = { watch, store, clock, random: createSystemRandom(), log };
  const charts = new ChartStore({ ...deps, target: "staff" });
  watch.finish(tally("vpn-1", { accepted: 2 }));
  await charts.flush();
  watch.finish(tally("vpn-1", { accepted: 1 }));
  const nowMs = clock.nowMs();
  const read = (target: string) =>
    charts.read({ fromMs: nowMs - MINUTE_MS, toMs: nowMs, client: "", target });
  assertEquals((await read("staff")).targets.map(({ target, total }) => [target, total]), [["staff", 3]]);
  assertEquals((await read("other")).outcomes.accepted.every((count) => count === 0), true);
  await store.close();
});

Deno.test("ChartStore writes each minute once, however large it is, and another process reads it", async () => {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const watch = createFakeWatch();
  const deps = { watch, store, clock, random: createSystemRandom(), log };
  const [charts, other] = [new ChartStore(deps), new ChartStore(deps)];
  watch.finish(tally("vpn-1", { accepted: 2 }));
  await charts.flush();
  watch.finish(tally("vpn-1", { accepted: 1, rejected: 1 }));
  await charts.flush();
  let records = 0;
  for await (const _ of store.list(["chart"])) records++;
  assertEquals(records, 2, "one of the minute, one of the hour");
  watch.finish(tally("vpn-1", { expired: 1 }));
  await other.flush();
  const nowMs = clock.nowMs();
  const series = await charts.read({ fromMs: nowMs - 5 * MINUTE_MS, toMs: nowMs, client: "" });
  assertEquals(series.outcomes.accepted.at(-1), 3);
  assertEquals(series.outcomes.expired.at(-1), 1);
  assertEquals(series.stepMs, MINUTE_MS);
  const days = await charts.read({ fromMs: nowMs - 20 * 24 * 60 * MINUTE_MS, toMs: nowMs, client: "" });
  assertEquals(days.outcomes.accepted.at(-1), 3);
  await store.close();
});

Deno.test("GET /charts returns one hour by default, and refuses a range that ends before it begins", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  site.watch.finish(tally("vpn-1", { accepted: 2 }));
  const response = await site.call("/console/api/charts", { cookie });
  const { outcomes, clients } = await response.json();
  assertEquals(outcomes.accepted.reduce((sum: number, count: number) => sum + count, 0), 2);
  assertEquals(clients.map(({ client }: { client: string }) => client), ["vpn-1"]);
  const wrong = await site.call("/console/api/charts?from=2000&to=1000", { cookie });
  assertEquals((await wrong.json()).error.code, "bad_query");
});

/** A stored login that took two seconds. */
function finished(endedMs: number, { outcome = "accepted", client = "vpn-1" } = {}, number = 0): Mutation {
  const startedMs = endedMs - 2000;
  const id = `${historyKeyAt(startedMs)}${String(number).padStart(6, "0")}`;
  const value = encodeLoginRecord({
    ...{ user: "ada", client, source: "10.1.0.7", place: "", factor: null, startedMs, endedMs, outcome },
    ...{ refusedFor: null, passwordRight: false, target: "staff", moments: [] },
  });
  return { type: "set", key: historyKey(id), value };
}

/** The sums of a range of hours, by outcome and by client. */
async function sums(charts: ChartStore, { fromMs, toMs }: { fromMs: number; toMs: number }) {
  const { outcomes, clients } = await charts.read({ fromMs, toMs, client: "" });
  return {
    ...Object.fromEntries(
      Object.entries(outcomes).map(([name, counts]) => [name, counts.reduce((sum, count) => sum + count, 0)]),
    ),
    clients: clients.map(({ client, total }) => `${client} ${total}`),
  };
}

Deno.test("ChartStore rebuilds from the history the counts that the last process did not write", async () => {
  const clock = createManualClock(1_800_000_000_000);
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const deps = { store, clock, random: createSystemRandom(), log, target: "staff" };
  const start = () => {
    const watch = { ...createFakeWatch(), countsSinceMs: clock.nowMs() };
    const charts = new ChartStore({ ...deps, watch });
    charts.start();
    return { watch, charts };
  };
  const ends = async (
    watch: { finish(tally: FinishedLoginCounts): void },
    { outcome = "accepted", number = 0 },
  ) => {
    const endedMs = clock.nowMs();
    await store.commit({ mutations: [finished(endedMs, { outcome }, number)] });
    watch.finish({
      ...tally("vpn-1", { [outcome]: 1 }, 2000),
      minuteMs: Math.floor(endedMs / MINUTE_MS) * MINUTE_MS,
    });
  };
  const first = start();
  for (let number = 0; number < 5; number++) {
    clock.advance(7 * MINUTE_MS);
    await ends(first.watch, { number });
    // The first three are written. The last two are lost when the process ends.
    if (number === 2) await first.charts.flush();
    if (number === 2) first.charts.stop();
  }
  clock.advance(1000);
  const second = start();
  await ends(second.watch, { outcome: "cancelled", number: 10 });
  const range = { fromMs: 1_800_000_000_000 - 3 * 60 * MINUTE_MS, toMs: clock.nowMs() };
  const expected = {
    accepted: 5,
    rejected: 0,
    expired: 0,
    cancelled: 1,
    superseded: 0,
    clients: ["vpn-1 6"],
  };
  assertEquals(await sums(second.charts, range), expected, "by the minute");
  const days = { ...range, fromMs: range.fromMs - 48 * 60 * MINUTE_MS };
  assertEquals(await sums(second.charts, days), expected, "by the hour");
  second.charts.stop();
  clock.advance(60 * MINUTE_MS);
  const third = start();
  assertEquals(await sums(third.charts, { ...days, toMs: clock.nowMs() }), expected, "after another start");
  third.charts.stop();
  await store.close();
});

Deno.test("ChartStore rebuilds counts without a watermark from the whole history", async () => {
  const clock = createManualClock(1_800_000_000_000);
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const nowMs = clock.nowMs();
  const hourMs = 60 * MINUTE_MS;
  const mutations = Array.from(
    { length: 50 },
    (_, number) => finished(nowMs - number * 20 * hourMs, {}, number),
  );
  // The process ended before it counted all logins, and before it wrote a watermark.
  const counted = JSON.stringify([tally("vpn-1", { accepted: 1 })]);
  mutations.push({
    type: "set",
    key: ["chart", "hour", nowMs - (nowMs % hourMs) - 20 * hourMs, "0a"],
    value: counted,
  });
  await store.commit({ mutations });
  const watch = { ...createFakeWatch(), countsSinceMs: nowMs + 1 };
  const charts = new ChartStore({ store, clock, random: createSystemRandom(), log, watch });
  charts.start();
  const all = { fromMs: nowMs - 60 * 24 * hourMs, toMs: nowMs };
  assertEquals((await sums(charts, all)).clients, ["vpn-1 50"]);
  charts.stop();
  await store.close();
});

// Stored chart counts: a step fits into one value of the store, and no flush overwrites newer counts.

const HOUR_MS = 60 * MINUTE_MS;
/** Deno KV refuses larger values. */
const MAX_VALUE_OCTETS = 65_536;

function clientTally(client: string, accepted = 1, times: readonly number[] = [1]): TargetTally {
  return { client, target: "staff", outcomes: { accepted }, times: [...times] };
}

const sumOf = (tallies: readonly TargetTally[]) =>
  tallies.reduce((sum, { outcomes }) => sum + (outcomes.accepted ?? 0), 0);

async function open(change: (store: Store) => Partial<Store> = () => ({})) {
  const clock = createManualClock(Math.ceil(1.8e12 / HOUR_MS) * HOUR_MS);
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const watch = createFakeWatch();
  const charts = new ChartStore({
    ...{ watch, clock, log, random: createSystemRandom(), target: "staff" },
    store: { ...store, ...change(store) },
  });
  return { charts, clock, store, watch };
}

for (const letter of ["a", "ż"]) {
  Deno.test(`encodeTallies() keeps 2,000 clients with long names of "${letter}" within one value, and loses no login`, async () => {
    const times = new Array<number>(TIME_BUCKETS).fill(1_000_000);
    const tallies = Array.from(
      { length: 2000 },
      (_, at) => clientTally(`${at}${letter.repeat(60)}`, at + 1, times),
    );
    const text = encodeTallies(tallies);
    using kv = await Deno.openKv(":memory:");
    await kv.set(["chart"], text);
    assert(text.length < MAX_VALUE_OCTETS);
    const stored: TargetTally[] = JSON.parse(text);
    assertEquals(sumOf(stored), sumOf(tallies));
    assertEquals(
      stored[0]?.client,
      `1999${letter.repeat(60)}`,
      "the client with most logins keeps its own counts",
    );
    assertEquals(stored.filter(({ client }) => client === OTHER_CLIENTS).length, 1);
  });
}

Deno.test("encodeTallies() keeps 200 clients with short names, and counts all others together", () => {
  const stored: TargetTally[] = JSON.parse(
    encodeTallies(Array.from({ length: 250 }, (_, at) => clientTally(`vpn-${at}`))),
  );
  assertEquals(stored.length, MAX_COUNTED_CLIENTS + 1);
  assertEquals(stored.at(-1)?.outcomes, { accepted: 50 });
});

Deno.test("ChartStore stores and reads an hour with logins of 1,000 clients", async () => {
  const { charts, clock, store, watch } = await open();
  for (let minute = 0; minute < 20; minute++) {
    const times = new Array<number>(TIME_BUCKETS).fill(1);
    for (let at = 0; at < 50; at++) {
      watch.finish(clientTally(`access-point-${minute}-${at}`, 1, times));
    }
    await charts.flush();
    clock.advance(MINUTE_MS);
  }
  clock.advance(2 * HOUR_MS);
  const nowMs = clock.nowMs();
  const series = await charts.read({ fromMs: nowMs - 24 * HOUR_MS, toMs: nowMs, client: "" });
  assertEquals(series.outcomes.accepted.reduce((sum, count) => sum + count, 0), 1000);
  await store.close();
});

Deno.test("ChartStore keeps a login that ends while a flush of many steps waits for the store", async () => {
  let isAway = true;
  const waiting: (() => void)[] = [];
  const { charts, clock, store, watch } = await open((store) => ({
    async commit(transaction) {
      if (isAway) throw new Error("the store is away");
      await new Promise<void>((resolve) => waiting.push(resolve));
      return await store.commit(transaction);
    },
  }));
  const finish = () => watch.finish({ ...clientTally("vpn-1"), minuteMs: clock.nowMs() });
  for (let minute = 0; minute < 59; minute++) {
    finish();
    await charts.flush().catch(() => undefined);
    clock.advance(MINUTE_MS);
  }
  finish();
  isAway = false;
  const first = charts.flush();
  await Promise.resolve();
  finish();
  const flushes = Promise.all([first, charts.flush()]);
  let areWritten = false;
  void flushes.then(() => areWritten = true);
  while (!areWritten) {
    waiting.shift()?.();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  let stored = 0;
  for await (const { value } of store.list(["chart", "hour"])) stored += sumOf(JSON.parse(String(value)));
  assertEquals(stored, 61);
  await store.close();
});

Deno.test("ChartStore reports a rebuild that the store ends, unless it is stopped", async () => {
  for (const isStopped of [false, true]) {
    const clock = createManualClock(1.8e12);
    let reports = 0;
    const log = createLog({ format: "text", level: "error", clock, write: () => void reports++ });
    const kept = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
    const store = { ...kept, get: () => Promise.reject(new Error("the store is closed")) };
    const watch = createFakeWatch();
    const charts = new ChartStore({ store, clock, random: createSystemRandom(), log, watch });
    charts.start();
    if (isStopped) charts.stop();
    await new Promise((resolve) => setTimeout(resolve, 0));
    await log.flush();
    assertEquals(reports, isStopped ? 0 : 1);
    await kept.close();
  }
});
