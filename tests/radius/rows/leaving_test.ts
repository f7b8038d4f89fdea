// Users who leave during a login, and where two changes meet.

import { assert, assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import { interceptCommits } from "../regression/failing_commits.ts";
import { afterStatus, createGate } from "./gates.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { type Answer, brief, exchangeJudged } from "./login.ts";
import { becomes, jump, whileTimePasses } from "./passing_time.ts";
import { appCode, decide, give, giveDevice, lastRequest, NUMBER, register, SEED } from "./people.ts";
import { commitChange } from "../../fakes/commit_change.ts";
import { auditRecordsOf } from "../../fakes/audited.ts";
import type { PolicyOutcome } from "../../../radius/policy/policy.ts";
import { storePolicies } from "../policies/policy_sample.ts";
import { giveBypass } from "./bypass.ts";
import { markInvited } from "./invited.ts";
import { pairPhone, type Phone } from "./phone.ts";
import { giveToken, tokenCode } from "./tokens.ts";

// A user is deleted or deactivated: the same commit removes their pairings and ends their logins, and no login is
// accepted after it.

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
  await using disk = await openDisk();
  const kvPath = disk.path;
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
});

Deno.test("leaving: a Cancel whose commit is in progress leaves no live login behind", async () => {
  await using world = await startInProcess();
  await register(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  const commits = interceptCommits(world);
  const release = commits.hold();
  const packet = login.build("cancel");
  await world.client.sendRaw(packet.bytes);
  await becomes("the Cancel is handled", () => world.radius.monitor.counters().requests === 2);
  commits.heal();
  await leave(world, "anna");
  release();
  using late = world.newClient();
  login.moveTo({ client: late, clock: world.clock });
  await login.exchange(packet);
  assertEquals(world.radius.monitor.alive(), 0);
  assertEquals((await login.answer("S")).kind, "reject");
});

Deno.test("leaving: after a change of the login directory, older logins end, and later ones do not, also if the clock is set back", async () => {
  await using world = await startInProcess();
  const older = await world.begin({ user: "anna" }, "");
  (await world.radius.prepareDirectory("other"))();
  assertEquals((await older.answer("S")).kind, "reject");
  world.clock.advance(-3600_000);
  assertEquals((await world.login({ user: "anna", nasPort: 8 }).start("")).step, MENU);
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
  const login = await world.begin({ user: "anna" });
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
  const login = await world.begin({ user: "anna" });
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
  const login = await world.begin({ user: "anna" });
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
  await world.begin({ user: "anna" });
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

// Codes of several features in the hands of one user: which of them a policy lets in, how often each counts, and what the records say. The
// expectation is written down here, not taken from the flow table.

const CODES = ["bypass", "token", "app", "phone", "other_phone", "recovery"] as const;
type Code = typeof CODES[number];
const FACTORS: Readonly<Record<Code, string>> = {
  ...{ bypass: "bypass", token: "totp", app: "totp", phone: "device", other_phone: "device" },
  recovery: "recovery",
};

const only = (...factors: NonNullable<Extract<PolicyOutcome, { kind: "challenge" }>["factors"]>) =>
  ({ kind: "challenge", factors }) as const;

/** A policy, and the codes that it lets in. */
const POLICIES: Readonly<Record<string, readonly [PolicyOutcome | null, readonly Code[]]>> = {
  "no policy": [null, CODES],
  "the factor phone": [only("device"), ["phone", "other_phone"]],
  "the factor app": [only("totp"), ["token", "app"]],
  "phones and recovery codes": [only("device", "recovery"), ["phone", "other_phone", "bypass", "recovery"]],
  "apps and recovery codes": [only("totp", "recovery"), ["token", "app", "bypass", "recovery"]],
  "text messages": [only("sms"), []],
  "a required phone": [{ kind: "challenge", requiredFactor: "device" }, []],
  "a required app": [{ kind: "challenge", requiredFactor: "totp" }, ["token", "app"]],
  "a required text message": [{ kind: "challenge", requiredFactor: "sms" }, []],
};

/** As in the document: D and append mode ask the service about a passcode of a phone only if the user has no app and no token. */
function isAllowedAt(way: string, code: Code, allowed: readonly Code[]): boolean {
  if (!allowed.includes(code)) return false;
  if (way === "at the first prompt") return true;
  if (code === "recovery") return way !== "after the password";
  return !allowed.includes("app") || FACTORS[code] !== "device";
}

/** How a code is typed. `null`: the login ended before. */
const WAYS: Readonly<Record<string, (world: InProcess, code: string) => Promise<Answer | null>>> = {
  async "at the first prompt"(world, code) {
    const login = world.login({ user: "anna" });
    return (await login.start()).kind === "challenge" ? await login.answer(code) : null;
  },
  async "at D in the menu"(world, code) {
    const login = world.login({ user: "anna" });
    if ((await login.start("")).kind !== "challenge") return null;
    return (await login.answer("D")).kind === "challenge" ? await login.answer(code) : null;
  },
  "after the password": async (world, code) => await world.login({ user: "anna" }).start(`pw,${code}`),
};

async function equip(world: InProcess): Promise<Readonly<Record<Code, () => Promise<string>>>> {
  const phones: Phone[] = [];
  for (const name of ["Old phone", "New phone"]) {
    phones.push(await pairPhone(world, "anna", name));
    await jump(world.clock, 1000);
  }
  await give(world, "anna", { kind: "totp", seed: SEED });
  await giveToken(world, "anna", { seed: new Uint8Array(20).fill(3) });
  await markInvited(world, "anna", 0);
  const bypass = await giveBypass(world, "anna");
  const made = world.radius.recoveryCodes.create("anna");
  const done = await world.store.commit({ checks: made.checks, mutations: made.mutations });
  if (done.ok) made.adopt(done.versionstamp);
  const [old, recent] = phones as [Phone, Phone];
  return {
    bypass: () => Promise.resolve(bypass),
    token: () => Promise.resolve(tokenCode(0, { seed: new Uint8Array(20).fill(3) })),
    app: () => Promise.resolve(appCode(world.clock.nowMs())),
    phone: () => recent.passcode(),
    other_phone: () => old.passcode(),
    recovery: () => Promise.resolve(made.codes[0] ?? ""),
  };
}

async function acceptedIn({ store, radius }: InProcess) {
  const records = (await auditRecordsOf(store)).filter(({ value }) => value?.action === "login.accepted");
  const views = radius.monitor.conversations(50).filter(({ outcome }) => outcome === "accepted");
  return { audit: records.map(({ value }) => value?.factor), history: views.map(({ factor }) => factor) };
}

for (const device of ["challenge", "hold"]) {
  for (const [policy, [outcome, allowed]] of Object.entries(POLICIES)) {
    if (device === "hold" && !policy.includes("recovery") && outcome !== null) continue;
    Deno.test(`codes with ${policy}, device = "${device}": each that it allows counts once, and no other counts`, async () => {
      for (const [way, type] of Object.entries(WAYS)) {
        // A held login of a user with a phone has no prompt.
        if (device === "hold" && way === "at the first prompt") continue;
        await Promise.all(CODES.map(async (code) => {
          await using world = await startInProcess({
            embedded: true,
            toml: `[radius]\nappend_mode = true\ndevice = "${device}"\nhold_s = 2\n`,
          });
          const codes = await equip(world);
          if (outcome !== null) await storePolicies(world.radius.policies.registry, [[{}, outcome]]);
          const typed = await codes[code]();
          const what = `${code} ${way}`;
          const isAllowed = isAllowedAt(way, code, allowed);
          const first = await type(world, typed);
          assertEquals(first?.kind === "accept", isAllowed, `${what}: ${first?.kind} ${first?.message}`);
          const factors = isAllowed ? [FACTORS[code]] : [];
          assertEquals(await acceptedIn(world), { audit: factors, history: factors }, what);
          const again = await type(world, typed);
          assert(again?.kind !== "accept", `${what}: a second time`);
          assertEquals(await acceptedIn(world), { audit: factors, history: factors }, what);
        }));
      }
    });
  }
}

Deno.test("the deadline, a bypass code and a held login: the code lets the user in once, then the deadline applies", async () => {
  for (const device of ["challenge", "hold", "hold_then_challenge"]) {
    await using world = await startInProcess({
      embedded: true,
      toml:
        `[radius]\nappend_mode = true\ndevice = "${device}"\nhold_s = 2\n[factors]\nenrol_at_login = "always"\n`,
    });
    await markInvited(world, "anna", 0);
    const { radius } = world;
    const overdue = async () => {
      for (const password of ["", "pw", "pw,123456", "pw,push", "pw,12345-67890"]) {
        const { kind, message } = await world.login({ user: "anna" }).start(password);
        assertEquals(
          [kind, message.startsWith("Set up a second factor first")],
          ["reject", true],
          `${password}: ${message}`,
        );
      }
    };
    await overdue();
    const code = await giveBypass(world, "anna");
    const login = world.login({ user: "anna" });
    assertEquals((await login.start()).step, "CHOOSE_WHICH_MULTIFACTOR");
    assertEquals((await login.answer("S")).step, "CHOOSE_WHICH_MULTIFACTOR");
    assertEquals((await login.answer(code)).kind, "accept");
    await overdue();
    assertEquals(radius.limits.failures("anna").total, 0);
    // Under a policy that does not allow the code, it neither lets the user in nor permits an enrolment.
    const second = await giveBypass(world, "anna");
    await storePolicies(radius.policies.registry, [[{}, only("device")]]);
    const denied = await world.begin({ user: "anna" }, "");
    assertEquals((await denied.answer("S")).step, "CHOOSE_WHICH_MULTIFACTOR");
    assert((await denied.answer(second)).kind !== "accept");
    assertEquals((await world.login({ user: "anna" }).start(`pw,${second}`)).kind, "reject");
  }
});

Deno.test("a bypass code remembers no device, and a remembered device uses up no code", async () => {
  const passwords = {
    hasPassword: () => Promise.resolve(true),
    directory: () => Promise.resolve("right" as const),
    ldap: () => Promise.resolve("unavailable" as const),
  };
  await using world = await startInProcess({
    passwords,
    toml: `[radius]\nappend_mode = true\nfirst_factor = "directory"\n`,
  });
  await storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", rememberHours: 8 }]]);
  await giveToken(world, "anna");
  const from = { user: "anna", callingStationId: "203.0.113.9" };
  const code = await giveBypass(world, "anna", { uses: 2 });
  assertEquals((await world.login(from).start(`pw,${code}`)).kind, "accept");
  assertEquals((await world.login(from).start("pw")).kind, "challenge");
  assertEquals((await world.login(from).start(`pw,${tokenCode(0)}`)).kind, "accept");
  assertEquals((await world.login(from).start(`pw,${code}`)).kind, "accept");
  assertEquals(world.radius.bypassCodes.status("anna")?.usesLeft, 1);
});
