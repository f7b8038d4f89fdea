// Labelled form controls with a hint and an error.

import type { Signal } from "@preact/signals";
import type {
  ComponentChildren,
  InputHTMLAttributes,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from "preact";
import { Icon } from "./icons.tsx";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/translate.ts";

interface LabelledProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | null;
}

/** The value of `aria-describedby`. */
function describedBy({ id, hint, problem }: LabelledProps): string | undefined {
  const ids = [hint === undefined ? "" : `${id}-hint`, problem ? `${id}-problem` : ""];
  const text = ids.filter((one) => one !== "").join(" ");
  return text === "" ? undefined : text;
}

/** A control with its label, hint and error. */
function Labelled(
  { id, label, hint, problem, children }: LabelledProps & { children: ComponentChildren },
) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && <span class="hint" id={`${id}-hint`}>{hint}</span>}
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          <Icon name="line-alert" size={14} />
          {problem}
        </span>
      )}
    </div>
  );
}

interface FieldProps extends LabelledProps {
  readonly input: InputHTMLAttributes<HTMLInputElement>;
}

export function Field({ input, ...labelled }: FieldProps) {
  return (
    <Labelled {...labelled}>
      <input
        {...input}
        id={labelled.id}
        class="input"
        aria-invalid={labelled.problem ? "true" : undefined}
        aria-describedby={describedBy(labelled)}
      />
    </Labelled>
  );
}

interface TextFieldProps extends LabelledProps {
  /** The typed text. */
  readonly text: Signal<string>;
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
}

/** A field whose text is a signal. The browser suggests nothing unless `input` sets that. */
export function TextField({ text, input, ...labelled }: TextFieldProps) {
  return (
    <Field
      {...labelled}
      input={{
        autocomplete: "off",
        ...input,
        value: text.value,
        onInput: (event) => text.value = event.currentTarget.value,
      }}
    />
  );
}

interface SelectProps extends LabelledProps {
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value: string;
  readonly onChoose: (value: string) => void;
  readonly input?: SelectHTMLAttributes<HTMLSelectElement>;
}

export function SelectField({ options, value, onChoose, input, ...labelled }: SelectProps) {
  return (
    <Labelled {...labelled}>
      <select
        {...input}
        id={labelled.id}
        class="input"
        value={value}
        aria-describedby={describedBy(labelled)}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
      </select>
    </Labelled>
  );
}

interface TextAreaProps extends LabelledProps {
  readonly input: TextareaHTMLAttributes<HTMLTextAreaElement>;
}

export function TextAreaField({ input, ...labelled }: TextAreaProps) {
  return (
    <Labelled {...labelled}>
      <textarea
        {...input}
        id={labelled.id}
        class="input text-area"
        aria-invalid={labelled.problem ? "true" : undefined}
        aria-describedby={describedBy(labelled)}
      />
    </Labelled>
  );
}

interface CheckboxProps {
  readonly label: string;
  /** For screen readers, if several check boxes have one label: the object of this one. */
  readonly of?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly name?: string;
  readonly hint?: string;
  readonly problem?: string | null | undefined;
  /** Why it is read-only. */
  readonly reason?: string;
}

export function Checkbox({ label, of, checked, onChange, name, hint, problem, reason }: CheckboxProps) {
  return (
    <label class="check" title={reason}>
      <input
        type="checkbox"
        name={name}
        checked={checked}
        disabled={reason !== undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {of !== undefined && <span class="unseen">{` ${of}`}</span>}
        {hint !== undefined && <span class="hint">{hint}</span>}
        {problem && <span class="problem">{problem}</span>}
      </span>
    </label>
  );
}

/** A read-only value is plain text, not a disabled control. */
export function ReadOnlyField({ label, children, hint }: {
  label: string;
  children: ComponentChildren;
  hint?: string | undefined;
}) {
  return (
    <div class="field fixed">
      <span class="fixed-label">{label}</span>
      <span class="fixed-value">{children}</span>
      {hint !== undefined && <span class="hint">{hint}</span>}
    </div>
  );
}

interface MultiFieldProps<T> {
  /** The group's name: "Mail addresses". */
  readonly label: string;
  readonly rows: readonly T[];
  readonly onChange: (rows: readonly T[]) => void;
  /** A new row. */
  readonly blank: () => T;
  /** On the button: "Add a mail address". */
  readonly addLabel: string;
  /** The name of a row, for its button: "Remove ada@example.org". */
  readonly nameOf: (row: T) => string;
  /** Renders the inputs of a row, with their labels. `change` replaces its value. */
  readonly renderRow: (row: T, change: (next: T) => void, index: number) => ComponentChildren;
  /** The maximum number of rows. */
  readonly max?: number;
  /** Why the list is read-only. */
  readonly reason?: string;
}

const DEFAULT_MAX = 20;

export function MultiField<T>(props: MultiFieldProps<T>) {
  const { label, rows, onChange, blank, addLabel, nameOf, renderRow, max = DEFAULT_MAX, reason } = props;
  const group = useRef<HTMLFieldSetElement>(null);
  const focusNext = useRef<"last" | "add" | null>(null);
  useLayoutEffect(() => {
    const where = focusNext.current;
    focusNext.current = null;
    if (where === "add") group.current?.querySelector<HTMLElement>(".add")?.focus();
    if (where === "last") {
      group.current?.querySelector<HTMLElement>(".multi-row:last-of-type :is(input, select)")?.focus();
    }
  }, [rows.length]);
  const put = (index: number, next: T) => onChange(rows.map((row, at) => at === index ? next : row));
  const remove = (index: number) => {
    focusNext.current = "add";
    onChange(rows.filter((_, at) => at !== index));
  };
  return (
    <fieldset class="multi" ref={group} disabled={reason !== undefined} title={reason}>
      <legend>{label}</legend>
      {rows.map((row, index) => (
        <div class="multi-row" key={index}>
          {renderRow(row, (next) => put(index, next), index)}
          <button type="button" class="button button-plain" onClick={() => remove(index)}>
            <Icon name="x" />
            <span class="unseen">{t("common.remove_name", { name: nameOf(row) })}</span>
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button button-small add"
        disabled={rows.length >= max}
        onClick={() => {
          focusNext.current = "last";
          onChange([...rows, blank()]);
        }}
      >
        <Icon name="plus" size={14} />
        {addLabel}
      </button>
    </fieldset>
  );
}
