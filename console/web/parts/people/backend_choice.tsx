// Which backends a change goes to: all of them, unless the administrator excludes one.

import type { Signal } from "@preact/signals";
import { t } from "../../i18n/translate.ts";
import { Checkbox } from "../inputs.tsx";

interface BackendInfo {
  readonly name: string;
  readonly kind: string;
  readonly mode: string;
}

/** Names of backends; `null`: all. */
export type Chosen = Signal<readonly string[] | null>;

interface BackendChoiceProps {
  readonly backends: readonly BackendInfo[];
  readonly chosen: Chosen;
}

/** Nothing where there is no choice. */
export function BackendChoice({ backends, chosen }: BackendChoiceProps) {
  if (backends.length < 2) return null;
  const names = backends.map(({ name }) => name);
  const now = chosen.value ?? names;
  const toggle = (name: string, isWanted: boolean) => {
    const next = names.filter((one) => one === name ? isWanted : now.includes(one));
    chosen.value = next.length === names.length ? null : next;
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
          onChange={(isWanted) => toggle(name, isWanted)}
        />
      ))}
    </fieldset>
  );
}

/** Why nothing can be done with a choice of none; `undefined` when something was chosen. */
export function noBackend({ value }: Chosen): string | undefined {
  return value?.length === 0 ? t("people.choose_backend") : undefined;
}
