// A dialog that is a form: what is typed, the way out, the deed, and what went wrong with it.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { ApiFailure, failureText } from "../api_client.ts";
import { type Deed, useDeed } from "../models/deed.ts";
import { t } from "../words/translate.ts";
import { Dialog } from "./dialog.tsx";
import { Note } from "./note.tsx";
import { ReceiptChips } from "./receipt_chips.tsx";

interface FormDialogProps {
  readonly title: string;
  /** On the button: "Create the group". */
  readonly verb: string;
  /** Does it; what it throws is said above the fields. `field` gives what stands in an input by its name. */
  readonly onSubmit: (field: (name: string) => string) => Promise<unknown>;
  readonly onClose: () => void;
  /** Stands before the reason when it did not work: "The group was not created." */
  readonly failed?: string;
  /** Where somebody else wants to know how it goes. */
  readonly deed?: Deed;
  /** Why it cannot be done yet; `""` when that is plain to see. */
  readonly reason?: string | undefined;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps) {
  const { title, verb, onSubmit, onClose, failed, reason, wide = false, children } = props;
  const own = useDeed();
  const { busy, fault, run } = props.deed ?? own;
  const formId = useId();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      wide={wide}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button
            type="submit"
            form={formId}
            class="button button-primary"
            disabled={busy.value || reason !== undefined}
            title={reason}
          >
            {busy.value ? t("frame.working") : verb}
          </button>
        </>
      }
    >
      <form
        id={formId}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const typed = new FormData(event.currentTarget);
          void run(() => onSubmit((name) => String(typed.get(name) ?? "")));
        }}
      >
        {fault.value !== null && <Failed fault={fault.value} failed={failed} />}
        {children}
      </form>
    </Dialog>
  );
}

function Failed({ fault, failed }: { fault: unknown; failed: string | undefined }) {
  const receipt = fault instanceof ApiFailure ? fault.receipt : null;
  return (
    <Note tone="bad" role="alert">
      {failed !== undefined && <strong>{failed}</strong>} {failureText(fault)}
      {receipt !== null && <ReceiptChips entries={receipt.entries} />}
    </Note>
  );
}
