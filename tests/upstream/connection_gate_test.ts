// The count of exchanges under way.

import { assertEquals } from "@std/assert";
import { createConnectionGate, type GateOutcome } from "../../upstream/connection_gate.ts";
import { createManualClock, settle } from "./manual_clock.ts";

const LIMITS = { perRoute: 2, total: 3, waiting: 2 };

const newGate = () => {
  const clock = createManualClock();
  return { clock, gate: createConnectionGate(clock, LIMITS), deadlineMs: clock.nowMs() + 1000 };
};

const entered = (outcome: GateOutcome): () => void => {
  if (!outcome.ok) throw new Error(`No place: ${outcome.detail}`);
  return outcome.leave;
};

Deno.test("ConnectionGate.enter() holds the limit of a route and gives a place to who came first", async () => {
  const { gate, deadlineMs } = newGate();
  const leaveFirst = entered(await gate.enter("a", deadlineMs));
  entered(await gate.enter("a", deadlineMs));
  const order: string[] = [];
  const third = gate.enter("a", deadlineMs).then((outcome) => (order.push("third"), entered(outcome)));
  const fourth = gate.enter("a", deadlineMs).then((outcome) => (order.push("fourth"), entered(outcome)));
  await settle();
  assertEquals([gate.underWay(), gate.waiting(), order.length], [2, 2, 0]);
  leaveFirst();
  (await third)();
  await fourth;
  assertEquals(order, ["third", "fourth"]);
});

Deno.test("ConnectionGate.enter() holds the limit of all routes together", async () => {
  const { gate, deadlineMs } = newGate();
  for (const route of ["a", "b", "c"]) entered(await gate.enter(route, deadlineMs));
  void gate.enter("d", deadlineMs);
  await settle();
  assertEquals([gate.underWay(), gate.waiting()], [3, 1]);
});

Deno.test("ConnectionGate.enter() lets a route that has room pass one that has none", async () => {
  const { gate, deadlineMs } = newGate();
  entered(await gate.enter("a", deadlineMs));
  const leaveA = entered(await gate.enter("a", deadlineMs));
  const leaveB = entered(await gate.enter("b", deadlineMs));
  const waitsForA = gate.enter("a", deadlineMs);
  const waitsForB = gate.enter("b", deadlineMs);
  leaveB();
  entered(await waitsForB);
  leaveA();
  entered(await waitsForA);
});

Deno.test("ConnectionGate.enter() rejects callers that wait beyond the deadline, or beyond the queue", async () => {
  const { clock, gate, deadlineMs } = newGate();
  for (const route of ["a", "a", "b"]) entered(await gate.enter(route, deadlineMs));
  const waiting = [gate.enter("a", deadlineMs), gate.enter("a", deadlineMs)];
  assertEquals((await gate.enter("a", deadlineMs)).ok, false);
  clock.advance(1000);
  assertEquals((await Promise.all(waiting)).map(({ ok }) => ok), [false, false]);
  assertEquals([gate.waiting(), clock.timers()], [0, 0]);
});

Deno.test("ConnectionGate.leave() counts once however often it is called", async () => {
  const { gate, deadlineMs } = newGate();
  const leave = entered(await gate.enter("a", deadlineMs));
  entered(await gate.enter("a", deadlineMs));
  leave();
  leave();
  assertEquals(gate.underWay(), 1);
});

Deno.test("ConnectionGate.close() sends the waiting away and waits for those under way", async () => {
  const { gate, deadlineMs } = newGate();
  const leaves = [entered(await gate.enter("a", deadlineMs)), entered(await gate.enter("a", deadlineMs))];
  const waiting = gate.enter("a", deadlineMs);
  let closed = false;
  const closing = gate.close().then(() => closed = true);
  assertEquals((await waiting).ok, false);
  assertEquals((await gate.enter("b", deadlineMs)).ok, false);
  await settle();
  assertEquals(closed, false);
  for (const leave of leaves) leave();
  await closing;
});
