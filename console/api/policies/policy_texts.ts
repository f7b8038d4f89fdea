// Policies in words, for the audit log and for programs. The pages have their own texts in each language.

import type { AuditValues } from "../../../platform/audit.ts";
import type { Policy, PolicyOutcome, PolicyTime } from "../../../radius/policy/policy.ts";
import type { PolicyMiss } from "../../../radius/policy/evaluator.ts";

/** Why a policy does not apply. */
export const MISS_SENTENCES: Readonly<Record<PolicyMiss, string>> = {
  disabled: "The policy is turned off.",
  clients: "The policy is for other clients.",
  users: "The policy is for other users.",
  unknownUser: "The policy accepts without a second factor, and the user is not in the directory.",
  exceptUsers: "The policy excludes this user.",
  groups: "The user is in none of the groups.",
  exceptGroups: "The user is in an excluded group.",
  networks: "The address is in none of the networks, or the sign-in has no IP address.",
  exceptNetworks:
    "The address is in an excluded network, or the sign-in has no IP address and needs its second factor.",
  times: "The time is outside the periods.",
  device: "The user's factors or device have another state.",
};

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
