// The fields of a form as rows of data: what each is called, how it is typed or chosen, and where it stands in the draft.

import type { Signal } from "@preact/signals";
import type { InputHTMLAttributes, TextareaHTMLAttributes } from "preact";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Field } from "./field.tsx";
import { Checkbox, SelectField, TextAreaField } from "./inputs.tsx";

/** How a text is typed; the browser suggests and corrects nothing unless this says so. */
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

/** One field. A yes or no is a box to tick; what has choices is chosen; all else is typed. */
interface Row<K, V> {
  /** The draft's own name of it. */
  readonly name: K;
  readonly label: MessageKey;
  readonly hint?: MessageKey | undefined;
  /** What can be chosen, in this order; `sayChoice` says it, unless it speaks for itself. */
  readonly choices?: readonly V[];
  readonly sayChoice?: (value: V) => string;
  /** Of so many lines. */
  readonly lines?: number;
  /** What is wrong with it. */
  readonly problem?: string | null;
  readonly input?: TypedInput;
}

export type FieldRow<D> = { [K in keyof D & string]: Row<K, D[K]> }[keyof D & string];

interface FieldsProps<D> {
  /** Goes before the ids, which are one document's. */
  readonly prefix: string;
  readonly draft: Signal<D>;
  readonly rows: readonly FieldRow<D>[];
}

export function Fields<D extends object>({ prefix, draft, rows }: FieldsProps<D>) {
  return (
    <>
      {rows.map((row) => (
        <OneField
          key={row.name}
          id={`${prefix}-${row.name}`}
          row={row as unknown as Row<string, unknown>}
          value={draft.value[row.name]}
          onChange={(value) => draft.value = { ...draft.value, [row.name]: value }}
        />
      ))}
    </>
  );
}

/** What a field to choose from is given: values of any kind, each under its text. */
export function choicesOf<V>(
  { choices = [], sayChoice = String }: Pick<Row<string, V>, "choices" | "sayChoice">,
  { value, onChange }: { value: V; onChange: (value: V) => void },
) {
  return {
    value: String(value),
    options: choices.map((one) => ({ value: String(one), label: sayChoice(one) })),
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
