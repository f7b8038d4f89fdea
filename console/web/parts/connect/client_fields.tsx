// The fields of a RADIUS client, for a new one and for one that is changed.

import type { Signal } from "@preact/signals";
import type { ClientForm } from "../../models/connect_calls.ts";
import { t } from "../../words/translate.ts";
import type { WordKey } from "../../words/words.ts";
import { Field } from "../field.tsx";
import { Checkbox, SelectField, TextAreaField } from "../inputs.tsx";

/** What the form holds while it is typed. */
export interface ClientDraft extends Omit<ClientForm, "address"> {
  /** One address or range a line. */
  readonly addressText: string;
}

export const NEW_DRAFT: ClientDraft = {
  addressText: "",
  nasIdentifier: "",
  disabled: false,
  messageAuthenticator: "auto",
  firstFactor: "settings",
  device: "challenge",
  appendMode: false,
  unknownUsers: "allow",
};

export function formOf({ addressText, ...draft }: ClientDraft): ClientForm {
  const address = addressText.split(/[\s,]+/).filter((one) => one !== "");
  return { ...draft, address };
}

const CHOICES = {
  messageAuthenticator: ["auto", "require", "off"],
  firstFactor: ["settings", "none", "directory"],
  device: ["challenge", "hold", "hold_then_challenge"],
  unknownUsers: ["allow", "reject"],
} as const;

export function ClientFields({ draft }: { draft: Signal<ClientDraft> }) {
  const put = (change: Partial<ClientDraft>) => draft.value = { ...draft.value, ...change };
  const { addressText, nasIdentifier, appendMode } = draft.value;
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
      <details class="connect-more">
        <summary>{t("connect.more_rules")}</summary>
        <div class="form">
          {(Object.keys(CHOICES) as (keyof typeof CHOICES)[]).map((name) => (
            <SelectField
              key={name}
              id={`client-${name}`}
              label={t(`connect.${name}`)}
              value={draft.value[name]}
              options={CHOICES[name].map((value) => ({
                value,
                label: t(`connect.${name}_${value}` as WordKey),
              }))}
              onChoose={(value) => put({ [name]: value } as Partial<ClientDraft>)}
            />
          ))}
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
