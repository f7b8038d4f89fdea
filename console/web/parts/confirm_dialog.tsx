// Asks before what cannot be undone: says what happens, where, and to how many; the button that keeps has the focus.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../words/translate.ts";
import { TextField } from "./field.tsx";
import { FormDialog } from "./form_dialog.tsx";

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
  /** Why it cannot be done. */
  readonly reason?: string | undefined;
  /** Lists what will happen. */
  readonly children: ComponentChildren;
  /** Does it; what it throws is said. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

export function ConfirmDialog(
  { count = 1, word = String(count), reason, children, onConfirm, ...rest }: ConfirmProps,
) {
  const typed = useSignal("");
  const mustType = count >= TYPE_FROM_COUNT;
  return (
    <FormDialog
      {...rest}
      keep={t("frame.keep")}
      bad
      reason={reason ?? (mustType && typed.value.trim() !== word ? "" : undefined)}
      onSubmit={onConfirm}
    >
      {children}
      {mustType && (
        <TextField
          id="confirm-word"
          label={t("frame.type_to_confirm", { word })}
          text={typed}
          input={{ spellcheck: false }}
        />
      )}
    </FormDialog>
  );
}
