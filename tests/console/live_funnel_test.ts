// The funnel of the Live page, and the keys of the inspector's tabs, as rows.

import { assertEquals } from "@std/assert";
import { OUTCOME_NAMES, STEP_NAMES } from "../../console/web/app/login_state_labels.ts";
import { countFunnel, fitsState, FUNNEL_NAMES } from "../../console/web/pages/live/live_counts.ts";
import { INSPECTOR_TABS, tabOfKey } from "../../console/web/pages/live/login_inspector.tsx";

const STATES: readonly (readonly [state: string, stage: string | null])[] = [
  ["start", "start"],
  ["FIRSTFACTOR_GET_ANSWER", "start"],
  ["FIRSTFACTOR_GET_NEW_PASSWORD", "start"],
  ["FIRSTFACTOR_REPEAT_NEW_PASSWORD", "start"],
  ["CHOOSE_WHICH_MULTIFACTOR", "factor"],
  ["SECONDFACTOR_GET_PAIRING_PHRASE", "factor"],
  ["SECONDFACTOR_AWAIT_PAIRING_APPROVAL", "waiting"],
  ["SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "waiting"],
  ["GET_SMS_PHONE_NUMBER", "factor"],
  ["VERIFY_SMS_PHONE_NUMBER", "factor"],
  ["AWAIT_SMS_DELIVERED_PASSCODE", "waiting"],
  ["GET_VOICE_PHONE_NUMBER", "factor"],
  ["VERIFY_VOICE_PHONE_NUMBER", "factor"],
  ["AWAIT_VOICE_DELIVERED_PASSCODE", "waiting"],
  ["GET_DEVICE_GENERATED_PASSCODE", "waiting"],
  ["accepted", "accepted"],
  ["rejected", "rejected"],
  ["expired", null],
  ["cancelled", null],
  ["superseded", null],
];
for (const [state, stage] of STATES) {
  Deno.test(`fitsState() puts ${state} into ${stage ?? "no stage"}`, () => {
    assertEquals(FUNNEL_NAMES.filter((name) => fitsState(name, state)), stage === null ? [] : [stage]);
    assertEquals(fitsState("live", state), !OUTCOME_NAMES.some((name) => name === state));
  });
}

Deno.test("the rows above name every step and outcome", () => {
  assertEquals(new Set(STATES.map(([state]) => state)), new Set(["start", ...STEP_NAMES, ...OUTCOME_NAMES]));
});

Deno.test("countFunnel() adds up the states of a stage, and ignores states that it does not know", () => {
  const counts = countFunnel(
    new Map([
      ["start", 4],
      ["AWAIT_SMS_DELIVERED_PASSCODE", 2],
      ["SECONDFACTOR_AWAIT_DEVICE_APPROVAL", 3],
      ["CHOOSE_WHICH_MULTIFACTOR", 1],
      ["accepted", 7],
      ["expired", 9],
      ["a step of tomorrow", 5],
    ]),
  );
  assertEquals(counts, new Map([["start", 4], ["waiting", 5], ["factor", 1], ["accepted", 7]]));
});

const KEYS: readonly (readonly [key: string, from: number, to: number | null])[] = [
  ["ArrowRight", 0, 1],
  ["ArrowRight", 2, 0],
  ["ArrowLeft", 0, 2],
  ["ArrowLeft", 2, 1],
  ["Home", 2, 0],
  ["End", 0, 2],
  ["Enter", 0, null],
  ["constructor", 0, null],
];
for (const [key, from, to] of KEYS) {
  Deno.test(`tabOfKey() moves from tab ${from} to ${to} with ${key}`, () => {
    const tab = INSPECTOR_TABS[from] ?? "summary";
    assertEquals(tabOfKey(key, tab), to === null ? null : INSPECTOR_TABS[to] ?? null);
  });
}
