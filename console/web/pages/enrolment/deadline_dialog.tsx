// The dialog that changes or removes the deadline of users.

import { useSignal } from "@preact/signals";
import type { Models } from "../../app/app_context.ts";
import { Checkbox, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { changeDeadline } from "./enrolment_calls.ts";

interface DeadlineDialogProps {
  readonly models: Models;
  readonly choice: { readonly names: readonly string[] } | { readonly campaign: string };
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

const WEEK_MS = 7 * 24 * 3600_000;

export function DeadlineDialog({ models, choice, onClose, onChanged }: DeadlineDialogProps) {
  const at = useSignal(localText(models.clock.nowMs.peek() + WEEK_MS));
  const isRemoved = useSignal(false);
  const deadlineMs = isRemoved.value ? null : Date.parse(at.value);
  return (
    <FormDialog
      title={t("enrolment.deadline_title")}
      submitLabel={t("enrolment.change_deadline")}
      failureTitle={t("enrolment.deadline_failed")}
      reason={deadlineMs !== null && Number.isNaN(deadlineMs) ? "" : undefined}
      onClose={onClose}
      onSubmit={async () => {
        const { changed } = await changeDeadline(models, { choice, deadlineMs });
        models.toasts.show(t("enrolment.deadline_changed", { count: changed }), { tone: "ok" });
        onChanged();
      }}
    >
      <p>{t("enrolment.deadline_what")}</p>
      <Checkbox
        label={t("enrolment.deadline_remove")}
        checked={isRemoved.value}
        onChange={(next) => isRemoved.value = next}
      />
      {!isRemoved.value && (
        <TextField
          id="deadline-at"
          label={t("enrolment.deadline")}
          text={at}
          input={{ type: "datetime-local", required: true }}
        />
      )}
    </FormDialog>
  );
}

/** The value of a `datetime-local` field, in the zone of the browser. */
function localText(atMs: number): string {
  const offsetMs = new Date(atMs).getTimezoneOffset() * 60_000;
  return new Date(atMs - offsetMs).toISOString().slice(0, 16);
}
