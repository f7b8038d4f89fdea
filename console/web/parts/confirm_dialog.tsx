// Asks before what cannot be undone: says what happens, where, and to how many; the button that keeps has the focus.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiFailure } from "../api_client.ts";
import { t } from "../i18n/translate.ts";
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
  /** Does it. What it throws is said, and so is a sentence that it resolves to. */
  readonly onConfirm: () => Promise<string | null | void>;
  readonly onClose: () => void;
}

export function ConfirmDialog(
  { count = 1, word = String(count), reason, children, onConfirm, ...rest }: ConfirmProps,
) {
  const typed = useSignal("");
  const mustType = count >= TYPE_FROM_COUNT;
  const confirm = async () => {
    const problem = await onConfirm();
    if (problem) throw new ApiFailure("unconfirmed", { message: problem });
  };
  return (
    <FormDialog
      {...rest}
      keep={t("frame.keep")}
      bad
      reason={reason ?? (mustType && typed.value.trim() !== word ? "" : undefined)}
      onSubmit={confirm}
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
