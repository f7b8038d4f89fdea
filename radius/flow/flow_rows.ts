// The form of the rows of the flow table, and rows that several places share.

import type { FlowCondition } from "./conditions.ts";
import type { Effect } from "./effects.ts";
import type { Prompt } from "./prompts.ts";
import type { FlowEnd, FlowPlace } from "../protocol/steps.ts";

export interface FlowRow {
  /** The name of the row in logs, audit, console and tests. */
  readonly name: string;
  /** `*`: every step of a live conversation. */
  readonly from: FlowPlace | "*";
  readonly when: readonly FlowCondition[];
  readonly then: readonly Effect[];
  /** The prompt in Reply-Message; `null` for a row into a passage. */
  readonly prompt: Prompt | null;
  readonly to: FlowPlace | FlowEnd;
}

type Tail = [
  when: readonly FlowCondition[],
  then: readonly Effect[],
  prompt: Prompt | null,
  to: FlowPlace | FlowEnd,
];

/** Rows of one place, in their order. */
export function rows(from: FlowPlace | "*", tails: Record<string, Tail>): FlowRow[] {
  return Object.entries(tails).map(([name, tail]) => {
    const [when, then, prompt, to] = tail;
    return { name, from, when, then, prompt, to };
  });
}

const MENU = "CHOOSE_WHICH_MULTIFACTOR";

/** The rows of a step that waits for a delivered passcode; the four steps differ only in their names. */
export function passcodeRows(from: FlowPlace, kind: string): FlowRow[] {
  return rows(from, {
    [`${kind}_empty`]: [["answer_empty"], [], "menu", MENU],
    [`${kind}_right`]: [
      ["passcode_matches"],
      ["take_kept_passcode", "remember_number", "remember_device", "clear_failures"],
      "accepted",
      "accept",
    ],
    [`${kind}_wrong`]: [
      ["always"],
      ["count_failure_if_passcode", "take_kept_passcode"],
      "mismatch",
      "reject",
    ],
  });
}

/** The rows of a user without a factor after the deadline of the enrolment, and of a policy that requires a factor which the user does not have. */
export function requiredRows(from: FlowPlace, suffix: string): FlowRow[] {
  return rows(from, {
    [`overdue${suffix}`]: [["enrolment_overdue"], [], "enrol_first", "reject"],
    [`needs_device${suffix}`]: [["lacks_required_device"], [], "needs_device", "reject"],
    [`needs_sms${suffix}`]: [["lacks_required_sms"], [], "needs_sms", "reject"],
    [`needs_voice${suffix}`]: [["lacks_required_voice"], [], "needs_voice", "reject"],
    [`needs_totp${suffix}`]: [["lacks_required_totp"], [], "needs_totp", "reject"],
  });
}
