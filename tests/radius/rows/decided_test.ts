// Decided requests, and the factor that a login tried.

import { assertEquals } from "@std/assert";
import { explainLogin } from "../../../console/api/conversations/explain_login.ts";
import { decodeLoginRecord } from "../../../radius/conversation/login_record.ts";
import type { Store } from "../../../platform/store.ts";
import { openDisk } from "./disk.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login, stepName } from "./login.ts";
import { appCode, give, giveDevice, NUMBER, otherThan, register, SEED } from "./people.ts";
import { becomes, jump } from "./passing_time.ts";
import { pairPhone, type Phone } from "./phone.ts";
import { startTwoNodes } from "./two_nodes.ts";
import { giveBypass, WRONG_BYPASS } from "./bypass.ts";

// Decided is decided: a denied login ends at that second, without a further packet, and its client gets one Reject for its next packet.

const NOT_GIVEN = ["reject", "Device approval was not given."];
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
/** A sign-in decides after this time. */
const THINKING_MS = 2000;

/** The logins of the history: outcome, reason, duration, and the last rows. */
async function ends({ store }: InProcess) {
  const found: { outcome: string; reason: string | undefined; tookMs: number; rows: string[] }[] = [];
  for await (const { value } of store.list<unknown>(["history"])) {
    const login = decodeLoginRecord(value);
    if (login === null) continue;
    const { outcome, moments, startedMs, endedMs } = login;
    found.push({
      outcome,
      reason: explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial })?.code,
      tookMs: endedMs - startedMs,
      rows: moments.slice(-2).map(({ row }) => row),
    });
  }
  return found;
}

async function auditedEnds({ store }: InProcess): Promise<string[]> {
  const records = await Array.fromAsync(store.list<{ action: string }>(["audit"]));
  return records.flatMap(({ value }) => value?.action.startsWith("login.") === true ? [value.action] : []);
}

async function oneRequest({ services }: InProcess): Promise<string> {
  const waiting = services.embedded?.admin.pendingApprovals() ?? [];
  return await Promise.resolve(waiting[0]?.requestId ?? "");
}

interface Decision {
  readonly decide: (world: InProcess, phone: Phone, message: string) => Promise<unknown>;
  readonly reason: string;
  readonly row: string;
}

const admin = ({ services }: InProcess) => services.embedded?.admin;
const report = async ({ radius, store }: InProcess, user: string) => {
  const { mutations, done } = radius.prepareNotMeReport(user);
  await store.commit({ mutations });
  done();
};

const DECISIONS: Readonly<Record<string, Decision>> = {
  "denied on the phone": {
    decide: (_world, phone) => phone.deny(),
    reason: "denied_on_phone",
    row: "decided_phone",
  },
  "a wrong number": {
    decide: (_world, phone, message) => phone.approve(otherThan(/number (\d\d)/.exec(message)?.[1] ?? "")),
    reason: "wrong_number",
    row: "decided_wrong_number",
  },
  "denied by an administrator": {
    decide: async (world) => await admin(world)?.deny(await oneRequest(world), { by: "root" }),
    reason: "denied_by_administrator",
    row: "decided_administrator",
  },
  "cancelled by an administrator": {
    decide: async (world) => await admin(world)?.cancel(await oneRequest(world), { by: "root" }),
    reason: "cancelled_by_administrator",
    row: "decided_cancelled_by_administrator",
  },
  "the phone is revoked": {
    decide: (world, phone) => admin(world)?.revokePairing(phone.pairingId) ?? Promise.resolve(),
    reason: "phone_revoked",
    row: "decided_revoked",
  },
  "this wasn't me": {
    decide: (world) => report(world, "anna"),
    reason: "not_me",
    row: "pushed",
  },
};

const FORMS = { "the bare name": "", "a token": '\n[radius]\nstate = "token"' };

for (const [name, { decide, reason, row }] of Object.entries(DECISIONS)) {
  for (const [form, toml] of Object.entries(FORMS)) {
    Deno.test(`decided: ${name} ends the login without a packet, and its client gets one Reject; State is ${form}`, async () => {
      await using world = await startInProcess({ embedded: true, toml });
      const phone = await pairPhone(world, "anna");
      const login = world.login({ user: "anna" });
      const { message } = await login.start();
      world.clock.advance(THINKING_MS);
      await decide(world, phone, message);
      await becomes("the login ends", async () => (await ends(world)).length === 1);
      const [end] = await ends(world);
      assertEquals([end?.outcome, end?.reason, end?.rows[0]], ["rejected", reason, row]);
      assertEquals((end?.tookMs ?? 0) < THINKING_MS + 1000, true, `${end?.tookMs} ms`);
      const [shown] = world.radius.monitor.conversations(1);
      assertEquals([shown?.outcome, world.radius.monitor.alive()], ["rejected", 0]);
      // The user presses Continue two minutes later, or types a code.
      await jump(world.clock, 120_000);
      assertEquals(brief(await login.answer("")), NOT_GIVEN);
      assertEquals(brief(await login.answer("123456")), NOT_GIVEN);
      assertEquals((await ends(world)).length, 1);
      assertEquals(await auditedEnds(world), ["login.rejected"]);
      const counted = world.radius.monitor.takeFinishedCounts().map(({ outcomes }) => outcomes);
      assertEquals(counted, [{ rejected: 1 }]);
    });
  }
}

Deno.test("decided: a right code of another factor does not accept a login that the phone denied", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  await phone.deny();
  assertEquals(brief(await login.answer(appCode(world.clock.nowMs()))), NOT_GIVEN);
});

Deno.test("decided: a login that waits for a passcode of the phone ends when the phone denies its request", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  assertEquals(stepName(await login.answer("D")), "GET_DEVICE_GENERATED_PASSCODE");
  await phone.deny();
  await becomes("the login ends", async () => (await ends(world)).length === 1);
  assertEquals(brief(await login.answer(await phone.passcode())), NOT_GIVEN);
  assertEquals((await ends(world)).map((end) => end.reason), ["denied_on_phone"]);
});

/** A login that waits until the phone confirms the pairing of its phrase, and the denial. */
async function pairingLogin(world: InProcess): Promise<{ login: Login; deny: () => Promise<unknown> }> {
  const phone = world.services.embedded?.phone;
  const started = await phone?.startWithPhrase("192.0.2.9");
  if (started?.ok !== true || phone === undefined) throw new Error("The phone has no phrase");
  const { token, phrase } = started.value;
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("S");
  assertEquals(stepName(await login.answer(phrase)), "SECONDFACTOR_AWAIT_PAIRING_APPROVAL");
  const pairingId = (await phone.view(token))?.pairings[0]?.pairingId ?? "";
  return { login, deny: () => phone.decidePairing(token, pairingId, { approve: false }) };
}

Deno.test("decided: a pairing that the phone does not confirm ends its login", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: '[factors]\nenrol_at_login = "always"',
  });
  const { login, deny } = await pairingLogin(world);
  await deny();
  await becomes("the login ends", async () => (await ends(world)).length === 1);
  const [end] = await ends(world);
  assertEquals([end?.outcome, end?.reason], ["rejected", "pairing_denied"]);
  await jump(world.clock, 120_000);
  assertEquals(brief(await login.answer("ok")), ["reject", "The pairing was not confirmed."]);
  assertEquals(await auditedEnds(world), ["login.rejected"]);
});

Deno.test("decided: the next run answers a denied login, and ends one whose end was not recorded", async () => {
  for (const isRecorded of [true, false]) {
    await using disk = await openDisk();
    const options = { embedded: true, kvPath: disk.path };
    await using first = await startInProcess({
      ...options,
      between: isRecorded ? {} : {
        // The process stops before it learns of the decision.
        secondFactor: (service) => ({ ...service, embedded: true, onDenied: () => () => undefined }),
      },
    });
    const phone = await pairPhone(first, "anna");
    const login = await first.begin({ user: "anna" });
    await phone.deny();
    if (isRecorded) await becomes("the login ends", async () => (await ends(first)).length === 1);
    await first.stop();
    await using second = await startInProcess({ ...options, after: first });
    await becomes("the login ends", async () => (await ends(second)).length === 1);
    login.moveTo(second);
    assertEquals(brief(await login.answer("")), NOT_GIVEN);
    assertEquals((await ends(second)).map(({ outcome, reason }) => [outcome, reason]), [
      ["rejected", "denied_on_phone"],
    ]);
    assertEquals(await auditedEnds(second), ["login.rejected"]);
  }
});

for (const next of ["a", "b"] as const) {
  Deno.test(`decided: a denial at one node ends the login of another one; the next packet reaches node ${next}`, async () => {
    await using nodes = await startTwoNodes({ embedded: true });
    const { a, b } = nodes;
    await pairPhone(b, "anna");
    await a.store.catchUp();
    await b.store.catchUp();
    const login = b.login({ user: "anna" });
    assertEquals(stepName(await login.start()), DEVICE);
    await a.store.catchUp();
    await admin(a)?.deny(await oneRequest(a), { by: "root" });
    await b.store.catchUp();
    await becomes("the login ends", async () => (await ends(b)).length === 1);
    await a.store.catchUp();
    assertEquals(a.radius.monitor.conversations(1).map(({ outcome }) => outcome), ["rejected"]);
    login.moveTo(nodes[next]);
    assertEquals(brief(await login.answer("")), NOT_GIVEN);
    assertEquals((await ends(a)).map(({ outcome, reason }) => [outcome, reason]), [
      ["rejected", "denied_by_administrator"],
    ]);
    assertEquals(await auditedEnds(a), ["login.rejected"]);
    const counted = [a, b].flatMap(({ radius }) =>
      radius.monitor.takeFinishedCounts().map(({ outcomes }) => outcomes)
    );
    assertEquals(counted, [{ rejected: 1 }]);
  });
}

Deno.test("decided: another node ends the login of a node that died", async () => {
  await using nodes = await startTwoNodes({ embedded: true });
  const { a, b, known } = nodes;
  await pairPhone(b, "anna");
  await a.store.catchUp();
  await b.store.catchUp();
  await b.login({ user: "anna" }).start();
  await a.store.catchUp();
  await b.stop();
  await admin(a)?.deny(await oneRequest(a), { by: "root" });
  known.dead.add("b");
  await jump(a.clock, 1000);
  await becomes("the login ends", async () => (await ends(a)).length === 1);
  assertEquals((await ends(a)).map((end) => end.reason), ["denied_by_administrator"]);
});

Deno.test("decided: a held login and an appended push end with the decision, once", async () => {
  for (const [toml, password] of [['device = "hold"', "pw"], ["append_mode = true", "pw,push"]] as const) {
    await using world = await startInProcess({ embedded: true, toml: `[radius]\n${toml}` });
    const phone = await pairPhone(world, "anna");
    world.clock.after(THINKING_MS, () => void phone.deny());
    const answer = await world.login({ user: "anna" }).start(password);
    assertEquals(brief(answer), NOT_GIVEN);
    const [end, ...more] = await ends(world);
    assertEquals([end?.outcome, end?.reason, end?.rows[0], more.length], [
      "rejected",
      "denied_on_phone",
      "decided_phone",
      0,
    ]);
    assertEquals(await auditedEnds(world), ["login.rejected"]);
  }
});

Deno.test("decided: a request without an answer times out with its login", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 301_000);
  await becomes("the login ends", async () => (await ends(world)).length === 1);
  assertEquals((await ends(world)).map(({ outcome, reason }) => [outcome, reason]), [
    ["expired", "push_expired"],
  ]);
});

Deno.test("decided: an approval is a step with the time of the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const { message } = await login.start();
  world.clock.advance(THINKING_MS);
  await phone.approve(/number (\d\d)/.exec(message)?.[1] ?? null);
  const approvedMs = world.clock.nowMs();
  await jump(world.clock, 60_000);
  assertEquals((await login.answer("")).kind, "accept");
  const [shown] = world.radius.monitor.conversations(1);
  const moment = shown?.moments.at(-2);
  assertEquals([moment?.row, moment?.atMs], ["decided_approved", approvedMs]);
});

Deno.test("decided: an end that the store refuses is recorded later, and the client gets its Reject meanwhile", async () => {
  let left = 1;
  const failing = (store: Store): Store => ({
    ...store,
    commit(transaction) {
      const isEnd = transaction.mutations.some((one) => "key" in one && one.key[0] === "history");
      if (!isEnd || left-- <= 0) return store.commit(transaction);
      return Promise.reject(new Error("disk is full"));
    },
  });
  await using world = await startInProcess({ embedded: true, between: { store: failing } });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  await phone.deny();
  assertEquals((await ends(world)).length, 0);
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
  await jump(world.clock, 1000);
  await becomes("the end is recorded", async () => (await ends(world)).length === 1);
  assertEquals(await auditedEnds(world), ["login.rejected"]);
});

/** What ends the phone of an approval that the client has not asked for yet. */
const ENDED_PHONES: Readonly<Record<string, (world: InProcess, phone: Phone) => Promise<unknown>>> = {
  "the phone is revoked": ({ radius }, phone) => radius.pairings.revoke(phone.pairingId),
  "the phone that added it is revoked": async (world, phone) => {
    const other = await give(world, "anna", { kind: "totp", seed: SEED });
    const known = world.radius.pairings.of("anna").find(({ id }) => id === phone.pairingId);
    if (known === undefined) throw new Error("The phone is not paired");
    world.radius.pairings.adopt({ ...known, addedBy: { id: other } });
    await world.radius.pairings.revoke(other);
  },
};

for (const [what, end] of Object.entries(ENDED_PHONES)) {
  Deno.test(`decided: an approval does not count if ${what} before the client asks`, async () => {
    await using world = await startInProcess({ embedded: true });
    const phone = await pairPhone(world, "anna");
    const login = world.login({ user: "anna" });
    const { message } = await login.start();
    await phone.approve(/number (\d\d)/.exec(message)?.[1] ?? null);
    await end(world, phone);
    assertEquals(brief(await login.answer("")), NOT_GIVEN);
    assertEquals((await ends(world)).map(({ outcome, reason }) => [outcome, reason]), [
      ["rejected", "phone_revoked"],
    ]);
  });
}

// A rejection belongs to the factor that was tried, in the history and so in the reports. "No factor" is only for logins that tried none.

interface Row {
  readonly toml?: string;
  /** Gives anna her factors. */
  readonly has?: (world: InProcess) => Promise<unknown> | void;
  /** The password and the answers. */
  readonly types: readonly string[];
  readonly factor: string | null;
}

const giveTotp = (world: InProcess) => give(world, "anna", { kind: "totp", seed: SEED });
const giveRecovery = async ({ radius, store }: InProcess) => {
  const made = radius.recoveryCodes.create("anna");
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (done.ok) made.adopt(done.versionstamp);
};
const APPEND = "[radius]\nappend_mode = true";

const ROWS: Readonly<Record<string, Row>> = {
  "a wrong code of an authenticator app": { has: giveTotp, types: ["pw", "000000"], factor: "totp" },
  "a wrong code after D": { has: giveTotp, types: ["", "D", "000000"], factor: "totp" },
  "a wrong appended code": { toml: APPEND, has: giveTotp, types: ["pw,000000"], factor: "totp" },
  "a wrong code while a push waits": {
    has: async (world) => {
      await giveTotp(world);
      await giveDevice(world, "anna");
    },
    types: ["pw", "000000"],
    factor: "device",
  },
  "a wrong passcode of the phone": {
    has: (world) => giveDevice(world, "anna"),
    types: ["", "D", "000000"],
    factor: "device",
  },
  "a wrong passcode of a text message": {
    has: (world) => give(world, "anna", { kind: "sms", number: NUMBER }),
    types: ["pw", "000000"],
    factor: "sms",
  },
  "a wrong passcode of a call": {
    has: (world) => give(world, "anna", { kind: "voice", number: NUMBER }),
    types: ["pw", "000000"],
    factor: "voice",
  },
  "a passcode for a number that got no call": {
    has: (world) => register(world, "anna", { phoneNumbers: [] }),
    toml: '[factors]\nphone_numbers = "registered"',
    types: ["", "P", "+4915198765432", "000000"],
    factor: "voice",
  },
  "a wrong recovery code": { has: giveRecovery, types: ["", "D", "abcde-fghij"], factor: "recovery" },
  "a wrong bypass code": {
    has: (world) => giveBypass(world, "anna"),
    types: ["", "D", WRONG_BYPASS],
    factor: "bypass",
  },
  "a user who is refused": { toml: '[radius]\nunknown_users = "reject"', types: ["pw"], factor: null },
};

async function rejected(world: InProcess) {
  for await (const { value } of world.store.list<unknown>(["history"])) {
    const login = decodeLoginRecord(value);
    if (login !== null) return [login.outcome, login.factor];
  }
  return [];
}

for (const [name, { toml = "", has, types, factor }] of Object.entries(ROWS)) {
  Deno.test(`the factor that was tried: ${name}`, async () => {
    await using world = await startInProcess({ toml });
    await has?.(world);
    const login = world.login({ user: factor === null ? "stranger" : "anna" });
    const [password = "", ...answers] = types;
    await login.start(password);
    for (const answer of answers) await login.answer(answer);
    assertEquals(await rejected(world), ["rejected", factor]);
  });
}

Deno.test("the factor that was tried: a code that was asked for and not typed", async () => {
  await using world = await startInProcess();
  await giveTotp(world);
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 301_000);
  await becomes("the login ends", async () => (await rejected(world)).length > 0);
  assertEquals(await rejected(world), ["expired", "totp"]);
});
