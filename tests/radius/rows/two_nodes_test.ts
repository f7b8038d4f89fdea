// The embedded service, on one node and on two.

import { assertEquals, assertMatch } from "@std/assert";
import type { Mutation, Store } from "../../../platform/store.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { becomes, jump, turn } from "./passing_time.ts";
import { beforeCode, createGate } from "./gates.ts";
import { appCode, give, giveDevice, NUMBER, otherThan, passcodeSentTo, register, SEED } from "./people.ts";
import { startTwoNodes } from "./two_nodes.ts";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import { pairPhone } from "./phone.ts";

// Two gateways on one store: what a packet that is handled again repeats, and who records the end of a login.

const DENIED = ["reject", "Access denied."];
const TTL_MS = 300_000;
/** The password of the logins, whether they are signed, and whether they mark their place as shared. */
const PORTAL_ROWS = [
  ["signed", "", true, true],
  ["with a password", "password", false, true],
  ["with neither a signature nor a password", null, false, false],
] as const;

async function actionsOf({ store }: InProcess, user: string): Promise<string[]> {
  const records = await Array.fromAsync(store.list<{ action: string; object: string }>(["audit"]));
  return records.flatMap(({ value }) => value?.object === `user:${user}` ? [value.action] : []);
}

/** Makes the first commits race whose mutations contain a key. */
function racing(first: string, second: string, { races }: { races: number }) {
  let left = races;
  const touches = ({ type, ...mutation }: Mutation) =>
    type !== "audit" && "key" in mutation && mutation.key[0] === first && mutation.key[1] === second;
  return (store: Store): Store => ({
    ...store,
    commit(transaction) {
      if (left === 0 || !transaction.mutations.some(touches)) return store.commit(transaction);
      left--;
      return Promise.resolve({ ok: false, reason: "raced" });
    },
  });
}

Deno.test("a packet that loses races asks the first factor once, and counts one failure and one log line", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const store = racing("limit", "failures", { races: 3 });
  await using nodes = await startTwoNodes({ toml: `${server.toml}\n[factors.lockout]\nfailures = 1`, store });
  const { a } = nodes;
  await give(a, "anna", { kind: "totp", seed: SEED });
  assertEquals(brief(await a.login({ user: "anna" }).start("wrong")), DENIED);
  assertEquals(server.asked.length, 1);
  assertEquals(a.radius.limits.failures("anna").total, 1);
  const { failures, locks } = a.radius.monitor.counters();
  assertEquals([failures, locks, a.radius.limits.figures()], [1, 1, { sends: 0, failures: 1, locks: 1 }]);
  const lines = await a.logLines();
  assertEquals(lines.filter((line) => line.includes("user locked after too many failures")).length, 1);
});

Deno.test("a packet that loses races with the right password asks the first factor once", async () => {
  using server = startFirstFactorServer({ password: "right" });
  const store = racing("limit", "user_send", { races: 3 });
  await using nodes = await startTwoNodes({ toml: server.toml, store });
  const { a } = nodes;
  await give(a, "anna", { kind: "sms", number: NUMBER });
  assertEquals((await a.login({ user: "anna" }).start("right")).kind, "challenge");
  assertEquals([server.asked.length, a.telephony.requests.length], [1, 1]);
  const { sends } = a.radius.monitor.counters();
  assertEquals([sends, a.radius.limits.figures().sends], [1, 1]);
});

for (const next of ["at the menu", "at the same step"]) {
  Deno.test(`a wrong code whose login the other node ended meanwhile counts on no node: the next login is ${next}`, async () => {
    const gate = createGate();
    const secondFactor = beforeCode(gate);
    await using nodes = await startTwoNodes({
      secondFactor: (service, node) => node === "a" ? secondFactor(service) : service,
    });
    const { a, b } = nodes;
    await giveDevice(a, "anna");
    const login = await a.begin({ user: "anna" }, "");
    assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
    const guess = login.answer("000000");
    await gate.reached();
    login.moveTo(b);
    assertEquals((await login.answer("cancel")).kind, "challenge");
    if (next === "at the same step") {
      assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
    }
    await a.store.catchUp();
    gate.open();
    assertEquals((await guess).kind, "reject");
    assertEquals([a, b].map(({ radius }) => radius.limits.failures("anna").total), [0, 0]);
  });
}

Deno.test("a retransmission to a node that has just started gets the challenge again, and sends no second push", async () => {
  await using nodes = await startTwoNodes();
  const { a, b, known } = nodes;
  await giveDevice(a, "anna");
  await b.store.catchUp();
  known.withoutKeys.add("b");
  const login = a.login({ user: "anna" });
  const packet = login.buildStart("password");
  const first = await login.exchange(packet);
  login.moveTo(b);
  const again = await login.exchange(packet);
  assertEquals([first.kind, brief(again)], ["challenge", brief(first)]);
  assertEquals(a.secondFactor.initiated().length, 1);
});

Deno.test("an Access-Accept is not given again for another password, also not by a node that had no key of the other one", async () => {
  using server = startFirstFactorServer({ password: "right" });
  await using nodes = await startTwoNodes({ toml: `${server.toml}append_mode = true` });
  const { a, b, known } = nodes;
  await give(a, "anna", { kind: "totp", seed: SEED });
  await b.store.catchUp();
  // Some clients use a Request Authenticator twice.
  const same = { authenticator: new Uint8Array(16).fill(7), identifier: 9 };
  const login = a.login({ user: "anna" });
  const code = appCode(a.clock.nowMs());
  assertEquals((await login.exchange(login.buildStart(`right,${code}`, same))).kind, "accept");
  await b.store.catchUp();
  known.withoutKeys.add("b");
  const wrong = login.buildStart("wrong,000000", same);
  await staysUnanswered(b, wrong);
  known.withoutKeys.delete("b");
  login.moveTo(b);
  assertEquals((await login.exchange(wrong)).kind, "reject");
});

for (const [what, appendMode] of [["an answer", false], ["a login in one packet", true]] as const) {
  Deno.test(`${what} that was accepted is accepted again by a node that has just started, as soon as it has the key of the other one`, async () => {
    await using nodes = await startTwoNodes({ toml: `[radius]\nappend_mode = ${appendMode}` });
    const { a, b, known } = nodes;
    await give(a, "anna", { kind: "totp", seed: SEED });
    await b.store.catchUp();
    const login = a.login({ user: "anna" });
    if (!appendMode) await login.start();
    const code = appCode(a.clock.nowMs());
    const last = appendMode ? login.buildStart(`any,${code}`) : login.build(code);
    assertEquals((await login.exchange(last)).kind, "accept");
    await b.store.catchUp();
    known.withoutKeys.add("b");
    await staysUnanswered(b, last);
    known.withoutKeys.delete("b");
    login.moveTo(b);
    assertEquals((await login.exchange(last)).kind, "accept");
  });
}

/** Sends a packet that the node drops, because its client will send it again. */
async function staysUnanswered({ client, radius }: InProcess, packet: BuiltRequest): Promise<void> {
  const dropped = () => radius.monitor.counters()["dropped_overtaken"] ?? 0;
  const before = dropped();
  const asked = client.exchange(packet, { timeoutMs: 1000, tries: 1 }).then(() => true, () => false);
  await becomes("the packet is dropped", () => dropped() > before);
  assertEquals(await asked, false);
}

Deno.test("a login counts as open on the node that handled it last, and its end is shown on both", async () => {
  await using nodes = await startTwoNodes();
  const { a, b } = nodes;
  const all = [a, b];
  const counts = () => all.map(({ radius }) => [radius.monitor.alive(), radius.monitor.aliveHere()]);
  const login = await a.begin({ user: "anna" }, "");
  await b.store.catchUp();
  assertEquals(counts(), [[1, 1], [1, 0]]);
  login.moveTo(b);
  assertEquals((await login.answer("nonsense")).kind, "challenge");
  await a.store.catchUp();
  assertEquals(counts(), [[1, 0], [1, 1]]);
  const shown = new Set<string>();
  a.radius.monitor.observe((event) => {
    if (event.kind === "conversation") shown.add(event.conversation.outcome ?? "");
  });
  await jump(a.clock, TTL_MS + 1000);
  await becomes("its end is shown on the other node", () => shown.has("expired"));
  assertEquals(counts(), [[0, 0], [0, 0]]);
});

for (const [what, password, signed, isMarked] of PORTAL_ROWS) {
  Deno.test(`logins of two users with one Calling-Station-Id, ${what}, ${isMarked ? "mark" : "do not mark"} it on the other node`, async () => {
    await using nodes = await startTwoNodes({ users: ["anna", "bert", "carl"] });
    const { a, b } = nodes;
    const parts = {
      ...{ callingStationId: "portal", nasPort: undefined },
      messageAuthenticator: signed ? "first" : "none",
      ...(password === null ? { password: undefined } : {}),
    } as const;
    for (const user of ["anna", "bert"]) {
      await a.login({ user, ...parts }).start(password ?? "");
      await b.store.catchUp();
    }
    const carl = { user: "carl", callingStationId: "portal", nasPort: undefined };
    const { step } = await b.login({ ...carl, messageAuthenticator: "first" }).start("password");
    assertEquals(step.includes("."), isMarked);
  });
}

for (const diesAtMs of [-2000, 2000]) {
  Deno.test(`a login that expires ${-diesAtMs / 1000} s after the death of its node is recorded once, by the other node`, async () => {
    await using nodes = await startTwoNodes();
    const { a, b, known } = nodes;
    await register(a, "anna");
    assertEquals((await a.login({ user: "anna" }).start()).kind, "challenge");
    // From now on `a` does nothing more. `b` sees its death after some beats.
    a.radius.close();
    await b.store.catchUp();
    await jump(b.clock, TTL_MS - 1000);
    for (let second = 0; second < 12; second++) {
      if (second * 1000 > 4000 + diesAtMs) known.dead.add("a");
      await jump(b.clock, 1000);
    }
    await becomes("it is recorded", async () => (await actionsOf(b, "anna")).includes("login.expired"));
    for (let count = 0; count < 10; count++) await jump(b.clock, 1000);
    assertEquals((await actionsOf(b, "anna")).filter((action) => action === "login.expired").length, 1);
  });
}

Deno.test("a login that its own node recorded as expired is not recorded again when that node dies", async () => {
  await using nodes = await startTwoNodes();
  const { a, b, known } = nodes;
  await register(a, "anna");
  await a.login({ user: "anna" }).start();
  await b.store.catchUp();
  await jump(a.clock, TTL_MS + 1000);
  for (let count = 0; count < 3; count++) await jump(a.clock, 1000);
  await becomes("it is recorded", async () => (await actionsOf(a, "anna")).includes("login.expired"));
  known.dead.add("a");
  for (let count = 0; count < 5; count++) {
    await jump(a.clock, 1000);
    await turn();
  }
  assertEquals((await actionsOf(a, "anna")).filter((action) => action === "login.expired").length, 1);
  assertEquals([a, b].map(({ radius }) => radius.monitor.counters().expired ?? 0), [1, 0]);
});

Deno.test("append mode: the other node accepts the passcode of a Reject, and of two logins at once only one is accepted", async () => {
  await using nodes = await startTwoNodes({ toml: "[radius]\nappend_mode = true" });
  const { a, b } = nodes;
  await give(a, "anna", { kind: "sms", number: NUMBER });
  await b.store.catchUp();
  const sent = ["reject", "A passcode was sent. Sign in again with your password,passcode."];
  assertEquals(brief(await a.login({ user: "anna" }).start("pw,sms")), sent);
  const first = passcodeSentTo(a, NUMBER);
  assertEquals((await b.login({ user: "anna" }).start(`pw,${first}`)).kind, "accept");
  assertEquals(brief(await b.login({ user: "anna" }).start("pw,sms")), sent);
  await a.store.catchUp();
  const second = passcodeSentTo(a, NUMBER);
  const replies = await Promise.all(
    [a, b].map((node) => node.login({ user: "anna" }).start(`pw,${second}`)),
  );
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject"]);
});

Deno.test("a change of a factor does not undo one of another node that this node has not read", async () => {
  await using nodes = await startTwoNodes();
  const { a, b } = nodes;
  const added = { kind: "device", id: "added", totpLength: 6, addedBy: { id: "gone" } } as const;
  await give(a, "anna", added);
  await b.store.catchUp();
  assertEquals(a.radius.pairings.usable("anna").length, 0);
  await b.radius.pairings.confirm("added", []);
  assertEquals(await a.radius.pairings.rename("added", { name: "Pixel" }), null);
  assertEquals((await a.radius.pairings.rename("added", { name: "Pixel" }))?.name, "Pixel");
  await b.store.catchUp();
  for (const { radius } of [a, b]) assertEquals(radius.pairings.usable("anna").length, 1);
});

// The flow rows with the embedded services: number matching, denial, the device's passcode, the outbox.

function numberIn(message: string): string {
  return /number (\d\d)/.exec(message)?.[1] ?? "";
}

Deno.test("embedded: the prompt names the two digits that approve on the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna", callingStationId: "192.0.2.77" });
  const { message } = await login.start();
  assertMatch(
    message,
    /^Authorize this login on your device with the number \d\d, then press continue or type ok\.\n/,
  );
  const [request] = await phone.requests();
  assertEquals([request?.terminalName, request?.place, request?.asksNumber], [
    "VPN Access",
    "192.0.2.77",
    true,
  ]);
  assertEquals(await phone.approve(numberIn(message)), "approved");
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("embedded: while the login waits, the prompt continues to show the digits", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const number = numberIn((await login.start()).message);
  assertEquals(numberIn((await login.answer("")).message), number);
});

Deno.test("embedded: one wrong number denies", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const number = numberIn((await login.start()).message);
  assertEquals(await phone.approve(otherThan(number)), "wrong_number");
  assertEquals(brief(await login.answer("")), ["reject", "Device approval was not given."]);
});

Deno.test("embedded: a denial on the phone is a Reject", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  await phone.deny();
  assertEquals(brief(await login.answer("")), ["reject", "Device approval was not given."]);
});

Deno.test("embedded: continue is answered at once when the user decides on the phone", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: "[factors.device]\nnumber_matching = false\ncontinue_wait_ms = 20000",
  });
  const phone = await pairPhone(world, "anna");
  const login = await world.begin({ user: "anna" });
  world.clock.after(500, () => void phone.approve(null));
  const reply = await login.answer("");
  assertEquals([reply.kind, reply.tookMs < 2000], ["accept", true]);
});

Deno.test("embedded: the phone's passcode is an Accept, once", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const code = await phone.passcode();
  const login = await world.begin({ user: "anna" }, "");
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals((await login.answer(code)).kind, "accept");
  const again = await world.begin({ user: "anna" }, "");
  await again.answer("D");
  assertEquals((await again.answer(code)).kind, "reject");
});

Deno.test("embedded: texts and calls are stored in the outbox, and their passcodes are right", async () => {
  await using world = await startInProcess({ embedded: true });
  const outbox = world.services.outbox?.messages;
  for (const [user, kind] of [["anna", "sms"], ["bert", "voice"]] as const) {
    await give(world, user, { kind, number: NUMBER });
    const login = await world.begin({ user });
    const [item] = outbox?.items() ?? [];
    const text = await outbox?.reveal(item?.id ?? "") ?? "";
    const passcode = kind === "sms" ? /\d{6}/.exec(text)?.[0] : text.replace(/\D/g, "").slice(-4);
    assertEquals((await login.answer(passcode ?? "")).kind, "accept", text);
  }
});

Deno.test("embedded: a request without a decision ends with the login", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 61_000);
  await phone.untilRequests(0);
  assertEquals(world.radius.monitor.alive(), 0);
});
