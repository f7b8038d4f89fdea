// Several phones of a user, and their names.

import { assertEquals, assertMatch } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { appCode, decide, give, giveDevice, lastRequest, otherThan, SEED } from "./people.ts";
import { jump } from "./passing_time.ts";
import { pairPhone, type Phone } from "./phone.ts";
import { startTwoNodes } from "./two_nodes.ts";
import { decodeLoginRecord, historyKey } from "../../../radius/conversation/login_record.ts";

// Users with several phones: which one is asked first, how a user chooses another, and what that counts.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const CANCEL = "Type cancel to start over. ";

/** Phones of anna, each paired a second after the one before. */
async function pairPhones(world: InProcess, ...names: (string | null)[]): Promise<Phone[]> {
  const phones: Phone[] = [];
  for (const name of names) {
    phones.push(await pairPhone(world, "anna", name));
    await jump(world.clock, 1000);
  }
  return phones;
}

const pushesOf = async (...phones: Phone[]) =>
  await Promise.all(phones.map(async (phone) => (await phone.requests()).length));

const numberIn = (message: string): string => /with the number (\d\d),/.exec(message)?.[1] ?? "";

Deno.test("several phones: the prompt names the phone that was paired last, and offers the other one", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old, recent] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const prompt = await world.login({ user: "anna" }).start();
  const number = numberIn(prompt.message);
  assertEquals(
    [prompt.step, prompt.message],
    [
      DEVICE,
      `Authorize this login on New phone with the number ${number}, then press continue or type ok. ` +
      `To use another phone, type its digit.\n2 - Old phone\n${CANCEL}`,
    ],
  );
  assertEquals(await pushesOf(old, recent), [0, 1]);
});

Deno.test("several phones: the phone that approved a login last is asked first the next time", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old, recent] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const login = await world.begin({ user: "anna" });
  const other = await login.answer("2");
  assertMatch(other.message, /^Authorize this login on Old phone with the number \d\d, .*\n1 - New phone\n/);
  assertEquals(await pushesOf(old, recent), [1, 0]);
  assertEquals(await old.approve(numberIn(other.message)), "approved");
  assertEquals((await login.answer("")).kind, "accept");
  const next = world.login({ user: "anna" });
  assertMatch((await next.start()).message, /^Authorize this login on Old phone /);
  // Every further approval of the first phone changes nothing.
  const kept = world.radius.pairings.of("anna");
  await old.approve(numberIn((await next.answer("ok")).message));
  await next.answer("");
  assertEquals(world.radius.pairings.of("anna"), kept);
});

Deno.test("several phones: without names, phones have their digits", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhones(world, null, null, "Tablet");
  const { message } = await world.login({ user: "anna" }).start();
  assertMatch(message, /^Authorize this login on Tablet .*\n2 - phone 2\n3 - phone 3\n/);
});

Deno.test("several phones: the number of the first phone does not approve at the second one, and an answer counts once", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const login = world.login({ user: "anna" });
  const first = numberIn((await login.start()).message);
  const second = numberIn((await login.answer("2")).message);
  assertEquals(await pushesOf(old), [1]);
  // The digit of the phone that has the request is an answer like any other.
  assertMatch((await login.answer("2")).message, /^Still waiting for Old phone with the number /);
  assertEquals(await pushesOf(old), [1]);
  // Two numbers can be equal by chance.
  const stale = first === second ? otherThan(second) : first;
  assertEquals(await old.approve(stale), "wrong_number");
  assertEquals((await login.answer("")).kind, "reject");
});

Deno.test("several phones: an approval of the first phone after the change does not count, also at an external service", async () => {
  await using world = await startInProcess();
  const first = await giveDevice(world, "anna");
  await jump(world.clock, 1000);
  const second = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  assertEquals(lastRequest(world, second).pairingId, second.id);
  const other = await login.answer("2");
  assertMatch(other.message, /^Authorize this login on phone 2, /);
  decide(world, second, true);
  const waiting = await login.answer("ok");
  assertEquals([waiting.step, waiting.message.startsWith("Still waiting for phone 2.")], [DEVICE, true]);
  decide(world, first, true);
  assertEquals(brief(await login.answer("ok")), ["accept", ""]);
  // The approval of the second phone is left over. It lets no login in.
  const next = await world.begin({ user: "anna" });
  assertEquals((await next.answer("ok")).step, DEVICE);
});

Deno.test("several phones: a push to another phone counts to the limit, and at the limit the request stays", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[factors.pushes]\nper_user = 2" });
  const [old, recent] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const login = await world.begin({ user: "anna" });
  await login.answer("2");
  const refused = await login.answer("1");
  const number = numberIn(refused.message);
  assertEquals(
    refused.message,
    `Too many approval requests were sent lately. Authorize this login on Old phone with the number ${number}, ` +
      `then press continue or type ok.\n${CANCEL}`,
  );
  assertEquals(await pushesOf(old, recent), [1, 0]);
  assertEquals(await old.approve(number), "approved");
  assertEquals((await login.answer("ok")).kind, "accept");
});

Deno.test("several phones: if the push cannot be sent, another phone can be chosen", async () => {
  let failures = 1;
  await using world = await startInProcess({
    embedded: true,
    between: {
      secondFactor: (service) => ({
        ...service,
        embedded: service.embedded,
        initiate: (request) =>
          failures-- > 0
            ? Promise.resolve({ ok: false, fault: { kind: "failed", status: 500, detail: "" } } as const)
            : service.initiate(request),
        status: (id) => service.status(id),
        otpAuth: (id, otp, also) => service.otpAuth(id, otp, also),
        createPairing: (pairing) => service.createPairing(pairing),
        pairing: (id) => service.pairing(id),
        cancel: (id) => service.cancel(id),
        onDecision: (id, notify) => service.onDecision(id, notify),
      }),
    },
  });
  const [old] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const login = world.login({ user: "anna" });
  const unsent = await login.start();
  assertMatch(unsent.message, /^The approval request could not be sent to New phone\. .*\n2 - Old phone\n/);
  const other = await login.answer("2");
  assertEquals(await old.approve(numberIn(other.message)), "approved");
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("several phones: S in the menu asks the same phone, and offers the other one", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhones(world, "Old phone", "New phone");
  const login = await world.begin({ user: "anna" });
  assertEquals((await login.answer("cancel")).step, MENU);
  assertMatch((await login.answer("S")).message, /^Authorize this login on New phone .*\n2 - Old phone\n/);
});

Deno.test("several phones: a held request goes to the first phone, and a challenge after it offers the other one", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: '[radius]\ndevice = "hold_then_challenge"\nhold_s = 2',
  });
  const [old, recent] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const login = world.login({ user: "anna" });
  assertMatch((await login.start()).message, /^Authorize this login on New phone, .*\n2 - Old phone\n/);
  assertEquals(await pushesOf(old, recent), [0, 1]);
  const other = await login.answer("2");
  assertEquals(await old.approve(numberIn(other.message)), "approved");
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("several phones: a digit chooses no phone that was revoked meanwhile, and none without a phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old, , last] = await pairPhones(world, "Old phone", "Spare phone", "New phone") as [
    Phone,
    Phone,
    Phone,
  ];
  const login = world.login({ user: "anna" });
  assertMatch((await login.start()).message, /\n2 - Spare phone\n3 - Old phone\n/);
  await world.radius.pairings.revoke(old.pairingId);
  for (const answer of ["3", "4", "9", "0"]) {
    assertMatch((await login.answer(answer)).message, /^Still waiting for New phone /, answer);
  }
  assertEquals(await pushesOf(last), [1]);
});

Deno.test("several phones: an authenticator code is still accepted while a phone is asked", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhones(world, "Old phone", "New phone");
  await give(world, "anna", { kind: "totp", seed: SEED });
  const login = await world.begin({ user: "anna" });
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

Deno.test("one phone: the prompts and the answers are those of the document", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhones(world, "New phone");
  const login = world.login({ user: "anna" });
  const { message } = await login.start();
  assertEquals(
    message,
    `Authorize this login on your device with the number ${
      numberIn(message)
    }, then press continue or type ok.\n${CANCEL}`,
  );
  assertMatch((await login.answer("2")).message, /^Still waiting for your device /);
  assertEquals(world.radius.pairings.of("anna").some((one) => "approvedMs" in one), false);
});

Deno.test("several phones: with two nodes, both know the phone that approved last, and a digit works at either", async () => {
  await using nodes = await startTwoNodes({ embedded: true });
  const { a, b } = nodes;
  const [old] = await pairPhones(a, "Old phone", "New phone") as [Phone, Phone];
  await b.store.catchUp();
  const login = await a.begin({ user: "anna", nasPort: 7 });
  login.moveTo({ client: b.client, clock: b.clock });
  const other = await login.answer("2");
  assertMatch(other.message, /^Authorize this login on Old phone with the number /);
  await a.store.catchUp();
  assertEquals(await old.approve(numberIn(other.message)), "approved");
  await b.store.catchUp();
  assertEquals((await login.answer("ok")).kind, "accept");
  await a.store.catchUp();
  assertMatch((await a.login({ user: "anna" }).start()).message, /^Authorize this login on Old phone /);
});

Deno.test("several phones: the passcode of any phone is accepted once, and that phone is asked first the next time", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old, recent] = await pairPhones(world, "Old phone", "New phone") as [Phone, Phone];
  const code = await old.passcode();
  const login = world.login({ user: "anna" });
  assertMatch((await login.start()).message, /^Authorize this login on New phone /);
  assertEquals((await login.answer(code)).kind, "accept");
  assertEquals(await pushesOf(old, recent), [0, 0]);
  const again = world.login({ user: "anna" });
  assertMatch((await again.start()).message, /^Authorize this login on Old phone /);
  assertEquals(brief(await again.answer(code)), ["reject", "The submitted passcode does not match."]);
  const other = await world.begin({ user: "anna" });
  assertEquals((await other.answer(await recent.passcode())).kind, "accept");
});

Deno.test("several phones: D in the menu accepts the passcode of any phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old] = await pairPhones(world, "Old phone", "Spare phone", "New phone") as [Phone];
  const menu = await world.begin({ user: "anna" });
  await menu.answer("cancel");
  await menu.answer("D");
  assertEquals((await menu.answer(await old.passcode())).kind, "accept");
});

Deno.test("several phones: the passcode of a revoked phone, or of the phone of another user, is refused", async () => {
  await using world = await startInProcess({ embedded: true });
  const [old] = await pairPhones(world, "Old phone", "New phone") as [Phone];
  const revoked = await old.passcode();
  await world.radius.pairings.revoke(old.pairingId);
  const ofBen = await pairPhone(world, "ben");
  for (const code of [revoked, await ofBen.passcode()]) {
    const login = await world.begin({ user: "anna" });
    assertEquals((await login.answer(code)).kind, "reject");
  }
});

Deno.test("several phones: with two nodes, the passcode of the other phone is accepted at one of them", async () => {
  await using nodes = await startTwoNodes({ embedded: true });
  const { a, b } = nodes;
  const [old] = await pairPhones(a, "Old phone", "New phone") as [Phone, Phone];
  await b.store.catchUp();
  const logins = [a, b].map((node, at) => node.login({ user: "anna", nasPort: at }));
  for (const login of logins) await login.start();
  const code = await old.passcode();
  const replies = await Promise.all(logins.map((login) => login.answer(code)));
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject"]);
});

// The name of the phone in the record of a login.

for (const name of ["Pixel of Anna", null]) {
  Deno.test(`phone name: a login that uses ${name ?? "a phone without one"} shows it during the login and afterwards`, async () => {
    await using world = await startInProcess({ embedded: true });
    const phone = await pairPhone(world, "anna", name);
    const login = world.login({ user: "anna" });
    const prompt = await login.start();
    assertEquals(prompt.message.includes("Pixel"), false, "the prompts are the document's");
    const [view] = world.radius.monitor.conversations(1);
    assertEquals(view?.phone, name ?? undefined);
    await phone.deny();
    await login.answer("");
    const kept = await world.store.get(historyKey(view?.id ?? ""));
    assertEquals(decodeLoginRecord(kept.value)?.phone, name ?? undefined);
    const told: unknown[] = [];
    for await (const { value } of world.store.list<Record<string, unknown>>(["audit"])) {
      if (value?.action === "login.rejected") told.push(value.phone);
    }
    assertEquals(told, [name ?? undefined]);
  });
}
