// Stored chart counts: a step fits into one value of the store, and no flush overwrites newer counts.

import { assert, assertEquals } from "@std/assert";
import { encodeTallies, type TargetTally } from "../../console/api/charts/chart_series.ts";
import { ChartStore } from "../../console/api/charts/chart_store.ts";
import { MAX_COUNTED_CLIENTS, OTHER_CLIENTS, TIME_BUCKETS } from "../../radius/conversation/login_record.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { createFakeWatch } from "../fakes/console_gateway.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Deno KV refuses larger values. */
const MAX_VALUE_OCTETS = 65_536;

function tally(client: string, accepted = 1, times: readonly number[] = [1]): TargetTally {
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
      (_, at) => tally(`${at}${letter.repeat(60)}`, at + 1, times),
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
    encodeTallies(Array.from({ length: 250 }, (_, at) => tally(`vpn-${at}`))),
  );
  assertEquals(stored.length, MAX_COUNTED_CLIENTS + 1);
  assertEquals(stored.at(-1)?.outcomes, { accepted: 50 });
});

Deno.test("ChartStore stores and reads an hour with logins of 1,000 clients", async () => {
  const { charts, clock, store, watch } = await open();
  for (let minute = 0; minute < 20; minute++) {
    const times = new Array<number>(TIME_BUCKETS).fill(1);
    for (let at = 0; at < 50; at++) watch.finish(tally(`access-point-${minute}-${at}`, 1, times));
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
  const finish = () => watch.finish({ ...tally("vpn-1"), minuteMs: clock.nowMs() });
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
