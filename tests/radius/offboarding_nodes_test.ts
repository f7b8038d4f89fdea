// The removal of a user on one node, and the logins of the user on another node whose clock differs.

import { assertEquals } from "@std/assert";
import { createLoginPolicies } from "../fakes/login_policies.ts";
import { openNode } from "../fakes/shared_store.ts";
import { createOrderedIds } from "../../radius/conversation/conversation.ts";
import { ConversationStore } from "../../radius/conversation/conversation_store.ts";
import { Offboarding } from "../../radius/factors/offboarding.ts";
import { EnrolmentMarks } from "../../radius/factors/own_factors.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { BypassCodeStore } from "../../radius/factors/bypass_codes.ts";
import { RecoveryCodeStore } from "../../radius/factors/recovery_codes.ts";
import { HardwareTokens } from "../../radius/tokens/hardware_tokens.ts";
import { Counters } from "../../radius/server/gateway_monitor.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation, tokenOf } from "./conversation_sample.ts";
import { silentSecondFactor } from "./silent_services.ts";
import { commitChange } from "../fakes/commit_change.ts";

const START_MS = 1_800_000_000_000;
const USER = "ada";

async function createMember(kv: Deno.Kv, node: string, startMs: number) {
  const { store } = await openNode(kv, node);
  const clock = createManualClock(startMs);
  const random = createSystemRandom();
  const vault = createVault(new Uint8Array(32).fill(1), random);
  const factors = { store, vault, clock, random, target: "default" };
  const orderedId = createOrderedIds(clock, random);
  const offboarding = new Offboarding({
    remembered: createLoginPolicies({ store, vault, clock, random }).remembered,
    ...{ store, clock, orderedId, target: "default", logins: { conversationTtlMs: 300_000 } },
    log: createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() }),
    enrolment: new EnrolmentMarks({ store, target: "default" }),
    pairings: new Pairings(factors),
    recoveryCodes: new RecoveryCodeStore(factors),
    hardwareTokens: new HardwareTokens(factors),
    bypassCodes: new BypassCodeStore(factors),
    conversations: new ConversationStore({ store, clock, tokenOf, maxConversations: 10, node }),
    counters: new Counters(),
    secondFactor: silentSecondFactor,
    changed: () => undefined,
  });
  const begin = () => conversation(orderedId(), { clock, user: USER });
  return { store, clock, offboarding, begin };
}

for (const aheadMs of [-30_000, 0, 30_000]) {
  Deno.test(`hasLeft() refuses the logins before a removal, and none after it, with a clock that is ${aheadMs / 1000} s ahead`, async () => {
    using kv = await Deno.openKv(":memory:");
    const a = await createMember(kv, "a", START_MS + aheadMs);
    const b = await createMember(kv, "b", START_MS);
    const [ofA, ofB] = [a.begin(), b.begin()];
    // As the node that reads it converts it.
    const seenFromB = { ...ofA, startedMs: ofA.startedMs - aheadMs };
    for (const { clock } of [a, b]) clock.advance(1000);
    const leaving = a.offboarding.prepare(USER);
    await commitChange(a.store, leaving);
    await b.store.catchUp();
    for (const { clock } of [a, b]) clock.advance(1000);
    assertEquals([ofB, seenFromB].map((one) => b.offboarding.hasLeft(one)), [true, true]);
    assertEquals(a.offboarding.hasLeft(ofA), true);
    // The user was created again. That the removal is read once more changes nothing.
    await b.store.reread([["user_departure", "default", USER]]);
    assertEquals([a.offboarding.hasLeft(a.begin()), b.offboarding.hasLeft(b.begin())], [false, false]);
  });
}

for (
  const [when, sinceMs] of [["long ago", 86_400_000], ["just before the start of this node", 1000]] as const
) {
  Deno.test(`a removal ${when} that a lost race reads again ends no login of the user, who is back`, async () => {
    using kv = await Deno.openKv(":memory:");
    const a = await createMember(kv, "a", START_MS);
    const leaving = a.offboarding.prepare(USER);
    await commitChange(a.store, leaving);
    const b = await createMember(kv, "b", START_MS + sinceMs);
    await b.offboarding.load();
    const login = b.begin();
    b.clock.advance(5000);
    const keys = b.offboarding.departureChecks(USER).map(({ key }) => key);
    await b.store.reread(keys);
    assertEquals([keys.length, b.offboarding.hasLeft(login)], [1, false]);
  });
}

Deno.test("a removal long ago whose version is unknown ends no login of the user, who is back", async () => {
  using kv = await Deno.openKv(":memory:");
  const a = await createMember(kv, "a", START_MS);
  await a.store.commit({ mutations: a.offboarding.prepare(USER).mutations });
  const b = await createMember(kv, "b", START_MS + 86_400_000);
  const login = b.begin();
  await b.store.reread([["user_departure", "default", USER]]);
  assertEquals(b.offboarding.hasLeft(login), false);
});

Deno.test("an own removal is known to the check of the next Accept, so that it does not race", async () => {
  using kv = await Deno.openKv(":memory:");
  const a = await createMember(kv, "a", START_MS);
  const leaving = a.offboarding.prepare(USER);
  await commitChange(a.store, leaving);
  const checks = a.offboarding.departureChecks(USER);
  assertEquals((await a.store.commit({ checks, mutations: [] })).ok, true);
});
