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
import { createNotMeReports } from "../../radius/conversation/ended_logins.ts";
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

Deno.test("load() does not restore what clear() deleted", async () => {
  await using at = await ground();
  for (let i = 0; i < 3; i++) await keep(at.store, at.limits.countFailure("ada").mutation);
  const cleared = at.limits.clear("ada");
  if (cleared !== null) await keep(at.store, cleared);
  assert(!(await at.again()).isLocked("ada"));
});

Deno.test("what was counted while the clock was ahead ends when it would have ended with the right clock", async () => {
  await using at = await ground();
  const send = sendTo("ada", "+15005550006");
  at.clock.advance(24 * 60 * MINUTE);
  for (let count = 0; count < 2; count++) {
    await keep(at.store, at.limits.countPush("ada"), ...at.limits.countSend(send));
  }
  for (let count = 0; count < 3; count++) await keep(at.store, at.limits.countFailure("ada").mutation);
  at.clock.advance(-24 * 60 * MINUTE);
  const restarted = await at.again();
  for (const limits of [at.limits, restarted]) {
    assertEquals([limits.pushesLeft("ada"), limits.limitOf(send)], [false, "number_limit"]);
    assertEquals([limits.figures().sends, limits.locked()], [2, ["ada"]]);
  }
  at.clock.advance(62 * MINUTE);
  for (const limits of [at.limits, restarted]) {
    assertEquals([limits.pushesLeft("ada"), limits.limitOf(send), limits.locked()], [true, null, []]);
    limits.countSend(send);
    assertEquals(limits.figures().sends, 1);
  }
});

Deno.test("Limits keeps a record at least as long as it counts", async () => {
  await using at = await ground();
  const ttl = (mutation: Mutation) => mutation.type === "set" ? mutation.expireInMs ?? Infinity : 0;
  assert(ttl(at.limits.countPush("ada")) >= SETTINGS.pushes.windowMs);
  for (const mutation of at.limits.countSend(sendTo("ada", "+15005550006"))) {
    assert(ttl(mutation) >= SETTINGS.sends.windowMs);
  }
  assert(ttl(at.limits.countFailure("ada").mutation) >= 24 * 60 * MINUTE);
  // Only an administrator ends a lock of the hard limit.
  const many = Array.from({ length: 20 }, () => at.limits.countFailure("bob").mutation);
  assertEquals(many.slice(-2).map(ttl).map(Number.isFinite), [true, false]);
});

// Limits and pairings on two nodes: a write that depends on a record loses to the other node, and no other write does.

const USER = "ada";
const KEY = ["limit", "failures", USER];
const random = createSystemRandom();
const clock = createManualClock();
const vault = createVault(new Uint8Array(32).fill(1), random);
const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });

async function createMember(kv: Deno.Kv, node: string, { toml = "", aheadMs = 0 } = {}) {
  const { store } = await openNode(kv, node);
  const own: typeof clock = { ...clock, nowMs: () => clock.nowMs() + aheadMs };
  const limits = new Limits({ store, clock: own, settings: configOf(toml).factors });
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

Deno.test("messages of two nodes whose clocks differ by a minute count toward one limit per hour", async () => {
  using kv = await Deno.openKv(":memory:");
  const toml = "[factors.sends]\ntotal_per_hour = 200";
  const a = await createMember(kv, "a", { toml });
  const b = await createMember(kv, "b", { toml, aheadMs: MINUTE });
  const sent: boolean[] = [];
  for (let count = 0; count < 210; count++) {
    const { store, limits } = count % 2 === 0 ? a : b;
    await store.catchUp();
    const send = sendTo(`user${count}`, `+1500555${1000 + count}`);
    sent.push(limits.limitOf(send) === null);
    if (sent.at(-1)) await keep(store, ...limits.countSend(send));
  }
  assertEquals(sent.filter(Boolean).length, 200);
});

Deno.test("a lock does not end earlier because two nodes count failures in turn, and their clocks differ", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await createMember(kv, "a"), await createMember(kv, "b", { aheadMs: MINUTE / 2 })];
  await keep(b.store, b.limits.lockFor(USER, 15 * MINUTE).mutation);
  const { lockedUntilMs } = b.limits.failures(USER);
  for (const member of [a, b, a, b]) {
    await member.store.catchUp();
    assertEquals(await failOn(member), true);
  }
  assertEquals([b.limits.failures(USER).total, b.limits.failures(USER).lockedUntilMs], [4, lockedUntilMs]);
});

Deno.test("a failure that could not be recorded does not undo one that was counted after it, here or by another node", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await createMember(kv, "a"), await createMember(kv, "b")];
  const first = a.limits.countFailure(USER);
  a.limits.countFailure(USER).undo();
  const second = a.limits.countFailure(USER);
  first.undo();
  assertEquals(a.limits.failures(USER).total, 2);
  assertEquals([await failOn(b), await failOn(b), await failOn(b)], [true, true, true]);
  await a.store.catchUp();
  second.undo();
  assertEquals(a.limits.failures(USER).total, 3);
});

Deno.test("a push and a text that could not be recorded do not undo those that another node counted meanwhile", async () => {
  using kv = await Deno.openKv(":memory:");
  const toml = "[factors.pushes]\nper_user = 1\n[factors.sends]\nper_number = 1";
  const [a, b] = [await createMember(kv, "a", { toml }), await createMember(kv, "b", { toml })];
  const send = sendTo(USER, "+15005550006");
  const mutationsOf = ({ limits }: Member) => [limits.countPush(USER), ...limits.countSend(send)];
  mutationsOf(a);
  await keep(b.store, ...mutationsOf(b));
  await a.store.catchUp();
  a.limits.uncountPush(USER);
  a.limits.uncountSend(send);
  assertEquals([a.limits.pushesLeft(USER), a.limits.limitOf(send)], [false, "number_limit"]);
  assertEquals(a.limits.figures().sends, 1);
});

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
