// The numbers of the Live page: the stages of the funnel, counts by name, and the steps where logins wait longer than usual.

import { signal } from "@preact/signals";
import type { ConversationView } from "../../../../radius/ports.ts";
import type { Step } from "../../../../radius/protocol/steps.ts";
import { findMomentNode, OUTCOME_NAMES, STEP_NAMES } from "../../app/login_state_labels.ts";

/** The stages of a sign-in in progress, in order. */
const STAGE_NAMES = ["start", "factor", "waiting"] as const;
type StageName = typeof STAGE_NAMES[number];

/** `waiting`: an answer to the second factor is pending. `factor`: the user still selects or sets up the factor. */
const STEP_STAGES: Readonly<Record<Step, StageName>> = {
  FIRSTFACTOR_GET_ANSWER: "start",
  FIRSTFACTOR_GET_NEW_PASSWORD: "start",
  FIRSTFACTOR_REPEAT_NEW_PASSWORD: "start",
  CHOOSE_WHICH_MULTIFACTOR: "factor",
  SECONDFACTOR_GET_PAIRING_PHRASE: "factor",
  GET_SMS_PHONE_NUMBER: "factor",
  VERIFY_SMS_PHONE_NUMBER: "factor",
  GET_VOICE_PHONE_NUMBER: "factor",
  VERIFY_VOICE_PHONE_NUMBER: "factor",
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: "waiting",
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "waiting",
  AWAIT_SMS_DELIVERED_PASSCODE: "waiting",
  AWAIT_VOICE_DELIVERED_PASSCODE: "waiting",
  GET_DEVICE_GENERATED_PASSCODE: "waiting",
};

const STAGES: ReadonlyMap<string, StageName> = new Map<string, StageName>([
  ["start", "start"],
  ...STEP_NAMES.map((step) => [step, STEP_STAGES[step]] as const),
]);
const OUTCOMES: ReadonlySet<string> = new Set(OUTCOME_NAMES);

/** Whether a state filter selects a node of the flow diagram or an outcome. */
export function fitsState(filter: string, state: string): boolean {
  if (filter === state) return true;
  if (filter === "live") return !OUTCOMES.has(state);
  return filter === STAGES.get(state);
}

/** One part of the funnel. `name` is also the value of the state filter. */
export const FUNNEL_NAMES = [...STAGE_NAMES, "accepted", "rejected"] as const;
export type FunnelName = typeof FUNNEL_NAMES[number];

/** @param counts by node of the flow diagram and by outcome. */
export function countFunnel(counts: ReadonlyMap<string, number>): ReadonlyMap<FunnelName, number> {
  const sums = new Map<FunnelName, number>();
  for (const [state, count] of counts) {
    const name = FUNNEL_NAMES.find((one) => fitsState(one, state));
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return sums;
}

const MAX_NAMES = 200;

/** `show` copies the counts into the signals. */
export class NameCounters {
  readonly counts = signal<Readonly<Record<string, number>>>({});
  /** Sorted; the same array while the names are the same. */
  readonly names = signal<readonly string[]>([]);
  readonly #counts = new Map<string, number>();
  #isChanged = false;

  /** `by` may be negative. A name whose count becomes 0 is removed. */
  add(name: string, by: number): void {
    const next = (this.#counts.get(name) ?? 0) + by;
    if (next <= 0) this.#counts.delete(name);
    else this.#counts.set(name, next);
    this.#isChanged = true;
  }

  clear(): void {
    this.#counts.clear();
    this.#isChanged = true;
  }

  show(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.counts.value = Object.fromEntries(this.#counts);
    const next = [...this.#counts.keys()].slice(0, MAX_NAMES).sort();
    const before = this.names.peek();
    if (next.length !== before.length || next.some((name, at) => name !== before[at])) {
      this.names.value = next;
    }
  }
}

/** With fewer passes, the usual time of a step is unknown. */
const MIN_PASSES = 20;
const SHARE = 0.95;

/**
 * The steps where more than half of the waiting logins wait longer than 95 % of earlier logins did.
 *
 * @param nowMs the server's time.
 */
export function findSlowSteps(views: Iterable<ConversationView>, nowMs: number): ReadonlySet<string> {
  const passed = new Map<string, number[]>();
  const current = new Map<string, number[]>();
  for (const { moments, outcome, startedMs } of views) {
    let since = startedMs;
    let at = "start";
    for (const { atMs, step } of moments) {
      append(passed, at, atMs - since);
      at = findMomentNode(step);
      since = atMs;
    }
    if (outcome === null) append(current, at, nowMs - since);
  }
  const slow = new Set<string>();
  for (const [step, ages] of current) {
    const usual = percentile(passed.get(step) ?? []);
    if (usual !== null && ages.filter((age) => age > usual).length * 2 > ages.length) slow.add(step);
  }
  return slow;
}

function append(lists: Map<string, number[]>, name: string, value: number): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}

function percentile(times: number[]): number | null {
  if (times.length < MIN_PASSES) return null;
  times.sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * SHARE))] ?? null;
}
