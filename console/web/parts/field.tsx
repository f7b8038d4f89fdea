// A labelled input with its hint and its error tied to it.

import type { InputHTMLAttributes } from "preact";
import { Icon } from "./icon.tsx";

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | null;
  readonly input: InputHTMLAttributes<HTMLInputElement>;
}

export function Field({ id, label, hint, problem, input }: FieldProps) {
  const described = [
    hint === undefined ? "" : `${id}-hint`,
    problem ? `${id}-problem` : "",
  ].filter((one) => one !== "").join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...input}
        id={id}
        class="input"
        aria-invalid={problem ? "true" : undefined}
        aria-describedby={described === "" ? undefined : described}
      />
      {hint !== undefined && <span class="hint" id={`${id}-hint`}>{hint}</span>}
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          <Icon name="alert" />
          {problem}
        </span>
      )}
    </div>
  );
}
