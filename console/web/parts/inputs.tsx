// A choice, a box to tick, a longer text, and what is shown because it may not be changed: each with its label.

import type { ComponentChildren, SelectHTMLAttributes, TextareaHTMLAttributes } from "preact";
import { describedBy, Labelled, type LabelledProps } from "./field.tsx";

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
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly name?: string;
  readonly hint?: string;
  /** Why it cannot be changed. */
  readonly reason?: string;
}

export function Checkbox({ label, checked, onChange, name, hint, reason }: CheckboxProps) {
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
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

/** What one may not change is text, not a grey box. */
export function FixedField({ label, children, hint }: {
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
