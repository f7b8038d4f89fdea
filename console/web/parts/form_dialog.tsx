// A dialog that is a form: what is typed, the way out, the deed, what went wrong with it, and a secret that it made.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { ApiFailure } from "../api_client.ts";
import { type Deed, useDeed } from "../models/deed.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./note.tsx";
import { ReceiptChips } from "./receipt_chips.tsx";
import { type Secret, SecretDialog } from "./secret_once.tsx";
import { DiscardDialog } from "./unsaved_guard.tsx";

export interface FormDialogProps {
  readonly title: string;
  /** On the button: "Create the group". */
  readonly verb: string;
  /**
   * Does it, and closes the dialog unless it resolves to "stay" or to a secret, which is shown then. What it throws is said
   * above the fields.
   */
  readonly onSubmit: () => Promise<Secret | "stay" | void>;
  readonly onClose: () => void;
  /** Stands before the reason when it did not work: "The group was not created." */
  readonly failed?: string;
  /** The failure is shown at its field: then it is not repeated above the fields. */
  readonly isAtField?: boolean;
  /** For a caller that follows the progress. */
  readonly deed?: Deed;
  /** Why it cannot be done yet; `""` when that is plain to see. */
  readonly reason?: string | undefined;
  /** On the way out, which has the focus where something is lost: "Keep". */
  readonly keep?: string;
  /** Something is lost by it. */
  readonly bad?: boolean;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps) {
  const { title, verb, onSubmit, onClose, failed, reason, keep, bad = false, wide = false, children } = props;
  const { isAtField = false } = props;
  const own = useDeed();
  const { busy, fault, run } = props.deed ?? own;
  const made = useSignal<Secret | null>(null);
  /** Input of the user that closing would lose. A question before a deletion has none. */
  const hasInput = useSignal(false);
  const isLeaving = useSignal(false);
  const close = () => hasInput.value ? isLeaving.value = true : onClose();
  const formId = useId();
  if (made.value !== null) return <SecretDialog {...made.value} onClose={onClose} />;
  const submit = async () => {
    const result = await onSubmit();
    if (typeof result === "object") made.value = result;
    else if (result !== "stay") onClose();
  };
  const receipt = fault.value instanceof ApiFailure ? fault.value.receipt : null;
  return (
    <Dialog
      title={title}
      onClose={close}
      wide={wide}
      footer={
        <>
          <Button autofocus={bad} onClick={close}>{keep ?? t("frame.cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            kind={bad ? "bad" : "primary"}
            reason={reason}
            busy={busy.value}
          >
            {verb}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        class="form"
        onInput={() => hasInput.value = !bad}
        onSubmit={(event) => {
          event.preventDefault();
          void run(submit);
        }}
      >
        {!isAtField && (
          <Problem of={fault} title={failed}>
            {receipt !== null && <ReceiptChips entries={receipt.entries} />}
          </Problem>
        )}
        {children}
      </form>
      {isLeaving.value && <DiscardDialog onKeep={() => isLeaving.value = false} onDiscard={onClose} />}
    </Dialog>
  );
}
