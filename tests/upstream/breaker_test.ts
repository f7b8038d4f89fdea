// The circuit breaker: when it opens, how long it waits, and who may try.

import { assertEquals } from "@std/assert";
import {
  admitCall,
  afterCall,
  type Breaker,
  BREAKER_LIMITS,
  type CallLesson,
  CLOSED_BREAKER,
  isOpen,
} from "../../upstream/breaker.ts";

const learn = (breaker: Breaker, lesson: CallLesson, nowMs: number, jitter = 0): Breaker =>
  afterCall(breaker, lesson, { nowMs, jitter, limits: BREAKER_LIMITS });

const failing = (times: number, everyMs = 10): Breaker => {
  let breaker: Breaker = CLOSED_BREAKER;
  for (let at = 0; at < times; at++) breaker = learn(breaker, "down", at * everyMs);
  return breaker;
};

Deno.test("afterCall() opens with the fifth failure in a row, not before", () => {
  assertEquals(isOpen(failing(4)), false);
  assertEquals(isOpen(failing(5)), true);
});

Deno.test("afterCall() starts a row anew after an answer, and after the window", () => {
  const afterAnswer = learn(failing(4), "alive", 50);
  assertEquals(afterAnswer, CLOSED_BREAKER);
  assertEquals(isOpen(learn(afterAnswer, "down", 60)), false);
  assertEquals(isOpen(failing(5, BREAKER_LIMITS.windowMs / 2)), false);
});

Deno.test("admitCall() lets exactly one call try after the wait", () => {
  const open = failing(5);
  assertEquals(admitCall(open, open.retryAtMs - 1).admitted, false);
  const probe = admitCall(open, open.retryAtMs);
  assertEquals(probe.admitted, true);
  assertEquals(admitCall(probe.next, open.retryAtMs + 1).admitted, false);
});

Deno.test("afterCall() closes after a probe that was answered", () => {
  const open = failing(5);
  const probing = admitCall(open, open.retryAtMs).next;
  assertEquals(learn(probing, "alive", open.retryAtMs), CLOSED_BREAKER);
});

Deno.test("afterCall() gives the place of a probe that never went out to the next one", () => {
  const open = failing(5);
  const probing = admitCall(open, open.retryAtMs).next;
  assertEquals(admitCall(learn(probing, "unused", open.retryAtMs), open.retryAtMs).admitted, true);
});

Deno.test("afterCall() doubles the wait with each probe that failed, from 5 s to 60 s", () => {
  const waits: number[] = [];
  let breaker = failing(5, 0);
  let nowMs = 0;
  for (let round = 0; round < 6; round++) {
    waits.push(breaker.retryAtMs - nowMs);
    nowMs = breaker.retryAtMs;
    breaker = learn(admitCall(breaker, nowMs).next, "down", nowMs);
  }
  assertEquals(waits, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

Deno.test("afterCall() shortens the wait by jitter to no less than a half", () => {
  let breaker: Breaker = CLOSED_BREAKER;
  for (let at = 0; at < 5; at++) breaker = learn(breaker, "down", 0, 1);
  assertEquals(breaker.retryAtMs, 2_500);
});

Deno.test("afterCall() does not wait longer for calls that were under way when it opened", () => {
  const open = failing(5);
  assertEquals(learn(open, "down", 1000), open);
});
