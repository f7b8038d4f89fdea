// The recent logins of a user on the account page: the first read, and later reads of newer logins only.

import { assertEquals } from "@std/assert";
import { auditIdAt } from "../../platform/log_blocks.ts";
import { createAccountHistory } from "../../console/api/account/account_logins.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createManualClock } from "../fakes/console_app.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3600_000;

async function withHistory(test: (stage: ReturnType<typeof stageOf>) => Promise<void>): Promise<void> {
  const store = createStore(await Deno.openKv(":memory:"));
  await test(stageOf(store));
  await store.close();
}

function stageOf(store: Store) {
  const clock = createManualClock();
  let reads = 0;
  const counted: Store = {
    ...store,
    async *range(selector, options) {
      for await (const entry of store.range(selector, options)) {
        reads += 1;
        yield entry as never;
      }
    },
  };
  return {
    clock,
    history: createAccountHistory({ store: counted, clock }),
    reads: () => reads,
    /** A login that began the given time ago and ended just now. */
    async finish(user: string, agoMs = 0): Promise<void> {
      const startedMs = clock.nowMs() - agoMs;
      const value = encodeLoginRecord({
        user,
        client: "vpn-1",
        source: "192.0.2.1",
        place: "",
        factor: "device",
        startedMs,
        endedMs: clock.nowMs(),
        outcome: "accepted",
        refusedFor: null,
        passwordRight: false,
        moments: [],
      });
      await store.commit({
        mutations: [{ type: "set", key: historyKey(`${auditIdAt(startedMs)}x`), value }],
      });
    },
  };
}

Deno.test("createAccountHistory() returns the user's own logins, newest first, and none of a similar name", () =>
  withHistory(async ({ history, finish, clock }) => {
    await finish("Ada", 3 * MINUTE_MS);
    await finish("adalbert", 2 * MINUTE_MS);
    await finish("ADA", MINUTE_MS);
    assertEquals((await history.of("ada")).map(({ user }) => user), ["ADA", "Ada"]);
    assertEquals(await history.of("bert"), []);
    assertEquals((await history.of("ada"))[0]?.startedMs, clock.nowMs() - MINUTE_MS);
  }));

Deno.test("createAccountHistory() reads old logins once, and returns each newer login once", () =>
  withHistory(async ({ history, finish, clock, reads }) => {
    for (let count = 0; count < 30; count += 1) await finish("ada", DAY_MS + count * MINUTE_MS);
    assertEquals((await history.of("ada")).length, 30);
    assertEquals(reads(), 30);
    clock.advance(5 * MINUTE_MS);
    // It began before the last read.
    await finish("ada", 6 * MINUTE_MS);
    assertEquals((await history.of("ada")).length, 31);
    assertEquals((await history.of("ada")).length, 31);
    assertEquals(reads(), 32);
  }));

Deno.test("createAccountHistory() returns at most fifty logins, and none older than 90 days", () =>
  withHistory(async ({ history, finish, clock }) => {
    for (let count = 0; count < 55; count += 1) await finish("ada", count * MINUTE_MS);
    await finish("bert", 89 * DAY_MS);
    assertEquals((await history.of("ada")).length, 50);
    assertEquals((await history.of("bert")).length, 1);
    clock.advance(2 * DAY_MS);
    assertEquals(await history.of("bert"), []);
  }));
