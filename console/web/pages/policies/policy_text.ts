// Policies as sentences: "If group is Contractors and network is not 10.0.0.0/8 → require an approval on the phone".

import {
  namesInConditions,
  type Policy,
  POLICY_CONDITIONS,
  type PolicyConditionName,
  type PolicyConditions,
  type PolicyOutcome,
  type PolicyTime,
  WEEKDAYS,
} from "../../../../radius/policy/policy.ts";
import type { MissingNames, PreviewEffect } from "../../../api/policies/policy_types.ts";
import { t } from "../../i18n/translate.ts";

/** Names that a sentence lists. The editor has all of them. */
const MAX_NAMES = 4;

/** One condition in words. */
interface ConditionText {
  readonly name: PolicyConditionName;
  readonly text: string;
}

/** The conditions in words; an empty list: every sign-in. */
export function conditionTexts(conditions: PolicyConditions): ConditionText[] {
  return POLICY_CONDITIONS.flatMap((name) => {
    if (conditions[name] === undefined) return [];
    const values = valuesOf(name, conditions);
    const text = values.length === 0
      ? t("policies.condition_empty", { name: t(`policies.field_${name}`) })
      : t(`policies.if_${name}`, { names: listText(values) });
    return [{ name, text }];
  });
}

function valuesOf(name: PolicyConditionName, conditions: PolicyConditions): readonly string[] {
  if (name === "times") return (conditions.times ?? []).map(periodText);
  if (name === "device") return (conditions.device ?? []).map((state) => t(`policies.device_${state}`));
  return conditions[name] ?? [];
}

function listText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES);
  const more = names.length - shown.length;
  const parts = more === 0 ? shown : [...shown, t("policies.more_names", { count: more })];
  return parts.join(t("policies.or"));
}

/** "Mon–Fri 08:00–18:00 (Europe/Berlin)" */
export function periodText({ days, from, to, zone }: PolicyTime): string {
  return `${daysText(days)} ${from}–${to} (${zone})`;
}

function daysText(days: PolicyTime["days"]): string {
  const names = days.map((day) => t(`policies.day_${day}`));
  const first = WEEKDAYS.indexOf(days[0] ?? "mon");
  const isRange = days.length > 2 && days.every((day, at) => WEEKDAYS.indexOf(day) === first + at);
  return isRange ? `${names[0]}–${names.at(-1)}` : names.join(", ");
}

/** The outcome in words. */
export function outcomeText(outcome: PolicyOutcome): string {
  if (outcome.kind === "deny") return t("policies.then_deny");
  const attributes = Object.keys(outcome.attributes ?? {}).length;
  const added = attributes === 0 ? [] : [t("policies.then_attributes", { count: attributes })];
  if (outcome.kind === "bypass") {
    const accepts = outcome.unknownUsers === true ? "policies.then_bypass_unknown" : "policies.then_bypass";
    return [t(accepts), ...added].join(", ");
  }
  const { factors, requiredFactor, enrolment, rememberHours } = outcome;
  const asked = requiredFactor !== undefined
    ? t(`policies.then_require_${requiredFactor}`)
    : factors !== undefined
    ? t("policies.then_factors", {
      names: factors.map((factor) => t(`policies.factor_${factor}`)).join(t("policies.or")),
    })
    : t("policies.then_challenge");
  return [
    asked,
    ...(enrolment === undefined ? [] : [t(`policies.then_enrol_${enrolment}`)]),
    ...(rememberHours === undefined ? [] : [t("policies.then_remember", { count: rememberHours })]),
    ...added,
  ].join(", ");
}

/** What would happen to a sign-in, in words. */
export function effectText({ kind, factors, required }: PreviewEffect): string {
  if (kind === "reject") {
    return required === null
      ? t("policies.effect_reject")
      : t("policies.effect_lacks", { names: t(`policies.required_${required}`) });
  }
  if (kind === "accept") return t("policies.effect_accept");
  if (factors.length === 0) return t("policies.effect_none");
  if (required !== null) return t("policies.effect_challenge", { names: t(`policies.required_${required}`) });
  return t("policies.effect_challenge", {
    names: factors.map((factor) => t(`policies.factor_${factor}`)).join(", "),
  });
}

/** The clients at which a policy accepts without a check of the password by the gateway. */
export function uncheckedClients(
  { conditions, outcome }: Pick<Policy, "conditions" | "outcome">,
  unchecked: readonly string[],
): readonly string[] {
  if (outcome.kind === "deny" || (outcome.kind === "challenge" && outcome.rememberHours === undefined)) {
    return [];
  }
  const { clients } = conditions;
  return clients === undefined ? unchecked : unchecked.filter((name) => clients.includes(name));
}

/** The groups and clients in the conditions of a policy that do not exist. */
export function missingNames(
  { conditions }: Pick<Policy, "conditions">,
  missing: MissingNames,
): readonly string[] {
  const kinds = ["groups", "clients"] as const;
  return [
    ...new Set(
      kinds.flatMap((kind) =>
        namesInConditions(conditions, kind).filter((name) => missing[kind].includes(name))
      ),
    ),
  ];
}
