// The replay of a day: which sign-ins a draft of policies would decide differently, and how many replays run at the same time.

import { assertEquals } from "@std/assert";
import type { ReplayAnswer } from "../../console/api/policies/policy_types.ts";
import type { Store } from "../../platform/store.ts";
import { encodeLoginRecord, historyKey, historyKeyAt } from "../../radius/conversation/login_record.ts";
import type { ConnectConsole } from "../fakes/console_connect.ts";
import { OFFICE, openPolicyConsole, POLICIES, policy } from "./policy_console.ts";
import { until } from "../fakes/scim_nodes.ts";

const HOUR_MS = 3_600_000;
const REPLAY = `${POLICIES}/replay`;

async function putLogins(
  { store }: ConnectConsole,
  places: readonly (readonly [place: string, agoMs: number])[],
  { user = "bob", client = "vpn" } = {},
): Promise<void> {
  for (const [at, [place, agoMs]] of places.entries()) {
    const startedMs = Date.now() - agoMs;
    const login = {
      ...{ user, client, source: "192.0.2.1", place, factor: null, startedMs },
      ...{ endedMs: startedMs, outcome: "accepted", refusedFor: null, passwordRight: true, moments: [] },
    };
    const key = historyKey(`${historyKeyAt(startedMs)}abcde${at}`);
    await store.commit({ mutations: [{ type: "set", key, value: encodeLoginRecord(login) }] });
  }
}

Deno.test("a replay lists the sign-ins of 24 hours that a draft would change, newest first", async () => {
  await using desk = await openPolicyConsole();
  const { site, call, add } = desk;
  await site.people.put("bob");
  await putLogins(site, [
    ["10.1.2.3", 3 * HOUR_MS],
    ["203.0.113.9", 2 * HOUR_MS],
    ["10.1.2.4", HOUR_MS],
    ["10.1.2.5", 25 * HOUR_MS],
  ]);
  const replay = (draft: readonly object[]) =>
    call<ReplayAnswer>(REPLAY, { method: "POST", json: { draft } });
  const answer = await replay([{ ...OFFICE, id: "draft" }]);
  assertEquals([answer.evaluated, answer.changed, answer.cutAtMs], [3, 2, null]);
  assertEquals(answer.changes.map(({ place }) => place), ["10.1.2.4", "10.1.2.3"]);
  assertEquals(answer.changes.map(({ before, after }) => [before.policy, after.policy, after.effect.kind]), [
    [null, "Office", "accept"],
    [null, "Office", "accept"],
  ]);
  const { policies } = await add(OFFICE);
  assertEquals((await replay(policies)).changed, 0);
  assertEquals((await replay(policies.map((one) => ({ ...one, name: "Other name" })))).changed, 0);
  assertEquals((await replay([])).changed, 2);
});

Deno.test("a replay strips no domain and no realm from names that the client's rules have stripped", async () => {
  const stripping = `[[radius.client]]
name = "strips"
address = ["192.0.2.3"]
secret = "a secret of a test"
strip_realms = ["example.org"]
`;
  await using desk = await openPolicyConsole("owner", { more: stripping });
  const { site, call } = desk;
  // The user typed bob@example.org@example.org.
  await putLogins(site, [["10.1.2.3", HOUR_MS]], { user: "bob@example.org", client: "strips" });
  const changedBy = async (user: string): Promise<number> => {
    const draft = [{ ...policy("One user", { users: [user] }, { kind: "deny" }), id: "draft" }];
    return (await call<ReplayAnswer>(REPLAY, { method: "POST", json: { draft } })).changed;
  };
  assertEquals([await changedBy("bob"), await changedBy("bob@example.org")], [0, 1]);
});

/** A store whose reads of the history wait from `hold()` on, with their number. The start of the console reads it too. */
function heldHistory() {
  const opened = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let isHeld = false;
  const reads = { running: 0, most: 0 };
  const wrap = (store: Store): Store => ({
    ...store,
    async *range<T>(...args: Parameters<Store["range"]>) {
      if (!isHeld || args[0].start[0] !== "history") return yield* store.range<T>(...args);
      reads.most = Math.max(reads.most, ++reads.running);
      begun.resolve();
      await opened.promise;
      yield* store.range<T>(...args);
      reads.running--;
    },
  });
  return {
    wrap,
    reads,
    begun: begun.promise,
    hold: () => void (isHeld = true),
    open: () => opened.resolve(),
  };
}

Deno.test("one replay runs at a time, four wait for it, and the sixth is refused", async () => {
  const history = heldHistory();
  await using desk = await openPolicyConsole("owner", { wrap: history.wrap });
  const { call, refusal } = desk;
  history.hold();
  const json = { draft: [{ ...OFFICE, id: "draft" }] };
  const first = call<ReplayAnswer>(REPLAY, { method: "POST", json });
  await history.begun;
  // Only a refusal can be answered now.
  const others = Array.from({ length: 5 }, () => refusal(REPLAY, { method: "POST", json }));
  let refused = "";
  for (const one of others) void one.then(({ code }) => refused ||= code);
  await until("one replay is refused", () => refused !== "");
  assertEquals(refused, "overloaded");
  assertEquals(history.reads.running, 1);
  history.open();
  assertEquals((await first).evaluated, 0);
  const codes = (await Promise.all(others)).map(({ code }) => code);
  assertEquals(codes.toSorted(), ["", "", "", "", "overloaded"]);
  assertEquals(history.reads, { running: 0, most: 1 });
});
