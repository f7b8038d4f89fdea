// The fields of a connector in its dialog, by the rows of directory_form.ts.

import type { Signal } from "@preact/signals";
import type { InputHTMLAttributes } from "preact";
import { Checkbox, Field, SelectField, TextAreaField } from "../../components/field.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import {
  CONNECTOR_PRESETS,
  type ConnectorDraft,
  type ConnectorField,
  connectorFieldLabel,
  fieldsOf,
  type PresetName,
} from "./directory_form.ts";

interface FieldsProps {
  readonly preset: PresetName;
  readonly draft: Signal<ConnectorDraft>;
  /** Why values cannot be saved, by the key of the field. */
  readonly problems: ReadonlyMap<string, string>;
  /** The secrets that are stored already. */
  readonly stored: readonly string[];
}

export function ConnectorFields({ preset, draft, problems, stored }: FieldsProps) {
  const fields = fieldsOf(preset);
  const one = (field: ConnectorField) => (
    <OneField
      key={field.name}
      field={field}
      example={exampleOf(preset, field.name)}
      value={draft.value[field.name] ?? ""}
      problem={problems.get(field.name) ?? null}
      isStored={stored.includes(field.name)}
      onChange={(value) => draft.value = { ...draft.value, [field.name]: value }}
    />
  );
  const advanced = fields.filter(({ isAdvanced }) => isAdvanced);
  return (
    <>
      {fields.filter(({ isAdvanced }) => !isAdvanced).map(one)}
      {advanced.length > 0 && (
        <details
          class="connect-more"
          open={advanced.some(({ name }) => problems.has(name))}
        >
          <summary>{t("targets.advanced")}</summary>
          <div class="form">{advanced.map(one)}</div>
        </details>
      )}
    </>
  );
}

/** An example, or the default: never text that can be taken for a value. */
function placeholderOf(example: string, preset: ConnectorField["preset"]): string {
  if (example !== "") return t("common.example", { value: example });
  return preset === undefined || preset === "" ? "" : t("common.default_value", { value: String(preset) });
}

function exampleOf(preset: PresetName, name: string): string {
  const examples: Readonly<Record<string, string>> = CONNECTOR_PRESETS[preset].examples;
  return examples[name] ?? "";
}

interface OneProps {
  readonly field: ConnectorField;
  readonly example: string;
  readonly value: string | boolean;
  readonly problem: string | null;
  readonly isStored: boolean;
  readonly onChange: (value: string | boolean) => void;
}

function OneField({ field, example, value, problem, isStored, onChange }: OneProps) {
  const { name, type, isRequired, choices = [], preset } = field;
  const hint = findMessage(`targets.hint_${name}`) ?? undefined;
  const labelled = {
    id: `connector-${name}`,
    label: connectorFieldLabel(name),
    problem,
    ...(hint === undefined ? {} : { hint }),
  };
  if (typeof value === "boolean") {
    return (
      <Checkbox
        label={labelled.label}
        checked={value}
        onChange={onChange}
        {...(hint === undefined ? {} : { hint })}
      />
    );
  }
  if (type === "choice") {
    const options = choices.map((one) => ({ value: one, label: t(`targets.mode_${one}` as MessageKey) }));
    return <SelectField {...labelled} options={options} value={value} onChoose={onChange} />;
  }
  if (type === "lines" || type === "pairs") {
    return (
      <TextAreaField
        {...labelled}
        input={{
          rows: 3,
          spellcheck: false,
          autocomplete: "off",
          maxLength: 60_000,
          value,
          onInput: (event) => onChange(event.currentTarget.value),
        }}
      />
    );
  }
  const isSecret = type === "secret";
  return (
    <Field
      {...labelled}
      input={{
        type: isSecret ? "password" : "text",
        autocomplete: isSecret ? "new-password" : "off",
        spellcheck: false,
        autocapitalize: "off",
        maxLength: 1024,
        required: isRequired === true,
        placeholder: isStored ? t("targets.secret_stored") : placeholderOf(example, preset),
        inputMode: type === "number" ? "numeric" : "text",
        value,
        onInput: (event) => onChange(event.currentTarget.value),
      } as InputHTMLAttributes<HTMLInputElement>}
    />
  );
}
