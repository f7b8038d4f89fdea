// The fields of a RADIUS client, for a new one and for one that is changed.

import type { Signal } from "@preact/signals";
import type { ClientDraft } from "../../models/client_form.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import type { WordKey } from "../../words/words.ts";
import { Field } from "../field.tsx";
import { Checkbox, SelectField, TextAreaField } from "../inputs.tsx";
import { FirstFactorFields, type FirstFactorPlace } from "./first_factor_fields.tsx";

const FIRST = ["messageAuthenticator"] as const;
const AFTER = ["device", "unknownUsers"] as const;
const CHOICES = {
  messageAuthenticator: ["auto", "require", "off"],
  device: ["challenge", "hold", "hold_then_challenge"],
  unknownUsers: ["allow", "reject"],
} as const;

interface FieldsProps extends FirstFactorPlace {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function ClientFields({ models, draft, ldap, saved }: FieldsProps) {
  const put = (change: Partial<ClientDraft>) => draft.value = { ...draft.value, ...change };
  const { addressText, nasIdentifier, appendMode } = draft.value;
  const choice = (name: keyof typeof CHOICES) => (
    <SelectField
      key={name}
      id={`client-${name}`}
      label={t(`connect.${name}`)}
      value={draft.value[name]}
      options={CHOICES[name].map((value) => ({ value, label: t(`connect.${name}_${value}` as WordKey) }))}
      onChoose={(value) => put({ [name]: value } as Partial<ClientDraft>)}
    />
  );
  return (
    <>
      <TextAreaField
        id="client-address"
        label={t("connect.addresses")}
        hint={t("connect.addresses_hint")}
        input={{
          value: addressText,
          rows: 2,
          required: true,
          spellcheck: false,
          onInput: (event) => put({ addressText: event.currentTarget.value }),
        }}
      />
      <Field
        id="client-nas"
        label={t("connect.nas_identifier")}
        hint={t("connect.nas_identifier_hint")}
        input={{
          value: nasIdentifier,
          maxLength: 128,
          autocomplete: "off",
          spellcheck: false,
          onInput: (event) => put({ nasIdentifier: event.currentTarget.value }),
        }}
      />
      <details class="connect-more" open={saved !== null}>
        <summary>{t("connect.more_rules")}</summary>
        <div class="form">
          {FIRST.map(choice)}
          <FirstFactorFields models={models} draft={draft} ldap={ldap} saved={saved} />
          {AFTER.map(choice)}
          <Checkbox
            label={t("connect.append_mode")}
            hint={t("connect.append_mode_hint")}
            checked={appendMode}
            onChange={(checked) => put({ appendMode: checked })}
          />
        </div>
      </details>
    </>
  );
}
