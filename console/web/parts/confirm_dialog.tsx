// Asks before what cannot be undone: says what happens, where, and to how many; the button that keeps has the focus.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../words/translate.ts";
import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { Note } from "./note.tsx";

/** From so many objects on, the confirming word is typed. */
const TYPE_FROM_COUNT = 25;

interface ConfirmProps {
  /** A question with its number: "Delete 2 users?". */
  readonly title: string;
  /** The verb on the button: "Delete 2 users". */
  readonly verb: string;
  /** How many objects it is done to; from 25 on `word` has to be typed. */
  readonly count?: number;
  /** What is typed then; the number unless given. */
  readonly word?: string;
  /** Lists what will happen. */
  readonly children: ComponentChildren;
  /** Resolves to `null` when done, else to what to say. */
  readonly onConfirm: () => Promise<string | null>;
  readonly onClose: () => void;
}

export function ConfirmDialog({ title, verb, count = 1, word, children, onConfirm, onClose }: ConfirmProps) {
  const expected = word ?? String(count);
  const typed = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const mustType = count >= TYPE_FROM_COUNT;
  const ready = !busy.value && (!mustType || typed.value.trim() === expected);
  const confirm = async () => {
    busy.value = true;
    problem.value = await onConfirm();
    busy.value = false;
    if (problem.value === null) onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" autofocus onClick={onClose}>{t("frame.keep")}</button>
          <button type="button" class="button button-bad" disabled={!ready} onClick={() => void confirm()}>
            {busy.value ? t("frame.working") : verb}
          </button>
        </>
      }
    >
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {children}
      {mustType && (
        <Field
          id="confirm-word"
          label={t("frame.type_to_confirm", { word: expected })}
          input={{
            value: typed.value,
            autocomplete: "off",
            spellcheck: false,
            onInput: (event) => {
              typed.value = event.currentTarget.value;
            },
          }}
        />
      )}
    </Dialog>
  );
}
