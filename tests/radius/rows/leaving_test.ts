// A user is deleted or deactivated: the same commit removes their pairings and ends their logins, and no login is
// accepted after it.

import { assert, assertEquals } from "@std/assert";
import { interceptCommits } from "../regression/failing_commits.ts";
import { afterStatus, createGate } from "./gates.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, exchangeJudged } from "./login.ts";
import { becomes, whileTimePasses } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, lastRequest, register, SEED } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";

const NUMBER = "+4915112345678";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const DENIED = ["reject", "Access denied."];
const kinds = ({ radius }: InProcess, user: string) => radius.pairings.of(user).map(({ kind }) => kind);

/** The leaving as the directory makes it: its own change and the gateway's additions, in one commit. */
async function leave(world: InProcess, user: string): Promise<void> {
  const leaving = world.radius.prepareOffboarding(user);
  await commitChange(world.store, leaving, () => world.people.remove(user));
}

async function stored(world: InProcess, prefix: Deno.KvKey): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { value } of world.store.list<unknown>(prefix)) values.push(value);
  return values;
}

async function giveEverything(world: InProcess, user: string): Promise<void> {
  await register(world, user);
  await giveDevice(world, user);
  await give(world, user, { kind: "sms", number: NUMBER });
  await give(world, user, { kind: "totp", seed: SEED });
  await world.store.commit({ mutations: [world.radius.pairings.preparePreference(user, "totp")] });
  world.radius.pairings.adoptPreference(user, "totp");
}

Deno.test("leaving: all pairings and the preference are removed, in memory and in the store, each with its audit record", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  await give(world, "bert", { kind: "totp", seed: SEED });
  await leave(world, "anna");
  assertEquals([kinds(world, "anna"), world.radius.pairings.preferred("anna")], [[], null]);
  assertEquals((await stored(world, ["pairing", "default", "anna"])).length, 0);
  assertEquals((await stored(world, ["preference"])).length, 0);
  assertEquals(kinds(world, "bert"), ["totp"]);
  const audits = (await stored(world, ["audit"])) as { action: string; factor: string; because: string }[];
  const revoked = audits.filter(({ action }) => action === "pairing.revoke");
  assertEquals(revoked.map(({ factor }) => factor).sort(), ["device", "sms", "totp"]);
  assertEquals([...new Set(revoked.map(({ because }) => because))], ["user_left"]);
  assert(!JSON.stringify(audits).includes(NUMBER), "the number is masked");
});

Deno.test("leaving: listeners receive each unpaired phone after the commit", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const told: string[] = [];
  const stop = world.radius.onRevoked(({ userName }) => void told.push(userName));
  const leaving = world.radius.prepareOffboarding("anna");
  assertEquals(told, []);
  await commitChange(world.store, leaving);
  assertEquals(told, ["anna"]);
  stop();
});

Deno.test("leaving: during its commit a login finds no pairing, and nothing is recorded for it", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const leaving = world.radius.prepareOffboarding("anna");
  assertEquals(kinds(world, "anna"), []);
  const packet = world.login({ user: "anna" }).buildStart("pw");
  await world.client.sendRaw(packet.bytes);
  await becomes("it is dropped", () => world.radius.monitor.counters().dropped_store_failed === 1);
  await world.people.remove("anna");
  leaving.done("1");
  const again = await exchangeJudged(world, packet);
  assertEquals(brief(again), DENIED);
});

Deno.test("leaving: after undo() everything is as before", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, CODE);
  const before = kinds(world, "anna");
  world.radius.prepareOffboarding("anna").undo();
  assertEquals([kinds(world, "anna"), world.radius.pairings.preferred("anna")], [before, "totp"]);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("leaving: a live login is over, also after a restart", async () => {
  const dir = await Deno.makeTempDir();
  const kvPath = `${dir}/store`;
  await using world = await startInProcess({ kvPath });
  await giveEverything(world, "anna");
  const login = world.login({ user: "anna" });
  const other = world.login({ user: "bert" });
  await login.start();
  await other.start("");
  await leave(world, "anna");
  const ended = world.radius.monitor.conversations(10).find(({ user }) => user === "anna");
  assertEquals([ended?.outcome, ended?.moments.at(-1)?.row], ["cancelled", "user_left"]);
  assertEquals(world.radius.monitor.alive(), 1);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "reject");
  await world.stop();
  await using next = await startInProcess({ kvPath, after: world });
  assertEquals(next.radius.monitor.alive(), 1);
  // The user is created again: earlier logins do not continue.
  await register(next, "anna");
  login.moveTo(next);
  assertEquals((await login.answer(appCode(next.clock.nowMs()))).kind, "reject");
  other.moveTo(next);
  assertEquals((await other.answer("x")).step, MENU);
  await next.stop();
  await Deno.remove(dir, { recursive: true });
});

Deno.test("leaving: a user who is created again logs in, without the old factors", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  await leave(world, "anna");
  world.clock.advance(10);
  await register(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, MENU);
  await give(world, "anna", { kind: "totp", seed: SEED });
  const second = world.login({ user: "anna" });
  assertEquals((await second.start()).step, CODE);
  assertEquals((await second.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("leaving: an approval from before it that is read after it is no Accept", async () => {
  const gate = createGate();
  await using world = await startInProcess({
    toml: '[radius]\ndevice = "hold"',
    between: { secondFactor: afterStatus(gate) },
  });
  const pairing = await giveDevice(world, "anna");
  await register(world, "anna");
  const held = exchangeJudged(world, world.login({ user: "anna" }).buildStart("pw"));
  await becomes("the push is out", () => world.secondFactor.initiated().length === 1);
  decide(world, pairing, true);
  await gate.reached();
  await leave(world, "anna");
  gate.open();
  assertEquals(brief(await held), DENIED);
  assertEquals(world.radius.monitor.counters().accepts, 0);
  assertEquals(lastRequest(world, pairing).id.length > 0, true);
});

Deno.test("leaving: an Accept that is decided during its commit is never sent", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  const code = appCode(world.clock.nowMs());
  // The pairing of the code is not in memory, so only a turn that read it earlier can still accept.
  const { radius } = world;
  const [totp] = radius.pairings.of("anna").filter(({ kind }) => kind === "totp");
  const leaving = radius.prepareOffboarding("anna");
  if (totp !== undefined) radius.pairings.adopt(totp);
  await world.client.sendRaw(login.build(code).bytes);
  await becomes("it is dropped", () => radius.monitor.counters().dropped_store_failed === 1);
  await commitChange(world.store, leaving, () => world.people.remove("anna"));
  assertEquals(brief(await login.answer(code)), ["reject", "This login is over. Start a new one."]);
  assertEquals(radius.monitor.counters().accepts, 0);
  assertEquals(radius.monitor.alive(), 0);
});

Deno.test("leaving: an Accept that was committed before it is sent, and the login is over", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  const release = interceptCommits(world).hold();
  const accepted = exchangeJudged(world, login.build(appCode(world.clock.nowMs())));
  await becomes("its commit waits", () => world.radius.server.working === 1);
  const left = leave(world, "anna");
  release();
  await whileTimePasses(world.clock, left);
  assertEquals((await accepted).kind, "accept");
  const audits = (await stored(world, ["audit"])) as { action: string }[];
  assertEquals(audits.map(({ action }) => action).slice(0, 1), ["login.accepted"]);
});

Deno.test("leaving: an Accept that could not be recorded before it does not come back after it", async () => {
  await using world = await startInProcess();
  await giveEverything(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  const code = appCode(world.clock.nowMs());
  const { promise, reject } = Promise.withResolvers<never>();
  const store = world.store as { commit: InProcess["store"]["commit"] };
  const real = store.commit;
  store.commit = () => promise;
  const answer = exchangeJudged(world, login.build(code));
  await becomes("it is worked on", () => world.radius.server.working === 1);
  store.commit = real;
  await leave(world, "anna");
  reject(new Error("the disk is full"));
  assertEquals(brief(await answer), DENIED);
  assertEquals(world.radius.monitor.alive(), 0);
});

Deno.test("leaving: a pairing that is being stored is removed too, and does not come back", async () => {
  await using world = await startInProcess();
  const { pairings } = world.radius;
  const coming = pairings.prepare({ canonical: "anna", shown: "anna" }, { kind: "sms", number: NUMBER });
  const commit = world.store.commit({ mutations: [coming.mutation] });
  const left = leave(world, "anna");
  await commit;
  pairings.adopt(coming.pairing);
  await left;
  assertEquals(kinds(world, "anna"), []);
  assertEquals((await stored(world, ["pairing"])).length, 0);
});

Deno.test("leaving: after undo() a pairing that is being stored is adopted", async () => {
  await using world = await startInProcess();
  const { pairings } = world.radius;
  const prepare = (number: string) =>
    pairings.prepare({ canonical: "anna", shown: "anna" }, { kind: "sms", number }).pairing;
  const [meanwhile, later] = [prepare(NUMBER), prepare("+4915187654321")];
  const leaving = world.radius.prepareOffboarding("anna");
  pairings.adopt(meanwhile);
  assertEquals(kinds(world, "anna"), []);
  leaving.undo();
  assertEquals(kinds(world, "anna"), ["sms"]);
  pairings.adopt(later);
  assertEquals(kinds(world, "anna"), ["sms", "sms"]);
});

Deno.test("leaving: an embedded approval request is cancelled", async () => {
  await using world = await startInProcess({ embedded: true });
  const secondFactorAdmin = world.services.embedded?.admin;
  const phone = world.services.embedded?.phone;
  assert(secondFactorAdmin !== undefined && phone !== undefined);
  await register(world, "anna");
  await give(world, "anna", { kind: "device", id: "a-phone", totpLength: 6 });
  const login = world.login({ user: "anna" });
  await login.start();
  await leave(world, "anna");
  assertEquals(secondFactorAdmin?.pendingCount(), 0);
  assertEquals(world.radius.monitor.alive(), 0);
});

Deno.test("leaving: 120 logins of one name end, and the commit has the ends of 20 of them", async () => {
  await using world = await startInProcess({ toml: '[server]\nlog_level = "error"' });
  await register(world, "anna");
  for (let begun = 0; begun < 120; begun++) await world.login({ user: "anna" }).start("");
  const leaving = world.radius.prepareOffboarding("anna");
  // The mark that the user left, the removal of the enrolment's mark, and the ends of 20 logins.
  assertEquals(leaving.mutations.length, 22);
  await commitChange(world.store, leaving, () => world.people.remove("anna"));
  assertEquals(world.radius.monitor.alive(), 0);
  await becomes("the rest is recorded", () => world.radius.server.working === 0);
  const { ended_by_leaving: ended, users_left: left } = world.radius.monitor.counters();
  assertEquals([ended, left], [120, 1]);
});
