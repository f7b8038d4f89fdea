// A labelled input with its hint and its error tied to it.

import type { Signal } from "@preact/signals";
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { Symbol } from "./symbol.tsx";

export interface LabelledProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | null;
}

/** What a control is described by, as `aria-describedby` has it. */
export function describedBy({ id, hint, problem }: LabelledProps): string | undefined {
  const ids = [hint === undefined ? "" : `${id}-hint`, problem ? `${id}-problem` : ""];
  const text = ids.filter((one) => one !== "").join(" ");
  return text === "" ? undefined : text;
}

/** The label above and what is said below any control. */
export function Labelled(
  { id, label, hint, problem, children }: LabelledProps & { children: ComponentChildren },
) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && <span class="hint" id={`${id}-hint`}>{hint}</span>}
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          <Symbol name="line-alert" size={14} />
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
  /** What is typed. */
  readonly text: Signal<string>;
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
}

/** A field whose text is a signal; the browser suggests nothing unless `input` says so. */
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
