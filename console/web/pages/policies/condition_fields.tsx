// The conditions of a policy in the editor: the chosen ones, and a list of those that can be added.

import type { Signal } from "@preact/signals";
import {
  conditionRow,
  type DeviceState,
  type NameConditionName,
  POLICY_CONDITIONS,
  type PolicyConditionName,
  type PolicyTime,
  type Weekday,
  WEEKDAYS,
} from "../../../../radius/policy/policy.ts";
import type { Models } from "../../app/app_context.ts";
import { Checkbox, Field, MultiField, SelectField, TextAreaField } from "../../components/field.tsx";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";
import { ChosenNames } from "./chosen_names.tsx";
import { newPeriod, type PolicyDraft } from "./policy_form.ts";
import { periodText } from "./policy_text.ts";

interface ConditionProps {
  readonly models: Models;
  readonly draft: Signal<PolicyDraft>;
  readonly clients: readonly string[];
}

export function ConditionFields(props: ConditionProps) {
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

function ConditionField(props: ConditionProps & { name: PolicyConditionName }) {
  const { name, draft } = props;
  const row = conditionRow(name);
  const chosen = draft.value.conditions[name] ?? [];
  if (row.type === "choices") {
    return (
      <fieldset class="policy-checks">
        <legend>{t(`policies.field_${name}`)}</legend>
        {row.of.map((state) => (
          <Checkbox
            key={state}
            label={t(`policies.device_${state}`)}
            checked={(chosen as readonly DeviceState[]).includes(state)}
            onChange={(checked) =>
              putCondition(draft, name, [
                ...chosen.filter((one) => one !== state),
                ...(checked ? [state] : []),
              ])}
          />
        ))}
      </fieldset>
    );
  }
  if (row.isTime) return <TimeFields draft={draft} />;
  if (row.isNetwork) {
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
          value: draft.value.networks[name] ?? "",
          onInput: ({ currentTarget: { value } }) =>
            draft.value = { ...draft.value, networks: { ...draft.value.networks, [name]: value } },
        }}
      />
    );
  }
  return (
    <ChosenNames
      models={props.models}
      name={name as NameConditionName}
      clients={props.clients}
      chosen={chosen as readonly string[]}
      onChange={(names) => putCondition(draft, name, names)}
    />
  );
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
