// Forms whose changes are reviewed before they are saved: old and new values, and conflicts with other changes.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { LastChange } from "../../api/errors.ts";
import { ApiFailure, lastChangeText } from "../app/api_client.ts";
import { t } from "../i18n/translate.ts";
import { type DiffRow, DiffTable } from "./diff_table.tsx";
import { FormDialog } from "./form_dialog.tsx";
import { Alert } from "./alert.tsx";
import type { Router } from "../app/router.ts";
import { Button } from "./button.tsx";
import { UnsavedGuard } from "./dialog.tsx";

/** A conflict: another change of the object was saved while this form was open. */
interface Conflict {
  /** The labels of the fields that the other change set. */
  readonly fields: readonly string[];
  /** `null`: unknown. */
  readonly lastChange: LastChange | null;
}

interface ReviewProps {
  /** Of what is changed. */
  readonly name: string;
  readonly rows: readonly DiffRow[];
  /** Why saving is disabled. */
  readonly reason?: string | undefined;
  readonly onSave: () => Promise<void>;
  /** Reads the object again and applies the typed changes. Resolves to the conflict; a `lastChange` replaces the server's. */
  readonly onRebase: () => Promise<Pick<Conflict, "fields"> & Partial<Conflict>>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function ReviewDialog(props: ReviewProps) {
  const { name, rows, reason, onSave, onRebase, onClose, children } = props;
  const conflict = useSignal<Conflict | null>(null);
  const isRaced = conflict.value !== null;
  const save = async () => {
    try {
      await onSave();
    } catch (fault) {
      if (!isChangedMeanwhile(fault)) throw fault;
      conflict.value = { lastChange: fault.lastChange, ...await onRebase() };
      return "stay";
    }
  };
  return (
    <FormDialog
      title={t(isRaced ? "common.raced_title" : "common.review_title", { name })}
      submitLabel={t(isRaced ? "common.save_over" : "common.save")}
      cancelLabel={t("common.keep_editing")}
      failureTitle={t("common.not_saved")}
      reason={reason ?? (rows.length === 0 ? t("common.nothing_changed") : undefined)}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t("common.raced", { name })}>
          {conflict.value.fields.length > 0 &&
            t("common.raced_fields", { fields: conflict.value.fields.join(", ") })} {t("common.raced_next")}
        </ConflictNote>
      )}
      {rows.length === 0
        ? <p>{t("common.nothing_changed")}</p>
        : <DiffTable label={t("common.changes_of", { name })} rows={rows} />}
      {children}
    </FormDialog>
  );
}

interface ConflictNoteProps {
  readonly lastChange: LastChange | null;
  /** The message if the audit log no longer has the change. */
  readonly unknown: string;
  /** The effect of saving on both changes. */
  readonly children: ComponentChildren;
}

export function ConflictNote({ lastChange, unknown, children }: ConflictNoteProps) {
  return (
    <Alert tone="wait" role="alert">
      <strong>{lastChange === null ? unknown : lastChangeText(lastChange)}</strong> {children}
    </Alert>
  );
}

/** Whether the object was changed since it was read. */
export function isChangedMeanwhile(fault: unknown): fault is ApiFailure {
  return fault instanceof ApiFailure && fault.code === "changed_meanwhile";
}

interface ReviewedFormProps {
  readonly router: Router;
  readonly id?: string;
  /** The form is unchanged. */
  readonly isSame: boolean;
  /** Why the form is read-only. */
  readonly reason?: string | undefined;
  readonly onReview: () => void;
  readonly onDiscard: () => void;
  readonly children: ComponentChildren;
}

export function ReviewedForm(props: ReviewedFormProps) {
  const { router, id, isSame, reason, onReview, onDiscard, children } = props;
  return (
    <form
      id={id}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSame) onReview();
      }}
    >
      <UnsavedGuard router={router} isDirty={!isSame} />
      {children}
      <div class="form-end">
        <Button
          type="submit"
          kind="primary"
          reason={reason ?? (isSame ? t("common.nothing_changed") : undefined)}
        >
          {t("common.review")}
        </Button>
        {!isSame && <Button onClick={onDiscard}>{t("common.discard")}</Button>}
      </div>
    </form>
  );
}
