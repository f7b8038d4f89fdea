// Requests of the embedded service: decided once, with the right number, before the deadline.

import { assertEquals, assertMatch } from "@std/assert";
import { createManualClock, eventually, settle } from "../../manual_clock.ts";
import { CONTEXT, loadEmbedded, openServiceDeps, right } from "../../start_services.ts";
import { pairPhone, type SecondFactorSetup, startSecondFactor, TTL_MS } from "./start_second_factor.ts";

const statusOf = async ({ embedded }: SecondFactorSetup, id: string) => {
  const { pending, granted, cancelled, reason } = right(await embedded.service.status(id));
  return { pending, granted, cancelled, reason };
};
const GRANTED = { pending: false, granted: true, cancelled: false, reason: "" };

const otherNumber = (number: string | undefined) => number === "42" ? "43" : "42";

Deno.test("DeviceService.decide() approves with the number of the prompt", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch } = await setup.ask();
  assertMatch(numberToMatch ?? "", /^[1-9]\d$/);
  const number = ` ${numberToMatch} `;
  assertEquals(await setup.embedded.phone.decide(setup.token, id, { approve: true, number }), {
    ok: true,
    value: null,
  });
  assertEquals(await statusOf(setup, id), GRANTED);
});

Deno.test("DeviceService.decide() denies the request for one wrong number, and the right one comes too late", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  const { phone } = setup.embedded;
  const number = otherNumber(numberToMatch ?? undefined);
  assertEquals(await phone.decide(setup.token, id, { approve: true, number }), {
    ok: false,
    reason: "wrong_number",
  });
  assertEquals(await phone.decide(setup.token, id, { approve: true, number: numberToMatch }), {
    ok: false,
    reason: "already_decided",
  });
  const { pending, granted } = await statusOf(setup, id);
  assertEquals([pending, granted], [false, false]);
});

Deno.test("DeviceService.decide() neither approves nor denies before a number is entered", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  const { phone } = setup.embedded;
  for (const number of [null, "", "  "]) {
    assertEquals(await phone.decide(setup.token, id, { approve: true, number }), {
      ok: false,
      reason: "wrong_number",
    });
  }
  assertEquals((await statusOf(setup, id)).pending, true);
  right(await phone.decide(setup.token, id, { approve: true, number: numberToMatch }));
});

const WITHOUT_NUMBER = {
  "where the login shows no prompt": { numberMatching: true, hasPrompt: false },
  "where number matching is off": { numberMatching: false, hasPrompt: true },
};
for (const [where, { numberMatching, hasPrompt }] of Object.entries(WITHOUT_NUMBER)) {
  Deno.test(`DeviceService.decide() approves without a number ${where}`, async () => {
    await using setup = await startSecondFactor({ numberMatching });
    const { id, numberToMatch } = await setup.ask({ hasPrompt });
    assertEquals(numberToMatch, undefined);
    const [shown] = (await setup.embedded.phone.view(setup.token))?.requests ?? [];
    assertEquals([shown?.asksNumber, shown?.client, shown?.place], [false, "vpn-1", "192.0.2.7"]);
    right(await setup.embedded.phone.decide(setup.token, id, { approve: true, number: null }));
    assertEquals(await statusOf(setup, id), GRANTED);
  });
}

Deno.test("DeviceService.decide() does not let a phone decide for another one", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  const stranger = await pairPhone(setup.embedded, "bob");
  for (const approve of [true, false]) {
    const decision = approve ? { approve, number: numberToMatch } as const : { approve } as const;
    assertEquals(await setup.embedded.phone.decide(stranger.token, id, decision), {
      ok: false,
      reason: "unknown_request",
    });
    assertEquals(await setup.embedded.phone.decide("no-such-token", id, decision), {
      ok: false,
      reason: "unknown_token",
    });
  }
  assertEquals((await statusOf(setup, id)).pending, true);
});

Deno.test("A request accepts one of several simultaneous decisions", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  for (let round = 0; round < 10; round++) {
    const { id, numberToMatch = null } = await setup.ask();
    const wins = await Promise.all([
      phone.decide(setup.token, id, { approve: true, number: numberToMatch }).then(({ ok }) => ok),
      phone.decide(setup.token, id, { approve: false }).then(({ ok }) => ok),
      admin.deny(id),
      admin.cancel(id),
      phone.decide(setup.token, id, { approve: true, number: numberToMatch }).then(({ ok }) => ok),
    ]);
    assertEquals(wins.filter(Boolean).length, 1);
    const [approvedFirst, , , , approvedAgain] = wins;
    assertEquals((await statusOf(setup, id)).granted, approvedFirst === true || approvedAgain === true);
  }
});

Deno.test("no commit has more checks than a KV Connect server accepts: many requests expire together, and all phones of a user end", async () => {
  const clock = createManualClock();
  const ground = await openServiceDeps(clock);
  const { store } = ground;
  const checks: number[] = [];
  const commit: typeof store.commit = (transaction) => {
    checks.push(transaction.checks?.length ?? 0);
    return store.commit(transaction);
  };
  const embedded = await loadEmbedded({ ...ground, store: { ...store, commit } }, { requestTtlMs: TTL_MS });
  const pairingIds: string[] = [];
  for (let at = 0; at < 3; at++) pairingIds.push((await pairPhone(embedded, "ada")).pairingId);
  const ask = async (pairingId = "") =>
    right(await embedded.service.initiate({ pairingId, terminalName: "VPN", context: CONTEXT }));
  for (const pairingId of pairingIds) for (let at = 0; at < 5; at++) await ask(pairingId);
  clock.advance(TTL_MS);
  await eventually("the ends of all requests are recorded", () => {
    clock.advance(1);
    return embedded.admin.pendingCount() === 0;
  });
  await ask(pairingIds[0]);
  await embedded.admin.invite("ada", { ends: pairingIds });
  assertEquals(Math.max(...checks), 9);
  assertEquals(embedded.admin.pairingsOfSamePhone(pairingIds[0] ?? ""), []);
  await embedded.close();
  await store.close();
});

Deno.test("A request without a decision expires: it cannot be approved any more, and has a reason", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  let decided = 0;
  setup.embedded.service.onDecision(id, () => decided++);
  setup.clock.advance(TTL_MS);
  await eventually("the end of the request is recorded", () => decided > 0 && setup.clock.timers() === 0);
  assertEquals(await setup.embedded.phone.decide(setup.token, id, { approve: true, number: numberToMatch }), {
    ok: false,
    reason: "expired",
  });
  assertEquals(await statusOf(setup, id), {
    pending: false,
    granted: false,
    cancelled: false,
    reason: "No answer in time",
  });
  assertEquals([decided, setup.embedded.admin.pendingApprovals().length, setup.clock.timers()], [1, 0, 0]);
});

Deno.test("A request is deleted ten minutes after its end", async () => {
  await using setup = await startSecondFactor();
  const { id } = await setup.ask();
  let decided = 0;
  setup.embedded.service.onDecision(id, () => decided++);
  setup.clock.advance(TTL_MS + 10 * 60_000 + 1);
  await eventually("the end of the request is recorded", () => decided > 0);
  await setup.ask();
  const answer = await setup.embedded.service.status(id);
  assertEquals(!answer.ok && answer.fault.kind, "unknown");
});

Deno.test("A pairing has at most five pending requests: new ones replace the oldest", async () => {
  await using setup = await startSecondFactor();
  const asked = await Promise.all(Array.from({ length: 8 }, () => setup.ask()));
  const states = await Promise.all(asked.map(({ id }) => statusOf(setup, id)));
  assertEquals(states.map(({ pending }) => pending), [false, false, false, true, true, true, true, true]);
  assertEquals(states[0], {
    pending: false,
    granted: false,
    cancelled: true,
    reason: "Newer requests replaced it",
  });
  assertEquals((await setup.embedded.phone.view(setup.token))?.requests.length, 5);
});

Deno.test("SecondFactorService.cancel() removes the request from the phone, and it cannot be approved", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  await setup.embedded.service.cancel(id);
  assertEquals((await setup.embedded.phone.view(setup.token))?.requests, []);
  const decision = { approve: true, number: numberToMatch } as const;
  assertEquals((await setup.embedded.phone.decide(setup.token, id, decision)).ok, false);
  const { cancelled, granted } = await statusOf(setup, id);
  assertEquals([cancelled, granted], [true, false]);
});

Deno.test("SecondFactorService.cancel() changes nothing after the request was approved", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  right(await setup.embedded.phone.decide(setup.token, id, { approve: true, number: numberToMatch }));
  await setup.embedded.service.cancel(id);
  assertEquals(await statusOf(setup, id), GRANTED);
});

Deno.test("SecondFactorService.onDecision() calls back once, also for an earlier decision, and not after the stop", async () => {
  await using setup = await startSecondFactor();
  const [first, second] = [await setup.ask(), await setup.ask()];
  const calls: string[] = [];
  setup.embedded.service.onDecision(first.id, () => calls.push("first"));
  const stop = setup.embedded.service.onDecision(second.id, () => calls.push("second"));
  stop();
  await setup.embedded.admin.deny(first.id);
  await setup.embedded.admin.deny(second.id);
  setup.embedded.service.onDecision(first.id, () => calls.push("afterwards"));
  await settle();
  assertEquals(calls, ["first", "afterwards"]);
});

Deno.test("SecondFactorAdmin lists pending requests, reports changes, and decides once", async () => {
  await using setup = await startSecondFactor();
  const { admin } = setup.embedded;
  let changes = 0;
  const stop = admin.onChange(() => changes++);
  const { id } = await setup.ask();
  assertEquals(admin.pendingApprovals(), [{
    requestId: id,
    userName: "ada",
    terminalName: "VPN Access",
    client: "vpn-1",
    place: "192.0.2.7",
    createdMs: setup.clock.nowMs(),
    deadlineMs: setup.clock.nowMs() + TTL_MS,
  }]);
  assertEquals([await admin.deny(id), await admin.deny(id), await admin.cancel(id)], [true, false, false]);
  assertEquals([admin.pendingApprovals().length, changes], [0, 2]);
  stop();
  assertEquals((await statusOf(setup, id)).reason, "Denied by an administrator");
});

Deno.test("SecondFactorAdmin.deny() commits the related mutations with the decision, and none when it comes too late", async () => {
  await using setup = await startSecondFactor();
  const { id: requestId } = await setup.ask();
  const { admin } = setup.embedded;
  const also = (name: string) => ({ also: [{ type: "set", key: ["told", name], value: name }] as const });
  assertEquals(await admin.deny(requestId, also("first")), true);
  assertEquals(await admin.cancel(requestId, also("second")), false);
  const told = await Array.fromAsync(setup.ground.store.list<string>(["told"]));
  assertEquals(told.map(({ value }) => value), ["first"]);
});

Deno.test("Requests survive a restart: a pending one can be approved, a decided one stays decided", async () => {
  await using setup = await startSecondFactor();
  const [waiting, decided] = [await setup.ask(), await setup.ask()];
  right(
    await setup.embedded.phone.decide(setup.token, decided.id, {
      approve: true,
      number: decided.numberToMatch ?? null,
    }),
  );
  const again = await setup.restart();
  assertEquals(right(await again.service.status(decided.id)).granted, true);
  assertEquals(again.admin.pendingApprovals().map(({ requestId }) => requestId), [waiting.id]);
  right(
    await again.phone.decide(setup.token, waiting.id, {
      approve: true,
      number: waiting.numberToMatch ?? null,
    }),
  );
  assertEquals(right(await again.service.status(waiting.id)).granted, true);
});

Deno.test("Two services over one store: one decision wins, and the other one gets already_decided", async () => {
  await using setup = await startSecondFactor();
  const { id, numberToMatch = null } = await setup.ask();
  const other = await setup.restart();
  assertEquals(await other.admin.deny(id), true);
  // The first service still has the request as pending in memory.
  const late = await setup.embedded.phone.decide(setup.token, id, { approve: true, number: numberToMatch });
  assertEquals(late, { ok: false, reason: "already_decided" });
  assertEquals((await statusOf(setup, id)).granted, false);
});
