// The editor of a policy: its name, its conditions, its outcome, and a replay with the draft.

import { type Signal, useSignal } from "@preact/signals";
import type { VNode } from "preact";
import {
  CONDITION_FIELDS,
  type NameConditionName,
  OUTCOME_FIELDS,
  type Policy,
  POLICY_CONDITIONS,
  POLICY_FACTORS,
  type PolicyConditionName,
  type PolicyFactor,
  type PolicyTime,
  type Weekday,
  WEEKDAYS,
} from "../../../../radius/policy/policy.ts";
import type { PolicyPage } from "../../../api/policies/policy_types.ts";
import type { Models } from "../../app/app_context.ts";
import { type ApiFailure, failureText, take } from "../../app/api_client.ts";
import { ConflictNote, isChangedMeanwhile } from "../../components/review_dialog.tsx";
import { Checkbox, Field, MultiField, SelectField, TextAreaField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { isLockout, LockoutAlert, type PolicyChanges } from "./policy_changes.tsx";
import { contentOf, draftOf, newPeriod, type PolicyCalls, type PolicyDraft } from "./policy_form.ts";
import { PolicySentence, PolicyWarning } from "./policy_item.tsx";
import { ReplayPanel } from "./policy_replay.tsx";
import { Icon } from "../../components/icons.tsx";
import { periodText } from "./policy_text.ts";
import { type Factor, FACTOR_ORDER } from "../../../../radius/flow/context.ts";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { SearchPicker } from "../../components/search_picker.tsx";
import { searchUsers } from "../groups/group_calls.ts";

interface DialogProps {
  readonly models: Models;
  /** `null`: a new policy, which becomes the last one. */
  readonly policy: Policy | null;
  readonly page: PolicyPage;
  readonly calls: PolicyCalls;
  readonly changes: PolicyChanges;
  readonly onClose: () => void;
}

/** The id of a new policy in a replay. */
const NEW_ID = "draft";

export function PolicyDialog({ models, policy, page, calls, changes, onClose }: DialogProps) {
  const draft = useSignal(draftOf(policy));
  const conflict = useSignal<ApiFailure | null>(null);
  /** The draft that the server refused because it locks everyone out, and the reason. Saving it again confirms it. */
  const lockout = useSignal<{ readonly draft: PolicyDraft; readonly reason: string } | null>(null);
  const content = contentOf(draft.value);
  const isUnconfirmed = lockout.value?.draft === draft.value;
  const save = async () => {
    try {
      await changes.save(
        (basis) => policy === null ? calls.add(content, basis) : calls.change(policy.id, content, basis),
        { confirm: isUnconfirmed },
      );
      models.toasts.show(t("policies.saved", { name: content.name }), { tone: "ok" });
    } catch (fault) {
      if (isLockout(fault)) lockout.value = { draft: draft.value, reason: failureText(fault) };
      else if (isChangedMeanwhile(fault)) conflict.value = fault;
      else throw fault;
      return "stay" as const;
    }
  };
  return (
    <FormDialog
      title={policy === null ? t("policies.add") : t("common.edit_name", { name: policy.name })}
      submitLabel={t(isUnconfirmed ? "policies.lockout_save" : "policies.save")}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t("policies.raced")}>
          {t("policies.raced_next")}
        </ConflictNote>
      )}
      {isUnconfirmed && lockout.value !== null && <LockoutAlert reason={lockout.value.reason} />}
      <Field
        id="policy-name"
        label={t("common.name")}
        input={{
          ...{ required: true, maxLength: 100, autocomplete: "off", autofocus: policy === null },
          value: draft.value.name,
          onInput: ({ currentTarget: { value } }) => draft.value = { ...draft.value, name: value },
        }}
      />
      <ConditionFields models={models} draft={draft} clients={page.clients} />
      <OutcomeFields draft={draft} factors={page.factors} />
      <Checkbox
        label={t("policies.enabled")}
        checked={draft.value.enabled}
        onChange={(enabled) => draft.value = { ...draft.value, enabled }}
      />
      <div class="policy-preview" role="status">
        <p class="policy-sentence">
          <PolicySentence policy={content} />
        </p>
        <PolicyWarning policy={content} unchecked={page.uncheckedClients} missing={page.missing} />
      </div>
      <ReplayPanel calls={calls} draft={draftList(page.policies, policy, content)} />
    </FormDialog>
  );
}

/** The list with the draft in its place. A name is needed for a replay, so a new policy without one has a short one. */
function draftList(
  policies: readonly Policy[],
  policy: Policy | null,
  content: Omit<Policy, "id">,
): readonly Policy[] {
  const named = { ...content, name: content.name || t("policies.unnamed") };
  return policy === null
    ? [...policies, { ...named, id: NEW_ID }]
    : policies.map((one) => one.id === policy.id ? { ...named, id: one.id } : one);
}

interface ConditionProps {
  readonly models: Models;
  readonly draft: Signal<PolicyDraft>;
  readonly clients: readonly string[];
}

function ConditionFields(props: ConditionProps) {
  const { draft } = props;
  const { shown } = draft.value;
  const left = POLICY_CONDITIONS.filter((name) => !shown.includes(name));
  const add = (name: string) => {
    const found = left.find((one) => one === name);
    if (found !== undefined) draft.value = { ...draft.value, shown: [...shown, found] };
  };
  return (
    <fieldset class="policy-part">
      <legend>{t("policies.conditions")}</legend>
      {shown.length === 0 && <p class="quiet">{t("policies.conditions_none")}</p>}
      {shown.map((name) => (
        <div class="policy-field" key={name}>
          <ConditionField {...props} name={name} />
          <button
            type="button"
            class="button button-plain button-small"
            onClick={() => draft.value = { ...draft.value, shown: shown.filter((one) => one !== name) }}
          >
            <Icon name="x" size={14} />
            <span class="unseen">
              {t("policies.condition_remove", { name: t(`policies.field_${name}`) })}
            </span>
          </button>
        </div>
      ))}
      {left.length > 0 && (
        <SelectField
          id="policy-add-condition"
          label={t("policies.condition_add")}
          value=""
          options={[
            { value: "", label: t("policies.condition_choose") },
            ...left.map((name) => ({ value: name, label: t(`policies.field_${name}`) })),
          ]}
          onChoose={add}
        />
      )}
    </fieldset>
  );
}

function ConditionField(props: ConditionProps & { name: PolicyConditionName }): VNode {
  const { name, draft } = props;
  const { conditions, networks } = draft.value;
  switch (name) {
    case "device": {
      const { device = [] } = conditions;
      return (
        <fieldset class="policy-checks">
          <legend>{t("policies.field_device")}</legend>
          {CONDITION_FIELDS.device.of.map((state) => (
            <Checkbox
              key={state}
              label={t(`policies.device_${state}`)}
              checked={device.includes(state)}
              onChange={(checked) =>
                putCondition(draft, name, [
                  ...device.filter((one) => one !== state),
                  ...(checked ? [state] : []),
                ])}
            />
          ))}
        </fieldset>
      );
    }
    case "times":
      return <TimeFields draft={draft} />;
    case "networks":
    case "exceptNetworks":
      return (
        <TextAreaField
          id={`policy-${name}`}
          label={t(`policies.field_${name}`)}
          hint={t(name === "networks" ? "policies.networks_hint" : "policies.networks_except_hint")}
          input={{
            ...{
              rows: 2,
              spellcheck: false,
              autocomplete: "off",
              placeholder: t("common.example", { value: "10.0.0.0/8" }),
            },
            value: networks[name] ?? "",
            onInput: ({ currentTarget: { value } }) =>
              draft.value = { ...draft.value, networks: { ...networks, [name]: value } },
          }}
        />
      );
    case "clients":
    case "users":
    case "exceptUsers":
    case "groups":
    case "exceptGroups":
      return (
        <ChosenNames
          models={props.models}
          name={name}
          clients={props.clients}
          chosen={conditions[name] ?? []}
          onChange={(names) => putCondition(draft, name, names)}
        />
      );
  }
}

function putCondition(draft: Signal<PolicyDraft>, name: PolicyConditionName, entries: unknown): void {
  draft.value = { ...draft.value, conditions: { ...draft.value.conditions, [name]: entries } };
}

function TimeFields({ draft }: Pick<ConditionProps, "draft">) {
  return (
    <MultiField
      label={t("policies.field_times")}
      rows={draft.value.conditions.times ?? []}
      onChange={(times) => putCondition(draft, "times", times)}
      blank={newPeriod}
      addLabel={t("policies.time_add")}
      nameOf={periodText}
      renderRow={(row, change, index) => <PeriodFields {...{ row, change, index }} />}
    />
  );
}

interface PeriodProps {
  readonly row: PolicyTime;
  readonly change: (next: PolicyTime) => void;
  readonly index: number;
}

function PeriodFields({ row, change, index }: PeriodProps) {
  const toggle = (day: Weekday, checked: boolean) =>
    change({ ...row, days: WEEKDAYS.filter((one) => one === day ? checked : row.days.includes(one)) });
  return (
    <div class="policy-period">
      <fieldset class="policy-days">
        <legend class="unseen">{t("policies.days")}</legend>
        {WEEKDAYS.map((day) => (
          <Checkbox
            key={day}
            label={t(`policies.day_${day}`)}
            checked={row.days.includes(day)}
            onChange={(checked) => toggle(day, checked)}
          />
        ))}
      </fieldset>
      {(["from", "to", "zone"] as const).map((field) => (
        <Field
          key={field}
          id={`policy-${field}-${index}`}
          label={t(`policies.time_${field}`)}
          input={{
            ...{ required: true, spellcheck: false, autocomplete: "off", maxLength: 64 },
            ...(field === "zone"
              ? {}
              : { placeholder: t("common.example", { value: "08:00" }), pattern: "[0-2][0-9]:[0-5][0-9]" }),
            value: row[field],
            onInput: ({ currentTarget: { value } }) => change({ ...row, [field]: value }),
          }}
        />
      ))}
    </div>
  );
}

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

interface ChosenProps {
  readonly models: Models;
  readonly name: NameConditionName;
  readonly clients: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

const MAX_OFFERED = 20;

function ChosenNames(props: ChosenProps) {
  const { name, chosen, onChange } = props;
  const label = t(`policies.field_${name}`);
  return (
    <div class="policy-names">
      <SearchPicker
        id={`policy-${name}`}
        label={label}
        hint={t("policies.names_hint")}
        none={t("policies.names_none")}
        optionsLabel={label}
        target=""
        find={async (text) => {
          const found = await findNames(props, text);
          return found.filter((one) => !chosen.includes(one.name));
        }}
        onPick={(picked) => {
          onChange([...chosen, picked]);
          return Promise.resolve();
        }}
      />
      {chosen.length > 0 && (
        <ul class="policy-chosen" aria-label={label}>
          {chosen.map((one) => (
            <li key={one} class="chip tone-idle">
              <bdi>{one}</bdi>
              <button
                type="button"
                aria-label={t("common.remove_name", { name: one })}
                onClick={() => onChange(chosen.filter((other) => other !== one))}
              >
                <Icon name="x" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface Offer {
  readonly name: string;
  readonly more?: string;
}

async function findNames({ models, name, clients }: ChosenProps, text: string): Promise<readonly Offer[]> {
  const { names: kind } = CONDITION_FIELDS[name];
  if (kind === "clients") {
    const wanted = text.toLowerCase();
    return clients.filter((one) => one.toLowerCase().includes(wanted)).slice(0, MAX_OFFERED).map((one) => ({
      name: one,
    }));
  }
  if (kind === "users") {
    const users = await searchUsers(models, { target: "", text });
    return users.map((user) => ({ name: user.name, more: user.displayName }));
  }
  const { api, session } = models;
  const { names } = await session.whileSignedIn(() =>
    take<{ names: string[] }>(api["group-names"].$get({ query: { q: text } }))
  );
  return names.map((one) => ({ name: one }));
}
