// The fields of a form as rows of data: label, control, and name in the draft.

import type { Signal } from "@preact/signals";
import { createContext, type InputHTMLAttributes, type TextareaHTMLAttributes } from "preact";
import { useContext } from "preact/hooks";
import { ApiFailure, errorText } from "../app/api_client.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Checkbox, Field, SelectField, TextAreaField } from "./field.tsx";

/** Attributes of a text input. By default, the browser suggests and corrects nothing. */
type TypedInput =
  & Pick<
    TextareaHTMLAttributes<HTMLTextAreaElement>,
    | "autocomplete"
    | "autocapitalize"
    | "autofocus"
    | "inputMode"
    | "maxLength"
    | "minLength"
    | "placeholder"
    | "required"
    | "spellcheck"
  >
  & {
    readonly type?: "number" | "password" | "tel";
    readonly pattern?: string;
    readonly min?: number;
    readonly max?: number;
  };

/** One field: a checkbox for a boolean, checkboxes for several choices, a list for one of them, otherwise a text input. */
type ChoiceOf<V> = V extends readonly (infer C)[] ? C : V;
interface Row<K, V> {
  /** The name in the draft. */
  readonly name: K;
  readonly label: MessageKey;
  readonly hint?: MessageKey | undefined;
  /** The options, in this order. The default of `choiceLabel` is the value. */
  readonly choices?: readonly ChoiceOf<V>[];
  readonly choiceLabel?: (value: ChoiceOf<V>) => string;
  /** The number of lines. */
  readonly lines?: number;
  /** The error. */
  readonly problem?: string | null | undefined;
  /** The error if the API does not accept the value. Default: that of the API. */
  readonly refused?: string;
  readonly input?: TypedInput;
}

export type FieldRow<D> = { [K in keyof D & string]: Row<K, D[K]> }[keyof D & string];

/** The failure of the request of a form. It marks the field that the API does not accept. */
export const FormFault = createContext<unknown>(null);

function problemOf(fault: unknown, { name, refused }: { readonly name: string; readonly refused?: string }) {
  return fault instanceof ApiFailure && fault.field === name ? refused ?? errorText(fault) : null;
}

interface FormFieldsProps<D> {
  /** The prefix of the element ids. */
  readonly prefix: string;
  readonly draft: Signal<D>;
  readonly rows: readonly FieldRow<D>[];
}

export function FormFields<D extends object>({ prefix, draft, rows }: FormFieldsProps<D>) {
  const fault = useContext(FormFault);
  return (
    <>
      {rows.map((row) => (
        <OneField
          key={row.name}
          id={`${prefix}-${row.name}`}
          row={{ problem: problemOf(fault, row), ...row } as unknown as Row<string, unknown>}
          value={draft.value[row.name]}
          onChange={(value) => draft.value = { ...draft.value, [row.name]: value }}
        />
      ))}
    </>
  );
}

/** The props of a select field for values of any type. */
export function choicesOf<V>(
  { choices = [], choiceLabel = String }: {
    readonly choices?: readonly V[];
    readonly choiceLabel?: (value: V) => string;
  },
  { value, onChange }: { value: V; onChange: (value: V) => void },
) {
  return {
    value: String(value),
    options: choices.map((one) => ({ value: String(one), label: choiceLabel(one) })),
    onChoose: (text: string) => {
      for (const one of choices) if (String(one) === text) onChange(one);
    },
  };
}

interface OneProps {
  readonly id: string;
  readonly row: Row<string, unknown>;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function OneField({ id, row, value, onChange }: OneProps) {
  const { lines, problem } = row;
  const labelled = { id, label: t(row.label), hint: row.hint && t(row.hint), problem };
  if (typeof value === "boolean") return <Checkbox {...labelled} checked={value} onChange={onChange} />;
  if (Array.isArray(value)) return <MultiChoice {...labelled} {...{ row, value, onChange }} />;
  if (row.choices !== undefined) {
    return <SelectField {...labelled} {...choicesOf(row, { value, onChange })} />;
  }
  const input = {
    autocomplete: "off",
    spellcheck: false,
    ...row.input,
    value: String(value),
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  };
  return lines === undefined
    ? <Field {...labelled} input={input as InputHTMLAttributes<HTMLInputElement>} />
    : <TextAreaField {...labelled} input={{ ...input, rows: lines }} />;
}

interface MultiProps extends OneProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: string | null | undefined;
  readonly value: readonly unknown[];
}

/** Keeps the order of the choices. */
function MultiChoice({ id, label, hint, problem, row, value, onChange }: MultiProps) {
  const { choices = [], choiceLabel = String } = row;
  return (
    <fieldset class="multi" aria-describedby={hint && `${id}-hint`}>
      <legend>{label}</legend>
      {hint && <span class="quiet small" id={`${id}-hint`}>{hint}</span>}
      {problem && <span class="problem">{problem}</span>}
      {choices.map((one) => (
        <Checkbox
          key={String(one)}
          label={choiceLabel(one)}
          checked={value.includes(one)}
          onChange={(checked) =>
            onChange(choices.filter((other) => other === one ? checked : value.includes(other)))}
        />
      ))}
    </fieldset>
  );
}
