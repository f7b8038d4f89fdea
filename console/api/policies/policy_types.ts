// Types and bodies of the policy API, shared with the pages. radius/policy/policy_registry.ts checks the policies themselves.

import * as v from "valibot";
import type { Factor } from "../../../radius/flow/context.ts";
import type { Policy } from "../../../radius/policy/policy.ts";
import type { PolicyMiss } from "../../../radius/policy/evaluator.ts";
import type {
  PolicyDecision,
  PolicyExplanation,
  PreviewEffect,
} from "../../../radius/policy/policy_preview.ts";

export interface PolicyPage {
  /** A change names the version that it is based on. */
  readonly version: number;
  readonly policies: readonly Policy[];
  /** What the forms offer. */
  readonly clients: readonly string[];
  readonly factors: readonly Factor[];
  /** Clients whose passwords the gateway does not check, so that a bypass needs the word of the client. */
  readonly uncheckedClients: readonly string[];
  readonly missing: MissingNames;
}

/** Names in conditions that do not exist. */
export interface MissingNames {
  readonly groups: readonly string[];
  readonly clients: readonly string[];
}

/** Why a policy does not apply: a code for programs, and a sentence. */
export interface PolicyVerdict {
  readonly id: string;
  readonly name: string;
  /** `null`: all conditions hold. */
  readonly miss: PolicyMiss | null;
  readonly reason: string;
  /** Whether it is the first one whose conditions hold. */
  readonly applies: boolean;
}

export interface EvaluationAnswer extends Omit<PolicyExplanation, "misses"> {
  readonly atMs: number;
  readonly verdicts: readonly PolicyVerdict[];
}

/** A sign-in for which the draft decides differently. */
export interface ReplayChange {
  readonly id: string;
  readonly user: string;
  readonly client: string;
  readonly place: string;
  readonly atMs: number;
  readonly outcome: string;
  readonly before: PolicyDecision;
  readonly after: PolicyDecision;
}

export interface ReplayAnswer {
  readonly fromMs: number;
  /** The number of sign-ins that were evaluated. */
  readonly evaluated: number;
  /** The start of the oldest sign-in that was evaluated, if older ones were not; otherwise `null`. */
  readonly cutAtMs: number | null;
  readonly changed: number;
  /** The newest of them, at most {@link MAX_CHANGES_SHOWN}. */
  readonly changes: readonly ReplayChange[];
}

export type { PreviewEffect };

export const MAX_CHANGES_SHOWN = 200;

/** A policy without its id. */
const CONTENT = v.record(v.string(), v.unknown());
const version = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Confirms a list that locks users or administrators out. */
const confirm = v.optional(v.boolean(), false);
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));

export const NEW_POLICY = v.strictObject({
  version,
  confirm,
  policy: CONTENT,
  /** The position in the list; the end if it is absent. */
  position: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(200))),
});
export const CHANGED_POLICY = v.strictObject({ version, confirm, policy: CONTENT });
export const POLICY_ORDER = v.strictObject({
  version,
  confirm,
  ids: v.pipe(v.array(text(32)), v.maxLength(200)),
});
export const REMOVED_POLICY = v.strictObject({ version, confirm });
/** A list that is not stored; absent: the stored one. */
const draft = v.optional(v.pipe(v.array(CONTENT), v.maxLength(200)));
export const EVALUATION = v.strictObject({
  user: v.pipe(text(253), v.trim(), v.minLength(1)),
  client: text(256),
  address: v.optional(v.pipe(text(253), v.trim()), ""),
  /** Milliseconds since the epoch; absent: now. */
  atMs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(8_000_000_000_000))),
  draft,
});
export const REPLAY = v.strictObject({ draft });
