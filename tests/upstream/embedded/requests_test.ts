// Requests of the embedded service: decided once, by the number, in time.

import { assertEquals, assertMatch } from "@std/assert";
import { eventually, settle } from "../manual_clock.ts";
import { right } from "../worlds.ts";
import { openStage, pairPhone, type Stage, TTL_MS } from "./stage.ts";

const statusOf = async ({ embedded }: Stage, id: string) => {
  const { pending, granted, cancelled, reason } = right(await embedded.service.status(id));
  return { pending, granted, cancelled, reason };
};
const GRANTED = { pending: false, granted: true, cancelled: false, reason: "" };

const otherNumber = (number: string | undefined) => number === "42" ? "43" : "42";

Deno.test("PhoneService.decide() approves with the number of the prompt", async () => {
  await using stage = await openStage();
  const { id, numberToMatch } = await stage.ask();
  assertMatch(numberToMatch ?? "", /^[1-9]\d$/);
  const number = ` ${numberToMatch} `;
  assertEquals(await stage.embedded.phone.decide(stage.token, id, { approve: true, number }), {
    ok: true,
    value: null,
  });
  assertEquals(await statusOf(stage, id), GRANTED);
});

Deno.test("PhoneService.decide() denies the request for one wrong number, and the right one comes too late", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  const { phone } = stage.embedded;
  const number = otherNumber(numberToMatch ?? undefined);
  assertEquals(await phone.decide(stage.token, id, { approve: true, number }), {
    ok: false,
    reason: "wrong_number",
  });
  assertEquals(await phone.decide(stage.token, id, { approve: true, number: numberToMatch }), {
    ok: false,
    reason: "already_decided",
  });
  const { pending, granted } = await statusOf(stage, id);
  assertEquals([pending, granted], [false, false]);
});

Deno.test("PhoneService.decide() neither approves nor denies while no number was entered", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  const { phone } = stage.embedded;
  for (const number of [null, "", "  "]) {
    assertEquals(await phone.decide(stage.token, id, { approve: true, number }), {
      ok: false,
      reason: "wrong_number",
    });
  }
  assertEquals((await statusOf(stage, id)).pending, true);
  right(await phone.decide(stage.token, id, { approve: true, number: numberToMatch }));
});

const WITHOUT_NUMBER = {
  "where the login shows no prompt": { numberMatching: true, hasPrompt: false },
  "where number matching is off": { numberMatching: false, hasPrompt: true },
};
for (const [where, { numberMatching, hasPrompt }] of Object.entries(WITHOUT_NUMBER)) {
  Deno.test(`PhoneService.decide() approves without a number ${where}`, async () => {
    await using stage = await openStage({ numberMatching });
    const { id, numberToMatch } = await stage.ask({ hasPrompt });
    assertEquals(numberToMatch, undefined);
    const [shown] = (await stage.embedded.phone.view(stage.token))?.requests ?? [];
    assertEquals([shown?.asksNumber, shown?.client, shown?.place], [false, "vpn-1", "192.0.2.7"]);
    right(await stage.embedded.phone.decide(stage.token, id, { approve: true, number: null }));
    assertEquals(await statusOf(stage, id), GRANTED);
  });
}

Deno.test("PhoneService.decide() lets no phone decide for another one", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  const stranger = await pairPhone(stage.embedded, "bob");
  for (const approve of [true, false]) {
    const decision = approve ? { approve, number: numberToMatch } as const : { approve } as const;
    assertEquals(await stage.embedded.phone.decide(stranger.token, id, decision), {
      ok: false,
      reason: "unknown_request",
    });
    assertEquals(await stage.embedded.phone.decide("no-such-token", id, decision), {
      ok: false,
      reason: "unknown_token",
    });
  }
  assertEquals((await statusOf(stage, id)).pending, true);
});

Deno.test("A request takes one decision when many come at once", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  for (let round = 0; round < 10; round++) {
    const { id, numberToMatch = null } = await stage.ask();
    const wins = await Promise.all([
      phone.decide(stage.token, id, { approve: true, number: numberToMatch }).then(({ ok }) => ok),
      phone.decide(stage.token, id, { approve: false }).then(({ ok }) => ok),
      desk.deny(id),
      desk.cancel(id),
      phone.decide(stage.token, id, { approve: true, number: numberToMatch }).then(({ ok }) => ok),
    ]);
    assertEquals(wins.filter(Boolean).length, 1);
    const [approvedFirst, , , , approvedAgain] = wins;
    assertEquals((await statusOf(stage, id)).granted, approvedFirst === true || approvedAgain === true);
  }
});

Deno.test("A request without a decision in time is over: no approval any more, and a reason", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  let decided = 0;
  stage.embedded.service.onDecision(id, () => decided++);
  stage.clock.advance(TTL_MS);
  await eventually("the end of the request is recorded", () => decided > 0 && stage.clock.timers() === 0);
  assertEquals(await stage.embedded.phone.decide(stage.token, id, { approve: true, number: numberToMatch }), {
    ok: false,
    reason: "expired",
  });
  assertEquals(await statusOf(stage, id), {
    pending: false,
    granted: false,
    cancelled: false,
    reason: "Nobody answered in time",
  });
  assertEquals([decided, stage.embedded.desk.pendingApprovals().length, stage.clock.timers()], [1, 0, 0]);
});

Deno.test("A request is forgotten ten minutes after its end", async () => {
  await using stage = await openStage();
  const { id } = await stage.ask();
  let decided = 0;
  stage.embedded.service.onDecision(id, () => decided++);
  stage.clock.advance(TTL_MS + 10 * 60_000 + 1);
  await eventually("the end of the request is recorded", () => decided > 0);
  await stage.ask();
  const answer = await stage.embedded.service.status(id);
  assertEquals(!answer.ok && answer.fault.kind, "unknown");
});

Deno.test("A pairing has at most five waiting requests: the oldest make room", async () => {
  await using stage = await openStage();
  const asked = await Promise.all(Array.from({ length: 8 }, () => stage.ask()));
  const states = await Promise.all(asked.map(({ id }) => statusOf(stage, id)));
  assertEquals(states.map(({ pending }) => pending), [false, false, false, true, true, true, true, true]);
  assertEquals(states[0], {
    pending: false,
    granted: false,
    cancelled: true,
    reason: "Newer requests took its place",
  });
  assertEquals((await stage.embedded.phone.view(stage.token))?.requests.length, 5);
});

Deno.test("SecondFactorService.cancel() takes the request off the phone, and it cannot be approved", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  await stage.embedded.service.cancel(id);
  assertEquals((await stage.embedded.phone.view(stage.token))?.requests, []);
  const decision = { approve: true, number: numberToMatch } as const;
  assertEquals((await stage.embedded.phone.decide(stage.token, id, decision)).ok, false);
  const { cancelled, granted } = await statusOf(stage, id);
  assertEquals([cancelled, granted], [true, false]);
});

Deno.test("SecondFactorService.cancel() changes nothing once the request was approved", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  right(await stage.embedded.phone.decide(stage.token, id, { approve: true, number: numberToMatch }));
  await stage.embedded.service.cancel(id);
  assertEquals(await statusOf(stage, id), GRANTED);
});

Deno.test("SecondFactorService.onDecision() calls back once, also for what was decided before, and not after the stop", async () => {
  await using stage = await openStage();
  const [first, second] = [await stage.ask(), await stage.ask()];
  const calls: string[] = [];
  stage.embedded.service.onDecision(first.id, () => calls.push("first"));
  const stop = stage.embedded.service.onDecision(second.id, () => calls.push("second"));
  stop();
  await stage.embedded.desk.deny(first.id);
  await stage.embedded.desk.deny(second.id);
  stage.embedded.service.onDecision(first.id, () => calls.push("afterwards"));
  await settle();
  assertEquals(calls, ["first", "afterwards"]);
});

Deno.test("SecondFactorDesk shows what waits, tells of changes, and decides once", async () => {
  await using stage = await openStage();
  const { desk } = stage.embedded;
  let changes = 0;
  const stop = desk.onChange(() => changes++);
  const { id } = await stage.ask();
  assertEquals(desk.pendingApprovals(), [{
    requestId: id,
    userName: "ada",
    terminalName: "VPN Access",
    client: "vpn-1",
    place: "192.0.2.7",
    createdMs: stage.clock.nowMs(),
    deadlineMs: stage.clock.nowMs() + TTL_MS,
  }]);
  assertEquals([await desk.deny(id), await desk.deny(id), await desk.cancel(id)], [true, false, false]);
  assertEquals([desk.pendingApprovals().length, changes], [0, 2]);
  stop();
  assertEquals((await statusOf(stage, id)).reason, "Denied by an administrator");
});

Deno.test("SecondFactorDesk.deny() writes what belongs to the decision with it, and nothing when it comes too late", async () => {
  await using stage = await openStage();
  const { id: requestId } = await stage.ask();
  const { desk } = stage.embedded;
  const also = (name: string) => ({ also: [{ type: "set", key: ["told", name], value: name }] as const });
  assertEquals(await desk.deny(requestId, also("first")), true);
  assertEquals(await desk.cancel(requestId, also("second")), false);
  const told = await Array.fromAsync(stage.ground.store.list<string>(["told"]));
  assertEquals(told.map(({ value }) => value), ["first"]);
});

Deno.test("Requests survive a restart: one that waits can be approved, one that was decided stays so", async () => {
  await using stage = await openStage();
  const [waiting, decided] = [await stage.ask(), await stage.ask()];
  right(
    await stage.embedded.phone.decide(stage.token, decided.id, {
      approve: true,
      number: decided.numberToMatch ?? null,
    }),
  );
  const again = await stage.restart();
  assertEquals(right(await again.service.status(decided.id)).granted, true);
  assertEquals(again.desk.pendingApprovals().map(({ requestId }) => requestId), [waiting.id]);
  right(
    await again.phone.decide(stage.token, waiting.id, {
      approve: true,
      number: waiting.numberToMatch ?? null,
    }),
  );
  assertEquals(right(await again.service.status(waiting.id)).granted, true);
});

Deno.test("Two services over one store: one decision wins, and the loser learns it", async () => {
  await using stage = await openStage();
  const { id, numberToMatch = null } = await stage.ask();
  const other = await stage.restart();
  assertEquals(await other.desk.deny(id), true);
  // The first service still has the request as waiting in memory.
  const late = await stage.embedded.phone.decide(stage.token, id, { approve: true, number: numberToMatch });
  assertEquals(late, { ok: false, reason: "already_decided" });
  assertEquals((await statusOf(stage, id)).granted, false);
});

Deno.test("SecondFactorService.otpAuth() takes each time step's passcode once", async () => {
  await using stage = await openStage();
  const { code } = right(await stage.embedded.phone.passcode(stage.token, stage.pairingId));
  const attempts = [];
  for (let attempt = 0; attempt < 2; attempt++) {
    const { id } = await stage.ask();
    attempts.push(right(await stage.embedded.service.otpAuth(id, code)).granted);
  }
  assertEquals(attempts, [true, false]);
});

Deno.test("SecondFactorService.otpAuth() takes one passcode once when it comes for two requests at the same time", async () => {
  await using stage = await openStage();
  const { code } = right(await stage.embedded.phone.passcode(stage.token, stage.pairingId));
  const asked = [await stage.ask(), await stage.ask()];
  const answers = await Promise.all(asked.map(({ id }) => stage.embedded.service.otpAuth(id, code)));
  assertEquals(answers.filter((answer) => right(answer).granted).length, 1);
});

Deno.test("SecondFactorService.otpAuth() allows one step of delay, not two", async () => {
  await using stage = await openStage();
  const results: boolean[] = [];
  for (const lateMs of [30_000, 60_000]) {
    const { code, validUntilMs } = right(await stage.embedded.phone.passcode(stage.token, stage.pairingId));
    stage.clock.advance(validUntilMs - stage.clock.nowMs() - 1 + lateMs);
    const { id } = await stage.ask();
    results.push(right(await stage.embedded.service.otpAuth(id, code)).granted);
    stage.clock.advance(120_000);
    await settle();
  }
  assertEquals(results, [true, false]);
});
