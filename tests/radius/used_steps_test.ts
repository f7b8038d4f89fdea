// Used time steps of authenticator apps: lines of the journal, and the records of pairings that follow.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { DAY_MS, MINUTE_MS } from "../../platform/durations.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { WriteBatch } from "../../platform/write_batch.ts";
import {
  applyStoreEffect,
  ConcurrentUpdateError,
  type Turn,
  type TurnDeps,
} from "../../radius/conversation/store_effects.ts";
import type { TotpPairingRow } from "../../radius/factors/pairing.ts";
import { Pairings } from "../../radius/factors/pairings.ts";
import { UsedSteps } from "../../radius/factors/used_steps.ts";
import { openNode } from "../fakes/shared_store.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

const random = createSystemRandom();
const vault = createVault(new Uint8Array(32).fill(1), random);
const SEED = new TextEncoder().encode("a seed of twenty oct");
const LOGINS = { conversationTtlMs: 300_000 };
const ADA = { canonical: "ada", shown: "Ada" };

interface Run {
  readonly usedSteps: UsedSteps;
  readonly pairings: Pairings;
  readonly errors: string[];
}

/** What a start of the gateway does. */
async function start(store: Store, clock: ManualClock): Promise<Run> {
  const errors: string[] = [];
  const log = createLog({ format: "text", level: "error", clock, write: () => void errors.push("error") });
  const usedSteps = new UsedSteps({ store, clock, log, logins: LOGINS });
  await usedSteps.load();
  const pairings = new Pairings({ store, vault, clock, random, target: "default", usedSteps });
  usedSteps.recordOf = (id) => pairings.stepRecord(id);
  await pairings.load();
  return { usedSteps, pairings, errors };
}

async function enrol(store: Store, { pairings }: Run): Promise<void> {
  const { mutation, pairing } = pairings.prepare(ADA, { kind: "totp", seed: SEED });
  await store.commit({ mutations: [mutation] });
  pairings.adopt(pairing);
}

function appOf({ pairings }: Run): TotpPairingRow {
  const [app] = pairings.of("ada");
  if (app?.kind !== "totp") throw new Error("Ada has no app");
  return app;
}

/** Uses a step as a login does. */
async function use(store: Store, run: Run, step: number, drift = 0): Promise<void> {
  const used = run.pairings.prepareUsedStep(appOf(run), { step, drift });
  run.pairings.adopt(used.pairing);
  await store.commit(used);
  used.done();
}

async function storedStep(store: Store): Promise<number | null> {
  for await (const { value } of store.list<TotpPairingRow>(["pairing"])) return value?.lastStep ?? null;
  return null;
}

async function open(): Promise<{ store: Store; clock: ManualClock } & AsyncDisposable> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  return { store, clock, [Symbol.asyncDispose]: () => store.close() };
}

const stepNow = (clock: ManualClock) => Math.floor(clock.nowMs() / 30_000);

Deno.test("prepareUsedStep() writes a line and no key; a restart knows the newest step and its drift", async () => {
  await using at = await open();
  const first = await start(at.store, at.clock);
  await enrol(at.store, first);
  const step = stepNow(at.clock);
  await use(at.store, first, step - 1);
  await use(at.store, first, step, -3);
  assertEquals(await storedStep(at.store), -1);
  const second = await start(at.store, at.clock);
  assertEquals([appOf(second).lastStep, appOf(second).drift], [step, -3]);
});

Deno.test("flush() writes the newest step half a minute later, once, also that of an earlier run", async () => {
  await using at = await open();
  const first = await start(at.store, at.clock);
  await enrol(at.store, first);
  const step = stepNow(at.clock);
  await use(at.store, first, step - 1);
  await use(at.store, first, step);
  const second = await start(at.store, at.clock);
  let commits = 0;
  const commit = at.store.commit;
  at.store.commit = (transaction) => (commits++, commit(transaction));
  at.store.get = () => Promise.reject(new Error("one node needs no read"));
  await second.usedSteps.flush();
  await second.usedSteps.flush();
  assertEquals([await storedStep(at.store), commits], [step, 1]);
  assertEquals(appOf(await start(at.store, at.clock)).lastStep, step);
});

Deno.test("flush() never restores a pairing that is revoked meanwhile, nor undoes another change of it", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  await use(at.store, run, stepNow(at.clock));
  const { get } = at.store;
  // As for a pairing of another directory, which only the store knows.
  run.usedSteps.recordOf = () => null;
  at.store.get = async <T>(key: Deno.KvKey) => {
    const entry = await get<T>(key);
    await run.pairings.revoke(appOf(run).id).catch(() => undefined);
    return entry;
  };
  await run.usedSteps.flush();
  at.store.get = get;
  assertEquals(await storedStep(at.store), null);
  await run.usedSteps.flush();
  assertEquals(await storedStep(at.store), null);
});

Deno.test("confirm() and a login at the same moment: the app is confirmed, and its step is used", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  const addedBy = { id: "phone" };
  const { mutation, pairing } = run.pairings.prepare(ADA, { kind: "totp", seed: SEED, addedBy });
  await at.store.commit({ mutations: [mutation] });
  run.pairings.adopt(pairing);
  const step = stepNow(at.clock);
  await use(at.store, run, step - 1);
  const confirming = run.pairings.confirm(pairing.id, []);
  // Its memory is older than the store will be.
  assertEquals(run.pairings.stepRecord(pairing.id), null);
  const flushing = run.usedSteps.flush();
  await use(at.store, run, step);
  assertEquals((await confirming)?.addedBy, undefined);
  await flushing;
  await run.usedSteps.flush();
  assertEquals(await storedStep(at.store), step);
  for (const { pairings } of [run, await start(at.store, at.clock)]) {
    const [app] = pairings.of("ada");
    assertEquals([app?.addedBy, app?.kind === "totp" && app.lastStep], [undefined, step]);
  }
});

Deno.test("flush() tries again after a failure, and logs it", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const step = stepNow(at.clock);
  await use(at.store, run, step);
  const { commit } = at.store;
  at.store.commit = () => Promise.reject(new Error("the disk is full"));
  const later = () => (at.clock.advance(30_000), new Promise((resolve) => setTimeout(resolve, 1)));
  while (run.errors.length === 0) await later();
  assertEquals(await storedStep(at.store), -1);
  at.store.commit = commit;
  while (await storedStep(at.store) !== step) await later();
});

Deno.test("load() counts damaged lines, and reads the others", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const step = stepNow(at.clock);
  await use(at.store, run, step);
  for (const octets of [Uint8Array.of(3, 0), Uint8Array.of(3, 0, 1, 65, 0xff, 0xff)]) {
    await at.store.commit({ mutations: [], journal: [{ octets, expireInMs: 60_000 }] });
  }
  const { store, clock } = at;
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  assertEquals(await new UsedSteps({ store, clock, log, logins: LOGINS }).load(), { unreadable: 2 });
  assertEquals(appOf(await start(at.store, at.clock)).lastStep, step);
});

Deno.test("a start with a clock that is ahead loses no used step", async () => {
  const path = await Deno.makeTempFile();
  const clock = createManualClock();
  const before = createStore(await Deno.openKv(path), { nowMs: clock.nowMs });
  const run = await start(before, clock);
  await enrol(before, run);
  const step = stepNow(clock);
  await use(before, run, step);
  await before.close();
  // Deno KV compares with the clock of the host. A clock a week ahead is a week less for each entry.
  {
    using database = new DatabaseSync(path);
    database.exec(`UPDATE kv SET expiration_ms = expiration_ms - ${7 * DAY_MS} WHERE expiration_ms >= 0`);
  }
  const after = createStore(await Deno.openKv(path), { nowMs: clock.nowMs });
  assertEquals(appOf(await start(after, clock)).lastStep, step);
  await after.close();
  await Deno.remove(path);
});

Deno.test("flush() deletes the lines that no login needs, once their steps are in the records", async () => {
  await using at = await open();
  const { store, clock } = at;
  const run = await start(store, clock);
  await enrol(store, run);
  const step = stepNow(clock);
  const lines = async () => (await Array.fromAsync(store.journal())).length;
  for (let login = 0; login < 300; login++) await use(store, run, step - 300 + login);
  clock.advance(LOGINS.conversationTtlMs + 3 * MINUTE_MS);
  await use(store, run, step);
  const { commit } = store;
  store.commit = () => Promise.reject(new Error("the disk is full"));
  await assertRejects(() => run.usedSteps.flush());
  assertEquals(await lines(), 301);
  store.commit = commit;
  await run.usedSteps.flush();
  assertEquals([await lines(), await storedStep(store)], [1, step]);
});

Deno.test("a packet whose code was used, or whose app was removed, since the code was found loses the race", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const found = { pairing: appOf(run), step: stepNow(at.clock), drift: 0 };
  const useFound = () => {
    const turn = { conversation: { user: "ada" }, attempt: { totp: found }, batch: new WriteBatch() };
    const unused = {} as never;
    applyStoreEffect(run as unknown as TurnDeps, "take_totp_step", turn as unknown as Turn, unused, unused);
  };
  useFound();
  assertThrows(useFound, ConcurrentUpdateError);
  found.step += 1;
  run.pairings.prepareRevoke("ada", [found.pairing.id]);
  assertThrows(useFound, ConcurrentUpdateError);
});

Deno.test("a failed commit makes a used code valid again, unless the pairing changed since", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const step = stepNow(at.clock);
  const take = (code: number) => {
    const totp = { pairing: appOf(run), step: code, drift: 0 };
    const turn = { conversation: { user: "ada" }, attempt: { totp }, batch: new WriteBatch() };
    const unused = {} as never;
    applyStoreEffect(run as unknown as TurnDeps, "take_totp_step", turn as unknown as Turn, unused, unused);
    return turn.batch;
  };
  take(step).rollBack();
  assertEquals(appOf(run).lastStep, -1);
  const first = take(step);
  // The same record again, as another node would have written it.
  run.pairings.adopt({ ...appOf(run) });
  first.rollBack();
  assertEquals(appOf(run).lastStep, step);
  const second = take(step + 1);
  run.pairings.prepareRevoke("ada", [appOf(run).id]);
  second.rollBack();
  assertEquals(run.pairings.of("ada"), []);
});

Deno.test("a code that was found before another one was used: if its commit fails, the other one stays used", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const step = stepNow(at.clock);
  const totp = { pairing: appOf(run), step: step + 1, drift: 0 };
  await use(at.store, run, step);
  const turn = { conversation: { user: "ada" }, attempt: { totp }, batch: new WriteBatch() };
  const unused = {} as never;
  applyStoreEffect(run as unknown as TurnDeps, "take_totp_step", turn as unknown as Turn, unused, unused);
  turn.batch.rollBack();
  assertEquals(appOf(run).lastStep, step);
});

Deno.test("a revocation that fails keeps the steps that logins used meanwhile, also in the record", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  const phone = run.pairings.prepare(ADA, { kind: "device", id: "phone", totpLength: 0 });
  run.pairings.adopt(phone.pairing);
  const addedBy = { id: "phone" };
  const { mutation, pairing } = run.pairings.prepare(ADA, { kind: "totp", seed: SEED, addedBy });
  await at.store.commit({ mutations: [phone.mutation, mutation] });
  run.pairings.adopt(pairing);
  const { commit } = at.store;
  const failed = Promise.withResolvers<never>();
  at.store.commit = () => failed.promise;
  const revoking = run.pairings.revoke("phone", [], { confirmsAdded: true });
  at.store.commit = commit;
  const step = stepNow(at.clock);
  const app = () => run.pairings.of("ada").find((one) => one.kind === "totp") as TotpPairingRow;
  const used = run.pairings.prepareUsedStep(app(), { step, drift: 0 });
  run.pairings.adopt(used.pairing);
  await at.store.commit(used);
  used.done();
  failed.reject(new Error("the disk is full"));
  await assertRejects(() => revoking, Error, "the disk is full");
  assertEquals([app().lastStep, app().addedBy], [step, addedBy]);
  await run.usedSteps.flush();
  const { value } = await at.store.get<TotpPairingRow>(run.pairings.keyOf(pairing));
  assertEquals(value?.lastStep, step);
});

Deno.test("confirm() does not take an app back to the former name of a user who is renamed meanwhile", async () => {
  await using at = await open();
  const run = await start(at.store, at.clock);
  await enrol(at.store, run);
  const { commit } = at.store;
  at.store.commit = async (transaction) => {
    const outcome = await commit(transaction);
    const [app] = run.pairings.removeUser("ada").pairings;
    run.pairings.adopt({ ...app as TotpPairingRow, user: "bea", shownUser: "Bea" });
    return outcome;
  };
  assertEquals(await run.pairings.confirm(appOf(run).id, []), null);
  assertEquals([run.pairings.of("ada").length, run.pairings.of("bea").length], [0, 1]);
});

Deno.test("with several nodes, a used step is a change of the record, and lines of one node are read", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const alone = createStore(kv, { nowMs: clock.nowMs });
  const before = await start(alone, clock);
  await enrol(alone, before);
  const step = stepNow(clock);
  await use(alone, before, step);
  const { store } = await openNode(kv, "a");
  const run = await start(store, clock);
  assertEquals(appOf(run).lastStep, step);
  await use(store, run, step + 1);
  assertEquals(await storedStep(store), step + 1);
  assertEquals(run.pairings.prepareUsedStep(appOf(run), { step: step + 2, drift: 0 }).journal, []);
});
