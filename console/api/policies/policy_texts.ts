// Policies in words, for the audit log and for programs. The pages have their own texts in each language.

import type { AuditValues } from "../../../platform/audit.ts";
import {
  CONDITION_FIELDS,
  type Policy,
  type PolicyOutcome,
  type PolicyTime,
} from "../../../radius/policy/policy.ts";
import type { PolicyMiss } from "../../../radius/policy/evaluator.ts";

/** Why a policy does not apply. */
export function missSentence(miss: PolicyMiss): string {
  if (miss === "disabled") return "The policy is turned off.";
  return miss === "unknownUser"
    ? "The policy accepts without a second factor, and the user is not in the directory."
    : CONDITION_FIELDS[miss].miss;
}

const timeText = ({ days, from, to, zone }: PolicyTime) => `${days.join(" ")} ${from}–${to} ${zone}`;

/** The fields of a policy for the audit log. */
export function policyAuditValues({ name, enabled, conditions, outcome }: Policy): AuditValues {
  const lists = Object.entries(conditions).map(([field, list]) => [
    field,
    field === "times" ? (list as readonly PolicyTime[]).map(timeText).join(", ") : list.join(", "),
  ]);
  return { name, enabled, ...Object.fromEntries(lists), ...outcomeValues(outcome) };
}

function outcomeValues(outcome: PolicyOutcome): AuditValues {
  const { kind, ...fields } = outcome;
  const texts = Object.entries(fields).map(([field, value]) => [
    field,
    field === "attributes"
      ? Object.entries(value as object).map(([name, one]) => `${name} = ${one}`).join(", ")
      : Array.isArray(value)
      ? value.join(", ")
      : value,
  ]);
  return { outcome: kind, ...Object.fromEntries(texts) };
}
