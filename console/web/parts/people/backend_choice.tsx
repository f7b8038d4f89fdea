// Which backends a change goes to: all of them, unless somebody takes one out.

import { t } from "../../words/translate.ts";
import { Checkbox } from "../inputs.tsx";

interface BackendInfo {
  readonly name: string;
  readonly kind: string;
  readonly mode: string;
}

interface BackendChoiceProps {
  readonly backends: readonly BackendInfo[];
  /** `null`: all. */
  readonly chosen: readonly string[] | null;
  readonly onChoose: (chosen: readonly string[] | null) => void;
}

/** Nothing where there is no choice. */
export function BackendChoice({ backends, chosen, onChoose }: BackendChoiceProps) {
  if (backends.length < 2) return null;
  const names = backends.map(({ name }) => name);
  const now = chosen ?? names;
  const toggle = (name: string, wanted: boolean) => {
    const next = names.filter((one) => one === name ? wanted : now.includes(one));
    onChoose(next.length === names.length ? null : next);
  };
  return (
    <fieldset class="multi">
      <legend>{t("people.backends_choice")}</legend>
      {backends.map(({ name, kind, mode }) => (
        <Checkbox
          key={name}
          label={name}
          hint={t(mode === "async" ? "people.backend_later" : "people.backend_at_once", { kind })}
          checked={now.includes(name)}
          onChange={(wanted) => toggle(name, wanted)}
        />
      ))}
    </fieldset>
  );
}

/** Why nothing can be done with a choice of none; `undefined` when something was chosen. */
export function noBackend(chosen: readonly string[] | null): string | undefined {
  return chosen?.length === 0 ? t("people.choose_backend") : undefined;
}
