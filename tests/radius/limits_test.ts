// Limits of a user: on one node, and on several.

import { assert, assertEquals } from "@std/assert";
import { Limits } from "../../radius/factors/limits.ts";
import { createStore, type Mutation, type Store } from "../../platform/store.ts";
import { configOf } from "../platform/config/samples.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";
import { createLoginPolicies } from "../fakes/login_policies.ts";
import { openNode } from "../fakes/shared_store.ts";
import { FoldedRecords } from "../../console/api/folded_records.ts";
import { reportNotMe } from "../../console/api/account/account_logins.ts";
import { createNotMeReports } from "../../radius/conversation/report_not_me.ts";
import { ConversationStore } from "../../radius/conversation/conversation_store.ts";
import type { Pairing, TotpPairingRow } from "../../radius/factors/pairing.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { tokenOf } from "./conversation_sample.ts";
import { silentSecondFactor } from "./silent_services.ts";

// Limits: failures and locks, pushes, messages, and their persistence over a restart.

const SETTINGS = configOf(`
[factors.lockout]
failures = 3
minutes = 15
hard_limit = 20
[factors.pushes]
per_user = 2
window_s = 600
[factors.sends]
per_user = 3
per_number = 2
window_s = 600
`).factors;
const MINUTE = 60_000;

interface Ground extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly limits: Limits;
  /** Does what a restart does: new limits over the same store. */
  again(): Promise<Limits>;
}

async function ground(): Promise<Ground> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const make = () => new Limits({ store, clock, settings: SETTINGS });
  return {
    store,
    clock,
    limits: make(),
    async again() {
      const limits = make();
      await limits.load();
      return limits;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

const keep = (store: Store, ...mutations: Mutation[]) => store.commit({ mutations });

const sendTo = (user: string, number: string) => ({ user, number, client: "vpn" });

/** Fails `times` times; returns for each failure whether it locked. */
function fail(limits: Limits, user: string, times: number): boolean[] {
  return Array.from({ length: times }, () => limits.countFailure(user).locked);
}

Deno.test("fail() locks only that user at the third failure in a row, for the time in the settings", async () => {
  await using at = await ground();
  assertEquals(fail(at.limits, "ada", 3), [false, false, true]);
  assertEquals([at.limits.isLocked("ada"), at.limits.isLocked("bob")], [true, false]);
  at.clock.advance(15 * MINUTE - 1);
  assert(at.limits.isLocked("ada"));
  at.clock.advance(1);
  assert(!at.limits.isLocked("ada"));
});

Deno.test("fail() doubles each further lock until a success, up to 24 hours", async () => {
  await using at = await ground();
  const minutes: number[] = [];
  for (let lock = 0; lock < 6; lock++) {
    fail(at.limits, "ada", 3);
    minutes.push((at.limits.failures("ada").lockedUntilMs - at.clock.nowMs()) / MINUTE);
    at.clock.advance(24 * 60 * MINUTE);
  }
  assertEquals(minutes, [15, 30, 60, 120, 240, 480]);
  const long = new Limits({
    store: at.store,
    clock: at.clock,
    settings: { ...SETTINGS, lockout: { ...SETTINGS.lockout, hardLimit: 1_000_000 } },
  });
  fail(long, "bob", 3 * 200);
  assertEquals(long.failures("bob").lockedUntilMs - at.clock.nowMs(), 24 * 60 * MINUTE);
});

Deno.test("clear() clears everything, so that the next lock is a short one again", async () => {
  await using at = await ground();
  fail(at.limits, "ada", 6);
  assert(at.limits.clear("ada") !== null);
  assertEquals([at.limits.isLocked("ada"), at.limits.failures("ada").total], [false, 0]);
  fail(at.limits, "ada", 3);
  assertEquals(at.limits.failures("ada").lockedUntilMs - at.clock.nowMs(), 15 * MINUTE);
  assertEquals(at.limits.clear("nobody"), null);
});

Deno.test("fail() locks permanently at the hard limit: only clear() unlocks", async () => {
  await using at = await ground();
  const locked = Array.from({ length: 20 }, () => {
    at.clock.advance(25 * 60 * MINUTE);
    return at.limits.countFailure("ada");
  });
  assertEquals(locked.at(-2)?.failures.hardLocked, false);
  assertEquals([locked.at(-1)?.failures.hardLocked, locked.at(-1)?.locked], [true, true]);
  at.clock.advance(400 * 24 * 60 * MINUTE);
  assert(at.limits.isLocked("ada"));
  const last = locked.at(-1)?.mutation;
  assertEquals(last?.type === "set" ? last.expireInMs : "none", undefined);
  at.limits.clear("ada");
  assert(!at.limits.isLocked("ada"));
});

Deno.test("load() restores locks and counts after a restart", async () => {
  await using at = await ground();
  for (let i = 0; i < 3; i++) await keep(at.store, at.limits.countFailure("ada").mutation);
  for (let i = 0; i < 2; i++) await keep(at.store, at.limits.countPush("ada"));
  for (let i = 0; i < 2; i++) await keep(at.store, ...at.limits.countSend(sendTo("ada", "+15005550006")));
  const later = await at.again();
  assert(later.isLocked("ada"));
  assertEquals(later.failures("ada"), at.limits.failures("ada"));
  assertEquals([later.pushesLeft("ada"), later.sendsLeft("ada", "+15005550006")], [false, false]);
  assertEquals([later.sendsLeft("ada", "+15005550007"), later.sendsLeft("bob", "+15005550006")], [
    true,
    false,
  ]);
});

Deno.test("load() does not restore what clear() deleted", async () => {
  await using at = await ground();
  for (let i = 0; i < 3; i++) await keep(at.store, at.limits.countFailure("ada").mutation);
  const cleared = at.limits.clear("ada");
  if (cleared !== null) await keep(at.store, cleared);
  assert(!(await at.again()).isLocked("ada"));
});

Deno.test("countPush() uses up a user's pushes, which return one by one as the window passes", async () => {
  await using at = await ground();
  at.limits.countPush("ada");
  at.clock.advance(5 * MINUTE);
  assert(at.limits.pushesLeft("ada"));
  at.limits.countPush("ada");
  assert(!at.limits.pushesLeft("ada") && at.limits.pushesLeft("bob"));
  at.clock.advance(5 * MINUTE - 1);
  assert(!at.limits.pushesLeft("ada"));
  at.clock.advance(1);
  assert(at.limits.pushesLeft("ada"));
  at.limits.countPush("ada");
  assert(!at.limits.pushesLeft("ada"));
});

Deno.test("countSend() counts per user over all numbers, and per number over all users", async () => {
  await using at = await ground();
  const { limits } = at;
  limits.countSend(sendTo("ada", "+1500555000a"));
  limits.countSend(sendTo("ada", "+1500555000b"));
  assert(limits.sendsLeft("ada", "+1500555000c"));
  // A refused message counts only for the user.
  const refused = limits.countRefusedSend("ada");
  assertEquals("key" in refused && refused.key, ["limit", "user_send", "ada"]);
  assert(!limits.sendsLeft("ada", "+1500555000c") && !limits.sendsLeft("ada", null));
  limits.countSend(sendTo("bob", "+1500555000a"));
  assert(!limits.sendsLeft("carl", "+1500555000a") && limits.sendsLeft("carl", "+1500555000b"));
  at.clock.advance(10 * MINUTE);
  assert(limits.sendsLeft("ada", "+1500555000a"));
});

Deno.test("Limits keeps a record at least as long as it counts", async () => {
  await using at = await ground();
  const ttl = (mutation: Mutation) => mutation.type === "set" ? mutation.expireInMs ?? Infinity : 0;
  assert(ttl(at.limits.countPush("ada")) >= SETTINGS.pushes.windowMs);
  for (const mutation of at.limits.countSend(sendTo("ada", "+15005550006"))) {
    assert(ttl(mutation) >= SETTINGS.sends.windowMs);
  }
  assert(ttl(at.limits.countFailure("ada").mutation) >= 24 * 60 * MINUTE);
});

// Limits and pairings on two nodes: a write that depends on a record loses to the other node, and no other write does.

const USER = "ada";
const KEY = ["limit", "failures", USER];
const random = createSystemRandom();
const clock = createManualClock();
const vault = createVault(new Uint8Array(32).fill(1), random);
const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });

async function createMember(kv: Deno.Kv, node: string) {
  const { store } = await openNode(kv, node);
  const limits = new Limits({ store, clock, settings: configOf("").factors });
  const pairings = new Pairings({ store, vault, clock, random, target: "default" });
  return { store, limits, pairings };
}

type Member = Awaited<ReturnType<typeof createMember>>;

async function failOn({ store, limits }: Member): Promise<boolean> {
  return (await store.commit({ mutations: [limits.countFailure(USER).mutation] })).ok;
}

/** Runs a task before the first commit. */
function interrupted(store: Store, task: () => Promise<unknown>): Store {
  let isFirst = true;
  return {
    ...store,
    async commit(transaction) {
      const wasFirst = isFirst;
      isFirst = false;
      if (wasFirst) await task();
      return await store.commit(transaction);
    },
  };
}

Deno.test("a report keeps the failures that another node counts meanwhile, and both nodes have the lock", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await createMember(kv, "a"), await createMember(kv, "b")];
  await failOn(a);
  await b.store.catchUp();
  const store = interrupted(a.store, () => failOn(b));
  const conversations = new ConversationStore({ store, clock, tokenOf, maxConversations: 10 });
  const { lockedUntilMs } = await reportNotMe({
    ...{ store, clock, random, log, secondFactorAdmin: () => null },
    people: {
      prepareNotMeReport: createNotMeReports({
        ...{ store, log, conversations, limits: a.limits, secondFactor: silentSecondFactor },
        remembered: createLoginPolicies({ store, clock, random, vault }).remembered,
        bypassCodes: { removeUser: () => ({ mutations: [], restore: () => undefined }) },
        target: () => "default",
        changed: () => undefined,
        disconnects: { prepareReport: () => ({ mutations: [], done: () => undefined, count: 0 }) },
      }),
    },
    records: new FoldedRecords({ clock }),
    sessions: { prepareEndAll: () => Promise.resolve({ checks: [], mutations: [] }) },
  }, { user: USER, source: "192.0.2.1", keepSessionId: null, about: null });
  await b.store.catchUp();
  for (const { limits } of [a, b]) {
    const { total, lockedUntilMs: untilMs } = limits.failures(USER);
    assertEquals([total, untilMs], [2, lockedUntilMs]);
  }
});

const OWN_WRITES: Readonly<Record<string, (member: Member) => Promise<unknown>>> = {
  "an unlock": ({ store, limits }) => {
    const cleared = limits.unlock(USER);
    return store.commit({ mutations: cleared === null ? [] : [cleared] });
  },
  "a lock": ({ store, limits }) => store.commit({ mutations: [limits.lockFor(USER, 1000).mutation] }),
};

for (const [what, write] of Object.entries(OWN_WRITES)) {
  Deno.test(`after ${what}, the next failure on the same node does not race`, async () => {
    using kv = await Deno.openKv(":memory:");
    const a = await createMember(kv, "a");
    await failOn(a);
    await write(a);
    assertEquals(await failOn(a), true);
    assertEquals((await kv.get(KEY)).versionstamp !== null, true);
  });
}

async function enrol({ store, pairings }: Member, addedBy?: string): Promise<TotpPairingRow> {
  const { mutation, pairing } = pairings.prepare({ canonical: USER, shown: USER }, {
    kind: "totp",
    seed: new Uint8Array(20),
    ...(addedBy === undefined ? {} : { addedBy: { id: addedBy } }),
  });
  await store.commit({ mutations: [mutation] });
  pairings.adopt(pairing);
  return totpOf(pairing);
}

function totpOf(pairing: Pairing | undefined): TotpPairingRow {
  if (pairing?.kind !== "totp") throw new Error("This is not the pairing of an authenticator app");
  return pairing;
}

async function useStep({ store, pairings }: Member, id: string, step: number): Promise<boolean> {
  const used = pairings.prepareUsedStep(totpOf(pairings.of(USER).find((one) => one.id === id)), {
    step,
    drift: 0,
  });
  const { ok } = await store.commit(used);
  if (ok) pairings.adopt(used.pairing);
  return ok;
}

Deno.test("the first code after an enrolment and after a confirmation does not race", async () => {
  using kv = await Deno.openKv(":memory:");
  const a = await createMember(kv, "a");
  const { id } = await enrol(a, "a phone");
  assertEquals(await useStep(a, id, 1), true);
  await a.pairings.confirm(id, []);
  assertEquals(await useStep(a, id, 2), true);
});

Deno.test("revoke() that confirms an authenticator app keeps the time step that another node used meanwhile", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await createMember(kv, "a"), await createMember(kv, "b")];
  await a.pairings.addDevice({ id: "phone", userName: USER, totpLength: 0 });
  const { id } = await enrol(a, "phone");
  await b.store.catchUp();
  assertEquals(await useStep(b, id, 7), true);
  // `a` has not read it yet.
  const revoked = await a.pairings.revoke("phone", [], { confirmsAdded: true });
  assertEquals(revoked?.id, "phone");
  const app = totpOf(a.pairings.of(USER)[0]);
  assertEquals([app.lastStep, app.addedBy, a.pairings.of(USER).length], [7, undefined, 1]);
  const { value } = await kv.get<TotpPairingRow>(a.pairings.keyOf(app));
  assertEquals([value?.lastStep, value?.addedBy], [7, undefined]);
});
