// The outcome of a policy in the editor.

import type { Signal } from "@preact/signals";
import { type Factor, FACTOR_ORDER } from "../../../../radius/flow/context.ts";
import { OUTCOME_FIELDS, POLICY_FACTORS, type PolicyFactor } from "../../../../radius/policy/policy.ts";
import { Checkbox } from "../../components/field.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import type { PolicyDraft } from "./policy_form.ts";

interface OutcomeProps {
  readonly draft: Signal<PolicyDraft>;
  /** The factors that the settings enable. */
  readonly factors: readonly Factor[];
}

type Row = FieldRow<PolicyDraft>;

const KIND: Row = {
  name: "kind",
  label: "policies.outcome",
  choices: OUTCOME_FIELDS.kind.of,
  choiceLabel: (kind) => t(`policies.kind_${kind}`),
};
const RULE: Row = {
  name: "factorRule",
  label: "common.sign_in_methods",
  choices: ["settings", "some", "one"],
  choiceLabel: (rule) => t(`policies.factors_${rule}`),
};
const ENROLMENT: Row = {
  name: "enrolment",
  label: "policies.enrolment",
  choices: ["settings", ...OUTCOME_FIELDS.enrolment.of],
  choiceLabel: (rule) => t(`policies.enrolment_${rule}`),
};
const REMEMBER: Row = {
  name: "rememberHours",
  label: "policies.remember",
  hint: "policies.remember_hint",
  input: {
    type: "number",
    min: OUTCOME_FIELDS.rememberHours.min,
    max: OUTCOME_FIELDS.rememberHours.max,
    inputMode: "numeric",
  },
};
const TRUST: Row = { name: "clientChecksPassword", label: "policies.trust_client" };
const UNKNOWN_USERS: Row = {
  name: "unknownUsers",
  label: "policies.unknown_users",
  hint: "policies.unknown_users_hint",
};
const attributesRow = (): Row => ({
  name: "attributes",
  label: "policies.attributes",
  hint: "policies.attributes_hint",
  lines: 2,
  input: { placeholder: t("common.example", { value: "Filter-Id = contractors" }) },
});

export function OutcomeFields({ draft, factors }: OutcomeProps) {
  const { kind, factorRule, rememberHours } = draft.value;
  const required: Row = {
    name: "requiredFactor",
    label: "policies.required",
    choices: FACTOR_ORDER.filter((factor) => factors.includes(factor)),
    choiceLabel: (factor) => t(`policies.required_${factor}`),
  };
  const mayTrust = kind === "bypass" || (kind === "challenge" && rememberHours.trim() !== "");
  const fields = (rows: readonly Row[]) => <FormFields prefix="policy" draft={draft} rows={rows} />;
  return (
    <fieldset class="policy-part">
      <legend>{t("common.outcome")}</legend>
      {fields([KIND])}
      {kind === "challenge" && fields([RULE])}
      {kind === "challenge" && factorRule === "one" && fields([required])}
      {kind === "challenge" && factorRule === "some" && <AllowedFactors draft={draft} factors={factors} />}
      {kind === "challenge" && fields([ENROLMENT, REMEMBER])}
      {mayTrust && fields([TRUST])}
      {mayTrust && <p class="quiet small">{t("policies.trust_hint")}</p>}
      {kind === "bypass" && fields([UNKNOWN_USERS])}
      {kind !== "deny" && fields([attributesRow()])}
    </fieldset>
  );
}

function AllowedFactors({ draft, factors }: OutcomeProps) {
  const chosen = draft.value.factors;
  const offered = POLICY_FACTORS.filter((factor) =>
    factor === "recovery" || factors.includes(factor) || chosen.includes(factor)
  );
  const toggle = (factor: PolicyFactor, checked: boolean) => {
    const next = POLICY_FACTORS.filter((one) => one === factor ? checked : chosen.includes(one));
    draft.value = { ...draft.value, factors: next };
  };
  return (
    <fieldset class="policy-checks">
      <legend>{t("policies.allowed")}</legend>
      {offered.map((factor) => (
        <Checkbox
          key={factor}
          label={t(`policies.factor_${factor}`)}
          checked={chosen.includes(factor)}
          onChange={(checked) => toggle(factor, checked)}
        />
      ))}
    </fieldset>
  );
}
